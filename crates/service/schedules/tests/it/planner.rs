//! Slots of every rule, also around clock changes, and refused timetables.

use jiff::Timestamp;
use schedules::{
    BlackoutPeriod, CalendarRule, CompiledTimetable, DayOfWeek, MissedSlotPolicy, ScheduleSlot,
    Timetable, TimetableError, TimetableRule,
};

use crate::world::ms;

fn starts(timetable: &Timetable, after: &str, count: usize) -> Vec<String> {
    let plan = CompiledTimetable::new(7, timetable).unwrap();
    let slots = plan.preview(ms(after) - 1, count);
    let text = |slot: ScheduleSlot| {
        let start = Timestamp::from_millisecond(slot.start_ms).unwrap();
        start.to_string()
    };
    slots.into_iter().map(text).collect()
}

fn with(rule: TimetableRule, start: &str) -> Timetable {
    Timetable {
        rule,
        ..Timetable::once(ms(start))
    }
}

fn cron(text: &str, zone: &str) -> Timetable {
    let rule = TimetableRule::Cron {
        text: text.to_owned(),
        timezone: zone.to_owned(),
    };
    with(rule, "2026-01-01T00:00:00Z")
}

fn calendar(times: &[&str]) -> CalendarRule {
    CalendarRule {
        timezone: "Europe/Berlin".to_owned(),
        times: times.iter().map(|time| time.parse().unwrap()).collect(),
        ..CalendarRule::default()
    }
}

fn on(calendar: CalendarRule) -> Timetable {
    with(TimetableRule::Calendar(calendar), "2026-01-01T00:00:00Z")
}

#[test]
fn once_is_one_slot() {
    let once = with(TimetableRule::Once, "2026-05-01T10:00:00+02:00");
    assert_eq!(
        starts(&once, "2026-01-01T00:00:00Z", 5),
        ["2026-05-01T08:00:00Z"]
    );
    assert!(starts(&once, "2026-05-01T08:00:01Z", 5).is_empty());
}

#[test]
fn an_interval_counts_seconds_whatever_clocks_do() {
    // The clocks of Berlin go forward between the slots.
    let daily = with(
        TimetableRule::Every { seconds: 86_400 },
        "2026-03-28T02:30:00+01:00",
    );
    assert_eq!(
        starts(&daily, "2026-03-28T01:30:01Z", 2),
        ["2026-03-29T01:30:00Z", "2026-03-30T01:30:00Z"]
    );
    // The next slot is computed by a division, independent of the time since the start.
    let every = with(TimetableRule::Every { seconds: 1 }, "1970-01-01T00:00:00Z");
    assert_eq!(
        starts(&every, "2026-01-01T00:00:00Z", 1),
        ["2026-01-01T00:00:00Z"]
    );
}

#[test]
fn a_fixed_cron_time_runs_once_in_a_gap_and_once_in_a_fold() {
    let nightly = cron("30 2 * * *", "Europe/Berlin");
    assert_eq!(
        starts(&nightly, "2026-03-28T00:00:00Z", 3),
        [
            "2026-03-28T01:30:00Z",
            // 02:30 is skipped by the clock; 03:00 is the end of the gap.
            "2026-03-29T01:00:00Z",
            "2026-03-30T00:30:00Z",
        ]
    );
    assert_eq!(
        starts(&nightly, "2026-10-24T12:00:00Z", 2),
        ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
    );
}

#[test]
fn a_repeating_cron_text_follows_the_clocks() {
    let half_hourly = cron("*/30 * * * *", "Europe/Berlin");
    assert_eq!(
        starts(&half_hourly, "2026-03-29T00:30:00Z", 3),
        [
            "2026-03-29T00:30:00Z",
            "2026-03-29T01:00:00Z",
            "2026-03-29T01:30:00Z"
        ]
    );
    assert_eq!(
        starts(&half_hourly, "2026-10-25T00:30:00Z", 3),
        [
            "2026-10-25T00:30:00Z",
            "2026-10-25T01:00:00Z",
            "2026-10-25T01:30:00Z"
        ]
    );
}

#[test]
fn cron_knows_weekdays_seconds_and_the_last_day() {
    let friday = cron("0 18 * * fri", "UTC");
    assert_eq!(
        starts(&friday, "2026-11-21T00:00:00Z", 1),
        ["2026-11-27T18:00:00Z"]
    );
    let seconds = cron("15 0 0 1 1 *", "UTC");
    assert_eq!(
        starts(&seconds, "2026-11-21T00:00:00Z", 1),
        ["2027-01-01T00:00:15Z"]
    );
    let last = cron("0 0 L * *", "UTC");
    assert_eq!(
        starts(&last, "2028-02-02T00:00:00Z", 1),
        ["2028-02-29T00:00:00Z"]
    );
}

#[test]
fn a_calendar_gives_each_time_of_each_day_one_slot() {
    let twice = on(calendar(&["02:30", "12:00"]));
    assert_eq!(
        starts(&twice, "2026-03-28T23:30:00Z", 3),
        [
            // Skipped by the clock, so delayed by the length of the gap: 03:30.
            "2026-03-29T01:30:00Z",
            "2026-03-29T10:00:00Z",
            "2026-03-30T00:30:00Z",
        ]
    );
    // 02:30 occurs twice: the first time counts.
    assert_eq!(
        starts(&twice, "2026-10-25T00:00:00Z", 2),
        ["2026-10-25T00:30:00Z", "2026-10-25T11:00:00Z"]
    );
}

#[test]
fn times_that_a_gap_lets_fall_together_are_one_slot() {
    let both = on(calendar(&["02:30", "03:30"]));
    assert_eq!(
        starts(&both, "2026-03-28T23:30:00Z", 2),
        ["2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"]
    );
}

#[test]
fn a_calendar_limits_days() {
    let weekday = on(CalendarRule {
        weekdays: vec![DayOfWeek::Mon],
        every_weeks: 2,
        ..calendar(&["09:00"])
    });
    // The start is a Thursday; its week is the first.
    assert_eq!(
        starts(&weekday, "2026-01-01T00:00:00Z", 2),
        ["2026-01-12T08:00:00Z", "2026-01-26T08:00:00Z"]
    );
    let month_end = on(CalendarRule {
        month_days: vec![-1],
        months: vec![2],
        ..calendar(&["00:00"])
    });
    assert_eq!(
        starts(&month_end, "2026-01-01T00:00:00Z", 3),
        [
            "2026-02-27T23:00:00Z",
            "2027-02-27T23:00:00Z",
            "2028-02-28T23:00:00Z"
        ]
    );
    let leap_monday = on(CalendarRule {
        month_days: vec![29],
        months: vec![2],
        weekdays: vec![DayOfWeek::Mon],
        ..calendar(&["12:00"])
    });
    assert_eq!(
        starts(&leap_monday, "2026-01-01T00:00:00Z", 1),
        ["2044-02-29T11:00:00Z"]
    );
}

#[test]
fn blackouts_and_the_end_take_slots_away() {
    let hourly = Timetable {
        blackouts: vec![
            BlackoutPeriod::Once {
                from_ms: ms("2026-01-01T01:00:00Z"),
                until_ms: ms("2026-01-01T03:00:00Z"),
            },
            BlackoutPeriod::Weekly {
                weekdays: vec![DayOfWeek::Thu],
                from: "22:00".parse().unwrap(),
                until: "05:30".parse().unwrap(),
                timezone: "UTC".to_owned(),
            },
        ],
        end_ms: Some(ms("2026-01-02T06:30:00Z")),
        ..with(
            TimetableRule::Every { seconds: 3_600 },
            "2026-01-01T00:00:00Z",
        )
    };
    let all = starts(&hourly, "2026-01-01T00:00:00Z", 100);
    assert_eq!(all[..2], ["2026-01-01T00:00:00Z", "2026-01-01T03:00:00Z"]);
    assert_eq!(
        all[all.len() - 2..],
        ["2026-01-01T21:00:00Z", "2026-01-02T06:00:00Z"]
    );
}

#[test]
fn what_never_starts_or_is_over_is_refused() {
    let now = ms("2026-06-01T00:00:00Z");
    let past = with(TimetableRule::Every { seconds: 60 }, "2026-05-31T23:59:59Z");
    assert_eq!(past.check(now), Err(TimetableError::Past));
    assert_eq!(
        with(TimetableRule::Once, "2026-05-01T00:00:00Z").check(now),
        Err(TimetableError::Past)
    );
    // The start of a cron rule may be in the past.
    assert_eq!(cron("* * * * *", "UTC").check(now), Ok(()));
    let never = [
        cron("0 0 30 2 *", "UTC"),
        Timetable {
            end_ms: Some(now),
            ..cron("5 0 * * *", "UTC")
        },
        Timetable {
            blackouts: vec![BlackoutPeriod::Weekly {
                weekdays: Vec::new(),
                from: "00:00".parse().unwrap(),
                until: "00:00".parse().unwrap(),
                timezone: "UTC".to_owned(),
            }],
            ..with(TimetableRule::Every { seconds: 1 }, "2026-06-01T00:00:00Z")
        },
    ];
    for timetable in never {
        assert_eq!(
            timetable.check(now),
            Err(TimetableError::Never),
            "{timetable:?}"
        );
    }
}

#[test]
fn every_mistake_names_its_place() {
    let now = ms("2026-06-01T00:00:00Z");
    let every = |seconds| with(TimetableRule::Every { seconds }, "2026-07-01T00:00:00Z");
    let blackout = |from_ms, until_ms| Timetable {
        blackouts: vec![BlackoutPeriod::Once { from_ms, until_ms }],
        ..every(60)
    };
    let huge = "1 ".repeat(10_000);
    let cases = [
        (every(0), "schedule.interval.value"),
        (every(u64::MAX), "schedule.interval.value"),
        (cron("nonsense", "UTC"), "schedule.cron"),
        (cron("", "UTC"), "schedule.cron"),
        (cron(&huge, "UTC"), "schedule.cron"),
        (cron("99 * * * *", "UTC"), "schedule.cron"),
        (cron("* * * * *", "Mars/Phobos"), "schedule.timezone"),
        (cron("* * * * *", "../../etc/passwd"), "schedule.timezone"),
        (cron("* * * * *", "a\0b"), "schedule.timezone"),
        (on(calendar(&[])), "schedule.calendar"),
        (
            on(CalendarRule {
                month_days: vec![0],
                ..calendar(&["00:00"])
            }),
            "schedule.calendar",
        ),
        (
            on(CalendarRule {
                months: vec![13],
                ..calendar(&["00:00"])
            }),
            "schedule.calendar",
        ),
        (blackout(5, 5), "schedule.blackouts"),
        (
            Timetable {
                spread_seconds: u64::MAX,
                ..every(60)
            },
            "schedule.spread_seconds",
        ),
        (
            Timetable {
                missed: MissedSlotPolicy::RunOnce {
                    grace_seconds: u64::MAX,
                },
                ..every(60)
            },
            "schedule.grace_seconds",
        ),
        (
            Timetable {
                max_runs: Some(0),
                ..every(60)
            },
            "schedule.max_runs",
        ),
    ];
    for (timetable, expected) in cases {
        let error = timetable.check(now).unwrap_err();
        let (TimetableError::Invalid { place, .. } | TimetableError::Zone { place, .. }) = error
        else {
            panic!("{error} has no place; expected {expected}");
        };
        assert_eq!(place, expected);
    }
}
