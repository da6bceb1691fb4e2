//! Errors: Puppet's texts and locations, with hints.

use crate::world::{error, failure};

#[test]
fn texts_and_places() {
    for (program, expected) in [
        (
            "$x",
            "Evaluation Error: Unknown variable: 'x'. (file: case.pp, line: 1, column: 1)",
        ),
        (
            "\n fail('a', 1)",
            "Evaluation Error: Error while evaluating a Function Call, a 1 (file: case.pp, line: 2, column: 2)",
        ),
        (
            "1 + undef",
            "Evaluation Error: The value '' cannot be converted to Numeric. (file: case.pp, line: 1, column: 5)",
        ),
        (
            "'5' + 1",
            "Evaluation Error: The string '5' was automatically coerced to the numerical value 5 (file: case.pp, line: 1, column: 1)",
        ),
        (
            "1 / 0",
            "Evaluation Error: Division by 0 (file: case.pp, line: 1, column: 5)",
        ),
        (
            "9223372036854775807 + 1",
            "Evaluation Error: A '+' expression resulted in a value outside of Puppet Integer max range, got '+0x8000000000000000' (file: case.pp, line: 1, column: 21)",
        ),
        (
            "1 < a",
            "Evaluation Error: Comparison of: Integer < String, is not possible. Caused by 'A Numeric is not comparable to non Numeric'. (file: case.pp, line: 1, column: 3)",
        ),
        (
            "$a = 1\n$a = 2",
            "Evaluation Error: Cannot reassign variable '$a' (file: case.pp, line: 2, column: 4)",
        ),
        (
            "3 ? { 1 => 2 }",
            "Evaluation Error: No matching entry for selector parameter with value '3' (file: case.pp, line: 1, column: 1)",
        ),
        (
            "with(1) |String $x| { }",
            "Evaluation Error: Error while evaluating a Function Call, block parameter 'x' expects a String value, got Integer (file: case.pp, line: 1, column: 1)",
        ),
        (
            "break()",
            "break() from context where this is illegal (file: case.pp, line: 1)",
        ),
        (
            "return(1)",
            "return() from context where this is illegal (file: case.pp, line: 1)",
        ),
        (
            "nosuch(1)",
            "Evaluation Error: Unknown function: 'nosuch'. (file: case.pp, line: 1, column: 1)",
        ),
    ] {
        assert_eq!(error(program), expected, "{program}");
    }
}

#[test]
fn hints_name_what_was_meant() {
    assert_eq!(
        failure("$number = 1\n$nunber").hints,
        ["did you mean '$number'?"]
    );
    assert_eq!(failure("dwoncase('A')").hints, ["did you mean 'downcase'?"]);
    assert_eq!(
        failure("nomodule::f()").hints,
        ["there is no module 'nomodule' in this environment"]
    );
    assert_eq!(failure("Strinq").hints, ["did you mean 'String'?"]);
}

#[test]
fn catalogs_are_not_there() {
    let error = failure("\ninclude('foo')");
    assert_eq!(error.code, "CATALOG_OPERATION_NOT_SUPPORTED_WHEN_SCRIPTING");
    assert_eq!(
        error.to_string(),
        "The catalog operation 'include' is only available when compiling a catalog (file: case.pp, line: 2)"
    );
    assert!(
        failure("notify { 'a': }")
            .message
            .contains("Resource Statement")
    );
}
