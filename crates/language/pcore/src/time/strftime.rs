//! Formatting of timestamps with the formats of Ruby's `Time#strftime`: [`write`].
//!
//! Invariant: directives that Ruby does not know are copied unchanged.

use std::fmt::Write as _;

use super::TimeError;
use super::civil::{CivilDateTime, MONTHS, WEEKDAYS};
use crate::defaults::FORMATTED_WIDTH_MAX;
use crate::value::PuppetTimestamp;

/// Flags and width between `%` and the conversion letter.
#[derive(Debug, Clone, Copy, Default)]
struct StrftimeFlags {
    /// `-`, `0` or `_`; the last one counts.
    pad: Option<char>,
    upcase: bool,
    swapcase: bool,
    colons: usize,
    width: Option<usize>,
}

impl StrftimeFlags {
    /// The directive without the flag that changes the case of letters.
    fn unchanged(self) -> Self {
        Self {
            upcase: false,
            swapcase: false,
            ..self
        }
    }
}

struct StrftimeMoment {
    civil: CivilDateTime,
    seconds: i64,
    nanos: i128,
    /// Offset from UTC in seconds; `None` is UTC.
    offset: Option<i64>,
}

/// The text of a time at an offset; UTC if there is none.
pub(super) fn write(
    time: PuppetTimestamp,
    format: &str,
    offset: Option<i64>,
) -> Result<String, TimeError> {
    let seconds = time.nanos().div_euclid(1_000_000_000);
    let seconds = i64::try_from(seconds).map_err(|_| TimeError::OutOfRange)?;
    let moment = StrftimeMoment {
        civil: CivilDateTime::from_seconds(seconds.saturating_add(offset.unwrap_or(0))),
        seconds,
        nanos: time.nanos().rem_euclid(1_000_000_000),
        offset,
    };
    let mut out = String::with_capacity(format.len() * 2);
    let mut rest = format;
    while let Some(start) = rest.find('%') {
        out.push_str(&rest[..start]);
        let (flags, letter, length) = directive(&rest[start + 1..]);
        let whole = &rest[start..start + 1 + length];
        if let Some(width) = flags.width.filter(|width| *width > FORMATTED_WIDTH_MAX) {
            return Err(TimeError::TooWide(width));
        }
        match letter.and_then(|letter| moment.text(letter, flags)) {
            Some(text) => out.push_str(&text),
            None => out.push_str(whole),
        }
        rest = &rest[start + 1 + length..];
    }
    out.push_str(rest);
    Ok(out)
}

/// Parses flags, width and letter; also returns their length in bytes.
fn directive(text: &str) -> (StrftimeFlags, Option<char>, usize) {
    let mut flags = StrftimeFlags::default();
    for (at, c) in text.char_indices() {
        match c {
            '-' | '_' => flags.pad = Some(c),
            '0' if flags.width.is_none() => flags.pad = Some('0'),
            '^' => flags.upcase = true,
            '#' => flags.swapcase = true,
            ':' => flags.colons += 1,
            'E' | 'O' => {}
            '0'..='9' => {
                let digit = c as usize - '0' as usize;
                flags.width = Some(flags.width.unwrap_or(0).saturating_mul(10) + digit);
            }
            _ => return (flags, Some(c), at + c.len_utf8()),
        }
    }
    (flags, None, text.len())
}

impl StrftimeMoment {
    fn text(&self, letter: char, flags: StrftimeFlags) -> Option<String> {
        if flags.colons > 0 && letter != 'z' {
            return None;
        }
        let civil = &self.civil;
        let hour12 = (civil.hour + 11) % 12 + 1;
        let month = usize::try_from(civil.month - 1).ok()?;
        let weekday = usize::try_from(civil.weekday()).ok()?;
        Some(match letter {
            'Y' => {
                let width = if civil.year < 0 { 5 } else { 4 };
                number(civil.year, width, '0', flags)
            }
            'C' => number(civil.year.div_euclid(100), 2, '0', flags),
            'y' => number(civil.year.rem_euclid(100), 2, '0', flags),
            'm' => number(civil.month, 2, '0', flags),
            'd' => number(civil.day, 2, '0', flags),
            'e' => number(civil.day, 2, ' ', flags),
            'j' => number(civil.day_of_year(), 3, '0', flags),
            'H' => number(civil.hour, 2, '0', flags),
            'k' => number(civil.hour, 2, ' ', flags),
            'I' => number(hour12, 2, '0', flags),
            'l' => number(hour12, 2, ' ', flags),
            'M' => number(civil.minute, 2, '0', flags),
            'S' => number(civil.second, 2, '0', flags),
            'L' => self.fraction(flags.width.unwrap_or(3)),
            'N' => self.fraction(flags.width.unwrap_or(9)),
            's' => number(self.seconds, 1, '0', flags),
            'u' => number((civil.weekday() + 6) % 7 + 1, 1, '0', flags),
            'w' => number(civil.weekday(), 1, '0', flags),
            'G' => number(civil.iso_week().0, 4, '0', flags),
            'g' => number(civil.iso_week().0.rem_euclid(100), 2, '0', flags),
            'V' => number(civil.iso_week().1, 2, '0', flags),
            'U' => number(civil.week_from_sunday(), 2, '0', flags),
            'W' => number(civil.week_from_monday(), 2, '0', flags),
            'B' => word(MONTHS[month], flags),
            'b' | 'h' => word(&MONTHS[month][..3], flags),
            'A' => word(WEEKDAYS[weekday], flags),
            'a' => word(&WEEKDAYS[weekday][..3], flags),
            'p' => self.half(flags, !flags.swapcase),
            'P' => self.half(flags, flags.upcase || flags.swapcase),
            'z' => self.zone_number(flags)?,
            // Ruby has no names for zones that are given as offsets
            'Z' if self.offset.is_some() => String::new(),
            'Z' if flags.swapcase => word("utc", flags.unchanged()),
            'Z' => word("UTC", flags),
            'n' => word("\n", flags),
            't' => word("\t", flags),
            '%' => word("%", flags),
            _ => {
                let text = self.expand_composed(letter)?;
                let swapcase = false;
                word(&text, StrftimeFlags { swapcase, ..flags })
            }
        })
    }

    fn expand_composed(&self, letter: char) -> Option<String> {
        let format = match letter {
            'c' => "%a %b %e %H:%M:%S %Y",
            'D' | 'x' => "%m/%d/%y",
            'F' => "%Y-%m-%d",
            'v' => "%e-%^b-%Y",
            'X' | 'T' => "%H:%M:%S",
            'r' => "%I:%M:%S %p",
            'R' => "%H:%M",
            _ => return None,
        };
        let time =
            PuppetTimestamp::from_nanos(i128::from(self.seconds) * 1_000_000_000 + self.nanos)?;
        write(time, format, self.offset).ok()
    }

    fn half(&self, flags: StrftimeFlags, upper: bool) -> String {
        let text = match (self.civil.hour < 12, upper) {
            (true, true) => "AM",
            (true, false) => "am",
            (false, true) => "PM",
            (false, false) => "pm",
        };
        let flags = StrftimeFlags {
            swapcase: false,
            ..flags
        };
        word(text, flags)
    }

    /// The first digits of the fraction; zeros after the ninth.
    fn fraction(&self, digits: usize) -> String {
        let all = format!("{:09}", self.nanos);
        if digits <= all.len() {
            all[..digits].to_owned()
        } else {
            format!("{all:0<digits$}")
        }
    }

    fn zone_number(&self, flags: StrftimeFlags) -> Option<String> {
        let offset = self.offset.unwrap_or(0);
        // a dash marks UTC as an unknown local time
        let nowhere = self.offset.is_none() && flags.pad == Some('-');
        let sign = if offset < 0 || nowhere { '-' } else { '+' };
        let (hours, minutes, seconds) = (
            offset.abs() / 3_600,
            offset.abs() / 60 % 60,
            offset.abs() % 60,
        );
        let tail = match flags.colons {
            0 => format!("{minutes:02}"),
            1 => format!(":{minutes:02}"),
            2 => format!(":{minutes:02}:{seconds:02}"),
            3 if seconds != 0 => format!(":{minutes:02}:{seconds:02}"),
            3 if minutes != 0 => format!(":{minutes:02}"),
            3 => String::new(),
            _ => return None,
        };
        let width = flags.width.unwrap_or(0).saturating_sub(tail.len()).max(3);
        Some(match flags.pad {
            Some('_') => {
                let signed = format!("{sign}{hours}");
                format!("{signed:>width$}{tail}")
            }
            _ => {
                let digits = width - 1;
                format!("{sign}{hours:0>digits$}{tail}")
            }
        })
    }
}

fn number(value: i64, width: usize, pad: char, flags: StrftimeFlags) -> String {
    let pad = match flags.pad {
        Some('-') => return value.to_string(),
        Some('_') => ' ',
        Some('0') => '0',
        _ => pad,
    };
    let width = flags.width.unwrap_or(width);
    let mut out = String::new();
    let _ = if pad == ' ' {
        write!(out, "{value:>width$}")
    } else {
        write!(out, "{value:0width$}")
    };
    out
}

fn word(text: &str, flags: StrftimeFlags) -> String {
    let text = if flags.upcase || flags.swapcase {
        text.to_uppercase()
    } else {
        text.to_owned()
    };
    let width = match flags.pad {
        Some('-') => 0,
        _ => flags.width.unwrap_or(0),
    };
    if flags.pad == Some('0') {
        format!("{text:0>width$}")
    } else {
        format!("{text:>width$}")
    }
}
