//! Decisions about overlaps, missed slots, queued slots and the end of a schedule.

use schedules::{
    BlackoutPeriod, CompiledTimetable, MissedSlotPolicy, OverlapPolicy, ScheduleDecision,
    SkipReason, SlotProgress, Timetable, TimetableRule, decide,
};

use crate::world::ms;

const START: &str = "2026-01-01T00:00:00Z";

fn hourly() -> Timetable {
    Timetable {
        rule: TimetableRule::Every { seconds: 3_600 },
        ..Timetable::once(ms(START))
    }
}

fn at(hours: i64, seconds: i64) -> i64 {
    ms(START) + (hours * 3_600 + seconds) * 1_000
}

fn asked(timetable: &Timetable, standing: SlotProgress, now_ms: i64) -> ScheduleDecision {
    decide(
        &CompiledTimetable::new(1, timetable).unwrap(),
        &standing,
        now_ms,
    )
}

/// The launched slot, or the reason for skipping slots.
fn told(decision: &ScheduleDecision) -> (Option<i64>, Option<SkipReason>) {
    match decision {
        ScheduleDecision::Wait(_) => (None, None),
        ScheduleDecision::Launch { slot_ms, .. } => (Some(*slot_ms), None),
        ScheduleDecision::Pass { skip, .. } => (None, Some(skip.reason)),
    }
}

#[test]
fn a_slot_is_launched_on_its_second_and_not_before() {
    let fresh = SlotProgress::default();
    assert_eq!(told(&asked(&hourly(), fresh, at(0, 0) - 1)), (None, None));
    let ScheduleDecision::Launch { slot_ms, advance } = asked(&hourly(), fresh, at(0, 0)) else {
        panic!("it is time");
    };
    assert_eq!(slot_ms, at(0, 0));
    assert_eq!(advance.cursor_ms, Some(at(0, 0)));
    assert_eq!(advance.next_ms, Some(at(1, 0)));
}

#[test]
fn a_slot_while_the_run_before_goes_on() {
    let standing = SlotProgress {
        cursor_ms: Some(at(0, 0)),
        running: true,
        ..SlotProgress::default()
    };
    let with = |overlap| Timetable {
        overlap,
        ..hourly()
    };
    let now = at(1, 1);
    let skip = asked(&with(OverlapPolicy::Skip), standing, now);
    assert_eq!(told(&skip), (None, Some(SkipReason::Overlap)));
    let allow = asked(&with(OverlapPolicy::Allow), standing, now);
    assert_eq!(told(&allow), (Some(at(1, 0)), None));
    let ScheduleDecision::Wait(queued) = asked(&with(OverlapPolicy::Queue), standing, now) else {
        panic!("it waits");
    };
    assert_eq!(queued.queued_ms, Some(at(1, 0)));
    // Only one slot can be queued.
    let full = SlotProgress {
        cursor_ms: queued.cursor_ms,
        queued_ms: queued.queued_ms,
        ..standing
    };
    let second = asked(&with(OverlapPolicy::Queue), full, at(2, 0));
    assert_eq!(told(&second), (None, Some(SkipReason::Overlap)));
    // The run ends hours later: the queued slot starts, and is not too late.
    let free = SlotProgress {
        running: false,
        cursor_ms: Some(at(9, 0)),
        ..full
    };
    let ScheduleDecision::Launch { slot_ms, advance } =
        asked(&with(OverlapPolicy::Queue), free, at(9, 5))
    else {
        panic!("it is free");
    };
    assert_eq!((slot_ms, advance.queued_ms), (at(1, 0), None));
    assert_eq!(
        advance.cursor_ms,
        Some(at(9, 0)),
        "the cursor does not go back"
    );
}

#[test]
fn missed_slots_are_left_out_or_run_once() {
    let standing = SlotProgress {
        cursor_ms: Some(at(0, 0)),
        ..SlotProgress::default()
    };
    // The server was down for nine hours, until ten minutes after a slot.
    let now = at(9, 600);
    let ScheduleDecision::Pass { skip, advance } = asked(&hourly(), standing, now) else {
        panic!("they are missed");
    };
    assert_eq!((skip.reason, skip.first_ms), (SkipReason::Missed, at(1, 0)));
    let next = SlotProgress {
        cursor_ms: advance.cursor_ms,
        ..standing
    };
    assert_eq!(
        told(&asked(&hourly(), next, now)),
        (None, Some(SkipReason::Missed)),
        "the last of them too"
    );
    let once = Timetable {
        missed: MissedSlotPolicy::RunOnce {
            grace_seconds: 1_800,
        },
        ..hourly()
    };
    assert_eq!(told(&asked(&once, next, now)), (Some(at(9, 0)), None));
    assert_eq!(
        told(&asked(&once, next, at(9, 1_801))),
        (None, Some(SkipReason::Missed)),
        "the grace is over"
    );
    // A slot that is a minute late is on time.
    assert_eq!(
        told(&asked(&hourly(), next, at(9, 60))),
        (Some(at(9, 0)), None)
    );
}

#[test]
fn a_late_slot_does_not_start_in_a_blackout() {
    let timetable = Timetable {
        blackouts: vec![BlackoutPeriod::Once {
            from_ms: at(1, 10),
            until_ms: at(1, 900),
        }],
        ..hourly()
    };
    let standing = SlotProgress {
        cursor_ms: Some(at(0, 0)),
        ..SlotProgress::default()
    };
    let in_it = asked(&timetable, standing, at(1, 20));
    assert_eq!(told(&in_it), (None, Some(SkipReason::Blackout)));
    // A queued slot waits for the end of the blackout.
    let queued = SlotProgress {
        queued_ms: Some(at(1, 0)),
        cursor_ms: Some(at(1, 0)),
        ..SlotProgress::default()
    };
    assert_eq!(told(&asked(&timetable, queued, at(1, 20))), (None, None));
    assert_eq!(
        told(&asked(&timetable, queued, at(1, 900))),
        (Some(at(1, 0)), None)
    );
}

#[test]
fn nothing_runs_after_the_end_or_the_last_run() {
    let two = Timetable {
        max_runs: Some(2),
        ..hourly()
    };
    let ran = |runs| SlotProgress {
        cursor_ms: Some(at(0, 0)),
        runs,
        ..SlotProgress::default()
    };
    let ScheduleDecision::Launch { advance, .. } = asked(&two, ran(1), at(1, 0)) else {
        panic!("one is left");
    };
    assert_eq!((advance.next_ms, advance.next_slot_ms), (None, None));
    assert_eq!(told(&asked(&two, ran(2), at(1, 0))), (None, None));
    let ends = Timetable {
        end_ms: Some(at(1, 0)),
        overlap: OverlapPolicy::Queue,
        ..hourly()
    };
    let ScheduleDecision::Launch { advance, .. } = asked(&ends, ran(0), at(1, 0)) else {
        panic!("the end itself is in time");
    };
    assert_eq!(advance.next_ms, None);
    let queued = SlotProgress {
        queued_ms: Some(at(1, 0)),
        cursor_ms: Some(at(1, 0)),
        ..SlotProgress::default()
    };
    assert_eq!(
        told(&asked(&ends, queued, at(2, 0))),
        (None, Some(SkipReason::Over))
    );
}

#[test]
fn a_clock_that_goes_back_repeats_nothing() {
    let standing = SlotProgress {
        cursor_ms: Some(at(5, 0)),
        runs: 6,
        ..SlotProgress::default()
    };
    for hour in 0..=5 {
        let ScheduleDecision::Wait(advance) = asked(&hourly(), standing, at(hour, 30)) else {
            panic!("slot {hour} was decided");
        };
        assert_eq!(advance.next_ms, Some(at(6, 0)));
    }
}
