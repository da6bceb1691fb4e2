//! Parsing of version ranges: operators, partial versions, `a - b`, `||`.

use super::SemVerRangeError;
use super::interval::VersionInterval;
use crate::value::SemVer;
use crate::value::semver::{is_qualifier, number, prerelease_parts};

/// A version that may have only its first parts; `x` stands for a missing part.
struct PartialVersion {
    major: Option<u64>,
    minor: Option<u64>,
    patch: Option<u64>,
    prerelease: Option<String>,
    build: Option<String>,
}

/// Parses a range into its alternatives, separated by `||`.
pub(super) fn intervals(text: &str) -> Result<Vec<VersionInterval>, SemVerRangeError> {
    let joined = join_operators(text);
    let mut parts: Vec<&str> = joined.split("||").collect();
    while parts.last().is_some_and(|part| part.trim().is_empty()) {
        parts.pop();
    }
    if parts.is_empty() {
        return Ok(vec![VersionInterval::All]);
    }
    let last = parts.len() - 1;
    let mut intervals: Vec<VersionInterval> = Vec::new();
    for (index, part) in parts.into_iter().enumerate() {
        let part = if index > 0 { part.trim_start() } else { part };
        let part = if index < last { part.trim_end() } else { part };
        if let Some(interval) = one(part, text)?
            && !intervals.contains(&interval)
        {
            intervals.push(interval);
        }
    }
    Ok(intervals)
}

/// Removes blanks (and a `v`) after operators, which separate nothing.
fn join_operators(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = &rest[first.len_utf8()..];
        joined.push(first);
        if matches!(first, '>' | '<' | '=' | '~' | '^') {
            let unblanked = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
            if unblanked.len() < rest.len() {
                rest = unblanked;
            } else if let Some(version) = rest.strip_prefix('v') {
                rest = version;
            }
        }
    }
    joined
}

/// Parses `a - b`, or comparisons that must all hold.
fn one(part: &str, whole: &str) -> Result<Option<VersionInterval>, SemVerRangeError> {
    if let Some((from, to)) = hyphen(part) {
        let (from, to) = (version(&from)?, version(&to)?);
        return Ok(VersionInterval::GtEq(from).intersection(&VersionInterval::LtEq(to)));
    }
    let mut simples = Vec::new();
    let trimmed = part.trim_end_matches(|c: char| c.is_ascii_whitespace());
    if trimmed.is_empty() {
        return Ok(None);
    }
    for simple in trimmed.split(|c: char| c.is_ascii_whitespace()) {
        if simple.is_empty() && !simples.is_empty() {
            continue;
        }
        simples.push(
            comparison(simple)?.ok_or_else(|| SemVerRangeError::NotARange(whole.to_owned()))?,
        );
    }
    let mut simples = simples.into_iter();
    let mut interval = simples.next();
    for next in simples {
        interval = interval.and_then(|interval| interval.intersection(&next));
    }
    Ok(interval)
}

fn hyphen(part: &str) -> Option<(PartialVersion, PartialVersion)> {
    let words: Vec<&str> = part.split_ascii_whitespace().collect();
    match words.as_slice() {
        [from, "-", to] if part.trim() == part => Some((partial(from)?, partial(to)?)),
        _ => None,
    }
}

/// Parses one comparison; `None` if the text is not one.
fn comparison(text: &str) -> Result<Option<VersionInterval>, SemVerRangeError> {
    const OPERATORS: [&str; 9] = ["~>", "~=", "<=", ">=", "<", ">", "=", "~", "^"];
    for operator in OPERATORS {
        if let Some(parsed) = text.strip_prefix(operator).and_then(partial) {
            return compare(operator, &parsed).map(Some);
        }
    }
    partial(text).map(|parsed| exact(&parsed)).transpose()
}

fn compare(operator: &str, partial: &PartialVersion) -> Result<VersionInterval, SemVerRangeError> {
    match operator {
        "~" | "~>" | "~=" => tilde(partial),
        "^" => caret(partial),
        ">" => Ok(match (partial.major, partial.minor, partial.patch) {
            (None, ..) => VersionInterval::nothing(),
            (Some(major), None, _) => VersionInterval::GtEq(SemVer::new(major + 1, 0, 0)),
            (Some(major), Some(minor), None) => {
                VersionInterval::GtEq(SemVer::new(major, minor + 1, 0))
            }
            _ => VersionInterval::Gt(version(partial)?),
        }),
        ">=" => Ok(VersionInterval::GtEq(version(partial)?)),
        "<" => Ok(VersionInterval::Lt(version(partial)?)),
        "<=" => Ok(match (partial.major, partial.minor, partial.patch) {
            (None, ..) => VersionInterval::All,
            (Some(major), None, _) => VersionInterval::Lt(SemVer::new(major + 1, 0, 0)),
            (Some(major), Some(minor), None) => {
                VersionInterval::Lt(SemVer::new(major, minor + 1, 0))
            }
            _ => VersionInterval::LtEq(version(partial)?),
        }),
        _ => exact(partial),
    }
}

fn from_until(from: SemVer, until: SemVer) -> VersionInterval {
    VersionInterval::both(VersionInterval::GtEq(from), VersionInterval::Lt(until))
}

/// All versions with the given parts: exactly one if all parts are given.
fn exact(partial: &PartialVersion) -> Result<VersionInterval, SemVerRangeError> {
    match (partial.major, partial.minor, partial.patch) {
        (Some(_), Some(_), Some(_)) => Ok(VersionInterval::Eq(version(partial)?)),
        _ => tilde(partial),
    }
}

/// `~1.2.3`: newer patch versions.
fn tilde(partial: &PartialVersion) -> Result<VersionInterval, SemVerRangeError> {
    let Some(major) = partial.major else {
        return Ok(VersionInterval::All);
    };
    let Some(minor) = partial.minor else {
        return Ok(from_until(
            SemVer::new(major, 0, 0),
            SemVer::new(major + 1, 0, 0),
        ));
    };
    let next = SemVer::new(major, minor + 1, 0);
    if partial.patch.is_none() {
        return Ok(from_until(SemVer::new(major, minor, 0), next));
    }
    Ok(from_until(version(partial)?, next))
}

/// `^1.2.3`: newer minor versions, or newer patch versions of major version 0.
fn caret(partial: &PartialVersion) -> Result<VersionInterval, SemVerRangeError> {
    match partial.major {
        None => Ok(VersionInterval::All),
        Some(0) => tilde(partial),
        Some(major) => {
            let from = match (partial.minor, partial.patch) {
                (None, _) => SemVer::new(major, 0, 0),
                (Some(minor), None) => SemVer::new(major, minor, 0),
                (Some(minor), Some(patch)) if partial.prerelease.is_none() => {
                    SemVer::new(major, minor, patch)
                }
                _ => version(partial)?,
            };
            Ok(from_until(from, SemVer::new(major + 1, 0, 0)))
        }
    }
}

/// The version with zeros for missing parts.
fn version(partial: &PartialVersion) -> Result<SemVer, SemVerRangeError> {
    Ok(SemVer {
        major: partial.major.unwrap_or(0),
        minor: partial.minor.unwrap_or(0),
        patch: partial.patch.unwrap_or(0),
        prerelease: partial
            .prerelease
            .as_deref()
            .map(prerelease_parts)
            .transpose()?,
        build: partial
            .build
            .as_deref()
            .map(|text| text.split('.').map(Into::into).collect()),
    })
}

/// `major[.minor[.patch[-prerelease][+build]]]`; `None` if the text is something else.
fn partial(text: &str) -> Option<PartialVersion> {
    let (text, build) = match text.split_once('+') {
        Some((text, build)) => (text, Some(build)),
        None => (text, None),
    };
    let (numbers, prerelease) = match text.split_once('-') {
        Some((numbers, prerelease)) => (numbers, Some(prerelease)),
        None => (text, None),
    };
    let parts: Vec<&str> = numbers.split('.').collect();
    let qualified = prerelease.is_some() || build.is_some();
    if parts.len() > 3 || (qualified && parts.len() < 3) {
        return None;
    }
    if !prerelease.is_none_or(is_qualifier) || !build.is_none_or(is_qualifier) {
        return None;
    }
    let digit = |index: usize| match parts.get(index) {
        None => Some(None),
        Some(&("x" | "X" | "*")) => Some(None),
        Some(text) => number(text).map(Some),
    };
    Some(PartialVersion {
        major: digit(0)?,
        minor: digit(1)?,
        patch: digit(2)?,
        prerelease: prerelease.map(str::to_owned),
        build: build.map(str::to_owned),
    })
}
