//! The mounts of a `fileserver.conf`: [`FileMounts`].
//!
//! ```text
//! [backups]
//!   path /srv/backups/%H
//! ```
//!
//! Invariants: a mount is named as in the file, and hides no mount of modules; what stands for `%h`, `%H` and `%d`
//! is a part of a valid certname, so it is never a path of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use environments::{FileMount, MountedDirectory, MountedFileHashes};
use pcp::Certname;

use crate::defaults::FILESERVER_CONF_BYTES;

/// Directories that are served to nodes, by the name of their mount. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct FileMounts {
    /// Paths, in which `%h` and so on stand for parts of the node's name.
    paths: Arc<BTreeMap<String, String>>,
    hashes: MountedFileHashes,
}

/// Reason that a `fileserver.conf` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileMountsError {
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} is larger than {FILESERVER_CONF_BYTES} bytes", path.display())]
    TooLarge { path: PathBuf },
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        path: PathBuf,
        /// Line number, counted from 1.
        line: usize,
        problem: String,
    },
}

impl FileMounts {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or Puppet would refuse it.
    pub fn read(path: &Path) -> Result<Self, FileMountsError> {
        let fail = |source| FileMountsError::Read {
            path: path.to_owned(),
            source,
        };
        if std::fs::metadata(path).map_err(fail)?.len() > FILESERVER_CONF_BYTES {
            let path = path.to_owned();
            return Err(FileMountsError::TooLarge { path });
        }
        let text = std::fs::read_to_string(path).map_err(fail)?;
        let paths = parse(&text).map_err(|(line, problem)| FileMountsError::Line {
            path: path.to_owned(),
            line,
            problem,
        })?;
        Ok(Self {
            paths: Arc::new(paths),
            hashes: MountedFileHashes::default(),
        })
    }

    /// The directory of a mount for a node; `None` if there is no such mount, or the name of the node is invalid.
    pub(crate) fn directory(&self, mount: &str, certname: &str) -> Option<MountedDirectory> {
        let path = self.paths.get(mount)?;
        let certname: Certname = certname.parse().ok()?;
        let path = expand(path, certname.as_str());
        Some(MountedDirectory::new(mount, path.into(), &self.hashes))
    }
}

/// The paths of the mounts; an error has its line.
fn parse(text: &str) -> Result<BTreeMap<String, String>, (usize, String)> {
    let mut mounts: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut current = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let name = name.split_once(']').map(|(name, _)| name);
            let name = name.filter(|it| !it.is_empty() && it.chars().all(is_part));
            let name = name.ok_or_else(|| (number, format!("`{line}` names no mount")))?;
            if mounts.insert(name.to_owned(), None).is_some() {
                return Err((number, format!("the mount {name} stands twice")));
            }
            current = Some(name.to_owned());
            continue;
        }
        let (key, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let value = value.split(" #").next().unwrap_or_default().trim();
        match (key, &current) {
            (_, None) => return Err((number, "a setting before the first [mount]".to_owned())),
            // puppetserver ignores them: auth.conf decides
            ("allow" | "deny", _) => {}
            ("path", Some(mount)) if value.starts_with('/') => {
                mounts.insert(mount.clone(), Some(value.to_owned()));
            }
            ("path", _) => return Err((number, format!("`{value}` is no absolute path"))),
            _ => {
                let problem = format!("`{key}` is unknown; known are path, allow and deny");
                return Err((number, problem));
            }
        }
    }
    let is_own = |name: &String| name.parse::<FileMount>().is_err();
    let own = mounts.into_iter().filter(|(name, _)| is_own(name));
    own.map(|(name, path)| match path {
        Some(path) => Ok((name, path)),
        None => Err((
            text.lines().count(),
            format!("the mount {name} has no path"),
        )),
    })
    .collect()
}

/// Replaces `%h` by the first part of the certname, `%d` by the rest, `%H` by all of it, and `%%` by `%`.
fn expand(path: &str, certname: &str) -> String {
    let (host, domain) = certname.split_once('.').unwrap_or((certname, certname));
    let mut expanded = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        expanded.push_str(before);
        let (value, length) = match after.chars().next() {
            Some('h') => (host, 1),
            Some('d') => (domain, 1),
            Some('H') => (certname, 1),
            Some('%') => ("%", 1),
            _ => ("%", 0),
        };
        expanded.push_str(value);
        rest = &after[length..];
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read_as_puppet_reads_them() {
        let text = "# x\n\n[one]\n  path /srv/one # why\n  allow *\n[two-2]\n\tpath /srv/%h/%d/%H/%%/%x\n  deny a\n\
                    [modules]\n";
        let mounts = parse(text).unwrap();
        assert_eq!(mounts.keys().collect::<Vec<_>>(), ["one", "two-2"]);
        assert_eq!(mounts["one"], "/srv/one");
        let expanded = |certname| expand(&mounts["two-2"], certname);
        assert_eq!(expanded("a.b.c"), "/srv/a/b.c/a.b.c/%/%x");
        assert_eq!(expanded("a"), "/srv/a/a/a/%/%x");
    }

    #[test]
    fn a_defect_is_an_error_with_its_line() {
        for (text, line, problem) in [
            ("path /x", 1, "before the first"),
            ("[a]\npath x", 2, "no absolute path"),
            ("[a]\npath = /x", 2, "no absolute path"),
            ("[a]\nfoo /x", 2, "`foo` is unknown"),
            ("[a]\npath /x\n[a]", 3, "stands twice"),
            ("[a]\n", 1, "has no path"),
            ("[a/b]\npath /x", 1, "names no mount"),
            ("[..]\npath /x", 1, "names no mount"),
        ] {
            let (found, text) = parse(text).unwrap_err();
            assert_eq!(found, line, "{text}");
            assert!(text.contains(problem), "{text}");
        }
    }

    #[test]
    fn the_name_of_a_node_is_never_a_path_of_its_own() {
        let mounts = FileMounts {
            paths: Arc::new(BTreeMap::from([("a".to_owned(), "/srv/%H".to_owned())])),
            ..FileMounts::default()
        };
        assert!(mounts.directory("a", "web1").is_some());
        for name in ["..", "../x", "a/b", "", "a\0"] {
            assert!(mounts.directory("a", name).is_none(), "{name:?}");
        }
        assert!(mounts.directory("b", "web1").is_none());
    }
}
