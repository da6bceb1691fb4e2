//! Invariants of every timetable.

use proptest::prelude::*;
use schedules::{
    BlackoutPeriod, CalendarRule, CompiledTimetable, DayOfWeek, MissedSlotPolicy, OverlapPolicy,
    ScheduleDecision, SlotProgress, Timetable, TimetableRule, decide,
};

use crate::world::ms;

const DAY_MS: i64 = 86_400_000;

fn zone() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Asia/Kathmandu",
        "Africa/Cairo",
    ])
    .prop_map(str::to_owned)
}

fn rule() -> impl Strategy<Value = TimetableRule> {
    let cron = prop::sample::select(vec![
        "*/7 * * * *",
        "30 2 * * *",
        "0 0 * * mon",
        "15 1,2,3 * * *",
        "0 12 29 2 *",
        "*/20 30 0-3 * * *",
    ]);
    let time = (0_i8..24, 0_i8..60).prop_map(|(hour, minute)| format!("{hour:02}:{minute:02}"));
    let calendar = (
        zone(),
        prop::collection::vec(time, 1..4),
        any::<bool>(),
        0_u32..4,
    )
        .prop_map(|(timezone, times, monday, every_weeks)| CalendarRule {
            timezone,
            times: times.iter().map(|time| time.parse().unwrap()).collect(),
            weekdays: if monday {
                vec![DayOfWeek::Mon, DayOfWeek::Sun]
            } else {
                Vec::new()
            },
            every_weeks,
            ..CalendarRule::default()
        });
    prop_oneof![
        Just(TimetableRule::Once),
        (1_u64..200_000).prop_map(|seconds| TimetableRule::Every { seconds }),
        (cron, zone()).prop_map(|(text, timezone)| TimetableRule::Cron {
            text: text.to_owned(),
            timezone
        }),
        calendar.prop_map(TimetableRule::Calendar),
    ]
}

fn blackout() -> impl Strategy<Value = BlackoutPeriod> {
    let start = ms("2026-01-01T00:00:00Z");
    prop_oneof![
        (0_i64..400, 1_i64..20_000).prop_map(move |(day, minutes)| BlackoutPeriod::Once {
            from_ms: start + day * DAY_MS,
            until_ms: start + day * DAY_MS + minutes * 60_000,
        }),
        (0_i8..24, 0_i8..24, zone()).prop_map(|(from, until, timezone)| BlackoutPeriod::Weekly {
            weekdays: vec![DayOfWeek::Sat, DayOfWeek::Sun],
            from: jiff::civil::time(from, 15, 0, 0),
            until: jiff::civil::time(until, 45, 0, 0),
            timezone,
        }),
    ]
}

prop_compose! {
    fn timetable()(
        rule in rule(),
        blackouts in prop::collection::vec(blackout(), 0..4),
        spread_seconds in prop_oneof![Just(0_u64), 1_u64..10_000],
        start_day in 0_i64..365,
        overlap in prop::sample::select(vec![OverlapPolicy::Skip, OverlapPolicy::Queue, OverlapPolicy::Allow]),
        grace in prop::option::of(0_u64..100_000),
        end in prop::option::of(1_i64..400),
        max_runs in prop::option::of(1_u64..5),
    ) -> Timetable {
        let start_ms = ms("2026-01-01T00:00:00Z") + start_day * DAY_MS;
        Timetable {
            rule,
            blackouts,
            spread_seconds,
            overlap,
            missed: grace.map_or(MissedSlotPolicy::Skip, |grace_seconds| MissedSlotPolicy::RunOnce { grace_seconds }),
            end_ms: end.map(|days| start_ms + days * DAY_MS),
            max_runs,
            ..Timetable::once(start_ms)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn slots_increase_and_keep_to_their_limits(
        timetable in timetable(),
        schedule in 1_i64..1_000,
        after_day in -10_i64..500,
    ) {
        let plan = CompiledTimetable::new(schedule, &timetable).unwrap();
        let mut after_ms = timetable.start_ms + after_day * DAY_MS;
        let mut last_start_ms = i64::MIN;
        for _ in 0..40 {
            let Some(slot) = plan.next_after(after_ms) else { break };
            prop_assert!(slot.slot_ms > after_ms);
            prop_assert!(slot.slot_ms >= timetable.start_ms);
            prop_assert!(slot.start_ms > last_start_ms);
            let delay_ms = slot.start_ms - slot.slot_ms;
            let longest_ms = i64::try_from(timetable.spread_seconds).unwrap() * 1_000;
            prop_assert!((0..=longest_ms).contains(&delay_ms), "{}", delay_ms);
            prop_assert_eq!(plan.blocked_until(slot.start_ms), None);
            prop_assert!(timetable.end_ms.is_none_or(|end_ms| slot.start_ms <= end_ms));
            // Compiling again gives the same slot.
            let again = CompiledTimetable::new(schedule, &timetable).unwrap();
            prop_assert_eq!(again.next_after(slot.slot_ms - 1), Some(slot));
            prop_assert_eq!(plan.last_due(slot.slot_ms - 1, slot.start_ms), Some(slot));
            last_start_ms = slot.start_ms;
            after_ms = slot.slot_ms;
        }
    }

    /// The slot after a blackout is the first one whose start is outside of it, also if starts are delayed by
    /// more than the distance of slots.
    #[test]
    fn a_blackout_takes_away_the_slots_that_start_in_it_and_no_others(
        seconds in prop_oneof![1_u64..4, 1_u64..4_000],
        spread_seconds in 0_u64..30_000,
        schedule in 1_i64..1_000,
        from_s in 0_i64..10_000,
        length_s in 1_i64..30_000,
    ) {
        let start_ms = ms("2026-01-01T00:00:00Z");
        let free = Timetable {
            rule: TimetableRule::Every { seconds },
            spread_seconds,
            ..Timetable::once(start_ms)
        };
        let (from_ms, until_ms) = (start_ms + from_s * 1_000, start_ms + (from_s + length_s) * 1_000);
        let blocked = Timetable {
            blackouts: vec![BlackoutPeriod::Once { from_ms, until_ms }],
            ..free.clone()
        };
        let free = CompiledTimetable::new(schedule, &free).unwrap();
        let blocked = CompiledTimetable::new(schedule, &blocked).unwrap();
        // from the last slot that may start before the blackout, at most some slots before it
        let before_ms = from_ms - i64::try_from(3 * seconds).unwrap() * 1_000;
        let mut expected = free.next_after(before_ms).unwrap();
        while (from_ms..until_ms).contains(&expected.start_ms) {
            expected = free.next_after(expected.slot_ms).unwrap();
        }
        prop_assert_eq!(blocked.next_after(before_ms), Some(expected));
        let after_ms = from_ms.max(expected.slot_ms);
        let mut after = free.next_after(after_ms).unwrap();
        while (from_ms..until_ms).contains(&after.start_ms) {
            after = free.next_after(after.slot_ms).unwrap();
        }
        prop_assert_eq!(blocked.next_after(after_ms), Some(after));
    }

    /// With any jumps of the clock, no slot runs twice, and the cursor never goes back.
    #[test]
    fn whatever_the_clock_does_no_slot_runs_twice(
        timetable in timetable(),
        jumps in prop::collection::vec((-3 * DAY_MS..10 * DAY_MS, any::<bool>()), 1..40),
    ) {
        let plan = CompiledTimetable::new(3, &timetable).unwrap();
        let mut standing = SlotProgress::default();
        let mut now_ms = timetable.start_ms - 1;
        let mut ran = std::collections::BTreeSet::new();
        for (jump_ms, running) in jumps {
            now_ms += jump_ms;
            standing.running = running && !ran.is_empty();
            for round in 0.. {
                prop_assert!(round < 10, "it comes to rest");
                let before = standing.cursor_ms;
                let advance = match decide(&plan, &standing, now_ms) {
                    ScheduleDecision::Wait(advance) => advance,
                    ScheduleDecision::Pass { skip, advance } => {
                        prop_assert!(skip.first_ms <= skip.last_ms);
                        advance
                    }
                    ScheduleDecision::Launch { slot_ms, advance } => {
                        prop_assert!(ran.insert(slot_ms), "{} ran twice", slot_ms);
                        // A queued slot was due before the clock was set back.
                        prop_assert!(slot_ms <= now_ms || standing.queued_ms == Some(slot_ms));
                        prop_assert_eq!(plan.blocked_until(now_ms), None);
                        prop_assert!(!standing.running || timetable.overlap == OverlapPolicy::Allow);
                        standing.runs += 1;
                        standing.running = true;
                        advance
                    }
                };
                prop_assert!(advance.cursor_ms >= before, "the cursor goes back");
                let rests = (advance.cursor_ms, advance.queued_ms)
                    == (standing.cursor_ms, standing.queued_ms);
                standing.cursor_ms = advance.cursor_ms;
                standing.queued_ms = advance.queued_ms;
                if rests {
                    prop_assert!(advance.next_ms.is_none_or(|next_ms| next_ms > now_ms));
                    break;
                }
            }
        }
        prop_assert!(timetable.max_runs.is_none_or(|most| standing.runs <= most));
    }
}
