//! Sources of data: files of each kind, functions, encrypted values.

use pcore::Value;

use crate::world::World;

fn with(hierarchy: &str, files: &[(&str, &str)]) -> World {
    let mut world = World::of(files);
    world.write(
        "hiera.yaml",
        &format!("version: 5\nhierarchy:\n{hierarchy}"),
    );
    world
}

#[test]
fn files_of_each_kind() {
    let mut world = with(
        "  - {name: y, path: a.yaml}\n  - {name: j, data_hash: json_data, path: b.json}\n  \
         - {name: h, data_hash: hocon_data, path: c.conf}\n",
        &[
            ("data/a.yaml", "y: yes\n"),
            ("data/b.json", "{\"j\": [1, 2.5, null]}"),
            ("data/c.conf", "h { a = 1, b = ${h.a} }"),
        ],
    );
    assert_eq!(world.lookup("y").unwrap(), Some(Value::Bool(true)));
    let list = vec![Value::Int(1), Value::Float(2.5), Value::Undef];
    assert_eq!(world.lookup("j").unwrap(), Some(Value::array(list)));
    assert_eq!(world.lookup("h.b").unwrap(), Some(Value::Int(1)));
}

#[test]
fn functions_are_asked() {
    let mut world = with(
        "  - {name: a, data_hash: all}\n  - {name: k, lookup_key: by_key, uri: 'x://%{where}'}\n  \
         - {name: n, lookup_key: by_key}\n  - {name: d, data_dig: digging}\n",
        &[],
    );
    world.set("where", "here");
    assert_eq!(world.text("from"), "here");
    assert_eq!(world.text("known"), "x://here");
    assert_eq!(world.lookup("unknown").unwrap(), None);
    assert_eq!(world.text("root.sub.1"), "dug");
    for (hierarchy, expected) in [
        (
            "  - {name: x, data_hash: nope}\n",
            "Unable to find 'data_hash' function named 'nope'",
        ),
        (
            "  - {name: x, data_hash: list}\n",
            "Value returned from data_hash function 'list' has wrong \
             type, expects a Hash value, got Array",
        ),
        ("  - {name: x, data_hash: failing}\n", "out of order"),
        (
            "  - {name: x, data_hash: yaml_data}\n",
            "one of 'path', 'paths' 'glob', 'globs' or 'mapped_paths' must be declared",
        ),
    ] {
        let fault = with(hierarchy, &[]).fault("k");
        assert!(fault.starts_with(expected), "{fault}");
    }
}

#[test]
fn encrypted_values_are_decrypted_and_filled_in() {
    let eyaml = "  - {name: e, lookup_key: eyaml_lookup_key, path: e.eyaml, options: \
                 {pkcs7_private_key: /keys/private}}\n";
    let file = (
        "data/e.eyaml",
        "s: ENC[x]\nl: [{k: 'ENC[%{v}]'}]\np: '%{v}'\n",
    );
    let mut world = with(eyaml, &[file]);
    world.set("v", "filled");
    assert_eq!(world.text("s"), "x");
    assert_eq!(world.text("l.0.k"), "filled");
    assert_eq!(world.text("p"), "filled");
    let keyless = eyaml.replace("pkcs7_private_key", "other");
    assert_eq!(
        with(&keyless, &[file]).fault("s"),
        "hiera-eyaml backend error decrypting ENC[x] when looking up s in /env/data/e.eyaml. Error \
         was no key"
    );
}

#[test]
fn files_that_are_no_data() {
    let entry = "  - {name: y, path: a.yaml}\n";
    for (text, expected) in [
        (
            "- 1\n",
            "/env/data/a.yaml: file does not contain a valid yaml hash",
        ),
        ("a: [\n", "Unable to parse (/env/data/a.yaml): "),
        (
            "a: 2001-01-01\n",
            "Unable to parse (/env/data/a.yaml): Tried to load unspecified class: Date at line 1",
        ),
    ] {
        let fault = with(entry, &[("data/a.yaml", text)]).fault("k");
        assert!(fault.starts_with(expected), "{fault}");
    }
    let mut empty = with(entry, &[("data/a.yaml", "")]);
    assert_eq!(empty.lookup("k").unwrap(), None);
    assert_eq!(empty.warnings.len(), 1);
    let mut twice = with(entry, &[("data/a.yaml", "k: 1\nk: 2\n")]);
    assert_eq!(twice.lookup("k").unwrap(), Some(Value::Int(2)));
    assert_eq!(
        twice.warnings,
        ["/env/data/a.yaml:2: the key 'k' is already set in line 1; this one counts"]
    );
}

#[test]
fn a_file_is_parsed_once_until_it_changes() {
    let mut world = with(
        "  - {name: y, path: a.yaml}\n",
        &[("data/a.yaml", "k: 1\n")],
    );
    for _ in 0..3 {
        assert_eq!(world.lookup("k").unwrap(), Some(Value::Int(1)));
    }
    assert_eq!(world.reads, 2, "the configuration and the data");
    world.write("data/a.yaml", "k: 2\n");
    assert_eq!(world.lookup("k").unwrap(), Some(Value::Int(2)));
    assert_eq!(world.reads, 3);
}
