//! One uninterrupted range of versions. Main type: [`VersionInterval`].

use std::cmp::Ordering;
use std::fmt;

use crate::value::SemVer;

/// A contiguous range of versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VersionInterval {
    All,
    Gt(SemVer),
    GtEq(SemVer),
    Lt(SemVer),
    LtEq(SemVer),
    Eq(SemVer),
    Both(Box<VersionInterval>, Box<VersionInterval>),
}

impl VersionInterval {
    /// An empty interval.
    pub(super) fn nothing() -> Self {
        Self::Lt(SemVer::min())
    }

    pub(super) fn both(min: Self, max: Self) -> Self {
        let min = match min {
            Self::Both(min, _) => min,
            min => Box::new(min),
        };
        let max = match max {
            Self::Both(_, max) => max,
            max => Box::new(max),
        };
        Self::Both(min, max)
    }

    pub(super) fn begin(&self) -> SemVer {
        match self {
            Self::Gt(version) | Self::GtEq(version) | Self::Eq(version) => version.clone(),
            Self::Both(min, _) => min.begin(),
            Self::All | Self::Lt(_) | Self::LtEq(_) => SemVer::min(),
        }
    }

    pub(super) fn end(&self) -> SemVer {
        match self {
            Self::Lt(version) | Self::LtEq(version) | Self::Eq(version) => version.clone(),
            Self::Both(_, max) => max.end(),
            Self::All | Self::Gt(_) | Self::GtEq(_) => SemVer::max(),
        }
    }

    fn excludes_begin(&self) -> bool {
        match self {
            Self::Gt(_) => true,
            Self::Both(min, _) => min.excludes_begin(),
            _ => false,
        }
    }

    pub(super) fn excludes_end(&self) -> bool {
        match self {
            Self::Lt(_) => true,
            Self::Both(_, max) => max.excludes_end(),
            _ => false,
        }
    }

    fn has_lower_bound(&self) -> bool {
        match self {
            Self::Gt(_) => true,
            Self::GtEq(version) | Self::Eq(version) => *version != SemVer::min(),
            Self::Both(min, _) => min.has_lower_bound(),
            _ => false,
        }
    }

    fn has_upper_bound(&self) -> bool {
        match self {
            Self::Lt(_) => true,
            Self::LtEq(version) | Self::Eq(version) => *version != SemVer::max(),
            Self::Both(_, max) => max.has_upper_bound(),
            _ => false,
        }
    }

    pub(super) fn includes(&self, version: &SemVer) -> bool {
        match self {
            Self::All => true,
            Self::Gt(bound) => version.compare(bound).is_gt(),
            Self::GtEq(bound) => version.compare(bound).is_ge(),
            Self::Lt(bound) => version.compare(bound).is_lt(),
            Self::LtEq(bound) => version.compare(bound).is_le(),
            Self::Eq(bound) => version == bound,
            Self::Both(min, max) => min.includes(version) && max.includes(version),
        }
    }

    /// True if the interval was written with a pre-release of the same version.
    pub(super) fn names_prerelease(&self, version: &SemVer) -> bool {
        match self {
            Self::All => true,
            Self::Gt(bound)
            | Self::GtEq(bound)
            | Self::Lt(bound)
            | Self::LtEq(bound)
            | Self::Eq(bound) => {
                !bound.is_stable()
                    && (bound.major, bound.minor, bound.patch)
                        == (version.major, version.minor, version.patch)
            }
            Self::Both(min, max) => min.names_prerelease(version) || max.names_prerelease(version),
        }
    }

    /// Intersection of both intervals; `None` if it is empty.
    pub(super) fn intersection(&self, other: &Self) -> Option<Self> {
        if matches!(self, Self::All) {
            return Some(other.clone());
        }
        match self.begin().compare(&other.end()) {
            Ordering::Greater => return None,
            Ordering::Equal => {
                let open = self.excludes_begin() || other.excludes_end();
                return (!open).then(|| Self::Eq(self.begin()));
            }
            Ordering::Less => {}
        }
        match other.begin().compare(&self.end()) {
            Ordering::Greater => return None,
            Ordering::Equal => {
                let open = other.excludes_begin() || self.excludes_end();
                return (!open).then(|| Self::Eq(other.begin()));
            }
            Ordering::Less => {}
        }
        let min = match self.begin().compare(&other.begin()) {
            Ordering::Less => other,
            Ordering::Greater => self,
            Ordering::Equal if self.excludes_begin() => self,
            Ordering::Equal => other,
        };
        let max = match self.end().compare(&other.end()) {
            Ordering::Greater => other,
            Ordering::Less => self,
            Ordering::Equal if self.excludes_end() => self,
            Ordering::Equal => other,
        };
        Some(if !max.has_upper_bound() {
            min.clone()
        } else if !min.has_lower_bound() {
            max.clone()
        } else {
            Self::both(min.clone(), max.clone())
        })
    }

    /// One interval that covers two, if they overlap or touch.
    pub(super) fn merge(&self, other: &Self) -> Option<Self> {
        if matches!(self, Self::All) {
            return Some(Self::All);
        }
        if self.includes(&other.begin()) || other.includes(&self.begin()) {
            return self.merge_overlapping(other);
        }
        let touches = |low: &Self, high: &Self| {
            if high.excludes_begin() {
                return false;
            }
            if low.excludes_end() {
                return low.end() == high.begin();
            }
            let end = low.end();
            SemVer::new(end.major, end.minor, end.patch.saturating_add(1)) == high.begin()
        };
        if touches(self, other) {
            Self::from_to(self, other)
        } else if touches(other, self) {
            Self::from_to(other, self)
        } else {
            None
        }
    }

    fn merge_overlapping(&self, other: &Self) -> Option<Self> {
        let (min, open_begin) = match self.begin().compare(&other.begin()) {
            Ordering::Less => (self.begin(), self.excludes_begin()),
            Ordering::Greater => (other.begin(), other.excludes_begin()),
            Ordering::Equal => (
                self.begin(),
                self.excludes_begin() && other.excludes_begin(),
            ),
        };
        let (max, open_end) = match self.end().compare(&other.end()) {
            Ordering::Greater => (self.end(), self.excludes_end()),
            Ordering::Less => (other.end(), other.excludes_end()),
            Ordering::Equal => (self.end(), self.excludes_end() && other.excludes_end()),
        };
        lower(min, open_begin).intersection(&upper(max, open_end))
    }

    fn from_to(low: &Self, high: &Self) -> Option<Self> {
        lower(low.begin(), low.excludes_begin())
            .intersection(&upper(high.end(), high.excludes_end()))
    }
}

fn lower(version: SemVer, open: bool) -> VersionInterval {
    if open {
        VersionInterval::Gt(version)
    } else {
        VersionInterval::GtEq(version)
    }
}

fn upper(version: SemVer, open: bool) -> VersionInterval {
    if open {
        VersionInterval::Lt(version)
    } else {
        VersionInterval::LtEq(version)
    }
}

impl fmt::Display for VersionInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Gt(version) => write!(f, ">{version}"),
            Self::GtEq(version) => write!(f, ">={version}"),
            Self::Lt(version) if *version == SemVer::min() => f.write_str("<0.0.0"),
            Self::Lt(version) => write!(f, "<{version}"),
            Self::LtEq(version) => write!(f, "<={version}"),
            Self::Eq(version) => write!(f, "{version}"),
            Self::Both(min, max) => write!(f, "{min} {max}"),
        }
    }
}
