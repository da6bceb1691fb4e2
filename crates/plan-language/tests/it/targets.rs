//! What stands for targets.

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
    let (kind, _) = failure(body("get_target('a,b')").await);
    assert_eq!(kind, "bolt.inventory/validation-error");
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
