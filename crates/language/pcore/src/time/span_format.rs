//! Formats of timespans: `%D-%H:%M:%S.%-N`. Main type: [`SpanFormat`].
//!
//! Invariant: the largest unit of a format includes all larger units: `%H` alone, for two days, is
//! 48.

use std::fmt::Write as _;

use super::TimeError;
use crate::defaults::FORMATTED_WIDTH_MAX;
use crate::value::Timespan;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TimespanUnit {
    Nanos,
    Millis,
    Seconds,
    Minutes,
    Hours,
    Days,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanPadding {
    None,
    Space,
    Zero,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SpanField {
    pub(super) unit: TimespanUnit,
    pub(super) pad: SpanPadding,
    pub(super) width: Option<usize>,
    pub(super) total: bool,
}

#[derive(Debug)]
pub(super) enum SpanFormatSegment {
    Literal(String),
    Field(SpanField),
}

#[derive(Debug)]
pub(super) struct SpanFormat {
    pub(super) segments: Vec<SpanFormatSegment>,
}

const NANOS: [i128; 6] = [
    1,
    1_000_000,
    1_000_000_000,
    60_000_000_000,
    3_600_000_000_000,
    86_400_000_000_000,
];

impl TimespanUnit {
    pub(super) fn nanos(self) -> i128 {
        NANOS[self as usize]
    }

    fn is_fraction(self) -> bool {
        matches!(self, Self::Nanos | Self::Millis)
    }
}

impl SpanField {
    pub(super) fn width_or_default(&self) -> usize {
        self.width.unwrap_or(match self.unit {
            TimespanUnit::Days => 1,
            TimespanUnit::Hours | TimespanUnit::Minutes | TimespanUnit::Seconds => 2,
            TimespanUnit::Millis => 3,
            TimespanUnit::Nanos => 9,
        })
    }

    /// The value of this field for a duration in nanoseconds.
    fn value(&self, nanos: i128) -> i128 {
        let whole = nanos / self.unit.nanos();
        match self.unit {
            TimespanUnit::Days => whole,
            TimespanUnit::Nanos => self.fraction(nanos),
            _ if self.total => whole,
            TimespanUnit::Hours => whole % 24,
            TimespanUnit::Minutes | TimespanUnit::Seconds => whole % 60,
            TimespanUnit::Millis => whole % 1_000,
        }
    }

    /// The digits of the fraction, as many as the width allows.
    fn fraction(&self, nanos: i128) -> i128 {
        let width = u32::try_from(self.width_or_default()).unwrap_or(u32::MAX);
        if width < 9 {
            let digits = nanos / 10_i128.pow(9 - width);
            if self.total {
                digits
            } else {
                digits % 10_i128.pow(width)
            }
        } else if self.total {
            nanos
        } else {
            nanos % 1_000_000_000
        }
    }

    fn write(&self, out: &mut String, nanos: i128) -> Result<(), TimeError> {
        let mut value = self.value(nanos);
        let width = self.width_or_default();
        if width > FORMATTED_WIDTH_MAX {
            return Err(TimeError::TooWide(width));
        }
        if self.unit.is_fraction() && !self.total && self.pad != SpanPadding::Zero {
            while value != 0 && value % 10 == 0 {
                value /= 10;
            }
        }
        // writing to a String cannot fail
        let _ = match self.pad {
            SpanPadding::None => write!(out, "{value}"),
            _ if self.unit.is_fraction() => write!(out, "{value:<width$}"),
            SpanPadding::Space => write!(out, "{value:>width$}"),
            SpanPadding::Zero => write!(out, "{value:0>width$}"),
        };
        Ok(())
    }
}

impl SpanFormat {
    pub(super) fn write(&self, span: Timespan) -> Result<String, TimeError> {
        let mut out = String::new();
        if span.nanos() < 0 {
            out.push('-');
        }
        for segment in &self.segments {
            match segment {
                SpanFormatSegment::Literal(text) => out.push_str(text),
                SpanFormatSegment::Field(field) => field.write(&mut out, span.nanos().abs())?,
            }
        }
        Ok(out)
    }
}

/// Parses a format.
pub(super) fn parse(format: &str) -> Result<SpanFormat, TimeError> {
    let mut segments: Vec<SpanFormatSegment> = Vec::new();
    let mut chars = format.chars().enumerate();
    while let Some((start, c)) = chars.next() {
        if c != '%' {
            push_literal(&mut segments, c);
            continue;
        }
        let (mut pad, mut width) = (SpanPadding::Zero, None);
        let mut only_pad = true;
        loop {
            let Some((position, c)) = chars.next() else {
                return Err(bad(format, start, format.chars().count().saturating_sub(1)));
            };
            let unit = match c {
                '%' => {
                    push_literal(&mut segments, '%');
                    break;
                }
                '-' if only_pad => {
                    pad = SpanPadding::None;
                    only_pad = false;
                    continue;
                }
                '_' if only_pad => {
                    pad = SpanPadding::Space;
                    only_pad = false;
                    continue;
                }
                '0' if only_pad => {
                    pad = SpanPadding::Zero;
                    only_pad = false;
                    continue;
                }
                '0'..='9' => {
                    let digit = c as usize - '0' as usize;
                    width = Some(width.map_or(digit, |w: usize| w.saturating_mul(10) + digit));
                    only_pad = false;
                    continue;
                }
                'D' => TimespanUnit::Days,
                'H' => TimespanUnit::Hours,
                'M' => TimespanUnit::Minutes,
                'S' => TimespanUnit::Seconds,
                'L' => TimespanUnit::Millis,
                'N' => TimespanUnit::Nanos,
                _ => return Err(bad(format, start, position)),
            };
            segments.push(SpanFormatSegment::Field(SpanField {
                unit,
                pad,
                width,
                total: false,
            }));
            break;
        }
    }
    let highest = segments
        .iter()
        .filter_map(|segment| match segment {
            SpanFormatSegment::Field(field) => Some(field.unit),
            SpanFormatSegment::Literal(_) => None,
        })
        .max();
    let first = segments.iter_mut().find_map(|segment| match segment {
        SpanFormatSegment::Field(field) if Some(field.unit) == highest => Some(field),
        _ => None,
    });
    if let Some(field) = first {
        field.total = true;
    }
    Ok(SpanFormat { segments })
}

fn push_literal(segments: &mut Vec<SpanFormatSegment>, c: char) {
    if let Some(SpanFormatSegment::Literal(text)) = segments.last_mut() {
        text.push(c);
    } else {
        segments.push(SpanFormatSegment::Literal(c.to_string()));
    }
}

fn bad(format: &str, start: usize, position: usize) -> TimeError {
    TimeError::BadSpecifier {
        specifier: format.chars().skip(start).take(position - start).collect(),
        format: format.to_owned(),
        position,
    }
}
