//! Parsing of timestamps with the formats of Ruby's `DateTime._strptime`: [`parse`].
//!
//! Invariant: the whole text must be read, and values that a format does not name are not guessed,
//! except that parts smaller than the smallest named one are zero.

use super::TimeError;
use super::civil::{self, MONTHS, WEEKDAYS};
use super::zone;
use crate::value::PuppetTimestamp;

/// A limit that is above every timestamp, and low enough that the seconds do not overflow.
const YEARS_MAX: u64 = 1_000_000_000;

/// Fields read from a text.
#[derive(Debug, Default, Clone)]
pub(super) struct ParsedTimeFields {
    year: Option<i64>,
    century: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    nanos: Option<i128>,
    /// True for `pm`, false for `am`; `None` if the text has neither.
    afternoon: Option<bool>,
    /// The zone's text, and its offset if it is known.
    pub(super) zone: Option<(String, Option<i64>)>,
}

impl ParsedTimeFields {
    /// The point in time; `zone` has priority over a zone in the text.
    pub(super) fn timestamp(&self, zone: Option<&str>) -> Result<PuppetTimestamp, TimeError> {
        let offset = match (zone, &self.zone) {
            (Some(zone), _) => zone::offset_seconds(zone)?,
            (None, Some((text, offset))) => {
                offset.ok_or_else(|| TimeError::BadZone(text.clone()))?
            }
            (None, None) => 0,
        };
        let is_far = |year: &i64| year.unsigned_abs() > YEARS_MAX;
        let year = self.year.filter(|year| !is_far(year));
        let year = year.ok_or(TimeError::OutOfRange)?;
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        let hour = self.hour.unwrap_or(0);
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 24 {
            return Err(TimeError::OutOfRange);
        }
        for (part, name) in [(self.minute, "min"), (self.second, "sec")] {
            if hour == 24 && part.is_some_and(|part| part > 0) {
                return Err(TimeError::PartOutOfRange(name));
            }
        }
        // a day after the end of the month is in the next month, as in Ruby's Time
        let days = civil::days_from_civil(year, month, 1) + day - 1;
        let seconds =
            days * 86_400 + hour * 3_600 + self.minute.unwrap_or(0) * 60 + self.second.unwrap_or(0)
                - offset;
        let nanos = i128::from(seconds) * 1_000_000_000 + self.nanos.unwrap_or(0);
        PuppetTimestamp::from_nanos(nanos).ok_or(TimeError::OutOfRange)
    }
}

/// Parses the whole text; `None` if it does not fit the format.
pub(super) fn parse(text: &str, format: &str) -> Option<ParsedTimeFields> {
    let mut reader = StrptimeReader {
        rest: text,
        parsed: ParsedTimeFields::default(),
    };
    reader.read(format)?;
    if !reader.rest.is_empty() {
        return None;
    }
    let mut parsed = reader.parsed;
    if let (Some(hour), Some(afternoon)) = (parsed.hour, parsed.afternoon) {
        parsed.hour = Some(hour % 12 + if afternoon { 12 } else { 0 });
    }
    if let (Some(century), Some(year)) = (parsed.century, parsed.year) {
        let years = century.checked_mul(100)?;
        parsed.year = Some(years.checked_add(year)?);
    }
    Some(parsed)
}

struct StrptimeReader<'a> {
    rest: &'a str,
    parsed: ParsedTimeFields,
}

impl StrptimeReader<'_> {
    fn read(&mut self, format: &str) -> Option<()> {
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c.is_ascii_whitespace() {
                self.rest = self
                    .rest
                    .trim_start_matches(|c: char| c.is_ascii_whitespace());
                continue;
            }
            if c != '%' {
                self.rest = self.rest.strip_prefix(c)?;
                continue;
            }
            if chars.as_str().starts_with(':') && field(chars.as_str()).is_none() {
                return None;
            }
            let Some((letter, behind)) = field(chars.as_str()) else {
                self.rest = self.rest.strip_prefix('%')?;
                continue;
            };
            chars = behind.chars();
            // a numeric field that follows needs digits of its own
            let followed = followed_by_number(behind);
            self.directive(letter, followed)?;
        }
        Some(())
    }

    fn directive(&mut self, letter: char, followed: bool) -> Option<()> {
        match letter {
            'Y' => {
                let most = if followed { 4 } else { usize::MAX };
                self.parsed.year = Some(self.read_signed(most)?);
            }
            'C' => {
                let most = if followed { 2 } else { usize::MAX };
                self.parsed.century = Some(self.digits(most)?);
            }
            'y' => {
                let year = self.digits(2)?;
                self.parsed.year = Some(year);
                self.guess_century(year);
            }
            'm' => self.parsed.month = Some(self.within(2, 1, 12)?),
            'd' | 'e' => self.parsed.day = Some(self.read_padded(1, 31)?),
            'j' => {
                self.within(3, 1, 366)?;
            }
            'H' | 'k' => self.parsed.hour = Some(self.read_padded(0, 24)?),
            'I' | 'l' => self.parsed.hour = Some(self.read_padded(1, 12)?),
            'M' => self.parsed.minute = Some(self.within(2, 0, 59)?),
            'S' => self.parsed.second = Some(self.within(2, 0, 60)?),
            'L' => self.fraction(if followed { 3 } else { usize::MAX })?,
            'N' => self.fraction(if followed { 9 } else { usize::MAX })?,
            'B' | 'b' | 'h' => self.parsed.month = Some(self.name(&MONTHS)? + 1),
            'A' | 'a' => {
                self.name(&WEEKDAYS)?;
            }
            'p' | 'P' => self.parsed.afternoon = Some(self.half()?),
            'u' => {
                self.within(1, 1, 7)?;
            }
            'w' => {
                self.within(1, 0, 6)?;
            }
            'G' => {
                self.read_signed(if followed { 4 } else { usize::MAX })?;
            }
            'g' => {
                let year = self.digits(2)?;
                self.guess_century(year);
            }
            'V' => {
                self.within(2, 1, 53)?;
            }
            'U' | 'W' => {
                self.within(2, 0, 53)?;
            }
            // seconds since 1970 are read and ignored, since a timestamp needs a year
            's' | 'Q' => {
                self.read_signed(usize::MAX)?;
            }
            'z' | 'Z' => {
                let (length, offset) = zone::scan(self.rest)?;
                let text = self.rest[..length].to_owned();
                self.parsed.zone = Some((text, offset));
                self.rest = &self.rest[length..];
            }
            'n' | 't' => self.skip_blank(),
            '%' => self.rest = self.rest.strip_prefix('%')?,
            _ => self.read_composed(letter)?,
        }
        Some(())
    }

    fn read_composed(&mut self, letter: char) -> Option<()> {
        self.read(match letter {
            'c' => "%a %b %e %H:%M:%S %Y",
            'D' | 'x' => "%m/%d/%y",
            'F' => "%Y-%m-%d",
            'v' => "%e-%b-%Y",
            'X' | 'T' => "%H:%M:%S",
            'r' => "%I:%M:%S %p",
            'R' => "%H:%M",
            '+' => "%a %b %e %H:%M:%S %Z %Y",
            _ => return None,
        })
    }

    /// Reads two digits, or a blank and one digit.
    fn read_padded(&mut self, low: i64, high: i64) -> Option<i64> {
        match self.rest.strip_prefix(' ') {
            Some(rest) => {
                self.rest = rest;
                self.within(1, low, high)
            }
            None => self.within(2, low, high),
        }
    }

    /// Sets the century of a year of two digits, if none was read before.
    fn guess_century(&mut self, year: i64) {
        let guessed = if year >= 69 { 19 } else { 20 };
        self.parsed.century.get_or_insert(guessed);
    }

    fn skip_blank(&mut self) {
        self.rest = self
            .rest
            .trim_start_matches(|c: char| c.is_ascii_whitespace());
    }

    fn digits(&mut self, most: usize) -> Option<i64> {
        let length = self
            .rest
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        digits.parse().ok()
    }

    fn within(&mut self, most: usize, low: i64, high: i64) -> Option<i64> {
        self.digits(most)
            .filter(|number| (low..=high).contains(number))
    }

    fn read_signed(&mut self, most: usize) -> Option<i64> {
        let negative = self.rest.starts_with('-');
        self.rest = self.rest.strip_prefix(['-', '+']).unwrap_or(self.rest);
        let number = self.digits(most)?;
        Some(if negative { -number } else { number })
    }

    fn fraction(&mut self, most: usize) -> Option<()> {
        let length = self
            .rest
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        if length == 0 {
            return None;
        }
        let digits = &self.rest[..length];
        let kept = &digits[..length.min(9)];
        let number: i128 = kept.parse().ok()?;
        let missing = u32::try_from(9 - kept.len()).ok()?;
        self.parsed.nanos = Some(number * 10_i128.pow(missing));
        self.rest = &self.rest[length..];
        Some(())
    }

    /// Reads a full name or its first three letters; returns its index.
    fn name(&mut self, names: &[&str]) -> Option<i64> {
        for (index, name) in names.iter().enumerate() {
            for length in [name.len(), 3] {
                if self
                    .rest
                    .get(..length)
                    .is_some_and(|text| text.eq_ignore_ascii_case(&name[..length]))
                {
                    self.rest = &self.rest[length..];
                    return i64::try_from(index).ok();
                }
            }
        }
        None
    }

    fn half(&mut self) -> Option<bool> {
        let lower = self.rest.to_ascii_lowercase();
        for (text, afternoon) in [("am", false), ("a.m.", false), ("pm", true), ("p.m.", true)] {
            if lower.starts_with(text) {
                self.rest = &self.rest[text.len()..];
                return Some(afternoon);
            }
        }
        None
    }
}

/// The letter of the field after `%`, and the rest of the format; `None` if there is no field, so
/// that the `%` is literal. As in Ruby, flags and widths are not recognised, and `E`, `O` and
/// colons only before some letters.
fn field(format: &str) -> Option<(char, &str)> {
    const FIELDS: &str = "ABCDFGHILMNPQRSTUVWXYZabcdeghjklmnprstuvwxyz%+";
    let colons = format.bytes().take_while(|b| *b == b':').count();
    let (allowed, letter) = match format.as_bytes().first() {
        Some(b'E') => ("cCxXyY", &format[1..]),
        Some(b'O') => ("deHImMSuUVwWy", &format[1..]),
        _ if (1..=3).contains(&colons) => ("z", &format[colons..]),
        _ => (FIELDS, format),
    };
    let mut chars = letter.chars();
    let letter = chars.next().filter(|letter| allowed.contains(*letter))?;
    Some((letter, chars.as_str()))
}

/// True if a format continues with a digit or a numeric field.
fn followed_by_number(format: &str) -> bool {
    let mut chars = format.chars();
    match chars.next() {
        Some(c) if c.is_ascii_digit() => true,
        Some('%') => {
            let letter = chars.next();
            let letter = match letter {
                Some('E' | 'O') => chars.next(),
                letter => letter,
            };
            letter.is_some_and(|c| {
                c.is_ascii_digit() || "CDdeFGgHIjkLlMmNQRrSsTUuVvWwXxYy".contains(c)
            })
        }
        _ => false,
    }
}
