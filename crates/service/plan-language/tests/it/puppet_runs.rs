//! `run_puppet`: once, and until the nodes have converged.

use std::time::Duration;

use convergence::defaults::RERUN_LIMITS;
use convergence::{RerunLimits, RerunRate};
use plans::PlanPreviewMode;
use serde_json::{Value, json};

use crate::preview::Seen;
use crate::world::{World, failure, value};

async fn world(body: &str) -> World {
    World::new(&[("m/plans/p.pp", &format!("plan m::p() {{\n{body} }}"))]).await
}

async fn run(body: &str) -> (World, (String, Value)) {
    let world = world(body).await;
    let ended = world.run("m::p", json!({})).await;
    (world, ended)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn puppet_runs_once_with_the_options_of_the_command() {
    let body = "$r = run_puppet('a,b', 'why', environment => 'production', enforce_environment => false, \
                tags => 'web', _noop => true, _concurrency => 1)\n\
                return $r.map |$one| { [$one.target.name, $one['status'], $one.action] }";
    let (world, ended) = run(body).await;
    let expected = json!([["a", "unchanged", "puppet"], ["b", "changed", "puppet"]]);
    assert_eq!(value(ended), expected);
    let asked = world.nodes.asked("pxp-module-puppet run");
    for flag in ["--noop", "--tags", "web", "--environment", "production"] {
        let flags = asked[0]["flags"].as_array().unwrap();
        assert!(flags.contains(&json!(flag)), "{flags:?}");
    }
    assert_eq!(
        asked[0]["env"],
        json!([]),
        "the node repeats the run itself"
    );
    let options = &world.job_options().await[0];
    assert_eq!(
        (&options["description"], &options["concurrency"]),
        (&json!("why"), &json!(1))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_ends_the_plan_unless_it_is_caught() {
    let (_, ended) = run("run_puppet('a,old')").await;
    let (kind, msg) = failure(ended);
    assert_eq!(kind, "bolt/run-failure");
    assert_eq!(msg, "run_puppet 'puppet' failed on 1 target");
    let (_, ended) = run("return run_puppet('a,old', _catch_errors => true).ok_set.names").await;
    assert_eq!(value(ended), json!(["a"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_are_repeated_until_no_target_requests_another_one() {
    let body = "$r = run_puppet('a,b', until_converged => true)\n\
                return $r.map |$one| { [$one.target.name, $one['status']] }";
    let (world, ended) = run(body).await;
    assert_eq!(
        value(ended),
        json!([["a", "unchanged"], ["b", "unchanged"]])
    );
    assert_eq!(
        [world.nodes.puppet_runs("a"), world.nodes.puppet_runs("b")],
        [1, 3]
    );
    let waves = world.told(1, "wave_ended").await;
    let expected = [
        "1 changed, 1 unchanged; wave 2 in 0.01 s: 1 node (1 requested it)",
        "1 changed; wave 3 in 0.01 s: 1 node (1 requested it)",
    ];
    assert_eq!(waves, expected);
    let end = world.told(1, "convergence_ended").await;
    assert_eq!(end, ["1 unchanged; all nodes have converged after 3 waves"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn targets_that_import_changed_data_run_again() {
    let world =
        world("return run_puppet('a,b', until_converged => { max_waves => 5 }).count").await;
    world.imports.change(&["a"]);
    world.imports.change(&[]);
    world.imports.change(&["a"]);
    assert_eq!(value(world.run("m::p", json!({})).await), 2);
    assert_eq!(
        [world.nodes.puppet_runs("a"), world.nodes.puppet_runs("b")],
        [3, 3]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn targets_that_never_settle_are_named() {
    let (world, ended) = run("run_puppet('a,b,c', until_converged => true)").await;
    let (state, error) = ended;
    assert_eq!(
        (state.as_str(), &error["kind"]),
        ("failure", &json!("tutti/not-converged"))
    );
    assert_eq!(
        error["msg"],
        "run_puppet: 1 of 3 nodes has not converged after 3 waves"
    );
    let convergence = &error["details"]["convergence"];
    assert_eq!(convergence["state"], "stalled");
    assert_eq!(
        convergence["unsettled"]["c"]["resources"],
        json!(["Exec[x]"])
    );
    let runs = ["a", "b", "c"].map(|node| world.nodes.puppet_runs(node));
    assert_eq!(runs, [1, 3, 2], "the others go on");
    let (_, ended) = run("run_puppet('a,old', until_converged => true)").await;
    let (kind, msg) = failure(ended);
    assert_eq!(kind, "tutti/not-converged");
    assert_eq!(
        msg,
        "run_puppet: 1 of 2 nodes has not converged after 1 wave"
    );
    let body = "return run_puppet('a,c', until_converged => { max_waves => 1 }, _catch_errors => true).names";
    let (world, ended) = run(body).await;
    assert_eq!(value(ended), json!(["a", "c"]));
    assert_eq!(world.nodes.puppet_runs("c"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waves_go_on_after_a_restart_of_the_server() {
    let mut world =
        world("return run_puppet('b', until_converged => true, tags => 'hold').first['status']")
            .await;
    let plan = world.launch("m::p", json!({})).await;
    let held = async || (world.nodes.asked("pxp-module-puppet run").len() == 1).then_some(());
    world.until("the first wave is held", held).await;
    world.stop().await;
    world.start().await;
    world.nodes.let_go();
    assert_eq!(value(world.over(plan).await), "unchanged");
    assert_eq!(world.nodes.puppet_runs("b"), 3, "each wave once");
}

/// The plan `m::p` in a world in which a node has one rerun at once.
async fn with_one_rerun(per_hour: u32, body: &str) -> World {
    let limits = RerunLimits {
        node: RerunRate { burst: 1, per_hour },
        ..RERUN_LIMITS
    };
    let plan = format!("plan m::p() {{\n{body} }}");
    World::with_reruns(&[("m/plans/p.pp", &plan)], limits).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_plans_share_the_reruns_of_a_node() {
    let body = "run_puppet('a,c', until_converged => { max_delay => 0 })";
    let world = with_one_rerun(1, body).await;
    let plans = [
        world.launch("m::p", json!({})).await,
        world.launch("m::p", json!({})).await,
    ];
    let mut states = Vec::new();
    for plan in plans {
        let (_, error) = world.over(plan).await;
        assert_eq!(error["kind"], "tutti/not-converged", "{error:#}");
        let convergence = &error["details"]["convergence"];
        let unsettled = &convergence["unsettled"]["c"];
        assert_eq!(convergence["state"], unsettled["state"]);
        states.push((unsettled.clone(), world.told(plan, "reruns_left_out").await));
    }
    states.sort_by_key(|(node, _)| node["state"] == "throttled");
    let [(stalled, none), (throttled, left_out)] = states.try_into().unwrap();
    assert_eq!(stalled["state"], "stalled", "it had the rerun");
    assert_eq!(none, [""; 0]);
    assert_eq!(throttled["state"], "throttled");
    let reason = throttled["reason"].as_str().unwrap();
    let start = "its reruns are used up (in all jobs 1 at once, and 1 in an hour); the next one is possible at 20";
    assert!(reason.starts_with(start), "{reason}");
    assert_eq!(
        left_out,
        ["1 of 1 node left out of wave 2, without reruns: c"]
    );
    assert_eq!(
        world.nodes.puppet_runs("c"),
        3,
        "two first runs and a rerun"
    );
    let metrics = world.reruns.metrics();
    let figures = [&metrics.reruns, &metrics.waits, &metrics.left_out].map(|it| it.get());
    assert_eq!(figures, [1, 0, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wave_waits_for_its_reruns_over_a_restart_of_the_server() {
    let body = "return run_puppet('b', until_converged => true).first['status']";
    let mut world = with_one_rerun(60, body).await;
    let plan = world.launch("m::p", json!({})).await;
    let waits = async || {
        let told = world.told(plan, "reruns_delayed").await;
        told.into_iter().next()
    };
    let text = world.until("the third wave waits", waits).await;
    let (start, end) = ("wave 3 waits ", " s for reruns, until b has one");
    assert!(text.starts_with(start) && text.ends_with(end), "{text}");
    world.stop().await;
    assert_eq!(world.nodes.puppet_runs("b"), 2);
    world.advance(Duration::from_secs(60));
    world.start().await;
    assert_eq!(value(world.over(plan).await), "unchanged");
    assert_eq!(world.nodes.puppet_runs("b"), 3, "each wave once");
    assert_eq!(world.told(plan, "reruns_delayed").await.len(), 1);
    let metrics = world.reruns.metrics();
    assert_eq!([metrics.reruns.get(), metrics.waits.get()], [2, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_job_is_the_last_wave() {
    let world = world("run_puppet('b', until_converged => true, tags => 'hold')").await;
    let plan = world.launch("m::p", json!({})).await;
    let held = async || (world.nodes.asked("pxp-module-puppet run").len() == 1).then_some(());
    world.until("the first wave is held", held).await;
    world.stop_job(1).await;
    world.nodes.let_go();
    let (_, error) = world.over(plan).await;
    assert_eq!(error["kind"], "tutti/not-converged");
    assert_eq!(
        error["details"]["convergence"]["state"], "capped",
        "{error:#}"
    );
    assert_eq!(
        world.nodes.puppet_runs("b"),
        1,
        "although it requested another"
    );
}

/// The plan `m::p` in a world where the nodes `one` and `other` wait for each other.
async fn paired(one: &str, other: &str, body: &str) -> World {
    let world = world(body).await;
    world.applications.set_pair(one, other);
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn targets_that_wait_for_each_other_run_in_passes() {
    let body = "$r = run_puppet('a,b,c', 'why', environment => 'production', multi_pass => true)\n\
                return $r.map |$one| { [$one.target.name, $one['status']] }";
    let world = paired("a", "b", body).await;
    let ended = world.run("m::p", json!({})).await;
    let expected = json!([["a", "unchanged"], ["b", "changed"], ["c", "changed"]]);
    assert_eq!(value(ended), expected);
    let runs = ["a", "b", "c"].map(|node| world.nodes.puppet_runs(node));
    assert_eq!(runs, [2, 2, 1]);
    let started = world.told(1, "pass_started").await;
    let expected = [
        "pass 1 of 2: 3 nodes; a runs again for Part[1]; b runs again for Part[3]",
        "pass 2 of 2: 2 nodes",
    ];
    assert_eq!(started, expected);
    let options = world.job_options().await;
    assert_eq!(options.len(), 2);
    for options in options {
        assert_eq!(options["description"], "why");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passes_are_planned_once_and_go_on_after_a_restart_of_the_server() {
    let body = "return run_puppet('a,b', environment => 'production', multi_pass => true, tags => 'hold').names";
    let mut world = paired("a", "b", body).await;
    let plan = world.launch("m::p", json!({})).await;
    let held = async || (world.nodes.asked("pxp-module-puppet run").len() == 2).then_some(());
    world.until("the first pass is held", held).await;
    world.stop().await;
    // they do not wait for each other any more
    world.applications.set(&[]);
    world.start().await;
    world.nodes.let_go();
    assert_eq!(value(world.over(plan).await), json!(["a", "b"]));
    let runs = ["a", "b"].map(|node| world.nodes.puppet_runs(node));
    assert_eq!(runs, [2, 2], "each pass once");
    assert_eq!(world.applications.questions(), 1, "planned once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_is_skipped_because_of_an_earlier_pass_has_failed() {
    let options = "environment => 'production', multi_pass => true";
    let body = format!(
        "$r = run_puppet('a,b,old', {options}, _catch_errors => true)\n\
         return $r.map |$one| {{ [$one.target.name, $one.ok, $one.error.then |$e| {{ $e.kind }}] }}"
    );
    let world = paired("b", "old", &body).await;
    let ended = value(world.run("m::p", json!({})).await);
    assert_eq!(ended[0], json!(["a", true, null]));
    assert_eq!(ended[1], json!(["b", false, "tutti/dependency-failed"]));
    assert_eq!((&ended[2][0], &ended[2][1]), (&json!("old"), &json!(false)));
    assert_ne!(ended[2][2], "tutti/dependency-failed", "it ran itself");
    assert_eq!(world.nodes.puppet_runs("b"), 1, "in the first pass");

    let world = paired("b", "old", &format!("run_puppet('a,b,old', {options})")).await;
    let (state, error) = world.run("m::p", json!({})).await;
    assert_eq!(
        (state.as_str(), &error["kind"]),
        ("failure", &json!("tutti/passes-failed"))
    );
    assert_eq!(
        error["msg"],
        "run_puppet: 2 of 3 nodes did not succeed in 2 passes"
    );
    let skipped = &error["details"]["multi_pass"]["unsuccessful"]["b"];
    assert_eq!(
        (&skipped["state"], &skipped["failed"]),
        (&json!("skipped"), &json!("old"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn targets_without_passes_run_nothing() {
    let body = "run_puppet('a,b', environment => 'production', multi_pass => true)";
    let world = world(body).await;
    world
        .applications
        .set(&[("a", "Sql[a]", "Sql[b]"), ("b", "Sql[b]", "Sql[a]")]);
    let (_, msg) = failure(world.run("m::p", json!({})).await);
    assert!(msg.contains("components wait for each other"), "{msg}");
    assert_eq!(world.nodes.puppet_runs("a"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_options_are_refused_with_their_name() {
    for (options, part) in [
        (
            "tag => 'x'",
            "there is no option 'tag'; there are environment, ",
        ),
        ("until_converged => 7", "until_converged: invalid type"),
        ("until_converged => { waves => 7 }", "unknown field `waves`"),
        (
            "until_converged => { max_waves => 0 }",
            "must be from 1 to 100",
        ),
        (
            "environment => '../x'",
            "environment: an environment's name has",
        ),
        (
            "until_converged => true, _noop => true",
            "until_converged contradicts noop: no run",
        ),
        (
            "until_converged => true, use_cached_catalog => true",
            "until_converged contradicts use_cached_catalog: each",
        ),
        (
            "until_converged => true, usecacheonfailure => true",
            "until_converged contradicts usecacheonfailure: a run",
        ),
        (
            "no_noop => true, _noop => true",
            "no_noop contradicts _noop",
        ),
        ("tags => ['a']", "invalid type: sequence, expected a string"),
        (
            "multi_pass => true",
            "multi_pass contradicts an empty environment",
        ),
        (
            "multi_pass => 'yes', environment => 'production'",
            "multi_pass: must be true or false",
        ),
        (
            "multi_pass => true, environment => 'production', until_converged => true",
            "multi_pass contradicts until_converged: a pass",
        ),
        (
            "multi_pass => true, environment => 'production', quarantine => true",
            "multi_pass contradicts quarantine: a node",
        ),
        (
            "multi_pass => true, environment => 'production', _splay => 60",
            "multi_pass contradicts splay: each pass",
        ),
    ] {
        let (world, ended) = run(&format!("run_puppet('a', {options})")).await;
        let (kind, msg) = failure(ended);
        assert_eq!(kind, "bolt/validation-error", "{options}: {msg}");
        assert!(msg.contains(part), "{options}: {msg}");
        assert_eq!(world.nodes.puppet_runs("a"), 0);
    }
    // the job engine refuses these, for all entries
    for (options, part) in [
        ("barrier => true", "barrier: needs an environment"),
        (
            "barrier => true, environment => 'production', _batch => 1",
            "barrier: contradicts batch",
        ),
    ] {
        let (world, ended) = run(&format!("run_puppet('a', {options})")).await;
        let (_, msg) = failure(ended);
        assert!(msg.contains(part), "{options}: {msg}");
        assert_eq!(world.nodes.puppet_runs("a"), 0);
    }
    let (_, ended) = run("return run_puppet([], until_converged => true).count").await;
    assert_eq!(value(ended), 0);
}

#[tokio::test]
async fn a_preview_shows_the_runs() {
    let body =
        "$r = run_puppet('a,b', until_converged => true)\nout::message('then')\nreturn $r.names";
    let seen = Seen::of(body).await;
    assert_eq!(value(seen.ended.clone())["result"], json!(["a", "b"]));
    assert_eq!(seen.world.nodes.puppet_runs("a"), 0);
    let effect = &seen.effects[0];
    assert_eq!(effect["targets"], json!(["a", "b"]));
    assert_eq!(
        effect["parameters"]["until_converged"],
        json!({"strict": false})
    );
    let seen = Seen::files(&[], body, PlanPreviewMode::RunNoop).await;
    assert_eq!(seen.world.nodes.puppet_runs("a"), 0);
    let body = "run_puppet('a,b', environment => 'production', multi_pass => true)";
    let seen = Seen::of(body).await;
    assert_eq!(seen.effects[0]["parameters"]["multi_pass"], true);
    assert_eq!(seen.world.nodes.puppet_runs("a"), 0);
}
