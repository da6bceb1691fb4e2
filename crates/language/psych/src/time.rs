//! Plain scalars with the shape of dates and times: [`YamlDate`], [`YamlTime`].
//!
//! Invariant: texts that Ruby's `Date.strptime` and `Time.utc` refuse remain texts.

/// A calendar day without a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct YamlDate {
    pub year: i32,
    pub month: u8,
    pub day: u8,
}

/// A moment, with the time zone of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct YamlTime {
    /// Seconds since 1970-01-01 00:00 UTC.
    pub seconds: i64,
    pub nanoseconds: u32,
    /// Offset in seconds east of Greenwich; `None` if none was written, which means UTC.
    pub offset_seconds: Option<i32>,
}

/// The result for a scalar with the shape of a date or time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum DateTimeScalar {
    Date(Option<YamlDate>),
    Time(Option<YamlTime>),
}

/// Recognises a date or time; `None` if the text has neither shape.
pub(crate) fn parse_date_time(text: &str) -> Option<DateTimeScalar> {
    let mut scan = TimestampScanner(text.as_bytes());
    if let Some(time) = scan.time() {
        return Some(DateTimeScalar::Time(time));
    }
    let mut scan = TimestampScanner(text.as_bytes());
    scan.date().map(DateTimeScalar::Date)
}

struct TimestampScanner<'t>(&'t [u8]);

impl TimestampScanner<'_> {
    /// The outer `None` means another shape, the inner one that there is no such day.
    fn date(&mut self) -> Option<Option<YamlDate>> {
        let year = self.number(4, 4)?;
        self.byte(b'-')?;
        let month = self.number(1, 2).filter(|it| *it <= 12)?;
        self.byte(b'-')?;
        let day = self.number(1, 2).filter(|it| *it <= 31)?;
        self.end()?;
        Some(civil(year, month, day))
    }

    fn time(&mut self) -> Option<Option<YamlTime>> {
        let before_christ = self.byte(b'-').is_some();
        let year = self.number(4, 4)?;
        self.byte(b'-')?;
        let month = self.number(1, 2)?;
        self.byte(b'-')?;
        let day = self.number(1, 2)?;
        if self.byte(b'T').or_else(|| self.byte(b't')).is_none() && self.blanks() == 0 {
            return None;
        }
        let hour = self.number(1, 2)?;
        self.byte(b':')?;
        let minute = self.number(2, 2)?;
        self.byte(b':')?;
        let second = self.number(2, 2)?;
        let nanoseconds = match self.byte(b'.') {
            Some(()) => self.fraction(),
            None => 0,
        };
        self.blanks();
        let offset_seconds = self.offset()?;
        self.end()?;
        let fits = (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && minute < 60
            && second <= 60
            && (hour < 24 || (hour, minute, second) == (24, 0, 0));
        if !fits {
            return Some(None);
        }
        let year = if before_christ { -year } else { year };
        let days = days_since_epoch(i64::from(year), i64::from(month), i64::from(day));
        let of_day = i64::from(hour * 3600 + minute * 60 + second);
        let local = days * 86_400 + of_day;
        Some(Some(YamlTime {
            seconds: local - i64::from(offset_seconds.unwrap_or(0)),
            nanoseconds,
            offset_seconds,
        }))
    }

    /// `Z`, `+1`, `-01:30`, `+0130` or nothing.
    fn offset(&mut self) -> Option<Option<i32>> {
        if self.byte(b'Z').is_some() {
            return Some(Some(0));
        }
        let sign = match (self.byte(b'+'), self.byte(b'-')) {
            (Some(()), _) => 1,
            (None, Some(())) => -1,
            (None, None) => return Some(None),
        };
        let hours = self.number(1, 2)?;
        let minutes = match self.byte(b':') {
            Some(()) if self.0.is_empty() => 0,
            _ if self.0.is_empty() => 0,
            _ => self.number(2, 2)?,
        };
        Some(Some(sign * (hours * 3600 + minutes * 60)))
    }

    fn number(&mut self, least: usize, most: usize) -> Option<i32> {
        let digits = self
            .0
            .iter()
            .take(most)
            .take_while(|it| it.is_ascii_digit());
        let digits = digits.count();
        if digits < least {
            return None;
        }
        let (number, rest) = self.0.split_at(digits);
        self.0 = rest;
        let value = number
            .iter()
            .fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0'));
        Some(value)
    }

    fn fraction(&mut self) -> u32 {
        let mut unit = 100_000_000;
        let mut nanoseconds = 0;
        while let Some((digit @ b'0'..=b'9', rest)) = self.0.split_first() {
            nanoseconds += u32::from(digit - b'0') * unit;
            unit /= 10;
            self.0 = rest;
        }
        nanoseconds
    }

    fn blanks(&mut self) -> usize {
        let before = self.0.len();
        self.0 = self.0.trim_ascii_start();
        before - self.0.len()
    }

    fn byte(&mut self, expected: u8) -> Option<()> {
        let rest = self.0.strip_prefix(&[expected])?;
        self.0 = rest;
        Some(())
    }

    fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// An existing day, by the Julian calendar before 1582-10-15, as in Ruby.
fn civil(year: i32, month: i32, day: i32) -> Option<YamlDate> {
    let julian = (year, month, day) < (1582, 10, 15);
    if julian && (year, month, day) > (1582, 10, 4) {
        return None;
    }
    let leap = year % 4 == 0 && (julian || year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    };
    let exists = (1..=12).contains(&month) && (1..=length).contains(&day);
    exists.then_some(YamlDate {
        year,
        month: u8::try_from(month).ok()?,
        day: u8::try_from(day).ok()?,
    })
}

/// Days since 1970-01-01 in the Gregorian calendar; surplus days count into the next month.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let from_march = (month + 9) % 12;
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}
