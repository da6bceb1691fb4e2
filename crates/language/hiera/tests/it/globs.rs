//! Patterns of paths. The expected paths are the results of Ruby's `Dir.glob` for these files.

use pcore::Value;

use crate::world::World;

const FILES: &[&str] = &[
    "a.yaml",
    "b.yaml",
    "c.json",
    ".hidden.yaml",
    "sub/a.yaml",
    "sub/deep/z.yaml",
    "sub2/x.yaml",
    "b1.yaml",
    "b2.yaml",
    "b-x.yaml",
    "B.yaml",
    "é.yaml",
    ".dir/y.yaml",
];

#[test]
fn patterns_match_what_they_match_in_ruby() {
    for (glob, expected) in [
        ("*.yaml", "B a b-x b b1 b2 é"),
        ("?.yaml", "B a b é"),
        ("b[12].yaml", "b1 b2"),
        ("b[^1].yaml", "b2"),
        ("b[0-9].yaml", "b1 b2"),
        ("{b,a}.yaml", "b a"),
        ("{sub,sub2}/*.yaml", "sub/a sub2/x"),
        ("**/*.yaml", "B a b-x b b1 b2 sub/a sub/deep/z sub2/x é"),
        ("sub/**/z.yaml", "sub/deep/z"),
        ("*/x.yaml", "sub2/x"),
        (".*.yaml", ".hidden"),
        ("sub", ""),
        ("nope/*.yaml", ""),
        ("a.yaml", "a"),
        ("{a,a}.yaml", "a"),
        ("b*x.yaml", "b-x"),
        ("**.yaml", "B a b-x b b1 b2 é"),
    ] {
        let config = format!("version: 5\nhierarchy:\n  - {{name: g, glob: '{glob}'}}\n");
        let mut world = World::of(&[("hiera.yaml", config.as_str())]);
        for file in FILES {
            let name = file.trim_end_matches(".yaml");
            world.write(&format!("data/{file}"), &format!("k: [\"{name}\"]\n"));
        }
        let found = match world.merged("k", "unique").unwrap() {
            Some(Value::Array(names)) => names.to_vec(),
            None => Vec::new(),
            other => panic!("{other:?}"),
        };
        let expected: Vec<Value> = expected.split_whitespace().map(Value::from).collect();
        assert_eq!(found, expected, "{glob}");
    }
}
