//! `apply`, `apply_prep` and the functions of resources, on nodes that only report.

use plans::PlanPreviewMode;
use serde_json::{Value, json};

use crate::world::{World, body, failure, value};

/// Applies `notify` with this message to `a`, and returns the message that arrived.
async fn message(before: &str, text: &str) -> Value {
    let plan = format!(
        "{before}\n$set = apply('a') {{ notify {{ 'n': message => {text} }} }}\n\
         return $set.first.report['resource_statuses']['Notify[n]']['message']"
    );
    value(body(&plan).await)
}

#[tokio::test]
async fn a_block_sees_the_variables_of_plan_and_target_and_facts_before_both() {
    for (before, text, expected) in [
        ("$x = 1", "$x", json!(1)),
        ("$x = 1", "$::x", json!(1)),
        ("set_var(get_target('a'), 'x', 2)", "$x", json!(2)),
        ("$x = 1\nset_var(get_target('a'), 'x', 2)", "$x", json!(1)),
        (
            "$x = 1\nadd_facts(get_target('a'), { 'x' => 3 })",
            "$x",
            json!(3),
        ),
        (
            "add_facts(get_target('a'), { 'x' => 3 })",
            "$facts['x']",
            json!(3),
        ),
        (
            "$name = 'n1'\n$title = 't1'",
            "\"${name} ${title}\"",
            json!("n1 t1"),
        ),
        ("$t = get_target('b')", "$t.name", json!("b")),
        ("", "$trusted['certname']", json!("a")),
        ("", "$environment", json!("production")),
        ("$list = [1, 2]", "$list.map |$n| { $n + 1 }", json!([2, 3])),
    ] {
        assert_eq!(message(before, text).await, expected, "{before}: {text}");
    }
}

#[tokio::test]
async fn hostile_facts_and_variables_do_no_harm() {
    let facts = "{ 'title' => 't', 'name' => 'n', 'facts' => 'f', 'trusted' => 'x', 'server_facts' => 1, \
                 '' => 1, 'a b' => 2, '::c' => 3, 'd::e' => 4, 'deep' => [[[[[[[{ 'x' => undef }]]]]]]], \
                 'environment' => 'other', \"\\u0000\" => \"\\u{202e}\", 'module_name' => 'm' }";
    let before = format!("add_facts(get_target('a'), {facts})");
    let text = "\"${trusted['certname']} ${facts['title']} ${title} ${module_name}\"";
    assert_eq!(message(&before, text).await, "a t main ");
}

#[tokio::test]
async fn each_target_has_its_own_result() {
    let text = "$set = apply(['a', 'b', 'c'], _catch_errors => true) {\n\
                case $trusted['certname'] {\n'a': { notify { 'fails': } }\n'b': { notify { 'garbage': } }\n\
                default: { include no::such } } }\n\
                return $set.map |$it| { [$it.target.name, $it.action, $it.error.kind, $it.error.msg] }";
    let told = value(body(text).await);
    assert_eq!(
        told[0],
        json!([
            "a",
            "apply",
            "bolt/resource-failure",
            "Resources failed to apply for a\n  Notify[fails]: it failed"
        ])
    );
    assert_eq!(told[1][2], "bolt/invalid-report", "{told}");
    assert_eq!(told[2][2], "bolt/apply-error", "{told}");
    let msg = told[2][3].as_str().unwrap();
    assert!(
        msg.starts_with("Apply failed to compile for c: ")
            && msg.contains("Could not find class ::no::such for c (file: ")
            && msg.contains("m/plans/p.pp, line: 6, column: "),
        "{msg}"
    );
}

#[tokio::test]
async fn a_failure_that_is_not_caught_has_the_messages_of_all_targets() {
    let text = "return catch_errors() || { apply(['a', 'b']) { notify { 'fails': } } }";
    let error = value(body(text).await);
    assert_eq!(error["kind"], "bolt/apply-failure", "{error}");
    assert_eq!(
        error["msg"],
        "Resources failed to apply for a\n  Notify[fails]: it failed\n\
         Resources failed to apply for b\n  Notify[fails]: it failed"
    );
    assert_eq!(error["details"]["action"], "apply");
    assert_eq!(error["details"]["result_set"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_node_block_of_a_target_is_evaluated_after_the_other_statements() {
    let text = "$x = 'of the plan'\n\
                $set = apply(['a', 'b', 'c'], _catch_errors => true) {\n\
                node 'a' { notify { 'of a': message => \"${x} ${y}\" } }\n\
                node /^(b)$/ { notify { 'of b': message => \"${x} ${1}\" } }\n\
                $y = 'of the block'\nnotify { 'all': } }\n\
                return $set.map |$it| { if $it.ok {\n\
                $it.report['resource_statuses'].map |$name, $status| { \"${name}: ${status['message']}\" } }\n\
                else { $it.error.msg } }";
    let told = value(body(text).await);
    let found = |index: usize, text: &str| {
        let told = told[index].to_string();
        assert!(told.contains(text), "{text}: {told}");
        assert!(told.contains("Notify[all]"), "{told}");
    };
    found(0, "Notify[of a]: of the plan of the block");
    found(1, "Notify[of b]: of the plan b");
    let failed = told[2].as_str().unwrap();
    assert!(
        failed.contains("Could not find node statement with name 'default' or 'c'"),
        "{failed}"
    );
}

#[tokio::test]
async fn the_default_node_block_is_for_targets_without_another() {
    let text = "$set = apply(['a', 'b']) {\n\
                node default { notify { 'n': message => 'default' } }\n\
                node 'a' { notify { 'n': message => 'own' } } }\n\
                return $set.map |$it| { $it.report['resource_statuses']['Notify[n]']['message'] }";
    assert_eq!(value(body(text).await), json!(["own", "default"]));
}

#[tokio::test]
async fn node_blocks_of_one_name_are_refused() {
    let text = "return apply('a', _catch_errors => true) {\n\
                node 'a' { }\nnode 'x' { }\nnode 'x' { } }.first.error.msg";
    let told = value(body(text).await);
    let told = told.as_str().unwrap();
    assert!(
        told.contains("Node 'x' is already defined (file: ") && told.contains("cannot redefine"),
        "{told}"
    );
}

#[tokio::test]
async fn functions_and_type_names_of_plans_are_not_known_in_blocks() {
    for (text, unknown) in [
        ("facts('a')", "facts"),
        ("vars('a')", "vars"),
        ("file::exists('/x')", "file::exists"),
        ("log::info('x')", "log::info"),
        ("Target('a')", "Target"),
        ("\"${ResultSet}\"", "ResultSet"),
    ] {
        let plan = format!(
            "return apply('a', _catch_errors => true) {{ notify {{ 'n': message => {text} }} }}.first.error.msg"
        );
        let told = value(body(&plan).await);
        let told = told.as_str().unwrap_or_default();
        assert!(told.contains(unknown), "{text}: {told}");
    }
}

#[tokio::test]
async fn options_and_empty_sets_are_those_of_other_actions() {
    let noop = "return apply('a', '_noop' => true) { notify { 'n': } }.first.report['noop']";
    assert_eq!(value(body(noop).await), true);
    let none = "return apply([]) { include no::such }";
    assert_eq!(value(body(none).await), json!([]));
    let user = "return apply('a', '_run_as' => '') { notify { 'n': } }";
    assert_eq!(failure(body(user).await).0, "bolt/validation-error");
}

#[tokio::test]
async fn a_catalog_that_is_too_large_is_the_error_of_its_target() {
    let text = "$set = apply(['a', 'b'], _catch_errors => true) {\n\
                if $trusted['certname'] == 'a' { Integer[1, 100000].each |$n| { notify { \"n${n}\": } } }\n}\n\
                return $set.map |$it| { [$it.ok, $it.ok ? { true => '', default => $it.error.kind }] }";
    let told = value(body(text).await);
    assert_eq!(
        told,
        json!([[false, "tutti/parameters-too-large"], [true, ""]])
    );
}

#[tokio::test]
async fn secrets_in_a_catalog_are_stored_nowhere_in_clear() {
    let plan = "plan m::p(Sensitive[String] $pw) {\n\
                $set = apply(['a', 'b']) { user { 'u': password => $pw }\nnotify { 'n': message => $pw.unwrap } }\n\
                return $set.ok\n}";
    let mut world = World::new(&[("m/plans/p.pp", plan)]).await;
    world.nodes.be_silent();
    let secret = ["canary", "8d1", "pw"].join("-");
    let number = world
        .launch_sealed("m::p", json!({"pw": secret}), &["pw"])
        .await;
    // The nodes answer without a report, so the plan fails.
    world.over(number).await;
    let asked = world.nodes.asked("task run");
    assert!(asked[0]["input"]["catalog"].to_string().contains(&secret));
    let options = world.job_options().await;
    assert_eq!(
        options[0]["params"]["catalog"],
        jobs::REDACTED,
        "{options:?}"
    );
    world.stop().await;
    assert_eq!(world.files_with(&secret), Vec::<std::path::PathBuf>::new());
}

#[tokio::test]
async fn facts_of_targets_are_there_after_apply_prep() {
    let text = "$set = apply_prep('a,b')\n\
                $t = get_target('a')\n\
                return [$set.ok, $t.facts['kernel'], facts(get_target('b'))['of'], $t.features]";
    let told = value(body(text).await);
    assert_eq!(told, json!([true, "Linux", "b", ["puppet-agent"]]));
}

#[tokio::test]
async fn resources_of_a_target_are_set_and_read() {
    let text = "$t = get_target('a')\n\
                $set = $t.set_resources([{ 'type' => 'file', 'title' => '/x', 'state' => { 'mode' => '0600' } },\n\
                  ResourceInstance.new('target' => $t, 'type' => User, 'title' => 'ann')])\n\
                return [$set[0].reference, $t.resource(File, '/x')['mode'], $t.resource('Foo', 'x'),\n\
                  $t.resources.keys, $set[1], $set[0] == $t.resource('file', '/x')]";
    let told = value(body(text).await);
    let ann = json!({
        "target": "a", "type": "User", "title": "ann", "state": {}, "desired_state": {}, "events": [],
    });
    let expected = json!([
        "File[/x]",
        "0600",
        null,
        ["File[/x]", "User[ann]"],
        ann,
        true
    ]);
    assert_eq!(told, expected);
    for (text, expected) in [
        ("set_resources(get_target('a'), {})", "no resource"),
        (
            "set_resources(get_target('a'), { 'target' => get_target('b'), 'type' => 'File', 'title' => 'x' })",
            "on target a",
        ),
        (
            "get_resources('a', 'not a type')",
            "not a type is not a valid resource type",
        ),
    ] {
        let (_, msg) = failure(body(text).await);
        assert!(msg.contains(expected), "{text}: {msg}");
    }
}

#[tokio::test]
async fn resources_of_nodes_are_queried() {
    let text = "return get_resources('a', [User, File['/x']]).first['resources'][0]['title']";
    assert_eq!(value(body(text).await), "root");
    let text = "return catch_errors() || { get_resources('c', 'User') }";
    let error = value(body(text).await);
    let own = &error["details"]["result_set"][0]["value"]["_error"];
    assert_eq!(own["kind"], "bolt/apply-error", "{error:#}");
}

#[tokio::test]
async fn resources_of_yaml_plans_are_chained_in_their_order() {
    let plan = "parameters:\n  n: { type: Integer }\nsteps:\n  - name: done\n    targets: [a, b]\n    resources:\n\
                \x20     - type: notify\n        title: \"n ${n}\"\n        parameters: { message: \"it's ${n}\" }\n\
                \x20     - notify: second\nreturn: $done\n";
    let world = World::new(&[("m/plans/y.yaml", plan)]).await;
    let told = value(world.run("m::y", json!({"n": 7})).await);
    let report = &told[1]["value"]["report"]["resource_statuses"];
    assert_eq!(report["Notify[n 7]"]["message"], "it's 7", "{told:#}");
    let asked = world.nodes.asked("task run");
    let catalog = asked
        .iter()
        .find_map(|params| params["input"].get("catalog"))
        .unwrap();
    let first = catalog["resources"].as_array().unwrap().iter();
    let mut first = first.filter(|it| it["title"] == "n 7");
    let first = first.next().unwrap();
    assert_eq!(
        first["parameters"]["before"],
        json!(["Notify[second]"]),
        "{first}"
    );
    assert_eq!(first["line"], 7, "{first}");
    let mut ran = world.nodes.ran();
    ran.dedup();
    assert_eq!(ran.len(), 4, "prepared and applied: {ran:?}");
}

#[tokio::test]
async fn a_preview_shows_the_block_and_sends_nothing() {
    let plan = "plan m::p() {\n$up = run_command('uptime', 'a').first['stdout']\n\
                $set = apply('a,b') { notify { 'n': message => $up } }\nreturn $set\n}";
    let world = World::new(&[("m/plans/p.pp", plan)]).await;
    let number = world
        .look("m::p", json!({}), PlanPreviewMode::RunNoop)
        .await;
    value(world.over(number).await);
    let told = world.told(number, "preview").await;
    assert_eq!(
        told,
        [
            "1. run_command uptime on a",
            "2. apply catalog on 2 targets"
        ]
    );
    assert_eq!(world.nodes.ran(), Vec::<String>::new());
    let details = world.details(number, "preview").await;
    assert_eq!(details[1]["depends_on"], json!([1]), "{details:#?}");
}

#[tokio::test]
async fn an_evaluation_that_is_repeated_compiles_nothing_again() {
    let plan = "plan m::p() {\n$set = apply('a') { include m::c }\nrun_task('m::hold', 'a')\n\
                return $set.first.report['status']\n}";
    let class = "class m::c { notify { 'n': } }";
    let mut world = World::new(&[("m/plans/p.pp", plan), ("m/manifests/c.pp", class)]).await;
    let number = world.launch("m::p", json!({})).await;
    world
        .until("the task is held", async || {
            (world.nodes.ran().len() == 2).then_some(())
        })
        .await;
    world.stop().await;
    // A compilation would fail now.
    std::fs::write(world.module_file("m/manifests/c.pp"), "class m::c {").unwrap();
    world.start().await;
    world.nodes.let_go();
    assert_eq!(value(world.over(number).await), "changed");
    assert_eq!(
        world.nodes.ran(),
        ["a apply_helpers::apply_catalog", "a m::hold"]
    );
}

/// A pxp-agent dies of a large parameter in an environment variable; the task takes standard input.
#[tokio::test]
async fn a_stock_agent_gets_a_large_catalog_as_a_task() {
    let plan = "plan m::p() {\n$set = apply('stock', _noop => true) {\n\
                Integer[1, 2000].each |$n| { notify { \"a notification with the number ${n}\": } }\n}\n\
                return [$set.first.report['status'], $set.first.report['noop']]\n}";
    let world = World::with_nodes(&[("m/plans/p.pp", plan)], &["stock"]).await;
    let told = value(world.run("m::p", json!({})).await);
    assert_eq!(told, json!(["changed", true]));
    let asked = &world.nodes.asked("task run")[0];
    assert!(asked["input"]["catalog"].to_string().len() > 256 << 10);
    assert_eq!(asked["metadata"]["input_method"], "stdin");
    let files = asked["files"].as_array().unwrap().iter();
    let names = files.filter_map(|file| file["filename"].as_str());
    // with the plugins of the modules that ship with the server
    let (plugins, names): (Vec<&str>, Vec<&str>) = names.partition(|it| it.contains("/lib/"));
    assert_eq!(
        names,
        ["apply_catalog.sh", "apply_helpers/files/apply_helper.rb"]
    );
    let is_shipped =
        |it: &str| it.starts_with("common/lib/") || it.starts_with("availability/lib/");
    assert!(plugins.iter().all(|it| is_shipped(it)), "{plugins:?}");
}

#[tokio::test]
async fn blocks_in_lambdas_and_parallel_branches_see_their_variables() {
    let text = "$outer = 'o'\n\
                return parallelize(['a', 'b', 'c']) |$t| {\n$own = \"${t}!\"\n\
                $set = apply($t) { $inner = 'i'\nnotify { 'n': message => \"${outer}${own}${inner}\" } }\n\
                $set.first.report['resource_statuses']['Notify[n]']['message'] }";
    assert_eq!(value(body(text).await), json!(["oa!i", "ob!i", "oc!i"]));
    let text = "$x = 1\nreturn catch_errors() || { apply('a') { $x = 2 } }";
    let error = value(body(text).await);
    let msg = error["msg"].as_str().unwrap();
    assert!(msg.contains("Cannot reassign variable '$x'"), "{msg}");
}
