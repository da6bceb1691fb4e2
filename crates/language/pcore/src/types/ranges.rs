//! Ranges of integers, floats and times.
//!
//! Invariant: a range's `from` is not above its `to`.

use std::hash::{Hash, Hasher};

/// A range of integers, both ends included; `None` is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IntRange {
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
}

impl IntRange {
    /// The unbounded range, which contains every integer.
    pub const ALL: Self = Self {
        from: None,
        to: None,
    };
    /// Every size: the size of a collection type without a size.
    pub const ANY_SIZE: Self = Self {
        from: Some(0),
        to: None,
    };
    pub const EMPTY: Self = Self {
        from: Some(0),
        to: Some(0),
    };
    pub const NOT_EMPTY: Self = Self {
        from: Some(1),
        to: None,
    };

    /// `None` if `from` is above `to`.
    #[must_use]
    pub fn new(from: Option<i64>, to: Option<i64>) -> Option<Self> {
        match (from, to) {
            (Some(low), Some(high)) if low > high => None,
            _ => Some(Self { from, to }),
        }
    }

    /// The range that contains only this number.
    #[must_use]
    pub fn exactly(number: i64) -> Self {
        Self {
            from: Some(number),
            to: Some(number),
        }
    }

    /// The range that contains only this size.
    pub(crate) fn of_len(len: usize) -> Self {
        Self::exactly(i64::try_from(len).unwrap_or(i64::MAX))
    }

    #[must_use]
    pub fn from(self) -> Option<i64> {
        self.from
    }

    #[must_use]
    pub fn to(self) -> Option<i64> {
        self.to
    }

    #[must_use]
    pub fn contains(self, number: i64) -> bool {
        self.from.is_none_or(|from| number >= from) && self.to.is_none_or(|to| number <= to)
    }

    pub(crate) fn contains_len(self, len: usize) -> bool {
        self.contains(i64::try_from(len).unwrap_or(i64::MAX))
    }

    /// True if every number of `other` is in this range.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        let below = match (self.from, other.from) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(theirs)) => mine <= theirs,
        };
        let above = match (self.to, other.to) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(theirs)) => mine >= theirs,
        };
        below && above
    }

    /// The range as a size: the lower bound is not below zero.
    #[must_use]
    pub fn to_size(self) -> Self {
        if self.from.is_some_and(|from| from >= 0) {
            return self;
        }
        Self {
            from: Some(0),
            to: self.to.map(|to| to.max(0)),
        }
    }

    #[must_use]
    pub fn is_finite(self) -> bool {
        self.from.is_some() && self.to.is_some()
    }

    /// The minimum of a range created by [`IntRange::to_size`].
    pub(crate) fn lower_bound(self) -> i64 {
        self.from.unwrap_or(0)
    }
}

/// A range of floats, both ends included; `None` is unbounded.
#[derive(Debug, Clone, Copy)]
pub struct FloatRange {
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
}

impl FloatRange {
    pub const ALL: Self = Self {
        from: None,
        to: None,
    };

    /// `None` if `from` is above `to`.
    #[must_use]
    pub fn new(from: Option<f64>, to: Option<f64>) -> Option<Self> {
        match (from, to) {
            (Some(low), Some(high)) if low > high => None,
            _ => Some(Self { from, to }),
        }
    }

    #[must_use]
    pub fn from(self) -> Option<f64> {
        self.from
    }

    #[must_use]
    pub fn to(self) -> Option<f64> {
        self.to
    }

    pub(crate) fn lower_bound(self) -> f64 {
        self.from.unwrap_or(f64::NEG_INFINITY)
    }

    pub(crate) fn upper_bound(self) -> f64 {
        self.to.unwrap_or(f64::INFINITY)
    }

    #[must_use]
    pub fn contains(self, number: f64) -> bool {
        number >= self.lower_bound() && number <= self.upper_bound()
    }

    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        self.lower_bound() <= other.lower_bound() && self.upper_bound() >= other.upper_bound()
    }
}

impl PartialEq for FloatRange {
    fn eq(&self, other: &Self) -> bool {
        self.lower_bound().total_cmp(&other.lower_bound()).is_eq()
            && self.upper_bound().total_cmp(&other.upper_bound()).is_eq()
    }
}

impl Eq for FloatRange {}

impl Hash for FloatRange {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.lower_bound().to_bits());
        state.write_u64(self.upper_bound().to_bits());
    }
}

/// A range of times, both ends included; `None` is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeRange<T> {
    pub(crate) from: Option<T>,
    pub(crate) to: Option<T>,
}

impl<T: Copy + Ord> TimeRange<T> {
    pub const ALL: Self = Self {
        from: None,
        to: None,
    };

    /// `None` if `from` is after `to`.
    #[must_use]
    pub fn new(from: Option<T>, to: Option<T>) -> Option<Self> {
        match (from, to) {
            (Some(low), Some(high)) if low > high => None,
            _ => Some(Self { from, to }),
        }
    }

    #[must_use]
    pub fn from(self) -> Option<T> {
        self.from
    }

    #[must_use]
    pub fn to(self) -> Option<T> {
        self.to
    }

    #[must_use]
    pub fn contains(self, time: T) -> bool {
        self.from.is_none_or(|from| time >= from) && self.to.is_none_or(|to| time <= to)
    }

    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        self.from
            .is_none_or(|from| other.from.is_some_and(|theirs| from <= theirs))
            && self
                .to
                .is_none_or(|to| other.to.is_some_and(|theirs| to >= theirs))
    }
}
