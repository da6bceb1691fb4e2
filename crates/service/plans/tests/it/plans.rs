//! Plans from start to end, and the requests of users about them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plans::{
    BranchResult, PlanBranch, PlanError, PlanFault, PlanLaunch, PlanProgram, StepId, StepOutcome,
};
use serde_json::{Value, json};
use testkit::both;

use crate::programs::{steady, task};
use crate::world::{World, launch};

both!(
    plans_end_with_what_they_return,
    a_failed_plan_goes_on_where_it_failed,
    whoever_is_asked_answers_once,
);

fn step(text: &str) -> StepId {
    text.parse().unwrap()
}

async fn plans_end_with_what_they_return() {
    let world = World::new().await;
    let mut plans = Vec::new();
    for (name, result) in steady() {
        plans.push((world.run(name).await, name, result));
    }
    let asking = plans
        .iter()
        .find(|(_, name, _)| *name == "asking")
        .unwrap()
        .0;
    world.asks(asking).await;
    let yes = json!("yes");
    world
        .plans()
        .answer(asking, step("2"), "ann", &yes, false)
        .await
        .unwrap();
    for (plan, name, result) in &plans {
        assert_eq!(
            world.over(*plan).await,
            ("success".to_owned(), result.clone()),
            "{name}"
        );
    }
    let numbers: Vec<i64> = plans.iter().map(|(plan, ..)| *plan).collect();
    world.check_ledger(&numbers).await;
    let kinds = world.kinds(plans[0].0).await;
    let said = kinds.iter().filter(|kind| *kind == "out_message").count();
    let began = kinds.iter().filter(|kind| *kind == "task_start").count();
    assert_eq!((said, began), (8, 8));
    assert_eq!(kinds.last().map(String::as_str), Some("plan_finished"));
    let counts = world.plans().counts().await.unwrap();
    assert_eq!(counts, plans::PlanCounts::default());
    world.plans().shutdown().await;
}

async fn a_failed_plan_goes_on_where_it_failed() {
    let world = World::new().await;
    let plan = world.run("failing").await;
    let (state, error) = world.over(plan).await;
    assert_eq!(
        (state.as_str(), &error["kind"]),
        ("failure", &json!("bolt/run-failure"))
    );
    assert_eq!(world.ledger.ran().len(), 3);
    world.ledger.repair();
    let from = world.plans().resume(plan, "ann", None).await.unwrap();
    assert_eq!(from, Some(step("2")));
    let (state, result) = world.over(plan).await;
    assert_eq!(
        (state.as_str(), &result),
        ("success", &json!([{"n": 1}, {"n": 2}, {"n": 3}]))
    );
    // The first step was not run again; the second and third were.
    assert_eq!(
        world.ledger.ran().len(),
        3 + 1 + 2,
        "with the mark of the repair"
    );
    let again = world.plans().resume(plan, "ann", None).await;
    assert!(
        matches!(again, Err(PlanError::NotFailed { .. })),
        "{again:?}"
    );
    let kinds = world.kinds(plan).await;
    assert!(kinds.iter().any(|kind| kind == "plan_resumed"), "{kinds:?}");
}

async fn whoever_is_asked_answers_once() {
    let world = World::new().await;
    let plan = world.run("secret").await;
    world.asks(plan).await;
    let secret = json!("CANARY-of-the-answer");
    let plans = world.plans();
    let wrong = plans.answer(plan, step("7"), "ann", &secret, true).await;
    assert!(
        matches!(wrong, Err(PlanError::NotAsked { .. })),
        "{wrong:?}"
    );
    // The plan marks the answer as secret.
    plans
        .answer(plan, step("1"), "ann", &secret, false)
        .await
        .unwrap();
    let twice = plans.answer(plan, step("1"), "bob", &secret, false).await;
    assert!(
        matches!(
            twice,
            Err(PlanError::NotAsked { .. } | PlanError::Finished { .. })
        ),
        "{twice:?}"
    );
    assert_eq!(world.over(plan).await.1, json!(20));
    world.store.close().await;
    assert!(!world.database.holds("CANARY-of-the-answer").unwrap());
}

#[tokio::test]
async fn a_plan_that_is_stopped_stops_and_so_do_its_jobs_if_asked() {
    for jobs in [false, true] {
        let world = World::new().await;
        world.open.send_replace(false);
        let plan = world.run("sequence").await;
        world
            .until("a job is made", async || world.kinds(plan).await.len() > 1)
            .await;
        world.plans().stop(plan, "ann", jobs).await.unwrap();
        let (state, error) = world.over(plan).await;
        assert_eq!(
            (state.as_str(), &error["kind"]),
            ("failure", &json!("tutti/plan-stopped"))
        );
        let job = world.plans().journal(plan).await.unwrap();
        let job = job.iter().find_map(|row| row.job).unwrap();
        let state = world.store.job(job).await.unwrap().unwrap().state;
        assert_eq!(state, if jobs { "stopped" } else { "running" });
        world.plans().stop(plan, "ann", jobs).await.unwrap();
        world
            .until("it left the memory", async || {
                world.plans().counts().await.unwrap() == plans::PlanCounts::default()
            })
            .await;
    }
}

#[tokio::test]
async fn a_plan_whose_time_is_over_ends_with_its_jobs_wherever_it_is() {
    let mut world = World::new().await;
    world.open.send_replace(false);
    let within = |plan, time| PlanLaunch {
        timeout: Some(time),
        ..launch(plan)
    };
    let soon = std::time::Duration::from_millis(300);
    let works = world.plans().run(&within("sequence", soon)).await.unwrap();
    let sleeps = world.plans().run(&within("sleeper", soon)).await.unwrap();
    let later = soon * 1_000;
    let patient = world.plans().run(&within("sequence", later)).await.unwrap();
    world
        .until("a job is made", async || world.kinds(works).await.len() > 1)
        .await;
    // The deadline survives a restart.
    world.kill().await;
    world.start().await;
    for plan in [works, sleeps] {
        let (state, error) = world.over(plan).await;
        assert_eq!(
            (state.as_str(), &error["kind"]),
            ("failure", &json!("tutti/plan-timeout"))
        );
    }
    let job = world.plans().journal(works).await.unwrap();
    let job = job.iter().find_map(|row| row.job).unwrap();
    world
        .until("its job is stopped", async || {
            world.store.job(job).await.unwrap().unwrap().state == "stopped"
        })
        .await;
    assert_eq!(world.row(patient).await.state, "running");
    // The resumed plan has its full time again, and may be resumed before the engine has removed
    // it.
    world.plans().resume(sleeps, "ann", None).await.unwrap();
    assert_eq!(world.row(sleeps).await.state, "running");
    let (_, error) = world.over(sleeps).await;
    assert_eq!(error["kind"], "tutti/plan-timeout");
}

#[tokio::test]
async fn a_step_that_cannot_begin_is_an_outcome() {
    let world = World::new().await;
    let plan = world.run("refused").await;
    let expected = json!(["bolt/unknown-task", {"n": 2}]);
    assert_eq!(world.over(plan).await, ("success".to_owned(), expected));
}

#[tokio::test]
async fn a_plan_that_breaks_hurts_no_other() {
    let mut world = World::new().await;
    let mut broken = Vec::new();
    for (name, kind) in [
        ("panics", "tutti/plan-broken"),
        ("deadlock", "tutti/plan-deadlock"),
        ("greedy", "tutti/plan-limit"),
        ("nowhere", "bolt/unknown-plan"),
    ] {
        broken.push((world.run(name).await, name, kind));
    }
    let ignoring = world.run("ignores").await;
    let good = world.run("sequence").await;
    for (plan, name, kind) in broken {
        let (state, error) = world.over(plan).await;
        assert_eq!(
            (state.as_str(), &error["kind"]),
            ("failure", &json!(kind)),
            "{name}"
        );
    }
    assert_eq!(world.over(good).await.0, "success");
    // The plan is unwound by force, so its thread can be joined.
    world.asks(ignoring).await;
    world.plans().stop(ignoring, "ann", false).await.unwrap();
    world.plans().shutdown().await;
    world.kill().await;
}

#[tokio::test]
async fn a_wait_that_is_too_long_is_given_up() {
    let world = World::new().await;
    let plan = world.run("impatient").await;
    let expected = json!([true, {"n": 1}]);
    assert_eq!(world.over(plan).await, ("success".to_owned(), expected));
}

/// A plan that takes another step each time it is evaluated.
fn unsteady(other: &AtomicBool, branch: &PlanBranch<'_>) -> BranchResult {
    let n = if other.load(Ordering::Relaxed) { 2 } else { 1 };
    task(branch, "works", n)?;
    Ok(Value::Null)
}

#[tokio::test]
async fn a_plan_that_takes_another_way_is_stopped_and_shows_where() {
    let mut world = World::new().await;
    world.plans().shutdown().await;
    world.kill().await;
    let other = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&other);
    world.programs = Arc::new(move |_: &PlanLaunch| {
        let flag = Arc::clone(&flag);
        let program = move |branch: &mut PlanBranch<'_>| unsteady(&flag, branch);
        let program: Arc<dyn PlanProgram> = Arc::new(program);
        Ok::<_, PlanFault>(program)
    });
    world.start().await;
    world.open.send_replace(false);
    let plan = world.run("any").await;
    world
        .until("a job is made", async || {
            !world.kinds(plan).await.is_empty()
        })
        .await;
    world.kill().await;
    other.store(true, Ordering::Relaxed);
    world.open.send_replace(true);
    world.start().await;
    let (state, error) = world.over(plan).await;
    assert_eq!(
        (state.as_str(), &error["kind"]),
        ("failure", &json!(plans::KIND_DIVERGED))
    );
    let msg = error["msg"].as_str().unwrap();
    assert!(
        msg.contains("- arguments {\"task\":\"works\",\"n\":1}"),
        "{msg}"
    );
    assert!(
        msg.contains("+ arguments {\"task\":\"works\",\"n\":2}"),
        "{msg}"
    );
    assert_eq!(
        world.store.plan_steps(plan).await.unwrap().len(),
        2,
        "states of one job"
    );
}

#[tokio::test]
async fn what_is_noted_is_not_computed_again() {
    let mut world = World::new().await;
    world.plans().shutdown().await;
    world.kill().await;
    let computed = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&computed);
    world.programs = Arc::new(move |_: &PlanLaunch| {
        let count = Arc::clone(&count);
        let program = move |branch: &mut PlanBranch<'_>| {
            let count = Arc::clone(&count);
            let noted = branch.note("time", "", json!(null), move || {
                StepOutcome::ok(json!(count.fetch_add(1, Ordering::Relaxed)))
            })?;
            task(branch, "works", 1)?;
            Ok((*noted.value).clone())
        };
        let program: Arc<dyn PlanProgram> = Arc::new(program);
        Ok::<_, PlanFault>(program)
    });
    world.start().await;
    world.open.send_replace(false);
    let plan = world.run("any").await;
    world
        .until("a job is made", async || {
            !world.kinds(plan).await.is_empty()
        })
        .await;
    world.kill().await;
    world.open.send_replace(true);
    world.start().await;
    assert_eq!(world.over(plan).await, ("success".to_owned(), json!(0)));
    assert_eq!(computed.load(Ordering::Relaxed), 1);
}
