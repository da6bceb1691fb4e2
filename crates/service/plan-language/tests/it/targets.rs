//! Specifications of targets.

use serde_json::json;

use crate::world::{World, body, failure, value};

async fn names(spec: &str) -> serde_json::Value {
    value(body(&format!("return get_targets({spec})")).await)
}

#[tokio::test]
async fn names_lists_globs_groups_and_queries() {
    for (spec, expected) in [
        ("'a, b c,a'", json!(["a", "b", "c"])),
        ("['a', ['b', Target.new('c')]]", json!(["a", "b", "c"])),
        ("'all'", json!(["a", "b", "c"])),
        ("'[ab]*'", json!(["a", "b"])),
        ("'group:some'", json!(["b", "c"])),
        ("'some'", json!(["b", "c"])),
        ("['a', 'some']", json!(["a", "b", "c"])),
        ("'a,some'", json!(["a", "b", "c"])),
        ("'nodes[certname] { }'", json!(["a", "b", "c"])),
        (
            "Target.new({'name' => 'x', 'uri' => 'ssh://u@h'})",
            json!(["x"]),
        ),
    ] {
        assert_eq!(names(spec).await, expected, "{spec}");
    }
    let text =
        "add_to_group('a,c', 'mine') remove_from_group('a', 'mine') return get_targets('mine,b')";
    assert_eq!(value(body(text).await), json!(["c", "b"]));
}

#[tokio::test]
async fn what_stands_for_no_targets_says_why() {
    for (spec, expected) in [
        ("'group:none'", "there is no node group none"),
        (
            "'nodes[certname] { wrong }'",
            "PuppetDB says that the query is wrong",
        ),
    ] {
        let (kind, msg) = failure(body(&format!("get_targets({spec})")).await);
        assert_eq!(
            (kind.as_str(), msg.as_str()),
            ("bolt.inventory/validation-error", expected)
        );
    }
    for (spec, expected) in [
        ("'a,b'", "'a,b' refers to 2 targets"),
        ("'some'", "'some' refers to 2 targets"),
        ("['a', 'b']", "'[\"a\", \"b\"]' refers to 2 targets"),
    ] {
        let (kind, msg) = failure(body(&format!("get_target({spec})")).await);
        assert_eq!(
            (&*kind, &*msg),
            ("bolt.inventory/validation-error", expected)
        );
    }
    let (kind, msg) = failure(body("get_targets('zz*')").await);
    assert_eq!(kind, "bolt.inventory/wildcard-error");
    assert_eq!(msg, "Found 0 targets matching wildcard pattern zz*");
}

#[tokio::test]
async fn a_target_keeps_what_it_was_made_with_under_its_name() {
    let text = "Target.new('name' => 'n1', 'uri' => 'ssh://h', 'vars' => { 'v' => 1 }, \
                'facts' => { 'f' => 2 }, 'features' => ['x'], 'config' => { 'transport' => 'ssh' }, \
                'plugin_hooks' => { 'puppet_library' => { 'plugin' => 'p' } }, 'target_alias' => 'uno')\n\
                $t = get_target('n1')\n\
                return [$t.vars, $t.facts, $t.features, $t.config, $t.plugin_hooks, $t.uri, \
                get_target('uno').name, get_targets('all')]";
    let expected = json!([
        {"v": 1}, {"f": 2}, ["x"], {"transport": "ssh"},
        {"puppet_library": {"plugin": "p"}}, "ssh://h", "n1", ["a", "b", "c", "n1"]
    ]);
    assert_eq!(value(body(text).await), expected);
}

#[tokio::test]
async fn a_node_group_that_a_plan_changes_has_its_nodes_first() {
    let text = "add_to_group('a', 'some') return get_targets('some')";
    assert_eq!(value(body(text).await), json!(["b", "c", "a"]));
    let text = "remove_from_group('b', 'some') return get_targets('some')";
    assert_eq!(value(body(text).await), json!(["c"]));
}

#[tokio::test]
async fn nodes_are_asked_for_with_the_rights_of_the_plans_owner() {
    for call in [
        "get_targets('nodes[certname] { }')",
        "get_targets('all')",
        "get_targets('[ab]*')",
        "get_targets(['a', ['group:some']])",
        "get_target('a*')",
        "add_to_group('all', 'mine')",
        "remove_from_group('group:some', 'mine')",
        "run_task('m::echo', 'nodes[certname] { }')",
        "run_command('true', 'group:some')",
        "wait_until_available('all')",
        "puppetdb_query('nodes { }')",
        "puppetdb_fact(['a'])",
    ] {
        let plan = format!("plan m::p() {{\n{call}\n}}");
        let world = World::new(&[("m/plans/p.pp", &plan)]).await;
        let number = world.begin_as("of-another", "m::p", json!({}), None).await;
        let (_, msg) = failure(world.over(number).await);
        assert_eq!(msg, "admin lacks a permission", "{call}");
        assert_eq!(world.nodes.ran(), [""; 0], "{call}");
    }
}

#[tokio::test]
async fn puppetdb_is_asked() {
    let text = "return [puppetdb_query('nodes { }')[0], puppetdb_fact(['a', 'b'])]";
    let expected = json!([{"certname": "a"}, {"a": {"os": "Debian"}, "b": {}}]);
    assert_eq!(value(body(text).await), expected);
    assert_eq!(
        failure(body("puppetdb_query('wrong')").await).0,
        "bolt/puppetdb-error"
    );
}

#[tokio::test]
async fn what_a_method_is_given_is_evaluated_once() {
    let plan = "plan m::p() { $t = get_target('a')\n\
                $t.set_var('v', run_task('m::echo', $t).first['node'])\n\
                return $t.vars['v'] }";
    let world = World::new(&[("m/plans/p.pp", plan)]).await;
    assert_eq!(value(world.run("m::p", json!({})).await), "a");
    assert_eq!(world.nodes.ran(), ["a m::echo"]);
}
