//! The difference of two stored files, in the form of `diff -u`.
//!
//! Invariant: only files that the node stored are compared, and the time and memory for it are bounded.

use std::io::Read as _;

use pcp::Certname;
use similar::TextDiff;

use crate::defaults::{DIFF_BYTES, DIFF_TIME};
use crate::{BucketKey, FileBucket, FileBucketError};

impl FileBucket {
    /// The lines in which a file differs from another one with a hash of the same algorithm; `None` if the node
    /// did not store both. Files with the same content give an empty text. Blocks on the disk.
    ///
    /// # Errors
    /// A file is too large to be compared, or cannot be read.
    pub fn diff(
        &self,
        certname: &Certname,
        old: &BucketKey,
        new: &BucketKey,
    ) -> Result<Option<String>, FileBucketError> {
        let (Some(before), Some(after)) = (self.text(certname, old)?, self.text(certname, new)?)
        else {
            return Ok(None);
        };
        if before == after {
            return Ok(Some(String::new()));
        }
        let (Some(before), Some(after)) = (as_text(&before), as_text(&after)) else {
            return Ok(Some(format!("Binary files {old} and {new} differ\n")));
        };
        let diff = TextDiff::configure()
            .timeout(DIFF_TIME)
            .diff_lines(before, after);
        let mut unified = diff.unified_diff();
        Ok(Some(
            unified
                .header(&old.to_string(), &new.to_string())
                .to_string(),
        ))
    }

    fn text(
        &self,
        certname: &Certname,
        key: &BucketKey,
    ) -> Result<Option<Vec<u8>>, FileBucketError> {
        let Some(file) = self.open(certname, key)? else {
            return Ok(None);
        };
        if file.bytes > DIFF_BYTES {
            return Err(FileBucketError::TooLargeToCompare);
        }
        let mut bytes = Vec::new();
        let read = file.content.take(DIFF_BYTES).read_to_end(&mut bytes);
        read.map_err(FileBucketError::Source)?;
        Ok(Some(bytes))
    }
}

/// A text, as `diff` takes it; `None` for other files.
fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
}
