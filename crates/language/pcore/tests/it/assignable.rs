//! Assignability in cases that are not obvious.

use super::{ty, value};

#[test]
fn types_take_others_as_puppet_says() {
    let takes = [
        // an empty Variant has no values, and every Variant accepts it
        ("Variant", "Variant[Integer, String]", true),
        ("Variant", "Undef", false),
        ("Any", "Variant", true),
        // sizes of tuples and structs count
        ("Array[Integer, 1, 2]", "Tuple[Integer, Integer]", true),
        (
            "Array[Integer, 1, 2]",
            "Tuple[Integer, Integer, 1, 5]",
            false,
        ),
        ("Tuple[Integer, String]", "Array[Integer, 2, 2]", false),
        ("Tuple[Integer, 0, 5]", "Array[Integer, 1, 3]", true),
        ("Hash[String, Integer]", "Struct[{a => Integer}]", true),
        ("Hash[String, Integer, 2]", "Struct[{a => Integer}]", false),
        (
            "Struct[{a => Integer}]",
            "Hash[String, Integer, 1, 1]",
            true,
        ),
        ("Struct[{a => Integer}]", "Hash[String, Integer]", false),
        ("Hash[String, Integer]", "Hash[Any, Any, 0, 0]", true),
        // a key whose value may be undef may be missing
        ("Struct[{a => Optional[Integer]}]", "Struct[{}]", true),
        (
            "Struct[{NotUndef[a] => Optional[Integer]}]",
            "Struct[{}]",
            false,
        ),
        // texts
        ("String[1]", "Enum['a', 'bc']", true),
        ("String[2]", "Enum['a', 'bc']", false),
        ("Enum['A', true]", "Enum['a']", true),
        ("Enum['a']", "Enum['a', true]", false),
        ("Pattern[/^a/]", "Enum['ab', 'ac']", true),
        ("Pattern[/^a/]", "Pattern[/^a/]", true),
        ("Pattern[/a/]", "Pattern[/^a/]", false),
        // a callable must accept everything that its caller may pass
        ("Callable[String]", "Callable[Any]", true),
        ("Callable[Any]", "Callable[String]", false),
        (
            "Callable[[String], Integer]",
            "Callable[[String], Integer[1, 2]]",
            true,
        ),
        // the type inside Sensitive is generalized
        ("Sensitive[String[8]]", "Sensitive[String]", true),
        ("Type[Enum['a', 'b']]", "Type[Enum['a']]", true),
        ("SemVer['>=1.0.0 <3.0.0']", "SemVer['2.x']", true),
        ("SemVer['1.x']", "SemVer['>=1.0.0']", false),
        ("NotUndef[Optional[Integer]]", "Integer", true),
        ("NotUndef", "Optional[Integer]", false),
        ("Iterable[Integer]", "Type[Integer[1, 3]]", true),
        ("Iterable[Integer]", "Type[Integer[1]]", false),
    ];
    for (wide, narrow, expected) in takes {
        let takes = ty(wide).is_assignable(&ty(narrow));
        assert_eq!(takes, expected, "{wide} takes {narrow}");
    }
}

#[test]
fn values_belong_to_types_as_puppet_says() {
    let belongs = [
        ("String[2, 3]", "'äö'", true),
        ("Enum['a', 'B', true]", "'b'", true),
        ("Iterable", "5", true),
        ("Iterable", "-1", false),
        ("Iterable[Integer]", "Integer[1, 3]", true),
        ("Iterable", "Integer", false),
        ("Struct[{Optional[a] => Integer}]", "{}", true),
        ("Struct[{a => Integer}]", "{'a' => 1, 'b' => 2}", false),
        ("Tuple[Integer, String, 1]", "[1, 'a', 'b']", true),
        ("Data", "{'a' => [1, {'b' => undef}]}", true),
        ("Data", "{1 => 2}", false),
        ("RichData", "{1 => default}", true),
        ("Object", "Integer", true),
        ("Type[Integer]", "Integer[1, 2]", true),
        ("Init[Integer]", "'0x1F'", true),
        ("Init[Integer]", "'x'", false),
        ("Init[Integer, 16]", "'0x1F'", true),
        ("Scalar", "undef", false),
        ("Float", "1", false),
    ];
    for (name, text, expected) in belongs {
        let is_instance = ty(name).is_instance(&value(text));
        assert_eq!(is_instance, expected, "{text} is a {name}");
    }
}

#[test]
fn what_two_types_have_in_common() {
    let common = [
        ("Integer[1, 2]", "Integer[5, 6]", "Integer[1, 6]"),
        ("Integer", "Float", "Numeric"),
        ("Integer", "String", "ScalarData"),
        ("String", "Regexp", "Scalar"),
        ("Array[Integer]", "Array[String]", "Array[ScalarData]"),
        ("Enum['a']", "Enum['b']", "Enum['a', 'b']"),
        ("Integer", "Array[Integer]", "Data"),
        ("Type[Integer]", "Type[Float]", "Type[Numeric]"),
        ("Callable[String]", "Callable[Integer, Integer]", "Callable"),
        ("Binary", "Integer", "RichData"),
        ("File['/x']", "File['/y']", "File"),
        ("Undef", "Integer", "Integer"),
        ("Callable", "Integer", "Any"),
    ];
    for (one, other, expected) in common {
        assert_eq!(ty(one).common(&ty(other)).to_string(), expected);
    }
}

#[test]
fn types_are_normalized_and_generalized() {
    let forms = [
        ("Variant[String, Undef]", "Optional[String]"),
        ("Variant[Integer[1, 3], Integer[4, 8]]", "Integer[1, 8]"),
        ("Variant[Enum[a], Enum[b]]", "Enum['a', 'b']"),
        (
            "Variant[Pattern[/a/], Integer, Pattern[/b/]]",
            "Variant[Integer, Pattern[/a/, /b/]]",
        ),
        ("Optional[Optional[Integer]]", "Optional[Integer]"),
        ("NotUndef[Integer]", "Integer"),
        ("NotUndef[Optional[Integer]]", "Integer"),
        ("Optional[NotUndef[Integer]]", "Optional[Integer]"),
        ("Collection[1, 2]", "Collection"),
    ];
    for (text, expected) in forms {
        assert_eq!(ty(text).normalize().to_string(), expected, "{text}");
    }
    let general = [
        ("Array[Integer[1, 2], 1, 5]", "Array[Integer]"),
        ("Enum['a', 'bcd']", "String[1, 3]"),
        ("Tuple[Integer[1], 1, 2]", "Tuple[Integer, 1, 2]"),
        ("Hash[0, 0]", "Hash[0, 0]"),
        ("Array[0, 0]", "Array[Unit]"),
    ];
    for (text, expected) in general {
        assert_eq!(ty(text).generalize().to_string(), expected, "{text}");
    }
}
