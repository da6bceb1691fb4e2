//! The schedule of a job, from the command line. Main type: [`ScheduleArguments`].

use api_types::Timestamp;
use api_types::schedules::{BlackoutWindow, CalendarDays, Interval, Schedule};

use crate::failure::usage;
use crate::terminal::escape_control;
use crate::{CommandFailure, Result, duration};

/// One start, an interval, a cron expression or a calendar.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "When")]
#[command(group(
    clap::ArgGroup::new("when").args(["at", "every", "cron", "times"]).required(true).multiple(true)
))]
pub(super) struct ScheduleArguments {
    /// First start, with its UTC offset, such as 2027-01-10T02:00:00+01:00; without --every the
    /// only one
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Interval, such as 30m, 4h, 1d, 2w; without --at the first start is one interval from now
    #[arg(long, value_name = "TIME", conflicts_with_all = ["cron", "times"])]
    every: Option<String>,
    /// Cron expression with five fields, or six with seconds first
    #[arg(long, value_name = "CRON", conflicts_with = "times")]
    cron: Option<String>,
    /// Times of day to start at, such as 02:30,14:30
    #[arg(long, value_name = "TIMES", value_delimiter = ',')]
    times: Vec<String>,
    /// With --times: only on these days of the week, such as mon,fri
    #[arg(long, value_name = "DAYS", value_delimiter = ',', requires = "times")]
    weekdays: Vec<String>,
    /// With --times: only on these days of the month; -1 is the last one
    #[arg(
        long,
        value_name = "DAYS",
        value_delimiter = ',',
        requires = "times",
        allow_hyphen_values = true
    )]
    month_days: Vec<i8>,
    /// With --times: only in these months, 1 to 12
    #[arg(long, value_name = "MONTHS", value_delimiter = ',', requires = "times")]
    months: Vec<i8>,
    /// With --times: only every this many weeks
    #[arg(long, value_name = "N", requires = "times")]
    every_weeks: Option<u32>,
    /// Time zone of --cron, --times and --blackout, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// Delay each start by a random time up to this, so that not all start at once
    #[arg(long, value_name = "TIME")]
    spread: Option<String>,
    /// Blackout window without starts: FROM/UNTIL, times of day or full timestamps; may be given
    /// several times
    #[arg(long = "blackout", value_name = "FROM/UNTIL")]
    blackouts: Vec<String>,
    /// Behaviour if the previous run has not ended: skip, queue or allow [default: skip]
    #[arg(long, value_name = "WHAT")]
    overlap: Option<String>,
    /// Behaviour for starts that the server missed: skip or run_once [default: skip]
    #[arg(long, value_name = "WHAT")]
    missed: Option<String>,
    /// With --missed run_once: maximum delay of the start [default: 1h]
    #[arg(long, value_name = "TIME")]
    grace: Option<String>,
    /// No starts after this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Maximum number of starts
    #[arg(long, value_name = "N")]
    max_runs: Option<u64>,
}

// === impl ScheduleArguments ===

impl ScheduleArguments {
    /// The schedule in the API's form. `now` is the base of the first start of `--every`.
    pub(super) fn schedule(self, now: jiff::Timestamp) -> Result<Schedule> {
        let seconds = |text: Option<String>| {
            let text = text.as_deref();
            text.map(duration::parse_seconds).transpose()
        };
        let every = seconds(self.every)?;
        let start_time = match (&self.at, every) {
            (Some(at), _) => Some(parse_time("--at", at)?),
            (None, Some(seconds)) => Some(time_after(now, seconds)?),
            (None, None) => None,
        };
        let calendar = (!self.times.is_empty()).then_some(CalendarDays {
            times: self.times,
            weekdays: self.weekdays,
            month_days: self.month_days,
            months: self.months,
            every_weeks: self.every_weeks,
        });
        let interval = every.map(|value| Interval {
            units: "seconds".to_owned(),
            value,
        });
        Ok(Schedule {
            start_time,
            interval,
            cron: self.cron,
            calendar,
            timezone: self.timezone,
            spread_seconds: seconds(self.spread)?,
            overlap: self.overlap,
            missed: self.missed,
            grace_seconds: seconds(self.grace)?,
            blackouts: self
                .blackouts
                .iter()
                .map(|text| parse_blackout(text))
                .collect::<Result<_, _>>()?,
            end_time: self
                .until
                .as_deref()
                .map(|text| parse_time("--until", text))
                .transpose()?,
            max_runs: self.max_runs,
        })
    }
}

fn parse_time(option: &str, text: &str) -> Result<Timestamp> {
    text.parse().map(Timestamp).map_err(|_| {
        let text = escape_control(text);
        CommandFailure::Usage(format!(
            "{option} {text} is not a time with an offset; write it as 2027-01-10T02:00:00Z or 2027-01-10T02:00:00+01:00"
        ))
    })
}

fn time_after(now: jiff::Timestamp, seconds: u64) -> Result<Timestamp> {
    let seconds = i64::try_from(seconds).ok();
    let then = seconds.and_then(|seconds| {
        now.checked_add(jiff::SignedDuration::from_secs(seconds))
            .ok()
    });
    then.map(Timestamp)
        .ok_or_else(|| CommandFailure::Usage("--every is too long".to_owned()))
}

fn parse_blackout(text: &str) -> Result<BlackoutWindow> {
    let Some((from, until)) = text.split_once('/') else {
        let text = escape_control(text);
        return usage(format!(
            "--blackout {text} is not a window; write 22:00/06:00"
        ));
    };
    Ok(BlackoutWindow {
        from: from.to_owned(),
        until: until.to_owned(),
        weekdays: Vec::new(),
        timezone: None,
    })
}

/// A schedule in one line.
pub(super) fn describe_schedule(schedule: &Schedule) -> String {
    let mut parts = Vec::new();
    if let Some(interval) = &schedule.interval {
        parts.push(format!("every {}", format_duration(interval.value)));
    }
    parts.extend(schedule.cron.iter().map(|cron| format!("cron {cron}")));
    if let Some(days) = &schedule.calendar {
        parts.push(format!("at {}", days.times.join(", ")));
        parts.extend(
            (!days.weekdays.is_empty()).then(|| format!("on {}", days.weekdays.join(", "))),
        );
        let numbers = |numbers: &[i8]| {
            let numbers: Vec<_> = numbers.iter().map(ToString::to_string).collect();
            numbers.join(", ")
        };
        parts.extend(
            (!days.month_days.is_empty()).then(|| format!("on days {}", numbers(&days.month_days))),
        );
        parts.extend(
            (!days.months.is_empty()).then(|| format!("in months {}", numbers(&days.months))),
        );
        parts.extend(days.every_weeks.map(|weeks| format!("every {weeks} weeks")));
    }
    if parts.is_empty() {
        parts.push("once".to_owned());
    }
    parts.extend(schedule.timezone.iter().map(|zone| format!("({zone})")));
    escape_control(&parts.join(" "))
}

/// The time in the largest unit that divides it.
pub(super) fn format_duration(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min")];
    let unit = units
        .iter()
        .find(|(unit, _)| seconds >= *unit && seconds.is_multiple_of(*unit));
    match unit {
        Some((unit, name)) => format!("{} {name}", seconds / unit),
        None => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> jiff::Timestamp {
        "2026-11-21T20:00:00Z".parse().unwrap()
    }

    fn schedule(when: ScheduleArguments) -> Schedule {
        when.schedule(now()).unwrap()
    }

    #[test]
    fn an_interval_without_a_start_begins_one_interval_from_now() {
        let every = ScheduleArguments {
            every: Some("4h".to_owned()),
            ..ScheduleArguments::default()
        };
        let schedule = schedule(every);
        assert_eq!(
            schedule.start_time.unwrap().to_string(),
            "2026-11-22T00:00:00Z"
        );
        assert_eq!(describe_schedule(&schedule), "every 4 h");
    }

    #[test]
    fn a_time_keeps_its_moment() {
        let at = ScheduleArguments {
            at: Some("2027-01-10T02:00:00+01:00".to_owned()),
            ..ScheduleArguments::default()
        };
        let schedule = schedule(at);
        assert_eq!(
            schedule.start_time.unwrap().to_string(),
            "2027-01-10T01:00:00Z"
        );
        assert_eq!(describe_schedule(&schedule), "once");
    }

    #[test]
    fn a_calendar_and_its_windows_are_told() {
        let when = ScheduleArguments {
            times: vec!["02:00".to_owned()],
            weekdays: vec!["sat".to_owned()],
            timezone: Some("Europe/Berlin".to_owned()),
            blackouts: vec!["22:00/06:00".to_owned()],
            spread: Some("15m".to_owned()),
            ..ScheduleArguments::default()
        };
        let schedule = schedule(when);
        assert_eq!(schedule.spread_seconds, Some(900));
        assert_eq!(
            (schedule.blackouts[0].from.as_str(), schedule.start_time),
            ("22:00", None)
        );
        assert_eq!(
            describe_schedule(&schedule),
            "at 02:00 on sat (Europe/Berlin)"
        );
    }

    #[test]
    fn mistakes_are_named() {
        let said = |when: ScheduleArguments| when.schedule(now()).unwrap_err().to_string();
        let bad = || Some("soon".to_owned());
        assert!(
            said(ScheduleArguments {
                at: bad(),
                ..ScheduleArguments::default()
            })
            .contains("--at soon")
        );
        assert!(
            said(ScheduleArguments {
                until: bad(),
                ..ScheduleArguments::default()
            })
            .contains("--until soon")
        );
        assert!(
            said(ScheduleArguments {
                every: bad(),
                ..ScheduleArguments::default()
            })
            .contains("soon")
        );
        assert!(
            said(ScheduleArguments {
                blackouts: vec!["22:00".to_owned()],
                ..ScheduleArguments::default()
            })
            .contains("22:00/06:00")
        );
        let endless = ScheduleArguments {
            every: Some("99999999999w".to_owned()),
            ..ScheduleArguments::default()
        };
        assert!(said(endless).contains("too long"));
    }
}
