//! Branches and tags of a repository: [`GitRefs`]; a commit: [`CommitHash`].
//!
//! Invariant: a name refers to one commit; if both a branch and a tag have it, to the branch's.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::defaults::REFS;

/// The name of a commit: 40 or 64 lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitHash(Box<str>);

/// The branches and tags of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitRefs {
    branches: BTreeMap<String, CommitHash>,
    tags: BTreeMap<String, CommitHash>,
}

/// A reference to a commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitReference {
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

// === impl GitReference ===

impl GitReference {
    /// The name or digits, whatever the kind.
    pub fn name(&self) -> &str {
        match self {
            Self::Any(name) | Self::Branch(name) | Self::Tag(name) | Self::Commit(name) => name,
        }
    }
}

// === impl CommitHash ===

impl CommitHash {
    /// The digits of the commit.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CommitHash {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        match matches!(text.len(), 40 | 64) && text.bytes().all(is_digit) {
            true => Ok(Self(text.into())),
            false => Err(()),
        }
    }
}

impl fmt::Display for CommitHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for CommitHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Commit({})", self.0)
    }
}

// === impl GitRefs ===

impl GitRefs {
    /// Parses the output of `git ls-remote` or `git show-ref -d`.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, RefsError> {
        let text = std::str::from_utf8(text).map_err(|_| RefsError::Unexpected)?;
        let mut refs = Self::default();
        for line in text.lines() {
            let (commit, name) = line.split_once(['\t', ' ']).ok_or(RefsError::Unexpected)?;
            let commit: CommitHash = commit.parse().map_err(|()| RefsError::Unexpected)?;
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

    /// A text that [`GitRefs::parse`] parses to the same value.
    pub(crate) fn encode(&self) -> String {
        let heads = self.branches.iter().map(|it| ("heads", it));
        let tags = self.tags.iter().map(|it| ("tags", it));
        let lines = heads.chain(tags);
        lines
            .map(|(kind, (name, commit))| format!("{commit} refs/{kind}/{name}\n"))
            .collect()
    }

    /// The branches, sorted by name.
    pub fn branches(&self) -> impl Iterator<Item = (&str, &CommitHash)> {
        self.branches
            .iter()
            .map(|(name, commit)| (name.as_str(), commit))
    }

    /// The commit of a branch; `None` if there is no such branch.
    pub fn branch(&self, name: &str) -> Option<&CommitHash> {
        self.branches.get(name)
    }

    /// The commit of a tag; `None` if there is no such tag.
    pub fn tag(&self, name: &str) -> Option<&CommitHash> {
        self.tags.get(name)
    }
}

impl fmt::Display for GitReference {
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
        let refs = GitRefs::parse(text.as_bytes()).unwrap();
        assert_eq!(refs.branch("main").unwrap().as_str(), one);
        assert_eq!(refs.tag("v1").unwrap().as_str(), other);
        assert_eq!(refs.branches().count(), 1);
        assert_eq!(GitRefs::parse(refs.encode().as_bytes()), Ok(refs));
        let unexpected = Err(RefsError::Unexpected);
        assert_eq!(GitRefs::parse(b"garbage\n"), unexpected);
        assert_eq!(GitRefs::parse(b"xyz\trefs/heads/main\n"), unexpected);
        assert_eq!(GitRefs::parse(b""), Ok(GitRefs::default()));
    }

    #[test]
    fn too_many_are_an_error_and_not_fewer() {
        let line = |number: usize| format!("{}\trefs/heads/b{number}\n", "1".repeat(40));
        let mut text: String = (0..REFS).map(line).collect();
        assert_eq!(
            GitRefs::parse(text.as_bytes()).unwrap().branches().count(),
            REFS
        );
        text += &line(REFS);
        assert_eq!(GitRefs::parse(text.as_bytes()), Err(RefsError::TooMany));
    }
}
