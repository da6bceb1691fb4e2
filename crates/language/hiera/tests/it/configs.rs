//! Configurations of all versions, and their mistakes.

use pcore::Value;

use crate::world::World;

#[test]
fn mistakes_name_the_file() {
    for (text, expected) in [
        (
            "version: 6\n",
            "This runtime does not support hiera.yaml version 6",
        ),
        (
            "version: 5\nx: 1\n",
            "the configuration has an unrecognized key 'x'",
        ),
        (
            "version: 5\nhierarchy:\n  - {name: a, path: x, paths: [y]}\n",
            "Only one of 'path', 'paths', 'glob', 'globs', 'uri', 'uris', or 'mapped_paths' can \
             be defined in hierarchy 'a'",
        ),
        (
            "version: 5\nhierarchy:\n  - {name: a, data_hash: x, lookup_key: y}\n",
            "Only one of 'data_hash', 'lookup_key', 'data_dig', or 'hiera3_backend' can be \
             defined in hierarchy 'a'",
        ),
        (
            "version: 5\ndefaults: {datadir: d}\nhierarchy:\n  - {name: a, path: x}\n",
            "One of 'data_hash', 'lookup_key', 'data_dig', or 'hiera3_backend' must be defined \
             in hierarchy 'a'",
        ),
        (
            "version: 5\nhierarchy:\n  - {name: a, path: x}\n  - {name: a, path: y}\n",
            "Hierarchy name 'a' defined more than once.",
        ),
        (
            "version: 5\nhierarchy:\n  - {name: a, path: x, options: {path: y}}\n",
            "Option key 'path' used in hierarchy 'a' is reserved by Puppet",
        ),
        (
            "version: 5\ndefault_hierarchy: []\n",
            "'default_hierarchy' is only allowed in the module layer",
        ),
        (
            "version: 5\nhierarchy:\n  - {path: x}\n",
            "an entry of a hierarchy lacks its 'name'",
        ),
        (
            "version: 5\nhierarchy:\n  - {name: a, path: \"%{lookup('x')}\"}\n",
            "Interpolation using method syntax is not allowed in this context",
        ),
    ] {
        let mut world = World::of(&[("hiera.yaml", text)]);
        let fault = world.fault("k");
        assert!(fault.starts_with(expected), "{fault}");
    }
    let mut world = World::of(&[("hiera.yaml", "version: 6\n")]);
    assert!(world.fault("k").ends_with("(file: /env/hiera.yaml)"));
}

#[test]
fn a_plan_has_a_hierarchy_of_its_own() {
    let config = "version: 5\nhierarchy:\n  - {name: a, path: a.yaml}\nplan_hierarchy:\n  \
                  - {name: b, path: b.yaml}\n";
    let mut world = World::of(&[
        ("hiera.yaml", config),
        ("data/a.yaml", "k: compiler\n"),
        ("data/b.yaml", "k: plan\n"),
    ]);
    assert_eq!(world.text("k"), "compiler");
    world.plan = true;
    assert_eq!(world.text("k"), "plan");
}

#[test]
fn version_4() {
    let config = "version: 4\nhierarchy:\n  - {name: '%{role}', backend: yaml}\n  \
                  - {name: j, backend: json, path: x/j}\n";
    let mut world = World::of(&[
        ("hiera.yaml", config),
        ("data/web.yaml", "k: yaml\n"),
        ("data/x/j.json", "{\"j\": 1}"),
    ]);
    world.set("role", "web");
    assert_eq!(world.text("k"), "yaml");
    assert_eq!(world.lookup("j").unwrap(), Some(Value::Int(1)));
}

#[test]
fn version_3_is_read_in_the_global_layer() {
    let config = ":backends: [yaml, json]\n:hierarchy:\n  - '%{::role}'\n  - common\n:yaml:\n  \
                  :datadir: /old/%{environment}\n:json:\n  :datadir: /old/json\n";
    let mut world = World::of(&[
        ("/global/hiera.yaml", config),
        ("/old/production/web.yaml", "k: web\nlist: [a]\n"),
        ("/old/production/common.yaml", "k: common\nlist: [b]\n"),
        ("/old/json/common.json", "{\"j\": 1, \"list\": [\"c\"]}"),
    ]);
    world.set("role", "web");
    world.set("environment", "production");
    assert_eq!(world.text("k"), "web");
    assert_eq!(world.lookup("j").unwrap(), Some(Value::Int(1)));
    let all = ["a", "b", "c"].map(Value::from).to_vec();
    assert_eq!(
        world.merged("list", "unique").unwrap(),
        Some(Value::array(all))
    );
    let mut world = World::of(&[("hiera.yaml", ":backends: yaml\n")]);
    assert!(
        world
            .fault("k")
            .starts_with("hiera.yaml version 3 cannot be used")
    );
}

#[test]
fn without_configurations_there_is_nothing() {
    let mut world = World::of(&[]);
    assert_eq!(world.lookup("k").unwrap(), None);
}
