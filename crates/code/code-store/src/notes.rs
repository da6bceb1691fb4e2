//! Small texts that save asking once more: [`read_note`], [`write_note`].
//!
//! The rule that must hold: a note that is not there, or is damaged, costs time and nothing else.

use std::io::Write as _;
use std::path::Path;

use crate::content::Content;

/// What it says; `None`: there is none.
pub fn read_note(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    // Without content, or with zeros for it: so a power cut leaves a file whose name came before its bytes.
    let is_damaged = text.is_empty() || text.contains('\0');
    (!is_damaged).then(|| text.to_owned())
}

/// Writes it whole or not at all. What a kill leaves of it is where unfinished contents are, and goes with
/// them.
pub fn write_note(content: &Content, path: &Path, text: &str) {
    if let Err(error) = write(content, path, text) {
        tracing::warn!(path = %path.display(), %error, "cannot write a note");
    }
}

fn write(content: &Content, path: &Path, text: &str) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(path);
    std::fs::create_dir_all(directory)?;
    let mut file = tempfile::NamedTempFile::new_in(content.incoming())?;
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
