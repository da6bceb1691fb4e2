//! Values that a plan unwrapped from `Sensitive` reach nodes, and are stored nowhere else on the
//! server.

use plans::PlanPreviewMode;
use serde_json::json;

use crate::world::World;

/// A secret with characters that JSON and shells escape.
const CANARY: &str = "can'ary \"7\" & x";

/// Checks that neither files of the server, the database included, nor texts shown to users contain
/// the secret in any form.
async fn assert_nowhere(world: &World, plan: i64) {
    let kept = world.plans().journal(plan).await.unwrap();
    let row = world.store.plan_job(plan).await.unwrap();
    let events = world.store.plan_events(plan, 0, 1_000).await.unwrap();
    let shown = format!("{kept:?} {row:?} {events:?}");
    for text in [
        CANARY.to_owned(),
        json!(CANARY).to_string(),
        CANARY.replace('\'', r"'\''"),
        "can'ary".to_owned(),
        r"can'\\''ary".to_owned(),
    ] {
        assert!(!shown.contains(&text), "{text}: {shown}");
        assert_eq!(world.files_with(&text), Vec::<std::path::PathBuf>::new());
    }
}

const PLAN: &str = r#"
plan m::p(Sensitive[String] $secret) {
  $bare = $secret.unwrap
  $command = run_command("true --pw ${bare}", 'a', "with ${bare}", _env_vars => { 'A' => $bare, 'B' => $secret })
  $script = run_script('m/say.sh', 'a', arguments => [$bare, $secret], _env_vars => { 'A' => [$secret] })
  $task = run_task('m::takes', 'a', it => "x${bare}")
  $with = run_task_with('m::takes', 'a') |$t| { { it => [$bare] } }
  write_file("pw=${bare}\n", '/etc/app', 'a')
  out::message("it is ${bare}")
  log::warn({ $bare => $bare })
  $secret.unwrap |$inner| { run_command("true ${inner}", 'old') }
  $answer = prompt("is it ${bare}?")
  $failed = catch_errors() || { fail_plan("no ${bare}", 'm/no', { 'was' => $bare }) }
  run_command("exit 1; ${bare}", 'a', _catch_errors => true)
  out::message($failed)
  return [$command, $script, $failed, $bare]
}
"#;

#[tokio::test]
async fn sensitive_values_unwrapped_into_a_command_are_sealed() {
    let mut world = World::new(&[("m/plans/p.pp", PLAN), ("m/files/say.sh", "#!/bin/sh\n")]).await;
    // Nodes that repeat requests in their output would store it in their results.
    world.nodes.be_silent();
    let plan = world
        .launch_sealed("m::p", json!({"secret": CANARY}), &["secret"])
        .await;
    let waits = async || {
        let steps = world.plans().journal(plan).await.unwrap();
        steps
            .iter()
            .any(|row| row.step.kind == "prompt")
            .then_some(())
    };
    world.until("the plan asks", waits).await;
    assert_nowhere(&world, plan).await;

    // The plan is evaluated again, with the same result.
    world.stop().await;
    world.start().await;
    let steps = world.plans().journal(plan).await.unwrap();
    let asked = steps.iter().find(|row| row.step.kind == "prompt").unwrap();
    let step = asked.step.key.step.to_string().parse().unwrap();
    let (plans, yes) = (world.plans(), json!("yes"));
    plans.answer(plan, step, "ann", &yes, false).await.unwrap();
    let (state, result) = world.over(plan).await;
    assert_eq!(state, "success", "{result:#}");
    assert_nowhere(&world, plan).await;

    // Nodes got it unchanged, but not as an argument of a program.
    let commands = world.nodes.asked("command run_with");
    assert!(
        !commands[0]["run"].to_string().contains("can'"),
        "{commands:?}"
    );
    assert_eq!(
        commands[0]["env"]["_TUTTI_LINE"],
        json!(format!("true --pw {CANARY}"))
    );
    for name in ["A", "B"] {
        assert_eq!(commands[0]["env"][name], CANARY);
    }
    let scripts = world.nodes.asked("script run_with");
    assert_eq!(scripts[0]["run"]["arguments"], json!([CANARY, CANARY]));
    assert_eq!(scripts[0]["env"]["A"], json!(json!([CANARY]).to_string()));
    assert_eq!(world.nodes.asked("file place").len(), 1);
    let jobs = world.job_options().await;
    assert!(
        jobs.iter()
            .any(|it| it["params"]["command"] == jobs::REDACTED),
        "{jobs:?}"
    );
}

#[tokio::test]
async fn a_plan_that_fails_with_an_unwrapped_value_does_not_tell_it() {
    let plan = "plan m::p(Sensitive[String] $secret) {\n\
                run_command(\"exit 1; ${secret.unwrap}\", 'a')\n}";
    let world = World::new(&[("m/plans/p.pp", plan)]).await;
    world.nodes.be_silent();
    let plan = world
        .launch_sealed("m::p", json!({"secret": CANARY}), &["secret"])
        .await;
    let (state, result) = world.over(plan).await;
    assert_eq!(state, "failure");
    let msg = result["msg"].as_str().unwrap();
    assert!(msg.contains(jobs::REDACTED), "{msg}");
    assert_nowhere(&world, plan).await;
}

#[tokio::test]
async fn repeated_runs_of_puppet_do_not_tell_an_unwrapped_value() {
    for repeated in [
        "until_converged => true",
        "environment => 'production', multi_pass => true",
    ] {
        let plan = format!(
            "plan m::p(Sensitive[String] $secret) {{\n\
             run_puppet('a', \"with ${{secret.unwrap}}\", {repeated})\n}}"
        );
        let world = World::new(&[("m/plans/p.pp", &plan)]).await;
        let plan = world
            .launch_sealed("m::p", json!({"secret": CANARY}), &["secret"])
            .await;
        let (state, result) = world.over(plan).await;
        assert_eq!(state, "success", "{result:#}");
        let options = &world.job_options().await[0];
        assert_eq!(options["description"], format!("with {}", jobs::REDACTED));
        assert_nowhere(&world, plan).await;
    }
}

#[tokio::test]
async fn a_preview_does_not_tell_an_unwrapped_value() {
    let world = World::new(&[("m/plans/p.pp", PLAN), ("m/files/say.sh", "#!/bin/sh\n")]).await;
    let plan = world
        .look("m::p", json!({"secret": CANARY}), PlanPreviewMode::Show)
        .await;
    world.over(plan).await;
    let events = world.store.plan_events(plan, 0, 1_000).await.unwrap();
    let shown = format!("{events:?}");
    assert!(
        shown.contains("run_command") && shown.contains(jobs::REDACTED),
        "{shown}"
    );
    assert!(!shown.contains("can'"), "{shown}");
}
