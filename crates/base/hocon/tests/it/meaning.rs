//! Documents and the values that they result in.

use serde_json::{Value, json};

fn value(text: &str) -> Value {
    hocon::parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

#[test]
fn the_simple_forms() {
    for (text, expected) in [
        ("", json!({})),
        ("# nothing\n// here", json!({})),
        ("a = 1", json!({"a": 1})),
        ("a: 1, b: 2,", json!({"a": 1, "b": 2})),
        ("a : 1\nb = 2 // two\n", json!({"a": 1, "b": 2})),
        ("{a = true\n b = null\n}", json!({"a": true, "b": null})),
        ("a { b = 1 }", json!({"a": {"b": 1}})),
        (
            "a.b.c = 1\na.b.d = 2",
            json!({"a": {"b": {"c": 1, "d": 2}}}),
        ),
        ("\"a.b\".c = 1", json!({"a.b": {"c": 1}})),
        ("a b = 1", json!({"a b": 1})),
        ("[1, 2\n3\n]", json!([1, 2, 3])),
        ("a = [x\ny, z,]", json!({"a": ["x", "y", "z"]})),
        ("\u{feff}a = 1\r\nb = 2\r\n", json!({"a": 1, "b": 2})),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn scalars_keep_their_type_and_everything_else_is_text() {
    for (text, expected) in [
        ("10", json!(10)),
        ("-1.5e+3", json!(-1500.0)),
        (
            "18446744073709551615",
            json!(18_446_744_073_709_551_615_u64),
        ),
        ("10s", json!("10s")),
        ("10 s", json!("10 s")),
        ("007", json!("007")),
        ("1.2.3", json!("1.2.3")),
        ("-", json!("-")),
        ("true story", json!("true story")),
        ("/etc/puppetlabs/x.pem", json!("/etc/puppetlabs/x.pem")),
        ("a  b # c", json!("a  b")),
        ("see http", json!("see http")),
        ("\"a\" b \"c\"", json!("a b c")),
        ("\"\\u00e9\\ud83d\\ude00\\n\"", json!("é😀\n")),
        ("\"\"\"a\"b\nc\\n\"\"\"\"", json!("a\"b\nc\\n\"")),
    ] {
        assert_eq!(
            value(&format!("k = {text}")),
            json!({ "k": expected }),
            "{text}"
        );
    }
}

#[test]
fn repeated_keys_merge_objects_and_replace_the_rest() {
    for (text, expected) in [
        ("a = 1\na = 2", json!({"a": 2})),
        (
            "a {x = 1, y = 1}\na {y = 2}",
            json!({"a": {"x": 1, "y": 2}}),
        ),
        ("a {x = 1}\na = 3\na {y = 2}", json!({"a": {"y": 2}})),
        ("a = {x = 1} {y = 2}", json!({"a": {"x": 1, "y": 2}})),
        ("a = [1] [2]", json!({"a": [1, 2]})),
        ("a = [1]\na += 2\na += 3", json!({"a": [1, 2, 3]})),
        ("a += 2", json!({"a": [2]})),
        ("o { a += 1 }\no { a += 2 }", json!({"o": {"a": [1, 2]}})),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn substitutions_mean_the_final_value() {
    for (text, expected) in [
        ("a = ${b}\nb = 1", json!({"a": 1, "b": 1})),
        ("a = ${b}\nb = 1\nb = 2", json!({"a": 2, "b": 2})),
        ("a = ${?none}\nb = 1", json!({"b": 1})),
        ("a = 1\na = ${?none}", json!({"a": 1})),
        (
            "dir = /x\nf = ${dir}/y.pem",
            json!({"dir": "/x", "f": "/x/y.pem"}),
        ),
        (
            "dir = /x\nf = ${dir}\"/y\"",
            json!({"dir": "/x", "f": "/x/y"}),
        ),
        ("p = /bin\np = ${p}\":/sbin\"", json!({"p": "/bin:/sbin"})),
        (
            "b {x = 1}\na = ${b} {y = 2}",
            json!({"b": {"x": 1}, "a": {"x": 1, "y": 2}}),
        ),
        (
            "b {x = 1}\na = ${b}\na {y = 2}",
            json!({"b": {"x": 1}, "a": {"x": 1, "y": 2}}),
        ),
        (
            "o { x = 1, y = ${o.x} }\no { x = 2 }",
            json!({"o": {"x": 2, "y": 2}}),
        ),
        ("l = [1]\nm = ${l} [2]", json!({"l": [1], "m": [1, 2]})),
        (
            "b = ${a.x}\na = ${c}\nc {x = 5}",
            json!({"b": 5, "a": {"x": 5}, "c": {"x": 5}}),
        ),
        (
            "a = 1\nl = [${a}, {b = ${a}}]",
            json!({"a": 1, "l": [1, {"b": 1}]}),
        ),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn an_authorization_file_as_puppet_ships_it() {
    let text = r#"
        authorization: {
            version: 1
            rules: [
                {
                    # Allow nodes to retrieve their own catalog
                    match-request: {
                        path: "^/puppet/v3/catalog/([^/]+)$"
                        type: regex
                        method: [get, post]
                    }
                    allow: "$1"
                    sort-order: 500
                    name: "puppetlabs v3 catalog from agents"
                },
                {
                    match-request: { path: "/pcp-broker/send", type: path,
                        query-params: { message_type: [
                            "http://puppetlabs.com/rpc_blocking_request"
                        ] } }
                    allow: [ { extensions: { pp_cli_auth: "true" } } ]
                    sort-order: 400
                    name: "pcp messages"
                }
            ]
        }
    "#;
    let rules = &value(text)["authorization"]["rules"];
    assert_eq!(
        rules[0]["match-request"]["path"],
        "^/puppet/v3/catalog/([^/]+)$"
    );
    assert_eq!(rules[0]["match-request"]["method"], json!(["get", "post"]));
    assert_eq!(rules[0]["allow"], "$1");
    assert_eq!(rules[1]["allow"][0]["extensions"]["pp_cli_auth"], "true");
    assert_eq!(rules[1]["sort-order"], 400);
}

#[test]
fn objects_keep_the_order_of_their_keys() {
    let document = value("z = 1\na = 2\nm { y = 1, b = 2 }");
    let keys: Vec<_> = document.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["z", "a", "m"]);
}
