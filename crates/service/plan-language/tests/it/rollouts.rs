//! Canary rollouts in plans: batches, pauses and failures of the functions that act on nodes.

use serde_json::{Value, json};

use crate::world::{World, failure, value};

async fn body(body: &str) -> (String, Value) {
    let plan = format!("plan m::p() {{ {body} }}");
    World::new(&[("m/plans/p.pp", &plan)])
        .await
        .run("m::p", json!({}))
        .await
}

/// The task `m::half` fails on `b`.
#[tokio::test]
async fn nodes_behind_too_many_failures_never_run_and_their_results_say_so() {
    let options = "'_batch' => 1, '_max_failures' => 0, '_catch_errors' => true";
    let given = value(
        body(&format!(
            "$r = run_task('m::half', ['a', 'b', 'c'], {options})\n\
             return [$r.ok_set.names, $r.error_set.names, $r.find('c').error.kind, $r.find('c').error.msg]"
        ))
        .await,
    );
    assert_eq!(given[0], json!(["a"]));
    assert_eq!(given[1], json!(["b", "c"]));
    assert_eq!(given[2], "tutti/max-failures");
    assert_eq!(
        given[3],
        "nothing was sent to c: 1 node of the job failed (b), and max_failures is 0"
    );
}

#[tokio::test]
async fn every_function_that_acts_on_nodes_takes_batches() {
    for call in [
        "run_task('m::hold', 'a,b,c', '_batch' => '1,50%')",
        "run_task_with('m::hold', 'a,b,c', '_batch' => [1, 2]) |$t| { {} }",
    ] {
        let plan = format!("plan m::p() {{ return {call}.count }}");
        let world = World::new(&[("m/plans/p.pp", &plan)]).await;
        let plan = world.launch("m::p", json!({})).await;
        let sent = async || (world.nodes.ran().len() == 1).then_some(());
        world.until("the first runs", sent).await;
        let states = world.states_of_runs().await;
        assert_eq!(
            states.iter().filter(|state| *state == "ready").count(),
            2,
            "{call}"
        );
        world.nodes.let_go();
        assert_eq!(value(world.over(plan).await), 3);
    }
    for call in [
        "run_command('echo', 'a', '_batch' => 0)",
        "run_script('m/x.sh', 'a', '_batch' => 0)",
        "upload_file('m/x.sh', '/tmp/x', 'a', '_batch' => 0)",
        "write_file('x', '/tmp/x', 'a', '_batch' => 0)",
        "download_file('/tmp/x', 'x', 'a', '_batch' => 0)",
    ] {
        let world = World::new(&[
            ("m/plans/p.pp", &format!("plan m::p() {{ {call} }}")),
            ("m/files/x.sh", "true"),
        ])
        .await;
        let (kind, msg) = failure(world.run("m::p", json!({})).await);
        assert_eq!(kind, "bolt/validation-error", "{call}: {msg}");
        assert_eq!(
            msg,
            "_batch must not be 0: such a batch would start no node"
        );
    }
}

#[tokio::test]
async fn options_that_make_no_sense_are_refused() {
    for (options, expected) in [
        ("'_batch' => '5x'", "_batch cannot be 5x: "),
        ("'_max_failures' => -1", "_max_failures cannot be -1: "),
        (
            "'_max_failures' => '200%'",
            "_max_failures cannot be 200%: ",
        ),
        (
            "'_pause_between_batches' => 5",
            "_pause_between_batches needs batch",
        ),
        ("'_splay' => 0", "_splay must not be 0"),
        ("'_splay' => 5, '_batch' => 1", "_splay contradicts batch"),
    ] {
        let (kind, msg) = failure(body(&format!("run_task('m::echo', 'a', {options})")).await);
        assert_eq!(kind, "bolt/validation-error", "{options}");
        assert!(msg.starts_with(expected), "{msg}");
    }
    let (kind, msg) = failure(body("run_plan('m::p', '_max_failures' => 1)").await);
    assert_eq!(kind, "bolt/validation-error");
    assert!(
        msg.starts_with("run_plan: a plan is no action on nodes, so it takes no _max_failures"),
        "{msg}"
    );
}

#[tokio::test]
async fn steps_of_yaml_plans_are_rollouts_too() {
    let text = "\
steps:
  - name: half
    task: m::half
    targets: [a, b, c]
    batch: 1
    max_failures: 0
    concurrency: 1
    catch_errors: true
return: $half.error_set.names
";
    let world = World::new(&[("m/plans/p.yaml", text)]).await;
    assert_eq!(value(world.run("m::p", json!({})).await), json!(["b", "c"]));
    let text = "steps:\n  - plan: m::x\n    batch: 1\n";
    let world = World::new(&[("m/plans/p.yaml", text)]).await;
    let (kind, msg) = failure(world.run("m::p", json!({})).await);
    assert_eq!(kind, "bolt/invalid-plan");
    assert!(msg.contains("batch"), "{msg}");
}
