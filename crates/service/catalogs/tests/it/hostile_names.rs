//! Names of files, modules and classes that lead elsewhere, or that no file can have.
//!
//! Invariant: each is an error or finds nothing, and the next compilation is as before.

use crate::site;

/// A manifest in an environment without modules, beside which a file `secret` stands.
fn refused(code: &str) -> String {
    let outcome = site::compile_request(code, &site::request("node"));
    match outcome {
        Ok(_) => panic!("{code} was compiled"),
        Err(error) => error,
    }
}

#[test]
fn files_and_templates_outside_of_modules_are_not_found() {
    for name in [
        "../secret",
        "../../secret",
        "m/../../secret",
        "m/../../../../../../etc/hostname",
        "m",
        "m/",
        "",
        "..",
        "ümlaut/secret",
    ] {
        for (function, message) in [
            ("file", "Could not find any files from"),
            ("template", "Could not find template"),
            ("epp", "Could not find template"),
            ("binary_file", "does not exist"),
        ] {
            let error = refused(&format!("notify {{ \"x${{{function}('{name}')}}\": }}"));
            assert!(error.contains(message), "{function} {name}: {error}");
        }
        let found = format!("notify {{ \"x${{find_file('{name}') =~ Undef}}\": }}");
        let compiled = site::compile_request(&found, &site::request("node"));
        assert!(compiled.is_ok(), "{name}");
    }
}

#[test]
fn names_with_a_zero_byte_are_errors() {
    for code in [
        "file(\"m/\\u{0}f\")",
        "template(\"m/\\u{0}f\")",
        "epp(\"m\\u{0}/f\")",
    ] {
        let error = refused(&format!("notify {{ \"x${{{code}}}\": }}"));
        assert!(error.contains("Could not find"), "{error:?}");
    }
    for code in ["include \"m\\u{0}\"", "include \"\\u{0}::m\""] {
        let error = refused(code);
        assert!(error.contains("Could not find class"), "{error}");
    }
}

#[test]
fn classes_types_and_functions_with_names_of_paths_are_unknown() {
    for (code, message) in [
        ("include '../x'", "Could not find class ::../x"),
        ("include 'm::../../x'", "Could not find class"),
        ("contain 'm/../m'", "Could not find class"),
        ("require '::'", "Could not find class"),
        ("include ''", "Cannot use empty string as a class name"),
        ("include 'ümlaut'", "Could not find class ::ümlaut"),
        (
            "create_resources('../x', {'a' => {}})",
            "Unknown resource type: '../x'",
        ),
        ("call('m::../x')", "Unknown function 'm::../x'"),
        (
            "lookup('../../x::y', undef, undef, 'd')",
            "Syntax error in key",
        ),
    ] {
        let error = refused(code);
        assert!(error.contains(message), "{code}: {error}");
    }
}
