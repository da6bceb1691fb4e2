//! Semantic versions. Main type: [`SemVer`].
//!
//! Invariant: the order is that of semver.org: a pre-release is below its release, and a numeric
//! part of a pre-release is below a text.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A version, such as `1.2.3-rc1+build5`. Equality includes the build, order does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SemVer {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    pub(crate) prerelease: Option<Vec<PrereleasePart>>,
    pub(crate) build: Option<Vec<Arc<str>>>,
}

/// A part of a pre-release. Numbers come before texts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PrereleasePart {
    Number(u64),
    Text(Arc<str>),
}

/// The major version of [`SemVer::max`], which no text can produce.
const INFINITE: u64 = u64::MAX;

/// A text is not a semantic version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SemVerError {
    #[error("Unable to parse '{0}' as a semantic version identifier")]
    NotAVersion(String),
    #[error("Numeric pre-release identifiers MUST NOT contain leading zeroes")]
    LeadingZero,
}

impl SemVer {
    /// Parses a version of the form `major.minor.patch[-prerelease][+build]`.
    pub fn parse(text: &str) -> Result<Self, SemVerError> {
        let refused = || SemVerError::NotAVersion(text.to_owned());
        // Ruby's `\Z`: one newline may follow
        let body = text.strip_suffix('\n').unwrap_or(text);
        let (body, build) = match body.split_once('+') {
            Some((body, build)) => (body, Some(build)),
            None => (body, None),
        };
        let (numbers, prerelease) = match body.split_once('-') {
            Some((numbers, prerelease)) => (numbers, Some(prerelease)),
            None => (body, None),
        };
        let mut numbers = numbers.split('.').map(number);
        let (Some(Some(major)), Some(Some(minor)), Some(Some(patch)), None) = (
            numbers.next(),
            numbers.next(),
            numbers.next(),
            numbers.next(),
        ) else {
            return Err(refused());
        };
        if !prerelease.is_none_or(is_qualifier) || !build.is_none_or(is_qualifier) {
            return Err(refused());
        }
        Ok(Self {
            major,
            minor,
            patch,
            prerelease: prerelease.map(prerelease_parts).transpose()?,
            build: build.map(|text| text.split('.').map(Arc::from).collect()),
        })
    }

    /// A version without pre-release and build.
    #[must_use]
    pub fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self {
            major,
            minor,
            patch,
            prerelease: None,
            build: None,
        }
    }

    /// A version from its parts; a qualifier is one part, even if it contains dots.
    pub(crate) fn of_parts(
        [major, minor, patch]: [u64; 3],
        prerelease: Option<&str>,
        build: Option<&str>,
    ) -> Self {
        Self {
            prerelease: prerelease.map(|text| vec![PrereleasePart::Text(text.into())]),
            build: build.map(|text| vec![text.into()]),
            ..Self::new(major, minor, patch)
        }
    }

    /// The lowest version.
    pub(crate) fn min() -> Self {
        Self {
            prerelease: Some(Vec::new()),
            ..Self::new(0, 0, 0)
        }
    }

    /// The highest version.
    pub(crate) fn max() -> Self {
        Self::new(INFINITE, 0, 0)
    }

    #[must_use]
    pub fn major(&self) -> u64 {
        self.major
    }

    #[must_use]
    pub fn minor(&self) -> u64 {
        self.minor
    }

    #[must_use]
    pub fn patch(&self) -> u64 {
        self.patch
    }

    /// The pre-release, without its dash.
    #[must_use]
    pub fn prerelease(&self) -> Option<String> {
        let parts = self.prerelease.as_ref().filter(|parts| !parts.is_empty())?;
        Some(join(parts))
    }

    /// The build, without its plus sign.
    #[must_use]
    pub fn build(&self) -> Option<String> {
        let parts = self.build.as_ref().filter(|parts| !parts.is_empty())?;
        Some(join(parts))
    }

    pub(crate) fn is_stable(&self) -> bool {
        self.prerelease.as_ref().is_none_or(Vec::is_empty)
    }

    /// The order of versions; the build is ignored.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        (self.major, self.minor, self.patch)
            .cmp(&(other.major, other.minor, other.patch))
            .then_with(|| match (&self.prerelease, &other.prerelease) {
                (None, None) => Ordering::Equal,
                (None, Some(_)) => Ordering::Greater,
                (Some(_), None) => Ordering::Less,
                (Some(mine), Some(theirs)) => mine.cmp(theirs),
            })
    }
}

impl Hash for SemVer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.major, self.minor, self.patch).hash(state);
        self.prerelease.hash(state);
    }
}

impl fmt::Display for SemVer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.major == INFINITE {
            f.write_str("Infinity")?;
        } else {
            write!(f, "{}", self.major)?;
        }
        write!(f, ".{}.{}", self.minor, self.patch)?;
        if let Some(parts) = &self.prerelease {
            write!(f, "-{}", join(parts))?;
        }
        if let Some(parts) = &self.build {
            write!(f, "+{}", join(parts))?;
        }
        Ok(())
    }
}

impl fmt::Display for PrereleasePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

fn join<T: fmt::Display>(parts: &[T]) -> String {
    let texts: Vec<String> = parts.iter().map(ToString::to_string).collect();
    texts.join(".")
}

/// `0`, or digits that do not begin with `0`.
pub(super) fn number(text: &str) -> Option<u64> {
    let canonical = text == "0" || (!text.starts_with('0') && !text.is_empty());
    (canonical && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// True for parts of letters, digits and dashes, joined by dots.
pub(crate) fn is_qualifier(text: &str) -> bool {
    text.split('.').all(|part| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

pub(super) fn prerelease_parts(text: &str) -> Result<Vec<PrereleasePart>, SemVerError> {
    text.split('.')
        .map(|part| {
            if !part.bytes().all(|byte| byte.is_ascii_digit()) {
                return Ok(PrereleasePart::Text(part.into()));
            }
            if part.len() > 1 && part.starts_with('0') {
                return Err(SemVerError::LeadingZero);
            }
            Ok(part.parse().map_or_else(
                |_| PrereleasePart::Text(part.into()),
                PrereleasePart::Number,
            ))
        })
        .collect()
}
