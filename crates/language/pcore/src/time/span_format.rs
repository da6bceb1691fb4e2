//! Formats of timespans: `%D-%H:%M:%S.%-N`. Main type: [`SpanFormat`].
//!
//! Invariant: the largest unit of a format holds all that is larger: `%H` alone of two days
//! is 48.

use std::fmt::Write as _;

use super::TimeError;
use crate::defaults::FORMATTED_WIDTH_MAX;
use crate::value::Timespan;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    Nanos,
    Millis,
    Seconds,
    Minutes,
    Hours,
    Days,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pad {
    None,
    Space,
    Zero,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) unit: Unit,
    pub(super) pad: Pad,
    pub(super) width: Option<usize>,
    pub(super) total: bool,
}

#[derive(Debug)]
pub(super) enum Segment {
    Literal(String),
    Field(Field),
}

#[derive(Debug)]
pub(super) struct SpanFormat {
    pub(super) segments: Vec<Segment>,
}

const NANOS: [i128; 6] = [
    1,
    1_000_000,
    1_000_000_000,
    60_000_000_000,
    3_600_000_000_000,
    86_400_000_000_000,
];

impl Unit {
    pub(super) fn nanos(self) -> i128 {
        NANOS[self as usize]
    }

    fn is_fraction(self) -> bool {
        matches!(self, Self::Nanos | Self::Millis)
    }
}

impl Field {
    pub(super) fn width_or_default(&self) -> usize {
        self.width.unwrap_or(match self.unit {
            Unit::Days => 1,
            Unit::Hours | Unit::Minutes | Unit::Seconds => 2,
            Unit::Millis => 3,
            Unit::Nanos => 9,
        })
    }

    /// Value of this field for a duration in nanoseconds.
    fn value(&self, nanos: i128) -> i128 {
        let whole = nanos / self.unit.nanos();
        match self.unit {
            Unit::Days => whole,
            Unit::Nanos => self.fraction(nanos),
            _ if self.total => whole,
            Unit::Hours => whole % 24,
            Unit::Minutes | Unit::Seconds => whole % 60,
            Unit::Millis => whole % 1_000,
        }
    }

    /// Digits of the fraction, as many as the width says.
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
        if self.unit.is_fraction() && !self.total && self.pad != Pad::Zero {
            while value != 0 && value % 10 == 0 {
                value /= 10;
            }
        }
        // writing to a String cannot fail
        let _ = match self.pad {
            Pad::None => write!(out, "{value}"),
            _ if self.unit.is_fraction() => write!(out, "{value:<width$}"),
            Pad::Space => write!(out, "{value:>width$}"),
            Pad::Zero => write!(out, "{value:0>width$}"),
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
                Segment::Literal(text) => out.push_str(text),
                Segment::Field(field) => field.write(&mut out, span.nanos().abs())?,
            }
        }
        Ok(out)
    }
}

/// Reads a format.
pub(super) fn parse(format: &str) -> Result<SpanFormat, TimeError> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut chars = format.chars().enumerate();
    while let Some((start, c)) = chars.next() {
        if c != '%' {
            push_literal(&mut segments, c);
            continue;
        }
        let (mut pad, mut width) = (Pad::Zero, None);
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
                    pad = Pad::None;
                    only_pad = false;
                    continue;
                }
                '_' if only_pad => {
                    pad = Pad::Space;
                    only_pad = false;
                    continue;
                }
                '0' if only_pad => {
                    pad = Pad::Zero;
                    only_pad = false;
                    continue;
                }
                '0'..='9' => {
                    let digit = c as usize - '0' as usize;
                    width = Some(width.map_or(digit, |w: usize| w.saturating_mul(10) + digit));
                    only_pad = false;
                    continue;
                }
                'D' => Unit::Days,
                'H' => Unit::Hours,
                'M' => Unit::Minutes,
                'S' => Unit::Seconds,
                'L' => Unit::Millis,
                'N' => Unit::Nanos,
                _ => return Err(bad(format, start, position)),
            };
            segments.push(Segment::Field(Field {
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
            Segment::Field(field) => Some(field.unit),
            Segment::Literal(_) => None,
        })
        .max();
    let first = segments.iter_mut().find_map(|segment| match segment {
        Segment::Field(field) if Some(field.unit) == highest => Some(field),
        _ => None,
    });
    if let Some(field) = first {
        field.total = true;
    }
    Ok(SpanFormat { segments })
}

fn push_literal(segments: &mut Vec<Segment>, c: char) {
    if let Some(Segment::Literal(text)) = segments.last_mut() {
        text.push(c);
    } else {
        segments.push(Segment::Literal(c.to_string()));
    }
}

fn bad(format: &str, start: usize, position: usize) -> TimeError {
    TimeError::BadSpecifier {
        specifier: format.chars().skip(start).take(position - start).collect(),
        format: format.to_owned(),
        position,
    }
}
