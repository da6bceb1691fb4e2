//! Removal of contents that no version uses. Main function: [`sweep_objects`].
//!
//! Invariant: a content with a second hard link stays, since a version uses it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{CollectedGarbage, GcOptions};
use crate::content::{ContentError, ContentStore, content_error};

/// Unit of `st_blocks` in bytes, regardless of the file system's block size.
pub(super) const BLOCK_BYTES: u64 = 512;

/// Sweeps one directory after the other, and checks for an interruption before each.
pub(super) fn sweep_objects(
    content: &ContentStore,
    kept: &GcOptions,
    collected: &mut CollectedGarbage,
) -> Result<(), ContentError> {
    for number in 0..=u8::MAX {
        let number = kept.first.wrapping_add(number);
        if kept.cut.is_cancelled() {
            collected.cut_at = Some(number);
            return Ok(());
        }
        sweep_one(&content.object_directory(number), kept, collected)?;
    }
    Ok(())
}

/// Sweeps one directory. A content that no version uses has only one hard link: the one here.
fn sweep_one(
    directory: &Path,
    kept: &GcOptions,
    collected: &mut CollectedGarbage,
) -> Result<(), ContentError> {
    for object in fs::read_dir(directory).map_err(content_error("read", directory))? {
        let path = object.map_err(content_error("read", directory))?.path();
        let metadata = fs::symlink_metadata(&path).map_err(content_error("read", &path))?;
        let bytes = metadata.blocks() * BLOCK_BYTES;
        if metadata.nlink() > 1 || is_recent(&metadata, kept.spare) {
            collected.left_bytes += bytes;
            continue;
        }
        if !kept.dry_run {
            fs::remove_file(&path).map_err(content_error("remove", &path))?;
        }
        collected.objects += 1;
        collected.bytes += bytes;
    }
    Ok(())
}

/// Returns true if the file was written within this time. A time in the future does not count.
pub(super) fn is_recent(metadata: &fs::Metadata, spare: Duration) -> bool {
    let written = metadata.modified().ok();
    let age = written.and_then(|it| SystemTime::now().duration_since(it).ok());
    age.is_some_and(|age| age < spare)
}
