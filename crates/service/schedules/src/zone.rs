//! Conversion of local times, with time zones by name.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::timetable::TimetableError;

/// The zone of an IANA name such as `Europe/Berlin`, from the machine's data.
pub(crate) fn load_zone(place: &'static str, name: &str) -> Result<TimeZone, TimetableError> {
    TimeZone::get(name).map_err(|_| TimetableError::Zone {
        place,
        name: name.chars().take(80).collect(),
    })
}

/// The local time in a zone; limited to the representable range.
pub(crate) fn to_zoned(ms: i64, zone: &TimeZone) -> Zoned {
    let end = if ms < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    let at = Timestamp::from_millisecond(ms).unwrap_or(end);
    at.to_zoned(zone.clone())
}

/// The instant at which the clocks of a zone show `at`. A time that is skipped when clocks go
/// forward is delayed by the length of the gap; of a time that occurs twice, the first counts.
pub(crate) fn first_instant(at: DateTime, zone: &TimeZone) -> Option<i64> {
    let zoned = zone.to_ambiguous_zoned(at).compatible().ok()?;
    Some(zoned.timestamp().as_millisecond())
}

/// The earliest such instant, for the start of a window that must not be too narrow.
pub(crate) fn earliest_instant(at: DateTime, zone: &TimeZone) -> Option<i64> {
    let zoned = zone.to_ambiguous_zoned(at).earlier().ok()?;
    Some(zoned.timestamp().as_millisecond())
}

/// The latest such instant, for the end of a window.
pub(crate) fn latest_instant(at: DateTime, zone: &TimeZone) -> Option<i64> {
    let zoned = zone.to_ambiguous_zoned(at).later().ok()?;
    Some(zoned.timestamp().as_millisecond())
}
