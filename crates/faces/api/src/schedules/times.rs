//! Conversion between the `schedule` of the API and the timetable of the engine.

use api_types::schedules::{BlackoutWindow, CalendarDays, Interval, Schedule};
use api_types::{ApiError, Timestamp};
use jiff::civil::Time;
use schedules::{
    BlackoutPeriod, CalendarRule, DayOfWeek, MissedSlotPolicy, OverlapPolicy, Timetable,
    TimetableRule,
};

/// Default of `grace_seconds`.
const GRACE_SECONDS: u64 = 3_600;

const DAYS: [(&str, DayOfWeek); 7] = [
    ("mon", DayOfWeek::Mon),
    ("tue", DayOfWeek::Tue),
    ("wed", DayOfWeek::Wed),
    ("thu", DayOfWeek::Thu),
    ("fri", DayOfWeek::Fri),
    ("sat", DayOfWeek::Sat),
    ("sun", DayOfWeek::Sun),
];

const OVERLAPS: [(&str, OverlapPolicy); 3] = [
    ("skip", OverlapPolicy::Skip),
    ("queue", OverlapPolicy::Queue),
    ("allow", OverlapPolicy::Allow),
];

/// The timetable of a schedule; `now_ms` is its start if the schedule has none and needs one.
pub(super) fn timetable(schedule: Schedule, now_ms: i64) -> Result<Timetable, ApiError> {
    let zone = schedule.timezone.unwrap_or_else(|| "UTC".to_owned());
    let repeats = [
        schedule.interval.is_some(),
        schedule.cron.is_some(),
        schedule.calendar.is_some(),
    ];
    if repeats.into_iter().filter(|given| *given).count() > 1 {
        let what = "only one of interval, cron and calendar may be given";
        return Err(ApiError::invalid("schedule", what));
    }
    let rule = match (schedule.interval, schedule.cron, schedule.calendar) {
        (Some(interval), ..) => interval_rule(&interval)?,
        (_, Some(text), _) => TimetableRule::Cron {
            text,
            timezone: zone.clone(),
        },
        (.., Some(days)) => TimetableRule::Calendar(calendar(days, zone.clone())?),
        (None, None, None) => TimetableRule::Once,
    };
    let start_ms = match (schedule.start_time, &rule) {
        (Some(time), _) => time.as_ms().div_euclid(1_000) * 1_000,
        (None, TimetableRule::Cron { .. } | TimetableRule::Calendar(_)) => {
            now_ms.div_euclid(1_000) * 1_000
        }
        (None, _) => {
            let what = "is missing; give a time like 2026-11-21T08:30:00+01:00";
            return Err(ApiError::invalid("schedule.start_time", what));
        }
    };
    let blackouts = schedule.blackouts.into_iter().enumerate();
    let blackouts = blackouts.map(|(i, window)| blackout(i, window, &zone));
    let missed = schedule.missed.as_deref();
    Ok(Timetable {
        start_ms,
        rule,
        spread_seconds: schedule.spread_seconds.unwrap_or(0),
        blackouts: blackouts.collect::<Result<_, _>>()?,
        overlap: match schedule.overlap {
            Some(name) => parse_name("schedule.overlap", &name, &OVERLAPS)?,
            None => OverlapPolicy::default(),
        },
        missed: match missed.unwrap_or("skip") {
            "skip" if schedule.grace_seconds.is_some() => {
                let what = "is for \"missed\": \"run_once\"";
                return Err(ApiError::invalid("schedule.grace_seconds", what));
            }
            "skip" => MissedSlotPolicy::Skip,
            "run_once" => MissedSlotPolicy::RunOnce {
                grace_seconds: schedule.grace_seconds.unwrap_or(GRACE_SECONDS),
            },
            _ => {
                return Err(ApiError::invalid(
                    "schedule.missed",
                    "is none of skip, run_once",
                ));
            }
        },
        end_ms: schedule.end_time.map(Timestamp::as_ms),
        max_runs: schedule.max_runs,
    })
}

fn interval_rule(interval: &Interval) -> Result<TimetableRule, ApiError> {
    if interval.units != "seconds" {
        return Err(ApiError::invalid(
            "schedule.interval.units",
            "must be seconds",
        ));
    }
    Ok(TimetableRule::Every {
        seconds: interval.value,
    })
}

fn calendar(days: CalendarDays, timezone: String) -> Result<CalendarRule, ApiError> {
    let place = "schedule.calendar.times";
    let times = days.times.iter().map(|text| parse_time(place, text));
    Ok(CalendarRule {
        timezone,
        times: times.collect::<Result<_, _>>()?,
        weekdays: weekdays("schedule.calendar.weekdays", &days.weekdays)?,
        month_days: days.month_days,
        months: days.months,
        every_weeks: days.every_weeks.unwrap_or(0),
    })
}

fn blackout(index: usize, window: BlackoutWindow, zone: &str) -> Result<BlackoutPeriod, ApiError> {
    let place = format!("schedule.blackouts[{index}]");
    let moments = (window.from.parse(), window.until.parse());
    if let (Ok(from), Ok(until)) = moments {
        let (from, until): (jiff::Timestamp, jiff::Timestamp) = (from, until);
        if !window.weekdays.is_empty() || window.timezone.is_some() {
            let what = "weekdays and timezone are for windows of times of day";
            return Err(ApiError::invalid(&place, what));
        }
        return Ok(BlackoutPeriod::Once {
            from_ms: from.as_millisecond(),
            until_ms: until.as_millisecond(),
        });
    }
    Ok(BlackoutPeriod::Weekly {
        weekdays: weekdays(&place, &window.weekdays)?,
        from: parse_time(&place, &window.from)?,
        until: parse_time(&place, &window.until)?,
        timezone: window.timezone.unwrap_or_else(|| zone.to_owned()),
    })
}

fn weekdays(place: &str, names: &[String]) -> Result<Vec<DayOfWeek>, ApiError> {
    names
        .iter()
        .map(|name| parse_name(place, name, &DAYS))
        .collect()
}

fn parse_time(place: &str, text: &str) -> Result<Time, ApiError> {
    let shown: String = text.chars().take(40).collect();
    let what = || format!("{shown:?} is not a time of day like \"02:30\"");
    text.parse().map_err(|_| ApiError::invalid(place, what()))
}

fn parse_name<T: Copy>(place: &str, name: &str, values: &[(&str, T)]) -> Result<T, ApiError> {
    let found = values.iter().find(|(value, _)| *value == name);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let names: Vec<_> = values.iter().map(|(value, _)| *value).collect();
        let shown: String = name.chars().take(40).collect();
        ApiError::invalid(place, format!("{shown:?} is none of {}", names.join(", ")))
    })
}

fn format_name<T: Copy + PartialEq>(meaning: T, values: &[(&'static str, T)]) -> String {
    let found = values.iter().find(|(_, value)| *value == meaning);
    found.map_or_else(String::new, |(name, _)| (*name).to_owned())
}

/// The schedule in the API's form; defaults are left out.
pub(super) fn schedule(timetable: &Timetable) -> Schedule {
    let (mut interval, mut cron, mut days, mut zone) = (None, None, None, None);
    match &timetable.rule {
        TimetableRule::Once => {}
        TimetableRule::Every { seconds } => {
            interval = Some(Interval {
                units: "seconds".to_owned(),
                value: *seconds,
            });
        }
        TimetableRule::Cron { text, timezone } => {
            cron = Some(text.clone());
            zone = Some(timezone.clone());
        }
        TimetableRule::Calendar(calendar) => {
            days = Some(calendar_days(calendar));
            zone = Some(calendar.timezone.clone());
        }
    }
    let grace = match timetable.missed {
        MissedSlotPolicy::Skip => None,
        MissedSlotPolicy::RunOnce { grace_seconds } => Some(grace_seconds),
    };
    let blackouts = timetable.blackouts.iter().map(blackout_window);
    Schedule {
        start_time: Some(Timestamp::from_ms(timetable.start_ms)),
        interval,
        cron,
        calendar: days,
        timezone: zone,
        spread_seconds: Some(timetable.spread_seconds).filter(|seconds| *seconds > 0),
        overlap: Some(timetable.overlap)
            .filter(|overlap| *overlap != OverlapPolicy::default())
            .map(|overlap| format_name(overlap, &OVERLAPS)),
        missed: grace.map(|_| "run_once".to_owned()),
        grace_seconds: grace,
        blackouts: blackouts.collect(),
        end_time: timetable.end_ms.map(Timestamp::from_ms),
        max_runs: timetable.max_runs,
    }
}

fn calendar_days(calendar: &CalendarRule) -> CalendarDays {
    CalendarDays {
        times: calendar.times.iter().map(ToString::to_string).collect(),
        weekdays: calendar_weekdays(&calendar.weekdays),
        month_days: calendar.month_days.clone(),
        months: calendar.months.clone(),
        every_weeks: Some(calendar.every_weeks).filter(|weeks| *weeks > 0),
    }
}

fn calendar_weekdays(days: &[DayOfWeek]) -> Vec<String> {
    days.iter().map(|day| format_name(*day, &DAYS)).collect()
}

fn blackout_window(blackout: &BlackoutPeriod) -> BlackoutWindow {
    match blackout {
        BlackoutPeriod::Once { from_ms, until_ms } => BlackoutWindow {
            from: Timestamp::from_ms(*from_ms).to_string(),
            until: Timestamp::from_ms(*until_ms).to_string(),
            weekdays: Vec::new(),
            timezone: None,
        },
        BlackoutPeriod::Weekly {
            weekdays,
            from,
            until,
            timezone,
        } => BlackoutWindow {
            from: from.to_string(),
            until: until.to_string(),
            weekdays: calendar_weekdays(weekdays),
            timezone: Some(timezone.clone()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_put_back() {
        let given = serde_json::json!({
            "start_time": "2026-05-01T10:00:00+02:00",
            "interval": null,
            "calendar": {"times": ["02:30:00"], "weekdays": ["mon", "fri"], "every_weeks": 2},
            "timezone": "Europe/Berlin",
            "spread_seconds": 300,
            "overlap": "queue",
            "missed": "run_once",
            "grace_seconds": 900,
            "blackouts": [
                {"from": "2026-12-24T00:00:00Z", "until": "2026-12-27T00:00:00Z"},
                {"from": "22:00:00", "until": "05:00:00", "weekdays": ["sat"], "timezone": "UTC"},
            ],
            "end_time": "2027-01-01T00:00:00Z",
            "max_runs": 9,
        });
        let read: Schedule = serde_json::from_value(given.clone()).unwrap();
        let timetable = timetable(read, 0).unwrap();
        let shown = serde_json::to_value(schedule(&timetable)).unwrap();
        let mut expected = given;
        expected["start_time"] = "2026-05-01T08:00:00Z".into();
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_plain_schedule_is_shown_as_puppet_enterprise_does() {
        let given = serde_json::json!({
            "start_time": "2026-05-01T10:00:00Z",
            "interval": {"units": "seconds", "value": 86_400},
        });
        let read: Schedule = serde_json::from_value(given.clone()).unwrap();
        let shown = schedule(&timetable(read, 0).unwrap());
        assert_eq!(serde_json::to_value(shown).unwrap(), given);
    }

    #[test]
    fn every_mistake_names_its_place() {
        for (given, place) in [
            (serde_json::json!({}), "schedule.start_time"),
            (
                serde_json::json!({"cron": "* * * * *", "interval": {"units": "seconds", "value": 1}}),
                "schedule",
            ),
            (
                serde_json::json!({"interval": {"units": "days", "value": 1}}),
                "schedule.interval.units",
            ),
            (
                serde_json::json!({"calendar": {"times": ["25:00"]}}),
                "schedule.calendar.times",
            ),
            (
                serde_json::json!({"calendar": {"times": ["02:00"], "weekdays": ["someday"]}}),
                "schedule.calendar.weekdays",
            ),
            (
                serde_json::json!({"cron": "* * * * *", "overlap": "maybe"}),
                "schedule.overlap",
            ),
            (
                serde_json::json!({"cron": "* * * * *", "missed": "maybe"}),
                "schedule.missed",
            ),
            (
                serde_json::json!({"cron": "* * * * *", "grace_seconds": 5}),
                "schedule.grace_seconds",
            ),
            (
                serde_json::json!({"cron": "* * * * *", "blackouts": [{"from": "x", "until": "y"}]}),
                "schedule.blackouts[0]",
            ),
        ] {
            let read: Schedule = serde_json::from_value(given).unwrap();
            let error = timetable(read, 0).unwrap_err();
            assert_eq!(error.body.details["path"], place);
        }
    }
}
