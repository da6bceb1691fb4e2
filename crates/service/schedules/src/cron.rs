//! Cron expressions on the clock of a time zone: [`CompiledCron`], over the library `croner`.
//!
//! Invariants around clock changes: an expression with a fixed hour and minute runs once, at the
//! end of the gap if its time is skipped, and the first time if its time occurs twice; an
//! expression that repeats (`*`, steps) runs at every time that clocks show, so not in a gap, and
//! twice in a fold.

use croner::Cron;
use croner::parser::CronParser;
use jiff::tz::TimeZone;

use crate::defaults::CRON_CHARS;
use crate::timetable::TimetableError;
use crate::zone::{load_zone, to_zoned};

const PLACE: &str = "schedule.cron";

#[derive(Clone, Debug)]
pub(crate) struct CompiledCron {
    cron: Cron,
    zone: TimeZone,
}

/// The parser's error message, with the names of the fields.
fn describe_cron_error(words: &str) -> String {
    if words.contains("between 5 and 7 fields") {
        return "it has another number of fields than five, or six with seconds first".to_owned();
    }
    if words.contains("out of bounds") {
        return "a number is out of its range (minute 0-59, hour 0-23, day 1-31, month 1-12, weekday 0-7)".to_owned();
    }
    words.trim_end_matches('.').to_owned()
}

impl CompiledCron {
    pub(crate) fn new(text: &str, timezone: &str) -> Result<Self, TimetableError> {
        if text.chars().count() > CRON_CHARS {
            let what = format!("must have at most {CRON_CHARS} characters");
            return Err(TimetableError::invalid(PLACE, what));
        }
        let cron = CronParser::new().parse(text).map_err(|error| {
            let what = format!(
                "is not a cron text like \"30 2 * * mon-fri\" (minute, hour, day, month, weekday): \
                 {}",
                describe_cron_error(&error.to_string())
            );
            TimetableError::invalid(PLACE, what)
        })?;
        let zone = load_zone("schedule.timezone", timezone)?;
        Ok(Self { cron, zone })
    }

    pub(crate) fn next_after(&self, after_ms: i64) -> Option<i64> {
        // Rounded down to whole seconds: the library then finds a later second.
        let from = to_zoned(after_ms.div_euclid(1_000) * 1_000, &self.zone);
        let next = self.cron.find_next_occurrence(&from, false).ok()?;
        let at_ms = next.timestamp().as_millisecond();
        (at_ms > after_ms).then_some(at_ms)
    }
}
