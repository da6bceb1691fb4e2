//! Removal of the files that a killed `git` leaves in a copy: [`remove_stale_locks`].
//!
//! Invariant: it is called while no other process writes to the copy: under the lock of the
//! directory and the copy's own. So git's locks in it have no owner, and unfinished files are never
//! completed.

use std::fs;
use std::io;
use std::path::Path;

/// Deepest nesting of directories of branches and tags.
const DEPTH: usize = 32;

/// Prefixes of the names of unfinished packs, objects and sets of objects.
const UNFINISHED: &[&str] = &["tmp_", "incoming-", ".tmp-"];

/// Removes the leftovers. Other damage to the repository is not repaired.
pub(super) fn remove_stale_locks(repository: &Path) -> io::Result<()> {
    let is_lock = |name: &str| name.ends_with(".lock");
    let is_unfinished = |name: &str| UNFINISHED.iter().any(|begin| name.starts_with(begin));
    clear_in(repository, 0, &is_lock)?;
    clear_in(&repository.join("refs"), DEPTH, &is_lock)?;
    let objects = repository.join("objects");
    let is_either = |name: &str| is_lock(name) || is_unfinished(name);
    // `objects/pack`, `objects/info` and `objects/ab`.
    clear_in(&objects, 1, &is_either)
}

fn clear_in(directory: &Path, depth: usize, is_left: &impl Fn(&str) -> bool) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let is_left_here = entry.file_name().to_str().is_some_and(is_left);
        match (is_left_here, kind.is_dir()) {
            (true, true) => fs::remove_dir_all(&path)?,
            (true, false) => fs::remove_file(&path)?,
            (false, true) if depth > 0 => clear_in(&path, depth - 1, is_left)?,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_and_unfinished_files_go_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let left = [
            "HEAD.lock",
            "packed-refs.lock",
            "refs/heads/feature/deep/x.lock",
            "objects/pack/tmp_pack_abc",
            "objects/ab/tmp_obj_x",
            "objects/info/commit-graph.lock",
            "objects/incoming-x/pack/tmp_pack_y",
        ];
        let stay = [
            "HEAD",
            "config",
            "refs/heads/feature/deep/x",
            "refs/heads/tmp_branch",
            "objects/ab/cdef",
            "objects/pack/pack-1.pack",
        ];
        for path in left.iter().chain(&stay) {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        remove_stale_locks(root).unwrap();
        remove_stale_locks(&root.join("nothing")).unwrap();
        assert!(left.iter().all(|path| !root.join(path).exists()));
        assert!(stay.iter().all(|path| root.join(path).exists()));
    }
}
