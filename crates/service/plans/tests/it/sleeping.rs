//! Plans that wait for long: they leave memory and are loaded again.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use plans::{PlanCounts, PlanLaunch, PlansConfig};
use serde_json::json;
use store::{Clock, SystemClock};
use testkit::both;

use crate::world::{World, launch, quick};

both!(a_plan_that_asks_sleeps_and_wakes_even_after_a_restart);

const ASLEEP: PlanCounts = PlanCounts {
    running: 0,
    queued: 0,
    asleep: 1,
};

async fn sleeps(world: &World) {
    world
        .until("the plan sleeps", async || {
            world.plans().counts().await.unwrap() == ASLEEP
        })
        .await;
}

async fn a_plan_that_asks_sleeps_and_wakes_even_after_a_restart() {
    for restart in [false, true] {
        let mut world = World::new().await;
        let plan = world.run("asking").await;
        world.asks(plan).await;
        sleeps(&world).await;
        if restart {
            world.kill().await;
            world.start().await;
            assert_eq!(
                world.plans().counts().await.unwrap(),
                ASLEEP,
                "it was not evaluated"
            );
        }
        let step = "2".parse().unwrap();
        let yes = json!("yes");
        world
            .plans()
            .answer(plan, step, "ann", &yes, false)
            .await
            .unwrap();
        let expected = json!([{"n": 1}, "yes", {"n": 2}]);
        assert_eq!(world.over(plan).await, ("success".to_owned(), expected));
        world.check_ledger(&[plan]).await;
    }
}

#[tokio::test]
async fn an_answer_that_came_while_the_server_was_down_is_seen() {
    let mut world = World::new().await;
    let plan = world.run("asking").await;
    world.asks(plan).await;
    sleeps(&world).await;
    let store = world.store.clone();
    world.plans().shutdown().await;
    let answer = store::PlanAnswer {
        key: store::PlanStepKey {
            branch: String::new(),
            step: 2,
        },
        outcome: Some("\"late\"".to_owned()),
        sealed: None,
        event: store::NewPlanEvent {
            kind: "answered".to_owned(),
            at_ms: 1,
            details: "{}".to_owned(),
            message: String::new(),
        },
    };
    assert!(store.answer_plan_step(plan, &answer).await.unwrap());
    drop(store);
    world.kill().await;
    world.start().await;
    assert_eq!(world.over(plan).await.1[1], json!("late"));
}

#[tokio::test]
async fn more_plans_than_places_have_their_turns() {
    let world = World::with(PlansConfig {
        running_plans: 2,
        idle_when_full: Duration::ZERO,
        ..quick()
    })
    .await;
    let mut plans = Vec::new();
    for name in ["asking", "asking", "asking", "sleeper", "naps", "sequence"] {
        plans.push(world.run(name).await);
    }
    assert_eq!(world.over(plans[5]).await.0, "success");
    assert_eq!(world.over(plans[4]).await.0, "success");
    for plan in &plans[..3] {
        world.asks(*plan).await;
        let step = "2".parse().unwrap();
        world
            .plans()
            .answer(*plan, step, "ann", &json!(1), false)
            .await
            .unwrap();
        assert_eq!(world.over(*plan).await.0, "success");
    }
    sleeps(&world).await;
    world.plans().stop(plans[3], "ann", true).await.unwrap();
    world.check_ledger(&plans).await;
}

#[tokio::test]
async fn an_idle_plan_leaves_the_memory_while_its_job_goes_on() {
    let world = World::with(PlansConfig {
        idle: Duration::from_millis(1),
        ..quick()
    })
    .await;
    world.open.send_replace(false);
    let plan = world.run("sequence").await;
    sleeps(&world).await;
    world.open.send_replace(true);
    assert_eq!(world.over(plan).await.0, "success");
    world.check_ledger(&[plan]).await;
}

/// A machine whose clock jumps at each reading.
#[derive(Debug)]
struct Jumping {
    /// The size of each jump.
    step_ms: i64,
    readings: AtomicI64,
}

impl Clock for Jumping {
    fn now_ms(&self) -> i64 {
        let readings = self.readings.fetch_add(1, Ordering::Relaxed);
        SystemClock.now_ms() + self.step_ms * readings
    }

    fn steady_ms(&self) -> i64 {
        SystemClock.steady_ms()
    }
}

#[tokio::test]
async fn a_clock_that_is_set_neither_lengthens_a_sleep_nor_ends_a_plan() {
    const HOUR_MS: i64 = 3_600_000;
    for step_ms in [-HOUR_MS, HOUR_MS] {
        let mut world = World::new().await;
        world.kill().await;
        world.clock = Arc::new(Jumping {
            step_ms,
            readings: AtomicI64::new(1),
        });
        world.start().await;
        let launch = PlanLaunch {
            timeout: Some(Duration::from_secs(1_800)),
            ..launch("naps")
        };
        let plan = world.plans().run(&launch).await.unwrap();
        let (state, result) = world.over(plan).await;
        assert_eq!(state, "success", "{result}");
    }
}

#[tokio::test]
async fn a_clock_that_was_set_back_during_a_restart_does_not_lengthen_a_sleep() {
    const DAYS_MS: i64 = -3 * 86_400_000;
    #[derive(Debug)]
    struct Behind;
    impl Clock for Behind {
        fn now_ms(&self) -> i64 {
            SystemClock.now_ms() + DAYS_MS
        }

        fn steady_ms(&self) -> i64 {
            self.now_ms()
        }
    }
    let mut world = World::new().await;
    let plan = world.run("naps").await;
    world
        .until("it sleeps", async || {
            let journal = world.plans().journal(plan).await.unwrap();
            journal.iter().any(|row| row.step.until_ms.is_some())
        })
        .await;
    world.kill().await;
    world.clock = Arc::new(Behind);
    world.start().await;
    assert_eq!(world.over(plan).await.0, "success");
}
