//! `T.new(..)`.

use pcore::{CONVERTED_ELEMENTS_MAX, Value};

use super::{made, value};

fn from(ty: &str, arguments: &str) -> Result<String, String> {
    let arguments = value(&format!("[{arguments}]"));
    made(ty, arguments.as_array().unwrap())
}

#[test]
fn numbers_of_texts() {
    let cases = [
        ("Integer", "'0x1F'", "31"),
        ("Integer", "'010'", "8"),
        ("Integer", "'010', 10", "10"),
        ("Integer", "'0b101'", "5"),
        ("Integer", "'- 5'", "-5"),
        ("Integer", "'-5', default, true", "5"),
        ("Integer", "-1.9", "-1"),
        ("Integer", "{'from' => '0xff', 'radix' => 16}", "255"),
        ("Float", "'1e3'", "1000.0"),
        ("Float", "true", "1.0"),
        ("Numeric", "'1.5'", "1.5"),
        ("Numeric", "'0x10'", "16"),
        ("Boolean", "'Y'", "true"),
        ("Boolean", "0.0", "false"),
    ];
    for (ty, arguments, expected) in cases {
        assert_eq!(
            from(ty, arguments).as_deref(),
            Ok(expected),
            "{ty}({arguments})"
        );
    }
}

#[test]
fn what_cannot_be_converted_says_why() {
    let cases = [
        (
            "Integer",
            "'abc'",
            "'new' The string 'abc' cannot be converted to Integer",
        ),
        ("Integer", "'08'", "invalid value for Integer(): \"08\""),
        (
            "Integer",
            "[1]",
            "'new' Value of type Array[Integer] cannot be converted to Integer",
        ),
        (
            "Integer",
            "'5', 3",
            "Illegal radix: 3, expected 2, 8, 10, 16, or default",
        ),
        (
            "Boolean",
            "'maybe'",
            "'new_boolean' The string 'maybe' cannot be converted to Boolean",
        ),
        (
            "Integer[0, 5]",
            "'7'",
            "Converted value from Integer[0, 5].new() has wrong type, expects an Integer[0, 5] value, got Integer[7, 7]",
        ),
        (
            "Scalar",
            "[]",
            "Creation of new instance of type 'Scalar' is not supported",
        ),
        ("Hash", "[1, 2, 3]", "odd number of arguments for Hash"),
        (
            "Regexp",
            "1",
            "'new_float' parameter 'pattern' expects a String value, got Integer",
        ),
        ("Binary", "'!!!'", "invalid base64"),
    ];
    for (ty, arguments, expected) in cases {
        assert_eq!(
            from(ty, arguments),
            Err(expected.to_owned()),
            "{ty}({arguments})"
        );
    }
}

#[test]
fn lists_and_hashes() {
    let cases = [
        ("Array", "'abc'", "['a', 'b', 'c']"),
        ("Array", "{'a' => 1}", "[['a', 1]]"),
        ("Array", "3", "[0, 1, 2]"),
        ("Array", "'x', true", "['x']"),
        ("Array", "Integer[2, 4]", "[2, 3, 4]"),
        ("Hash", "['a', 1, 'b', 2]", "{'a' => 1, 'b' => 2}"),
        ("Hash", "[['a', 1], ['b', 2]]", "{'a' => 1, 'b' => 2}"),
        (
            "Hash",
            "[[['a', 'b'], 1], [['a', 'c'], 2]], 'tree'",
            "{'a' => {'b' => 1, 'c' => 2}}",
        ),
        (
            "Hash",
            "[[['a'], [1, 2]], [['a', 0], 'x']], 'hash_tree'",
            "{'a' => {0 => 'x', 1 => 2}}",
        ),
        ("Tuple[Integer, Integer]", "2", "[0, 1]"),
    ];
    for (ty, arguments, expected) in cases {
        assert_eq!(
            from(ty, arguments).as_deref(),
            Ok(expected),
            "{ty}({arguments})"
        );
    }
}

#[test]
fn a_huge_list_is_an_error() {
    let most = i64::try_from(CONVERTED_ELEMENTS_MAX).unwrap();
    for number in [most + 1, i64::MAX] {
        let error = made("Array", &[Value::Int(number)]).unwrap_err();
        assert!(error.contains("more than the limit"), "{error}");
    }
    assert!(made("String", &[Value::Int(1), Value::from("%99999999999d")]).is_err());
    let deep = "[[['a'], [1]], [['a', 99999999999], 2]], 'tree'";
    assert!(from("Hash", deep).is_err());
}

#[test]
fn times() {
    let cases = [
        (
            "Timestamp",
            "'2016-10-10T12:13:14.5'",
            "'2016-10-10T12:13:14.500000000 UTC'",
        ),
        (
            "Timestamp",
            "'2016-10-10T12:13:14 +02:00'",
            "'2016-10-10T10:13:14.000000000 UTC'",
        ),
        (
            "Timestamp",
            "'2016-10-10', '%F', 'EST'",
            "'2016-10-10T05:00:00.000000000 UTC'",
        ),
        (
            "Timestamp",
            "'Oct 11 2016', '%b %d %Y'",
            "'2016-10-11T00:00:00.000000000 UTC'",
        ),
        ("Timestamp", "1.5", "'1970-01-01T00:00:01.500000000 UTC'"),
        // the fraction is not padded, as in Puppet
        (
            "Timespan",
            "{'days' => 1, 'hours' => 2, 'milliseconds' => 5}",
            "'1-02:00:00.5'",
        ),
        ("Timespan", "'99:99:99'", "'4-04:40:39.0'"),
        ("Timespan", "-90", "'-0-00:01:30.0'"),
    ];
    for (ty, arguments, expected) in cases {
        assert_eq!(
            from(ty, arguments).as_deref(),
            Ok(expected),
            "{ty}({arguments})"
        );
    }
}

#[test]
fn versions_binaries_and_uris() {
    let cases = [
        ("SemVer", "'1.2.3-rc.1+b5'", "'1.2.3-rc.1+b5'"),
        ("SemVer", "1, 2, 3, 'rc1'", "'1.2.3-rc1'"),
        ("SemVerRange", "'>=1.0.0 <2.0.0'", "'>=1.0.0 <2.0.0'"),
        ("Regexp", "'a.b', true", "/a\\.b/"),
        (
            "URI",
            "{'scheme' => 'http', 'host' => 'x', 'port' => 81}",
            "URI('http://x:81')",
        ),
        ("Type", "'Optional[Integer]'", "Optional[Integer]"),
    ];
    for (ty, arguments, expected) in cases {
        assert_eq!(
            from(ty, arguments).as_deref(),
            Ok(expected),
            "{ty}({arguments})"
        );
    }
    let made = |arguments: &str| {
        let arguments = value(&format!("[{arguments}]"));
        pcore::new_instance(&super::ty("Binary"), arguments.as_array().unwrap())
            .unwrap()
            .to_string()
    };
    assert_eq!(made("'aGVsbG8='"), "aGVsbG8=");
    assert_eq!(made("'hello', '%s'"), "aGVsbG8=");
    assert_eq!(made("[104, 105]"), "aGk=");
}
