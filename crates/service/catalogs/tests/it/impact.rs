//! Two versions for many nodes.

use catalogs::{CatalogSettings, CodeImpactRequest, ImpactVersion};

use crate::world::{World, caller, code_id};

#[tokio::test]
async fn nodes_are_grouped_by_the_changes_between_two_versions() {
    let world = World::new(CatalogSettings::default()).await;
    world.deploy(
        '1',
        "notify { 'a': } if $trusted['certname'] == 'n9' { fail('old') }",
    );
    world.write_version(
        '2',
        "case $trusted['certname'] {
           'n1', 'n3': { notify { 'b': } }
           'n2':       { fail('new') }
           'n9':       { fail('old') }
           default:    { notify { 'a': } }
         }",
    );
    let version = |code_id| ImpactVersion {
        environment: "production".parse().unwrap(),
        code_id,
    };
    let names = ["n1", "n2", "n3", "n4", "n9", "unknown1", "unknown2"];
    let request = CodeImpactRequest {
        before: version(None),
        after: version(Some(code_id('2'))),
        nodes: names.iter().map(|name| name.parse().unwrap()).collect(),
        caller: caller("ann"),
    };
    let impact = world.catalogs.impact(&request).await.unwrap();
    assert_eq!(impact.code_ids, (Some(code_id('1')), Some(code_id('2'))));
    assert_eq!(impact.groups.equal, 2);
    let groups = impact.groups.sorted();
    let nodes: Vec<&[String]> = groups.iter().map(|it| it.nodes.as_slice()).collect();
    let expected: [&[&str]; 3] = [&["unknown1", "unknown2"], &["n2"], &["n1", "n3"]];
    assert_eq!(nodes, expected);
    assert!(
        groups[0].changes[0].contains("no facts are known"),
        "{:?}",
        groups[0].changes
    );
    assert!(groups[1].changes[0].starts_with("fails: Evaluation Error: "));
    assert_eq!(groups[2].changes, ["- Notify[a]", "+ Notify[b]"]);
}
