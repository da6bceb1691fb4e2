//! Jumps of the clock, over a real store.

use schedules::{MissedSlotPolicy, SkipReason, Timetable};

use crate::world::{World, hourly, ms};

testkit::both!(
    a_clock_set_back_runs_nothing_again,
    a_clock_set_forward_leaves_out_or_runs_once_and_tells,
);

const START: &str = "2026-01-01T01:00:00Z";
const HOUR_MS: i64 = 3_600_000;

fn ran(runs: u64) -> impl Fn(&schedules::ScheduleView) -> bool {
    move |now| now.runs == runs && now.last.as_ref().is_some_and(|last| last.outcome.is_ok())
}

fn allowing(timetable: Timetable) -> Timetable {
    Timetable {
        overlap: schedules::OverlapPolicy::Allow,
        ..timetable
    }
}

async fn a_clock_set_back_runs_nothing_again() {
    let world = World::at("2026-01-01T00:30:00Z").await;
    let id = world.create(allowing(hourly(START))).await;
    world.set(ms(START));
    world.until(id, ran(1)).await;
    for back in [1, HOUR_MS, 400 * 24 * HOUR_MS] {
        world.set(ms(START) - back);
        world.set(ms(START) + 30_000);
        let now = world.schedules.get(id).await.unwrap();
        assert_eq!((now.runs, now.next_ms), (1, Some(ms(START) + HOUR_MS)));
    }
    world.set(ms(START) + HOUR_MS);
    world.until(id, ran(2)).await;
    assert_eq!(world.jobs().await, 2);
}

async fn a_clock_set_forward_leaves_out_or_runs_once_and_tells() {
    let world = World::at("2026-01-01T00:30:00Z").await;
    let skips = world.create(allowing(hourly(START))).await;
    let once = world
        .create(allowing(Timetable {
            missed: MissedSlotPolicy::RunOnce {
                grace_seconds: 3_600,
            },
            ..hourly(START)
        }))
        .await;
    let now_ms = ms(START) + 5 * 24 * HOUR_MS + 20 * 60_000;
    world.set(now_ms);
    let next_ms = Some(ms(START) + (5 * 24 + 1) * HOUR_MS);
    let passed = world.until(skips, |now| now.next_ms == next_ms).await;
    assert_eq!(
        (passed.runs, passed.skipped.unwrap().reason),
        (0, SkipReason::Missed)
    );
    let late = world.until(once, ran(1)).await;
    assert_eq!(late.last.unwrap().slot_ms, ms(START) + 5 * 24 * HOUR_MS);
    assert_eq!(
        late.skipped.unwrap().first_ms,
        ms(START),
        "the others are told"
    );
    assert_eq!(world.jobs().await, 1);
}
