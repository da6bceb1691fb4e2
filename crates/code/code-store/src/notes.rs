//! Small cached texts that avoid a repeated request: [`read_note`], [`write_note`].
//!
//! Invariant: a missing or damaged note costs time and nothing else.

use std::io::Write as _;
use std::path::Path;

use crate::content::ContentStore;

/// The text of a note; `None` if it is missing or damaged.
pub fn read_note(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    // A power cut leaves an empty file, or zeros, if the name was written before the bytes.
    let is_damaged = text.is_empty() || text.contains('\0');
    (!is_damaged).then(|| text.to_owned())
}

/// Writes a note atomically. The remains after a kill are in the directory of unfinished contents,
/// and are removed with them.
pub fn write_note(content: &ContentStore, path: &Path, text: &str) {
    if let Err(error) = write_atomically(content, path, text) {
        tracing::warn!(path = %path.display(), %error, "cannot write a note");
    }
}

fn write_atomically(content: &ContentStore, path: &Path, text: &str) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(path);
    std::fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(content.incoming_directory())?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_cut_leaves_notes_without_content_which_count_as_absent() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("note");
        for damaged in ["", "\n", "\0\0\0\0"] {
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(read_note(&path), None, "{damaged:?}");
        }
        std::fs::write(&path, "abc\n").unwrap();
        assert_eq!(read_note(&path).as_deref(), Some("abc"));
    }
}
