//! Texts of types and values.

use pcore::{Value, ruby_float};

use super::{ty, value};

#[test]
fn types_print_as_puppet_prints_them() {
    let texts = [
        ("Integer[default, 5]", "Integer[default, 5]"),
        ("Float[1.0]", "Float[1.0]"),
        ("String[-5]", "String[0]"),
        ("Enum['b', 'a', 'b']", "Enum['a', 'b']"),
        ("Enum['a', true]", "Enum['a', true]"),
        ("Pattern['a/b']", "Pattern[/a\\/b/]"),
        ("Array[1, 2]", "Array[Any, 1, 2]"),
        ("Array[Integer, 0, 0]", "Array[0, 0]"),
        ("Hash[String, Integer, 1]", "Hash[String, Integer, 1]"),
        (
            "Tuple[Integer, String, 1, 3]",
            "Tuple[Integer, String, 1, 3]",
        ),
        (
            "Struct[{Optional[a] => Integer}]",
            "Struct[{Optional['a'] => Integer}]",
        ),
        (
            "Struct[{a => Optional[Integer]}]",
            "Struct[{'a' => Optional[Integer]}]",
        ),
        (
            "Struct[{NotUndef[a] => Any}]",
            "Struct[{NotUndef['a'] => Any}]",
        ),
        (
            "Variant[Variant[Integer, String], Integer]",
            "Variant[Integer, String]",
        ),
        ("Callable[[String], Integer]", "Callable[[String], Integer]"),
        ("Callable[0, 0]", "Callable[0, 0]"),
        ("Callable[0, 1]", "Callable[0, 1]"),
        (
            "Callable[String, Optional[Callable]]",
            "Callable[String, Optional[Callable]]",
        ),
        ("Optional['a']", "Optional['a']"),
        ("file['/x']", "File['/x']"),
        ("Timespan[1, 2]", "Timespan['0-00:00:01.0', '0-00:00:02.0']"),
        ("SemVer['1.x', '3.x']", "SemVer['1.x', '3.x']"),
        ("Runtime['ruby', 'Symbol']", "Runtime[ruby, 'Symbol']"),
        ("Sensitive[String[8]]", "Sensitive[String]"),
        (
            "URI['http://X/y']",
            "URI[{'scheme' => 'http', 'host' => 'x', 'path' => '/y'}]",
        ),
        ("Foo::Bar", "TypeReference['Foo::Bar']"),
        ("Object", "Object[{}]"),
    ];
    for (text, expected) in texts {
        let text = text.replacen("file", "File", 1);
        assert_eq!(ty(&text).to_string(), expected);
    }
}

#[test]
fn the_type_of_an_empty_list_has_no_element_type() {
    assert_eq!(pcore::Type::infer(&value("[]")).to_string(), "Array[0, 0]");
    assert_eq!(
        pcore::Type::infer(&value("[1, 'a', undef]")).to_string(),
        "Array[ScalarData, 3, 3]"
    );
    assert_eq!(
        pcore::Type::infer_detailed(&value("{'a' => [1, 'x']}")).to_string(),
        "Struct[{'a' => Tuple[Integer[1, 1], String]}]"
    );
}

#[test]
fn floats_print_as_ruby_prints_them() {
    let floats = [
        (1.0, "1.0"),
        (0.0001, "0.0001"),
        (0.00001, "1.0e-05"),
        (1e14, "100000000000000.0"),
        (1e15, "1.0e+15"),
        (1e16, "1.0e+16"),
        (123_456_789.125, "123456789.125"),
        (-0.0, "-0.0"),
        (1.5e300, "1.5e+300"),
    ];
    for (number, text) in floats {
        assert_eq!(ruby_float(number), text);
    }
}

#[test]
fn values_in_interpolations_and_in_programs() {
    let both = [
        ("undef", "", "undef"),
        ("'it\\'s'", "it's", "'it\\'s'"),
        ("\"a\\nb\"", "a\nb", "\"a\\nb\""),
        ("[1, 'a', [undef]]", "[1, a, []]", "[1, 'a', [undef]]"),
        ("{'a' => /b/}", "{a => /b/}", "{'a' => /b/}"),
        ("default", "default", "default"),
    ];
    for (text, interpolated, program) in both {
        let value = value(text);
        assert_eq!(value.to_string(), interpolated);
        assert_eq!(value.to_program_string(), program);
    }
    let secret = Value::sensitive(Value::from("pw"));
    assert_eq!(secret.to_string(), "Sensitive [value redacted]");
    assert!(!secret.to_program_string().contains("pw"));
}
