//! `String(value, format)`.

use pcore::{Value, format_value};

use super::value;

fn format(text: &str, format: &str) -> Result<String, String> {
    let formats = if format.starts_with('{') {
        value(format)
    } else {
        Value::from(format)
    };
    format_value(&value(text), Some(&formats)).map_err(|error| error.to_string())
}

#[test]
fn scalars() {
    let cases = [
        ("255", "%#x", "0xff"),
        ("-255", "%x", "..f01"),
        ("5", "%05d", "00005"),
        ("5", "%+d", "+5"),
        ("65", "%c", "A"),
        ("5", "%#s", "\"5\""),
        ("1.5", "%d", "1"),
        ("12345.678", "%.2e", "1.23e+04"),
        ("100000.0", "%g", "100000"),
        ("0.5", "%a", "0x1p-1"),
        ("'abc'", "%-5s|", "!"),
        ("'abc'", "%.2s", "ab"),
        ("'foo::bar'", "%C", "Foo::Bar"),
        ("'a b'", "%#u", "'A B'"),
        ("true", "%y", "yes"),
        ("true", "%#Y", "Y"),
        ("undef", "%n", "nil"),
        ("undef", "%d", "NaN"),
        ("default", "%D", "Default"),
        ("/a\\/b/", "%p", "/a\\/b/"),
        ("Integer[1, 2]", "%#s", "\"Integer[1, 2]\""),
    ];
    for (text, by, expected) in cases {
        match format(text, by) {
            Ok(formatted) => assert_eq!(formatted, expected, "{text} as {by}"),
            Err(_) => assert_eq!(expected, "!", "{text} as {by}"),
        }
    }
}

#[test]
fn containers() {
    let cases = [
        ("[1, 'a', [2]]", "%a", "[1, 'a', [2]]"),
        ("[1, 2]", "%(a", "(1, 2)"),
        ("{'a' => 1}", "%<h", "<'a' => 1>"),
        ("{'a' => 1}", "%a", "[['a', 1]]"),
        (
            "[1, 'a']",
            "{Array => {format => '%[a', separator => '; '}}",
            "[1; 'a']",
        ),
        (
            "[10, 'a']",
            "{Array => {format => '%a', string_formats => {Integer => '%#x', String => '%s'}}}",
            "[0xa, a]",
        ),
        (
            "{'a' => {'b' => 1}}",
            "%#h",
            "{\n  'a' => {\n    'b' => 1\n  }\n}",
        ),
        ("[[1, 2], 3]", "{Array => '%#a'}", "[\n  [1, 2],\n  3]"),
        ("[1, 2.5]", "{Integer => '%d', Float => '%.1f'}", "[1, 2.5]"),
    ];
    for (text, by, expected) in cases {
        assert_eq!(format(text, by).as_deref(), Ok(expected), "{text} as {by}");
    }
}

#[test]
fn wrong_formats_say_what_is_right() {
    let cases = [
        (
            "1",
            "%z",
            "Illegal format 'z' specified for value of Integer type - expected one of the characters 'dxXobBeEfgGaAspc'",
        ),
        (
            "1",
            "x",
            "The format 'x' is not a valid format on the form '%<flags><width>.<prec><format>'",
        ),
        (
            "1",
            "%++d",
            "The same flag can only be used once, got '%++d'",
        ),
        (
            "[1]",
            "%[{a",
            "Only one of the delimiters [ { ( < | can be given in the format flags, got '%[{a'",
        ),
        ("1", "%[d", "malformed format string - %["),
    ];
    for (text, by, expected) in cases {
        assert_eq!(format(text, by), Err(expected.to_owned()), "{text} as {by}");
    }
}
