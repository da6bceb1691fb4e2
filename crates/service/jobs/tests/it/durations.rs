//! Durations of jobs and runs while the machine's clock is set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jobs::JobsConfig;
use store::{Clock, SystemClock};

use crate::sim::Manner;
use crate::world::{World, patient, request};

/// Far more than any run of these tests takes.
const SET_BY_MS: i64 = 24 * 3_600 * 1_000;

/// The time of day, set by so many milliseconds.
#[derive(Debug, Default)]
struct SetClock(AtomicI64);

// === impl SetClock ===

impl Clock for SetClock {
    fn now_ms(&self) -> i64 {
        SystemClock.now_ms() + self.0.load(Ordering::SeqCst)
    }

    fn steady_ms(&self) -> i64 {
        SystemClock.steady_ms()
    }
}

/// Runs a job during which the clock is set by so much.
async fn clock_is_set(by_ms: i64) {
    let clock = Arc::new(SetClock::default());
    let world = World::with(JobsConfig {
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        ..patient()
    })
    .await;
    let nodes = world.agents(1, &Manner::held());
    let job = world.run(request(&nodes)).await;
    world.executing(1).await;
    clock.0.store(by_ms, Ordering::SeqCst);
    let most = Duration::from_millis(SET_BY_MS.unsigned_abs() / 2);
    let elapsed = world.jobs().elapsed(job).unwrap();
    assert!(elapsed < most, "{elapsed:?}");
    world.sim.let_go();
    world.over(job).await;
    assert_eq!(world.jobs().elapsed(job), None);
    let row = world.store.job(job).await.unwrap().unwrap();
    let run = world.runs(job).await.pop().unwrap();
    for (started_ms, finished_ms, duration_ms) in [
        (row.started_ms, row.finished_ms, row.duration_ms),
        (run.started_ms, run.finished_ms, run.duration_ms),
    ] {
        let by_time_of_day = finished_ms.unwrap() - started_ms.unwrap();
        assert_ne!(by_time_of_day, duration_ms.unwrap(), "the clock was set");
        assert!(
            (0..SET_BY_MS / 2).contains(&duration_ms.unwrap()),
            "{duration_ms:?}"
        );
    }
    assert!(row.duration_ms >= run.duration_ms, "{row:?} {run:?}");
}

#[tokio::test]
async fn job_takes_as_long_as_it_takes_although_the_clock_is_set_back() {
    clock_is_set(-SET_BY_MS).await;
}

#[tokio::test]
async fn job_takes_as_long_as_it_takes_although_the_clock_is_set_forward() {
    clock_is_set(SET_BY_MS).await;
}

#[tokio::test]
async fn recovered_job_began_at_its_restart_if_the_clock_was_set_back_before() {
    let clock = Arc::new(SetClock::default());
    let mut world = World::with(JobsConfig {
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        ..patient()
    })
    .await;
    let nodes = world.agents(1, &Manner::held());
    let job = world.run(request(&nodes)).await;
    world.executing(1).await;
    world.kill().await;
    clock.0.store(-SET_BY_MS, Ordering::SeqCst);
    world.start().await;
    assert!(world.jobs().elapsed(job).is_some());
    world.sim.let_go();
    world.over(job).await;
    let row = world.store.job(job).await.unwrap().unwrap();
    let run = world.runs(job).await.pop().unwrap();
    for duration_ms in [row.duration_ms, run.duration_ms] {
        assert!(
            (0..SET_BY_MS / 2).contains(&duration_ms.unwrap()),
            "{duration_ms:?}"
        );
    }
}

#[tokio::test]
async fn recovered_job_is_no_older_than_it_is_if_the_clock_was_set_forward_before() {
    let clock = Arc::new(SetClock::default());
    let mut world = World::with(JobsConfig {
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        ..patient()
    })
    .await;
    let nodes = world.agents(1, &Manner::held());
    let mut request = request(&nodes);
    request.limits.timeout = Some(Duration::from_secs(3_600));
    let job = world.run(request).await;
    world.executing(1).await;
    world.kill().await;
    clock.0.store(SET_BY_MS, Ordering::SeqCst);
    world.start().await;
    let elapsed = world.jobs().elapsed(job).unwrap();
    let most = Duration::from_millis(SET_BY_MS.unsigned_abs() / 2);
    assert!(elapsed < most, "{elapsed:?}");
    // Its time is not over either: it ends by itself.
    world.sim.let_go();
    world.over(job).await;
    let row = world.store.job(job).await.unwrap().unwrap();
    let run = world.runs(job).await.pop().unwrap();
    assert_eq!(
        (row.state.as_str(), run.state.as_str()),
        ("finished", "finished")
    );
    for duration_ms in [row.duration_ms, run.duration_ms] {
        let range = 0..SET_BY_MS / 2;
        assert!(range.contains(&duration_ms.unwrap()), "{duration_ms:?}");
    }
}
