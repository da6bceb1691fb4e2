//! The values of scalars; `tests/oracles` compares them with Ruby.

use psych::{Error, ScalarStyle, YamlLoadOptions, YamlTreeNode, YamlValue, load};

fn node(text: &str, options: YamlLoadOptions) -> Result<YamlTreeNode, Error> {
    load(text, options).map(|document| document.root.unwrap())
}

fn hiera(text: &str) -> YamlValue {
    node(text, YamlLoadOptions::HIERA).unwrap().value
}

fn string(text: &str) -> YamlValue {
    YamlValue::String(text.into())
}

#[test]
fn words() {
    for text in ["yes", "True", "ON"] {
        assert_eq!(hiera(text), YamlValue::Bool(true), "{text}");
    }
    for text in ["no", "FALSE", "Off"] {
        assert_eq!(hiera(text), YamlValue::Bool(false), "{text}");
    }
    for text in ["~", "null", "NULL", "!!null x"] {
        assert_ne!(hiera(text), string("~"), "{text}");
    }
    for text in [
        "y", "n", "yess", "nil", "undef", "10.0.0.1", "1e3", "08", "0o7",
    ] {
        assert_eq!(hiera(text), string(text));
    }
    for text in ["'yes'", "\"yes\"", "!!str yes"] {
        assert_eq!(hiera(text), string("yes"), "{text}");
    }
}

#[test]
fn numbers() {
    for (text, expected) in [
        ("12", 12),
        ("-1_000", -1000),
        ("1,000", 1000),
        ("010", 8),
        ("0x1F", 31),
        ("-0b11", -3),
        ("0_", 0),
        ("12:30", 45_000),
        ("-1:30", -1800),
        ("190:20:30", 685_230),
        ("! '12'", 12),
        ("9223372036854775807", i64::MAX),
    ] {
        assert_eq!(hiera(text), YamlValue::Integer(expected), "{text}");
    }
    for (text, expected) in [
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1_000.5", 1000.5),
        ("1.5e+3", 1500.0),
        ("-.inf", f64::NEG_INFINITY),
        ("12:30.5", 45_030.0),
        ("!!float 1", 1.0),
    ] {
        assert_eq!(hiera(text), YamlValue::Float(expected), "{text}");
    }
    assert!(matches!(hiera(".NaN"), YamlValue::Float(it) if it.is_nan()));
    for (text, expected) in [
        ("9223372036854775808", "9223372036854775808"),
        (
            "-0xffffffffffffffffffffffffffffffffff",
            "-87112285931760246646623899502532662132735",
        ),
        ("0777777777777777777777777", "4722366482869645213695"),
    ] {
        assert_eq!(
            hiera(text),
            YamlValue::BigInteger(expected.into()),
            "{text}"
        );
    }
    let error = node("a: 0x_", YamlLoadOptions::HIERA).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid value for a number: \"0x_\" at line 1 column 4"
    );
}

#[test]
fn symbols_dates_and_times_must_be_allowed() {
    assert_eq!(hiera(":a b"), YamlValue::Symbol("a b".into()));
    assert_eq!(hiera(":\"a\""), YamlValue::Symbol("a".into()));
    assert_eq!(hiera("::a"), YamlValue::Symbol(":a".into()));
    for (text, class) in [
        ("- :a", "Symbol"),
        ("- 2001-01-01", "Date"),
        ("- 2001-01-01 00:00:00", "Time"),
        ("- !ruby/sym a", "Symbol"),
        ("- !ruby/object:Foo {}", "Foo"),
        ("- !ruby/regexp /a/", "Regexp"),
        ("- !!set {a}", "Psych::Set"),
    ] {
        let error = node(text, YamlLoadOptions::PLAN).unwrap_err();
        let expected = format!("Tried to load unspecified class: {class} at line 1 column 3");
        assert_eq!(error.to_string(), expected, "{text}");
    }
    let times = YamlLoadOptions {
        times: true,
        ..YamlLoadOptions::HIERA
    };
    let YamlValue::Time(time) = node("2001-01-01 01:00:00.25 +01:00", times).unwrap().value else {
        panic!("no time");
    };
    assert_eq!(
        (time.seconds, time.nanoseconds, time.offset_seconds),
        (978_307_200, 250_000_000, Some(3600))
    );
    let YamlValue::Date(date) = node("2000-02-29", times).unwrap().value else {
        panic!("no date");
    };
    assert_eq!((date.year, date.month, date.day), (2000, 2, 29));
    assert_eq!(
        node("2001-02-29", times).unwrap().value,
        string("2001-02-29")
    );
}

#[test]
fn styles_and_places_are_known() {
    let text = "a: plain\nb: 'single'\nc: \"double\"\nd: |\n  literal\ne: >\n  folded\nf: [1]\n";
    let root = node(text, YamlLoadOptions::PLAN).unwrap();
    let of = |key: &str| {
        let node = root.get(key).unwrap();
        (node.style, node.line, node.column)
    };
    assert_eq!(of("a"), (ScalarStyle::Plain, 1, 4));
    assert_eq!(of("b"), (ScalarStyle::Single, 2, 4));
    assert_eq!(of("c"), (ScalarStyle::Double, 3, 4));
    assert_eq!(of("d"), (ScalarStyle::Literal, 5, 3));
    assert_eq!(of("e"), (ScalarStyle::Folded, 7, 3));
    assert_eq!(of("f"), (ScalarStyle::Collection, 8, 4));
}

#[test]
fn binary() {
    assert_eq!(hiera("!!binary aGk="), YamlValue::Binary(b"hi"[..].into()));
}
