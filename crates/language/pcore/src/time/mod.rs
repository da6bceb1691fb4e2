//! Formatting and parsing of times: [`Timespan`](crate::Timespan) and
//! [`PuppetTimestamp`](crate::PuppetTimestamp).
//!
//! Invariant: formats have the meaning of Ruby's `strftime` and `_strptime` and of Puppet's
//! timespan formats; nothing here reads a clock or the machine's time zone.

mod civil;
mod error;
mod span_format;
mod span_parse;
mod strftime;
mod strptime;
mod zone;

use crate::value::{PuppetTimestamp, Timespan};
pub use error::TimeError;

/// The formats with which a timespan is parsed if none is given; the first is the format of its
/// text.
const SPAN_FORMATS: [&str; 8] = [
    "%D-%H:%M:%S.%-N",
    "%H:%M:%S.%-N",
    "%M:%S.%-N",
    "%S.%-N",
    "%D-%H:%M:%S",
    "%H:%M:%S",
    "%D-%H:%M",
    "%S",
];

/// The formats with which a timestamp is parsed if none is given.
const STAMP_FORMATS: [&str; 5] = [
    "%FT%T.%N %Z",
    "%FT%T %Z",
    "%F %T.%N %Z",
    "%F %T %Z",
    "%F %Z",
];
const STAMP_FORMATS_WITHOUT_ZONE: [&str; 5] = ["%FT%T.%N", "%FT%T", "%F %T.%N", "%F %T", "%F"];

impl Timespan {
    /// Formats the timespan with `%D %H %M %S %L %N`.
    pub fn format(self, format: &str) -> Result<String, TimeError> {
        span_format::parse(format)?.write(self)
    }

    /// The default text with all zeros at the start of the fraction, so that it parses to the same
    /// timespan.
    #[must_use]
    pub fn exact_text(self) -> String {
        let nanos = self.nanos().unsigned_abs();
        let seconds = nanos / 1_000_000_000;
        let fraction = format!("{:09}", nanos % 1_000_000_000);
        let fraction = match fraction.trim_end_matches('0') {
            "" => "0",
            digits => digits,
        };
        format!(
            "{}{}-{:02}:{:02}:{:02}.{fraction}",
            if self.nanos() < 0 { "-" } else { "" },
            seconds / 86_400,
            seconds / 3_600 % 24,
            seconds / 60 % 60,
            seconds % 60
        )
    }

    /// Parses a text with the first format that fits; without formats, with the default ones.
    pub fn parse(text: &str, formats: Option<&[&str]>) -> Result<Self, TimeError> {
        let formats = formats.unwrap_or(&SPAN_FORMATS);
        for format in formats {
            if let Ok(span) = Self::parse_as(text, format) {
                return Ok(span);
            }
        }
        Err(no_matching_format(text, formats))
    }

    /// Parses a text with one format.
    pub fn parse_as(text: &str, format: &str) -> Result<Self, TimeError> {
        span_parse::parse(text, &span_format::parse(format)?, format)
    }
}

impl std::fmt::Display for Timespan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.format(SPAN_FORMATS[0]).map_err(|_| std::fmt::Error)?;
        f.write_str(&text)
    }
}

impl PuppetTimestamp {
    /// Formats the timestamp with a format of Ruby's `strftime`, in UTC or another time zone.
    pub fn format(self, format: &str, zone: Option<&str>) -> Result<String, TimeError> {
        let offset = match zone.filter(|zone| !zone.is_empty()) {
            Some(zone) => Some(zone::offset_seconds(zone)?),
            None => None,
        };
        strftime::write(self, format, offset)
    }

    /// Parses a text with the first format that fits; without formats, with the default ones.
    pub fn parse(
        text: &str,
        formats: Option<&[&str]>,
        zone: Option<&str>,
    ) -> Result<Self, TimeError> {
        let zone = zone.filter(|zone| !zone.is_empty());
        let usual: Vec<&str> = if zone.is_some() {
            STAMP_FORMATS_WITHOUT_ZONE.to_vec()
        } else {
            STAMP_FORMATS
                .iter()
                .chain(&STAMP_FORMATS_WITHOUT_ZONE)
                .copied()
                .collect()
        };
        let formats = formats.unwrap_or(&usual);
        for format in formats {
            if let Some(parsed) = strptime::parse(text, format)
                && !(zone.is_some() && parsed.zone.is_some())
            {
                return parsed.timestamp(zone);
            }
        }
        Err(no_matching_format(text, formats))
    }

    /// Parses a text with one format.
    pub fn parse_as(text: &str, format: &str, zone: Option<&str>) -> Result<Self, TimeError> {
        let zone = zone.filter(|zone| !zone.is_empty());
        let parsed = strptime::parse(text, format).ok_or_else(|| TimeError::Unparsable {
            text: text.to_owned(),
            format: format.to_owned(),
        })?;
        if zone.is_some() && parsed.zone.is_some() {
            return Err(TimeError::TwoZones);
        }
        parsed.timestamp(zone)
    }
}

impl std::fmt::Display for PuppetTimestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self
            .format(STAMP_FORMATS[0], None)
            .map_err(|_| std::fmt::Error)?;
        f.write_str(&text)
    }
}

fn no_matching_format(text: &str, formats: &[&str]) -> TimeError {
    TimeError::NoFormat {
        text: text.to_owned(),
        formats: formats.join(", "),
    }
}
