//! Parameter types: what is parsed, what it takes, and what people are told.

use pxp::task::ParamType;
use serde_json::{Value, json};

fn parse(text: &str) -> ParamType {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn told(text: &str, value: &Value) -> String {
    let mismatch = parse(text)
        .validate(value)
        .expect_err("the value is not of the type");
    format!("{}: {mismatch}", mismatch.path)
}

#[test]
fn types_are_printed_as_they_are_written() {
    for text in [
        "Any",
        "Data",
        "Undef",
        "Scalar",
        "ScalarData",
        "Numeric",
        "Boolean",
        "Boolean[true]",
        "String",
        "String[1]",
        "String[0,200]",
        "String[default,5]",
        "Integer[-5,5]",
        "Float[0.5]",
        "Float[1.0,2.0]",
        "Enum['a','it\\'s']",
        "Enum['a',true]",
        "Pattern[/\\A[a-z]+\\z/,/x\\/y/]",
        "Optional[String[1]]",
        "NotUndef[Data]",
        "Sensitive[String]",
        "Variant[String,Array[String]]",
        "Array[Any]",
        "Array[Integer,1,3]",
        "Hash[String,Data]",
        "Hash[Any,Any,1]",
        "Tuple[String,Integer]",
        "Tuple[String,1,3]",
        "Struct[{'a' => String,Optional['b'] => Integer}]",
        "Struct[{NotUndef['c'] => Any}]",
        "Collection[1]",
        "TargetSpec",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
}

#[test]
fn other_spellings_mean_the_same() {
    for (text, same) in [
        ("Array", "Array[Any]"),
        ("Hash", "Hash[Any,Any]"),
        ("Optional", "Optional[Any]"),
        ("Optional['x']", "Optional[Enum['x']]"),
        ("String['x']", "Enum['x']"),
        ("Enum[a, \"b\",]", "Enum['a','b']"),
        ("Array[2]", "Array[Any,2]"),
        ("  Integer [ 0x10 , default ] ", "Integer[16]"),
        ("Float[1]", "Float[1.0]"),
        ("Boltlib::TargetSpec", "TargetSpec"),
        (
            "Struct[{a => String, 'b' => Any,}]",
            "Struct[{'a' => String,'b' => Any}]",
        ),
        ("Pattern['^a']", "Pattern[/^a/]"),
    ] {
        assert_eq!(parse(text).to_string(), same, "{text}");
    }
}

#[test]
fn bad_types_are_explained() {
    for (text, expected) in [
        ("", "expected a type at position 0"),
        ("string", "unexpected 'string' at position 0"),
        ("Strin", "unknown type 'Strin' at position 0"),
        ("Array[Foo::Bar]", "unknown type 'Foo::Bar' at position 6"),
        ("Array[String", "expected ',' or ']' at position 12"),
        ("Array[]", "unexpected ']' at position 6"),
        ("String]", "unexpected ']' at position 6"),
        (
            "String[-1]",
            "String takes a smallest and a largest length (at position 0)",
        ),
        (
            "String[1,2,3]",
            "String takes a smallest and a largest length (at position 0)",
        ),
        (
            "Integer['a']",
            "Integer takes a smallest and a largest number (at position 0)",
        ),
        (
            "Integer[5,1]",
            "the range at position 0 is empty: its first number is above its second",
        ),
        ("Any[String]", "Any takes no parameters (at position 0)"),
        ("Enum[1]", "Enum takes one or more strings (at position 0)"),
        ("Enum", "Enum takes one or more strings (at position 0)"),
        ("Variant", "Variant takes one or more types (at position 0)"),
        (
            "Optional[String,String]",
            "Optional takes one type or string (at position 0)",
        ),
        (
            "Struct[String]",
            "Struct takes entries in braces, such as {name => String} (at position 0)",
        ),
        (
            "Struct[{a => String, a => Any}]",
            "unexpected second entry of that name at position 21",
        ),
        ("Struct[{a String}]", "expected '=>' at position 10"),
        (
            "Enum['a]",
            "the string that begins at position 5 does not end",
        ),
        (
            "Enum[\"$x\"]",
            "a string in a type cannot have variables (at position 6)",
        ),
        (
            "Pattern[/a]",
            "the regular expression that begins at position 8 does not end",
        ),
        (
            "Pattern[/(?<!a)b/]",
            "the regular expression is not supported: look-around, including look-ahead and \
             look-behind, is not supported (at position 8)",
        ),
        (
            "Pattern[/(a)\\1/]",
            "the regular expression is not supported: backreferences are not supported (at \
             position 8)",
        ),
        (
            "Integer[99999999999999999999999x]",
            "unexpected the number '99999999999999999999999x' at position 8",
        ),
        ("Array[String] ; x", "unexpected ';' at position 14"),
    ] {
        let error = text.parse::<ParamType>().expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn types_are_bounded() {
    let deep = format!("{}Any{}", "Array[".repeat(100), "]".repeat(100));
    let error = deep.parse::<ParamType>().unwrap_err().to_string();
    assert_eq!(error, "nested deeper than 32 levels at position 192");
    let deep = format!("{}Any{}", "Struct[{a=>".repeat(10_000), "}]".repeat(10_000));
    assert!(deep.parse::<ParamType>().is_err());
    let long = format!("Enum['{}']", "x".repeat(20_000));
    assert!(
        long.parse::<ParamType>()
            .unwrap_err()
            .to_string()
            .contains("too long")
    );
    let greedy = "Pattern[/(a{1000}){1000}/]"
        .parse::<ParamType>()
        .unwrap_err()
        .to_string();
    assert!(greedy.contains("bytes of memory"), "{greedy}");
}

#[test]
fn values_of_the_type_are_taken() {
    for (text, value) in [
        ("Any", json!(null)),
        ("Data", json!({"a": [1]})),
        ("Undef", json!(null)),
        ("ScalarData", json!(1.5)),
        ("Numeric", json!(3)),
        ("Boolean[false]", json!(false)),
        ("String[1,3]", json!("äöü")),
        ("Integer[1,5]", json!(5)),
        ("Float[0,1]", json!(0.5)),
        ("Enum['a','b']", json!("b")),
        ("Enum['ab',true]", json!("AB")),
        ("Pattern[/^b/]", json!("a\nb")),
        ("Pattern[/\\Aa\\Z/]", json!("a\n")),
        ("Optional[String]", json!(null)),
        ("NotUndef[String]", json!("")),
        ("Sensitive[String]", json!("secret")),
        ("Variant[String,Integer]", json!(5)),
        ("Array[Integer,1,2]", json!([1, 2])),
        ("Hash[Enum['a'],Integer]", json!({"a": 1})),
        ("Tuple[String,Integer]", json!(["a", 1])),
        ("Tuple[String,Integer,1,4]", json!(["a", 1, 2, 3])),
        (
            "Struct[{a => String, b => Optional[Integer]}]",
            json!({"a": "x"}),
        ),
        ("Struct[{Optional['a'] => String}]", json!({})),
        ("Collection[1]", json!({"a": 1})),
        ("TargetSpec", json!(["a", ["b"]])),
    ] {
        assert_eq!(parse(text).validate(&value), Ok(()), "{text}");
    }
}

#[test]
fn other_values_are_refused_with_their_place() {
    for (text, value, expected) in [
        (
            "Enum['a','b']",
            json!(5),
            ": expects a value of type Enum['a','b'], got Integer",
        ),
        (
            "Enum['a','b']",
            json!("c"),
            ": expects a value of type Enum['a','b'], got another String",
        ),
        (
            "Pattern[/^a/]",
            json!("b"),
            ": expects a value of type Pattern[/^a/], got another String",
        ),
        (
            "String[3]",
            json!("ab"),
            ": expects a value of type String[3], got a String of length 2",
        ),
        (
            "Integer[1,5]",
            json!(6),
            ": expects a value of type Integer[1,5], got Integer out of range",
        ),
        (
            "Integer",
            json!("5"),
            ": expects a value of type Integer, got String",
        ),
        (
            "Integer",
            json!(5.0),
            ": expects a value of type Integer, got Float",
        ),
        (
            "Float",
            json!(5),
            ": expects a value of type Float, got Integer",
        ),
        (
            "Boolean",
            json!("true"),
            ": expects a value of type Boolean, got String",
        ),
        (
            "Boolean[true]",
            json!(false),
            ": expects a value of type Boolean[true], got Boolean",
        ),
        (
            "String",
            json!(null),
            ": expects a value of type String, got Undef",
        ),
        (
            "NotUndef[Any]",
            json!(null),
            ": expects a value of type NotUndef[Any], got Undef",
        ),
        (
            "Array[Integer]",
            json!([1, "a"]),
            "[1]: expects a value of type Integer, got String",
        ),
        (
            "Array[Any,2]",
            json!([1]),
            ": expects a value of type Array[Any,2], got 1 element",
        ),
        (
            "Array[Any]",
            json!({}),
            ": expects a value of type Array[Any], got Hash",
        ),
        (
            "Hash[String,Integer]",
            json!({"a": []}),
            ".a: expects a value of type Integer, got Array",
        ),
        (
            "Hash[Pattern[/^a/],Any]",
            json!({"b": 1}),
            ": expects the key 'b' to be a value of type Pattern[/^a/], got another String",
        ),
        (
            "Hash[Any,Any,1]",
            json!({}),
            ": expects a value of type Hash[Any,Any,1], got 0 entries",
        ),
        (
            "Tuple[String,Integer]",
            json!(["a"]),
            ": expects a value of type Tuple[String,Integer], got 1 element",
        ),
        (
            "Tuple[String,Integer]",
            json!(["a", "b"]),
            "[1]: expects a value of type Integer, got String",
        ),
        (
            "Struct[{a => String}]",
            json!({}),
            ".a: expects a value of type String, got nothing",
        ),
        (
            "Struct[{NotUndef['a'] => Any}]",
            json!({}),
            ".a: expects a value of type Any, got nothing",
        ),
        (
            "Struct[{a => Any}]",
            json!({"a": 1, "b": 2}),
            ": expects a value of type Struct[{'a' => Any}], got an entry 'b' that it does not have",
        ),
        (
            "Array[Struct[{port => Integer}]]",
            json!([{"port": 1}, {"port": "x"}]),
            "[1].port: expects a value of type Integer, got String",
        ),
        (
            "Variant[Array[Integer],Integer]",
            json!(["x"]),
            "[0]: expects a value of type Integer, got String",
        ),
        (
            "Variant[String,Integer]",
            json!([]),
            ": expects a value of type Variant[String,Integer], got Array",
        ),
        (
            "TargetSpec",
            json!(["a", 5]),
            "[1]: expects a value of type TargetSpec, got Integer",
        ),
    ] {
        assert_eq!(told(text, &value), expected);
    }
}

#[test]
fn secrets_do_not_show() {
    let secret = "hunter2";
    for text in [
        "Sensitive[Enum['a']]",
        "Sensitive[String[20]]",
        "Sensitive[Integer]",
    ] {
        let told = told(text, &json!(secret));
        assert!(!told.contains(secret), "{told}");
    }
}

#[test]
fn sensitive_is_found_at_any_depth() {
    for text in [
        "Sensitive[String]",
        "Optional[Sensitive[String]]",
        "Array[Sensitive]",
        "Hash[String,Sensitive]",
        "Variant[Undef,Sensitive]",
        "Struct[{a => Sensitive}]",
        "Tuple[Sensitive]",
        "NotUndef[Sensitive]",
    ] {
        assert!(parse(text).is_sensitive(), "{text}");
    }
    assert!(!parse("Array[String]").is_sensitive());
}
