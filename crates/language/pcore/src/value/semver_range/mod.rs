//! Ranges of semantic versions. Main type: [`SemVerRange`].
//!
//! Invariant: the text is the original one, and is ignored by equality.

mod interval;
mod parse;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use interval::VersionInterval;

use super::SemVer;

/// A set of versions, written like `>=1.0.0 <2.0.0` or `1.x || 3.x`.
#[derive(Debug, Clone)]
pub struct SemVerRange {
    intervals: Vec<VersionInterval>,
    text: Arc<str>,
}

/// A text is not a range of versions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SemVerRangeError {
    #[error("Unparsable version range: \"{0}\"")]
    NotARange(String),
    #[error(transparent)]
    Version(#[from] super::semver::SemVerError),
}

impl SemVerRange {
    /// Parses a range in npm's notation.
    pub fn parse(text: &str) -> Result<Self, SemVerRangeError> {
        let intervals = parse::intervals(text)?;
        Ok(Self::of(intervals, Some(text.into())))
    }

    /// The range from one version to another.
    #[must_use]
    pub fn between(from: &SemVer, to: &SemVer, exclude_end: bool) -> Self {
        // Puppet prints the two ends in reverse order
        let text = if exclude_end {
            format!(">={to} <{from}")
        } else {
            format!("{to} - {from}")
        };
        let upper = if exclude_end {
            VersionInterval::Lt(to.clone())
        } else {
            VersionInterval::LtEq(to.clone())
        };
        let interval = VersionInterval::GtEq(from.clone()).intersection(&upper);
        Self::of(interval.into_iter().collect(), Some(text.into()))
    }

    /// Everything from the lowest version (`None`) to the highest.
    #[must_use]
    pub fn from_ends(from: Option<&SemVer>, to: Option<&SemVer>, exclude_end: bool) -> Self {
        let (lowest, highest) = (SemVer::min(), SemVer::max());
        Self::between(from.unwrap_or(&lowest), to.unwrap_or(&highest), exclude_end)
    }

    fn of(intervals: Vec<VersionInterval>, text: Option<Arc<str>>) -> Self {
        let mut intervals = merge_until_apart(intervals);
        if intervals.is_empty() {
            intervals.push(VersionInterval::nothing());
        }
        let text = text.unwrap_or_else(|| join_intervals(&intervals).into());
        Self { intervals, text }
    }

    /// Canonical text of the range, independent of its original spelling.
    #[must_use]
    pub fn canonical(&self) -> String {
        join_intervals(&self.intervals)
    }

    /// True if the version is in the range. A pre-release is included only if the range names a
    /// pre-release of the same version.
    #[must_use]
    pub fn includes(&self, version: &SemVer) -> bool {
        self.intervals.iter().any(|interval| {
            interval.includes(version)
                && (version.is_stable() || interval.names_prerelease(version))
        })
    }

    fn single(&self) -> Option<&VersionInterval> {
        match self.intervals.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The first version; `None` if the range has several intervals.
    #[must_use]
    pub fn begin(&self) -> Option<SemVer> {
        self.single().map(VersionInterval::begin)
    }

    /// The last version, or the first one after the range if the end is excluded.
    #[must_use]
    pub fn end(&self) -> Option<SemVer> {
        self.single().map(VersionInterval::end)
    }

    #[must_use]
    pub fn excludes_end(&self) -> bool {
        self.single().is_some_and(VersionInterval::excludes_end)
    }

    /// True if `other` is contained in this range.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let (Some(mine), Some(theirs)) = (self.single(), other.single()) else {
            return self == other;
        };
        if mine.begin().compare(&theirs.begin()) == Ordering::Greater {
            return false;
        }
        match mine.end().compare(&theirs.end()) {
            Ordering::Greater => true,
            Ordering::Equal => !mine.excludes_end() || theirs.excludes_end(),
            Ordering::Less => false,
        }
    }

    /// One range that covers two, if they overlap or touch.
    fn merge(&self, other: &Self) -> Option<Self> {
        let (begin, end) = (self.begin()?, self.end()?);
        let (their_begin, their_end) = (other.begin()?, other.end()?);
        if self.includes(&their_begin) || other.includes(&begin) {
            let ends = end.compare(&their_end);
            let exclude = match ends {
                Ordering::Greater => self.excludes_end(),
                Ordering::Less => other.excludes_end(),
                Ordering::Equal => self.excludes_end() && other.excludes_end(),
            };
            let from = if begin.compare(&their_begin).is_le() {
                &begin
            } else {
                &their_begin
            };
            let to = if ends.is_ge() { &end } else { &their_end };
            Some(Self::between(from, to, exclude))
        } else if self.excludes_end() && end == their_begin {
            Some(Self::between(&begin, &their_end, other.excludes_end()))
        } else if other.excludes_end() && their_end == begin {
            Some(Self::between(&their_begin, &end, self.excludes_end()))
        } else {
            None
        }
    }

    /// Merges ranges that overlap or touch, as a `SemVer` type with several ranges does.
    pub(crate) fn merge_all(ranges: Vec<Arc<Self>>) -> Vec<Arc<Self>> {
        if ranges.len() < 2 {
            return ranges;
        }
        let mut result = merge_round(ranges, |a, b| a.merge(b).map(Arc::new));
        result.reverse();
        result
    }
}

fn join_intervals(intervals: &[VersionInterval]) -> String {
    let texts: Vec<String> = intervals.iter().map(ToString::to_string).collect();
    texts.join(" || ")
}

/// Takes the last part, joins to it every part that can be joined, and continues with the rest.
fn merge_round<T>(mut parts: Vec<T>, join: impl Fn(&T, &T) -> Option<T>) -> Vec<T> {
    let mut result = Vec::new();
    while let Some(mut joined) = parts.pop() {
        let mut apart = Vec::new();
        for part in parts {
            match join(&joined, &part) {
                Some(merged) => joined = merged,
                None => apart.push(part),
            }
        }
        result.push(joined);
        parts = apart;
    }
    result
}

fn merge_until_apart(mut intervals: Vec<VersionInterval>) -> Vec<VersionInterval> {
    while intervals.len() > 1 {
        let before = intervals.len();
        intervals = merge_round(intervals, VersionInterval::merge);
        intervals.reverse();
        if intervals.len() == before {
            break;
        }
    }
    intervals
}

impl fmt::Display for SemVerRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for SemVerRange {
    fn eq(&self, other: &Self) -> bool {
        self.intervals == other.intervals
    }
}

impl Eq for SemVerRange {}

impl Hash for SemVerRange {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.intervals.len().hash(state);
    }
}
