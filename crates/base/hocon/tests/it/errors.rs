//! Messages of errors, with their positions.

fn error(text: &str) -> String {
    match hocon::parse(text) {
        Ok(value) => panic!("{text:?} was read as {value}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn errors_name_the_place_and_the_cause() {
    for (text, expected) in [
        ("a = 1\nb = {", "line 2, column 5: this { is never closed"),
        ("a = [1", "line 1, column 5: this [ is never closed"),
        ("a = \"x", "line 1, column 5: this string is never closed"),
        (
            "a = \"\"\"x\"\"",
            "line 1, column 5: this \"\"\" string is never closed",
        ),
        (
            "a = \"x\ny\"",
            "line 1, column 7: a control character or line end",
        ),
        ("a = \"\\x\"", "line 1, column 7: an unknown escape"),
        (
            "a = \"\\ud800\"",
            "line 1, column 8: half of a surrogate pair",
        ),
        ("a = ", "line 1, column 5: expected a value"),
        ("a\n", "line 2, column 1: expected ':', '=', '+=' or '{'"),
        ("a = 1 }", "line 1, column 7: unexpected '}'"),
        (
            "{a = 1} b",
            "line 1, column 9: unexpected 'b' after the end",
        ),
        (", a = 1", "line 1, column 1: unexpected ','"),
        ("a = 1,, b = 2", "line 1, column 7: unexpected ','"),
        ("a = wss://host", "line 1, column 8: unexpected ':'"),
        ("a = $x", "line 1, column 5: '$' must stand within quotes"),
        ("a = ${x", "line 1, column 5: this ${ is never closed"),
        (
            "a..b = 1",
            "line 1, column 1: a key or a part of it is empty",
        ),
        (
            "x = 1\n include \"y.conf\"",
            "line 2, column 2: include is not supported",
        ),
        (
            "include required(file(\"y\"))",
            "line 1, column 1: include is not supported",
        ),
        (
            "a = 1e999",
            "line 1, column 5: the number 1e999 is too large",
        ),
        (
            "a = ${b}",
            "line 1, column 5: ${b} is not defined in this file",
        ),
        ("a = ${a}", "line 1, column 5: ${a} is not defined"),
        ("a = ${b}\nb = ${a}", "refers to itself"),
        ("a { b = ${a} }", "line 1, column 9: ${a} contains itself"),
        (
            "a = [1] x",
            "line 1, column 5: objects, arrays and text cannot be joined",
        ),
        (
            "a = {} [1]",
            "line 1, column 5: objects, arrays and text cannot be joined",
        ),
    ] {
        let error = error(text);
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}

#[test]
fn a_key_may_be_called_include() {
    assert_eq!(hocon::parse("include = 1").unwrap()["include"], 1);
    assert_eq!(hocon::parse("includes \"x\" = 1").unwrap()["includes x"], 1);
}

#[test]
fn depth_is_bounded() {
    let deep = hocon::defaults::MAX_DEPTH + 1;
    for text in [
        format!("a = {}", "[".repeat(deep)),
        "a {".repeat(deep),
        format!("{} = 1", vec!["a"; deep + 1].join(".")),
        format!("a = ${{{}}}", vec!["a"; deep + 1].join(".")),
    ] {
        assert!(error(&text).contains("128"), "{}", error(&text));
    }
}

#[test]
fn substitutions_that_multiply_are_stopped() {
    let doubled = |first: &str, join: &str| {
        let line = |i| format!("a{} = ${{a{i}}}{join}${{a{i}}}\n", i + 1);
        let lines: String = (0..60).map(line).collect();
        format!("a0 = {first}\n{lines}")
    };
    assert!(error(&doubled("\"0123456789\"", "")).contains("without bound"));
    assert!(error(&doubled("[0]", " ")).contains("without bound"));
    let long = "x".repeat(100_000);
    let many = vec!["${l}"; 1000].join(", ");
    assert!(error(&format!("l = {long}\na = [{many}]")).contains("without bound"));
}

#[test]
fn size_is_bounded() {
    let text = format!("a = {}", "x".repeat(hocon::defaults::MAX_BYTES));
    assert!(error(&text).contains("larger than"));
}
