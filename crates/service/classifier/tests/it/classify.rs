//! The groups of a node, its classification, and conflicts between groups.

use classifier::{GroupConflict, GroupRef};
use serde_json::{Value, json};

use crate::world::{ROOT, World, node};

testkit::both!(
    with_the_shipped_groups_every_node_is_in_production_without_classes,
    children_inherit_and_win_and_rules_add_up,
    a_group_without_a_rule_has_no_nodes_and_does_not_stand_in_its_childrens_way,
    leaves_that_disagree_are_a_conflict_with_names,
    trumping_environments_beat_others_and_each_other_not,
    the_agent_chooses_where_its_group_says_so,
    an_explanation_shows_every_value_and_where_it_comes_from,
);

fn names(groups: &[GroupRef]) -> Vec<&str> {
    groups.iter().map(|group| group.name.as_str()).collect()
}

async fn with_the_shipped_groups_every_node_is_in_production_without_classes() {
    let world = World::new().await;
    let given = world.classifier.classify(&node("web1", json!({}))).unwrap();
    assert_eq!(names(&given.groups), ["All Environments", "All Nodes"]);
    assert_eq!(given.environment.as_deref(), Some("production"));
    assert!(given.classes.is_empty() && given.parameters.is_empty());
    assert_eq!(world.classifier.groups().len(), 4);
}

async fn children_inherit_and_win_and_rules_add_up() {
    let world = World::new().await;
    let linux = world
        .group(
            "Linux",
            json!({
                "rule": ["=", ["fact", "kernel"], "Linux"],
                "classes": {"ntp": {"servers": ["a"], "panic": 0}, "ssh": {}},
                "variables": {"site": "x", "kept": 1},
                "config_data": {"sudo": {"purge": true}},
            }),
        )
        .await;
    let web = json!({
        "parent": linux.to_string(), "rule": ["~", "name", "^web"],
        "classes": {"ntp": {"servers": ["b"]}, "apache": {}}, "variables": {"site": "y"},
    });
    let web = world.group("Web", web).await;
    let given = world
        .classifier
        .classify(&node("web1", json!({"kernel": "Linux"})));
    let given = given.unwrap();
    assert_eq!(
        names(&given.groups),
        ["All Environments", "All Nodes", "Linux", "Web"]
    );
    assert_eq!(
        json!(given.classes),
        json!({"apache": {}, "ntp": {"panic": 0, "servers": ["b"]}, "ssh": {}})
    );
    assert_eq!(json!(given.parameters), json!({"kept": 1, "site": "y"}));
    assert_eq!(json!(given.config_data), json!({"sudo": {"purge": true}}));
    // The rule of the group matches, that of its parent does not.
    let bsd = node("web2", json!({"kernel": "FreeBSD"}));
    assert_eq!(
        names(&world.classifier.classify(&bsd).unwrap().groups).len(),
        2
    );
    let all = [node("web1", json!({"kernel": "Linux"})), bsd];
    let members = world.classifier.matching_groups(web, &all).unwrap();
    assert_eq!(members, ["web1".parse().unwrap()]);
    let rule = world.classifier.inherited_rule(web).unwrap();
    assert_eq!(
        rule.with_inherited.unwrap().to_json(),
        json!([
            "and",
            ["~", "name", "^web"],
            ["=", ["fact", "kernel"], "Linux"],
            ["~", "name", ".*"]
        ])
    );
    assert_eq!(
        rule.inventory_query.unwrap().unwrap(),
        json!([
            "and",
            ["~", "certname", "^web"],
            ["=", "facts.kernel", "Linux"]
        ])
    );
    assert_eq!(
        world.classifier.ancestors(web).unwrap(),
        [linux, ROOT.parse().unwrap()]
    );
}

async fn a_group_without_a_rule_has_no_nodes_and_does_not_stand_in_its_childrens_way() {
    let world = World::new().await;
    let parent = world
        .group("Parent", json!({"classes": {"base": {}}}))
        .await;
    let child = json!({"parent": parent.to_string(), "rule": ["=", "name", "a"]});
    world.group("Child", child).await;
    let given = world.classifier.classify(&node("a", json!({}))).unwrap();
    assert_eq!(
        names(&given.groups),
        ["All Environments", "All Nodes", "Child"]
    );
    assert!(given.classes.contains_key("base"));
    assert_eq!(
        world
            .classifier
            .inherited_rule(parent)
            .unwrap()
            .with_inherited,
        None
    );
    let node = node("a", json!({}));
    assert!(
        world
            .classifier
            .matching_groups(parent, [&node])
            .unwrap()
            .is_empty()
    );
}

async fn leaves_that_disagree_are_a_conflict_with_names() {
    let world = World::new().await;
    let everybody = json!(["~", "name", "."]);
    let base = json!({"rule": everybody, "classes": {"ntp": {"servers": "base"}}});
    let base = world.group("Base", base).await;
    let below = |value: &str| {
        json!({
            "parent": base.to_string(), "rule": everybody,
            "classes": {"ntp": {"servers": value}}, "variables": {"v": value},
            "config_data": {"c": {"p": value}},
        })
    };
    world.group("One", below("one")).await;
    let mut inherits = below("one");
    inherits["classes"] = json!({});
    world.group("Two", inherits).await;
    let conflict = world
        .classifier
        .classify(&node("a", json!({})))
        .unwrap_err();
    let shown = json!(conflict);
    // Variables and configuration data are equal in both groups.
    assert_eq!(shown.as_object().unwrap().len(), 1, "{shown}");
    let claims = shown["classes"]["ntp"]["servers"].as_array().unwrap();
    let claim = |value: &str, from: &str, by: &str| {
        claims.iter().any(|claim| {
            claim["value"] == value
                && claim["from"]["name"] == from
                && claim["defined_by"]["name"] == by
        })
    };
    assert_eq!(claims.len(), 2);
    assert!(
        claim("one", "One", "One") && claim("base", "Two", "Base"),
        "{shown}"
    );
    let text = conflict.to_string();
    assert!(
        text.contains("ntp[servers]: \"one\" by \"One\", \"base\" by \"Base\""),
        "{text}"
    );
    assert_eq!(
        conflict.describe_without_values(),
        "the groups of a do not agree; ntp[servers]: by \"One\", by \"Base\""
    );
}

async fn trumping_environments_beat_others_and_each_other_not() {
    let world = World::new().await;
    let everybody = json!(["~", "name", "."]);
    let dev = json!({"rule": everybody, "environment": "dev"});
    world.group("Dev", dev).await;
    let of = |result: Result<classifier::NodeClassification, Box<GroupConflict>>| {
        result.map(|given| given.environment)
    };
    let a = node("a", json!({}));
    // "All Environments" is a leaf group, and its environment trumps.
    let given = of(world.classifier.classify(&a)).unwrap();
    assert_eq!(given.as_deref(), Some("production"));
    let test = json!({"rule": everybody, "environment": "test", "environment_trumps": true});
    world.group("Test", test).await;
    let conflict = world.classifier.classify(&a).unwrap_err();
    let values: Vec<Value> = conflict
        .environment
        .iter()
        .map(|claim| claim.value.clone())
        .collect();
    assert_eq!(values, [json!("production"), json!("test")]);
    assert_eq!(
        conflict.describe_without_values(),
        "the groups of a do not agree; the environment: \"production\" by \"All Environments\", \
         \"test\" by \"Test\"",
        "an environment is no secret"
    );
}

async fn the_agent_chooses_where_its_group_says_so() {
    let world = World::new().await;
    let groups = world.classifier.groups();
    let agents = groups
        .iter()
        .find(|group| group.environment == "agent-specified");
    let id = agents.unwrap().id;
    world
        .classifier
        .pin(id, vec!["a".to_owned()], classifier::UnrestrictedEditor)
        .await
        .unwrap();
    let mut a = node("a", json!({}));
    let given = world.classifier.classify(&a).unwrap();
    assert!(given.agent_specified);
    assert_eq!(given.environment, None);
    a.requested_environment = Some("feature".to_owned());
    let given = world.classifier.classify(&a).unwrap();
    assert_eq!(given.environment.as_deref(), Some("feature"));
    // Agents of other groups may not choose the environment.
    let mut b = node("b", json!({}));
    b.requested_environment = Some("feature".to_owned());
    let given = world.classifier.classify(&b).unwrap();
    assert_eq!(given.environment.as_deref(), Some("production"));
}

async fn an_explanation_shows_every_value_and_where_it_comes_from() {
    let world = World::new().await;
    let rule = json!([
        "or",
        [">", ["fact", "cpus"], "4"],
        ["not", ["=", ["fact", "x"], "1"]]
    ]);
    let keys = json!({"rule": rule, "classes": {"big": {"size": 1}}});
    let id = world.group("Big", keys).await;
    let explained = world.classifier.explain(&node("a", json!({"cpus": 8})));
    assert_eq!(
        explained.matches[&id],
        json!({"value": true, "form": ["or",
            {"value": true, "form": [">", {"path": ["fact", "cpus"], "value": 8}, "4"]},
            {"value": true, "form": ["not",
                {"value": false, "form": ["=", {"path": ["fact", "x"], "value": null}, "1"]}]},
        ]})
    );
    let sources = &explained.sources["classes"]["big"];
    assert_eq!(sources["size"], json!({"value": 1, "sources": [id]}));
    assert_eq!(explained.leaves.len(), 2);
    assert!(explained.outcome.is_ok());
}
