//! Types from arguments, with Puppet's errors.

use pcore::Type;

use super::ty;

fn refused(text: &str) -> String {
    match Type::parse(text) {
        Ok(ty) => panic!("{text} is {ty}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn wrong_arguments_are_named() {
    let cases = [
        (
            "Integer[3, 1]",
            "'from' must be less or equal to 'to'. Got (3, 1",
        ),
        (
            "Integer['a']",
            "Integer-Type [] requires all arguments to be integers (or default). Got String",
        ),
        (
            "Integer[1, 2, 3]",
            "Integer-Type supports [] with one or two arguments (from, to). Got 3",
        ),
        (
            "Array['a']",
            "Array-Type[] arguments must be types. Got String",
        ),
        (
            "Array[Integer, 'x']",
            "A Type's size constraint arguments must be a single Integer type, or 1-2 integers (or default). Got a String",
        ),
        (
            "Hash[Integer]",
            "Hash-Type[] accepts 2 to 4 arguments. Got 1",
        ),
        (
            "Enum[1]",
            "Error creating type specialization of an Enum-Type, Cannot use Integer where String is expected",
        ),
        (
            "Variant[1]",
            "Error creating type specialization of a Variant-Type, Cannot use Integer where Any-Type is expected",
        ),
        (
            "Optional[Integer, String]",
            "Optional-Type[] accepts 1 argument. Got 2",
        ),
        (
            "Struct[{'' => Integer}]",
            "Struct element key cannot be an empty String",
        ),
        ("Any[1]", "Operator '[]' is not applicable to an Any-Type."),
        (
            "Class['9x']",
            "Illegal name. The given name '9x' does not conform to the naming rule /^((::)?[a-z_]\\w*)(::[a-z]\\w*)*$/",
        ),
        (
            "Timestamp['2017-01-01', '2016-01-01']",
            "'from' must be less or equal to 'to'. Got (2017-01-01T00:00:00.000000000 UTC, 2016-01-01T00:00:00.000000000 UTC",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refused(text), expected, "{text}");
    }
}

#[test]
fn the_argument_that_is_wrong_is_told() {
    let arguments = [super::value("Integer"), super::value("'x'")];
    let error = Type::array().parameterize(&arguments).unwrap_err();
    assert_eq!(error.argument, Some(1));
    assert_eq!(error.issue, Some("BAD_COLLECTION_SLICE_TYPE"));
}

#[test]
fn several_titles_make_several_types() {
    let file = ty("File");
    let titles = [super::value("'a'"), super::value("'b'")];
    let types = file.parameterize(&titles).unwrap();
    assert_eq!(types.to_program_string(), "[File['a'], File['b']]");
}

#[test]
fn only_literals_are_types() {
    for text in [
        "",
        "1",
        "foo",
        "Integer[$x]",
        "notice(1)",
        "Integer[",
        "Array[Integer] + 1",
    ] {
        assert!(Type::parse(text).is_err(), "{text}");
    }
}
