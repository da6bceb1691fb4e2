//! The calendar: days since 1970 to dates and back.
//!
//! The Gregorian calendar extended in both directions, from Howard Hinnant's published algorithms:
//! the year begins in March, so the leap day is its last.

/// A date and time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CivilDateTime {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    /// Days since 1970.
    pub(super) days: i64,
}

const DAYS_PER_ERA: i64 = 146_097;

pub(super) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - 719_468
}

fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

impl CivilDateTime {
    pub(super) fn from_seconds(seconds: i64) -> Self {
        let days = seconds.div_euclid(86_400);
        let of_day = seconds.rem_euclid(86_400);
        let (year, month, day) = date_of(days);
        Self {
            year,
            month,
            day,
            hour: of_day / 3_600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            days,
        }
    }

    /// The day of the year, 1 to 366.
    pub(super) fn day_of_year(&self) -> i64 {
        self.days - days_from_civil(self.year, 1, 1) + 1
    }

    /// The day of the week; 0 is Sunday.
    pub(super) fn weekday(&self) -> i64 {
        (self.days + 4).rem_euclid(7)
    }

    /// The week of the year, weeks beginning on Sunday.
    pub(super) fn week_from_sunday(&self) -> i64 {
        (self.day_of_year() + 6 - self.weekday()) / 7
    }

    /// The week of the year, weeks beginning on Monday.
    pub(super) fn week_from_monday(&self) -> i64 {
        (self.day_of_year() + 6 - (self.weekday() + 6) % 7) / 7
    }

    /// Year and week of ISO 8601: the week belongs to the year of its Thursday.
    pub(super) fn iso_week(&self) -> (i64, i64) {
        let thursday = self.days - (self.weekday() + 6) % 7 + 3;
        let (year, ..) = date_of(thursday);
        (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
    }
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
