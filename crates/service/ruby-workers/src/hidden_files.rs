//! Files of the server that code of environments cannot open: [`HiddenPaths`].
//!
//! Landlock allows what is listed, so everything beside the hidden paths is listed. Ruby code that has
//! the user of the server is kept from its keys in this way, and from the memory of its process.
//!
//! Invariant: a hidden path is not opened under another name, since the kernel compares files and not
//! names.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError,
};

use crate::defaults::VISIBLE_PATHS_MAX;

/// Files and directories with secrets of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HiddenPaths {
    /// Paths that code of environments cannot open, with everything below them.
    pub hidden: Vec<PathBuf>,
    /// Directories below hidden ones that it can open, such as modules of the server. They are never taken
    /// from an environment, which could name a hidden directory.
    pub except: Vec<PathBuf>,
}

impl HiddenPaths {
    /// True if an environment in the directory `environment` may not open a file. `file` is its real path.
    #[must_use]
    pub fn hides(&self, file: &Path, environment: &Path) -> bool {
        let is_below = |directory: &Path| {
            let real = directory.canonicalize();
            real.is_ok_and(|directory| file.starts_with(directory))
        };
        self.hidden.iter().any(|it| is_below(it))
            && !is_below(environment)
            && !self.except.iter().any(|it| is_below(it))
    }
}

/// The rights that are restricted; older kernels know some of them.
const RIGHTS: ABI = ABI::V3;

/// Reason that files cannot be hidden.
#[derive(Debug, thiserror::Error)]
pub enum HideFilesError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("more than {VISIBLE_PATHS_MAX} files lie beside those to hide")]
    TooMany,
    #[error("the kernel refuses: {0}")]
    Kernel(#[from] RulesetError),
}

/// Hides files from the current thread, and from the programs that it starts, which run code of the
/// environment in this directory. Kernels without Landlock hide nothing.
pub(crate) fn hide_files(paths: &HiddenPaths, environment: &Path) -> Result<(), HideFilesError> {
    let hidden: BTreeSet<PathBuf> = paths
        .hidden
        .iter()
        .filter_map(|it| it.canonicalize().ok())
        .collect();
    let mut visible = Vec::new();
    list_visible(Path::new("/"), &hidden, &mut visible)?;
    let all = AccessFs::from_all(RIGHTS);
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let mut rules = ruleset.handle_access(all)?.create()?;
    for path in &visible {
        rules = allow(rules, path, all)?;
    }
    let except = paths.except.iter().map(PathBuf::as_path);
    for path in except.chain([environment]) {
        rules = allow(rules, path, AccessFs::from_read(RIGHTS))?;
    }
    rules.restrict_self()?;
    Ok(())
}

fn allow(
    rules: landlock::RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> Result<landlock::RulesetCreated, RulesetError> {
    // a file that is gone meanwhile, or that this process may not open, needs no rule
    let Ok(file) = PathFd::new(path) else {
        return Ok(rules);
    };
    let is_directory = path.is_dir();
    let access = match is_directory {
        true => access,
        false => access & AccessFs::from_file(RIGHTS),
    };
    rules.add_rule(PathBeneath::new(file, access))
}

/// The largest directories and the files that contain no hidden path. Links are left out: their targets
/// are listed where they are.
fn list_visible(
    path: &Path,
    hidden: &BTreeSet<PathBuf>,
    visible: &mut Vec<PathBuf>,
) -> Result<(), HideFilesError> {
    if hidden.contains(path) {
        return Ok(());
    }
    if !hidden.iter().any(|it| it.starts_with(path)) {
        visible.push(path.to_owned());
        return match visible.len() > VISIBLE_PATHS_MAX {
            true => Err(HideFilesError::TooMany),
            false => Ok(()),
        };
    }
    let unreadable = |source| HideFilesError::Read {
        path: path.to_owned(),
        source,
    };
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if !entry.file_type().map_err(unreadable)?.is_symlink() {
            list_visible(&entry.path(), hidden, visible)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::list_visible;

    #[test]
    fn everything_beside_a_hidden_path_is_visible() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for directory in ["a/secret/deep", "a/open", "b"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        std::fs::write(root.join("a/file"), "").unwrap();
        std::fs::write(root.join("key"), "").unwrap();
        std::os::unix::fs::symlink(root.join("a/secret"), root.join("b/link")).unwrap();
        std::os::unix::fs::symlink(root.join("a/secret"), root.join("link")).unwrap();
        let hidden: BTreeSet<_> = [root.join("a/secret"), root.join("key")].into();
        let mut visible = Vec::new();
        list_visible(root, &hidden, &mut visible).unwrap();
        visible.sort();
        let expected = ["a/file", "a/open", "b"].map(|it| root.join(it));
        assert_eq!(visible, expected);
        visible.clear();
        list_visible(root, &BTreeSet::new(), &mut visible).unwrap();
        assert_eq!(visible, [Path::new(root)]);
    }
}
