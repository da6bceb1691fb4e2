//! Branches and tags of a repository: [`Refs`]; a commit: [`Commit`].
//!
//! Invariant: a name refers to one commit; if both a branch and a tag have it, to the branch's.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::defaults::REFS;

/// The name of a commit: 40 or 64 lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit(Box<str>);

/// The branches and tags of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    branches: BTreeMap<String, Commit>,
    tags: BTreeMap<String, Commit>,
}

/// A reference to a commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Name of a branch or tag, or digits of a commit.
    Any(String),
    /// Name of a branch.
    Branch(String),
    /// Name of a tag.
    Tag(String),
    /// Digits of a commit, complete or abbreviated.
    Commit(String),
}

/// The error for an unusable list of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefsError {
    /// The list is invalid.
    Unexpected,
    /// The list has more than [`REFS`] entries.
    TooMany,
}

// === impl Wanted ===

impl Wanted {
    /// The name or digits, whatever the kind.
    pub fn name(&self) -> &str {
        match self {
            Self::Any(name) | Self::Branch(name) | Self::Tag(name) | Self::Commit(name) => name,
        }
    }
}

// === impl Commit ===

impl Commit {
    /// The digits of the commit.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Commit {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        match matches!(text.len(), 40 | 64) && text.bytes().all(is_digit) {
            true => Ok(Self(text.into())),
            false => Err(()),
        }
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Commit({})", self.0)
    }
}

// === impl Refs ===

impl Refs {
    /// Parses the output of `git ls-remote` or `git show-ref -d`.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, RefsError> {
        let text = std::str::from_utf8(text).map_err(|_| RefsError::Unexpected)?;
        let mut refs = Self::default();
        for line in text.lines() {
            let (commit, name) = line.split_once(['\t', ' ']).ok_or(RefsError::Unexpected)?;
            let commit: Commit = commit.parse().map_err(|()| RefsError::Unexpected)?;
            if let Some(branch) = name.strip_prefix("refs/heads/") {
                refs.branches.insert(branch.to_owned(), commit);
            } else if let Some(tag) = name.strip_prefix("refs/tags/") {
                // An annotated tag has a second line with the commit that it refers to, which is
                // used.
                let tag = tag.strip_suffix("^{}").unwrap_or(tag);
                refs.tags.insert(tag.to_owned(), commit);
            }
            // A partial list would make the others look deleted.
            if refs.branches.len() + refs.tags.len() > REFS {
                return Err(RefsError::TooMany);
            }
        }
        Ok(refs)
    }

    /// A text that [`Refs::parse`] parses to the same value.
    pub(crate) fn encode(&self) -> String {
        let heads = self.branches.iter().map(|it| ("heads", it));
        let tags = self.tags.iter().map(|it| ("tags", it));
        let lines = heads.chain(tags);
        lines
            .map(|(kind, (name, commit))| format!("{commit} refs/{kind}/{name}\n"))
            .collect()
    }

    /// The branches, sorted by name.
    pub fn branches(&self) -> impl Iterator<Item = (&str, &Commit)> {
        self.branches
            .iter()
            .map(|(name, commit)| (name.as_str(), commit))
    }

    /// The commit of a branch; `None` if there is no such branch.
    pub fn branch(&self, name: &str) -> Option<&Commit> {
        self.branches.get(name)
    }

    /// The commit of a tag; `None` if there is no such tag.
    pub fn tag(&self, name: &str) -> Option<&Commit> {
        self.tags.get(name)
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any(name) => write!(f, "branch, tag or commit {name}"),
            Self::Branch(name) => write!(f, "branch {name}"),
            Self::Tag(name) => write!(f, "tag {name}"),
            Self::Commit(name) => write!(f, "commit {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let (one, other) = ("1".repeat(40), "2".repeat(40));
        let text = format!(
            "{one}\tHEAD\n{one}\trefs/heads/main\n{one}\trefs/tags/v1\n{other}\trefs/tags/v1^{{}}\n\
             {other}\trefs/pull/1/head\n"
        );
        let refs = Refs::parse(text.as_bytes()).unwrap();
        assert_eq!(refs.branch("main").unwrap().as_str(), one);
        assert_eq!(refs.tag("v1").unwrap().as_str(), other);
        assert_eq!(refs.branches().count(), 1);
        assert_eq!(Refs::parse(refs.encode().as_bytes()), Ok(refs));
        let unexpected = Err(RefsError::Unexpected);
        assert_eq!(Refs::parse(b"garbage\n"), unexpected);
        assert_eq!(Refs::parse(b"xyz\trefs/heads/main\n"), unexpected);
        assert_eq!(Refs::parse(b""), Ok(Refs::default()));
    }

    #[test]
    fn too_many_are_an_error_and_not_fewer() {
        let line = |number: usize| format!("{}\trefs/heads/b{number}\n", "1".repeat(40));
        let mut text: String = (0..REFS).map(line).collect();
        assert_eq!(
            Refs::parse(text.as_bytes()).unwrap().branches().count(),
            REFS
        );
        text += &line(REFS);
        assert_eq!(Refs::parse(text.as_bytes()), Err(RefsError::TooMany));
    }
}
