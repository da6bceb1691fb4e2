//! The releases that the parts of an answer are of. Main function: [`examine`].
//!
//! Invariant: an answer counts only if it has all the parts that it should have, so an empty one is never right.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};

use super::releases::{MARKER, NUMBER_FILE, Releases, parse_number};

const CHECKSUM: &[u8] = b"{sha256}";
const HASH_DIGITS: usize = 64;
const CODE_ID: &[u8] = b"urn:puppet:code-id:1:";
const SIGNATURE_DIGITS: usize = 40;

/// The number of parts that an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AnswerParts {
    /// Occurrences of a release's number.
    pub(super) markers: usize,
    /// Checksums of files.
    pub(super) checksums: usize,
    /// Code ids.
    pub(super) code_ids: usize,
}

/// The only release of an answer.
#[derive(Debug)]
pub(super) struct AnswerRelease {
    pub(super) release: u32,
    /// The hashes of the files that the answer describes, in hexadecimal digits.
    pub(super) hashes: Vec<String>,
}

/// The releases of code ids, which are read from the versions on the disk.
#[derive(Debug)]
pub(super) struct CodeIds {
    versions: PathBuf,
    known: HashMap<String, u32>,
}

/// Finds the release of an answer, which must be the same in all its parts.
pub(super) fn examine(
    body: &[u8],
    expected: AnswerParts,
    releases: &Releases,
    code_ids: &mut CodeIds,
) -> Result<AnswerRelease> {
    let mut found = Vec::new();
    let mut hashes = Vec::new();
    let mut parts = AnswerParts {
        markers: 0,
        checksums: 0,
        code_ids: 0,
    };
    for rest in after(body, MARKER.as_bytes()) {
        parts.markers += 1;
        found.push(parse_number(rest).context("a release without a number")?);
    }
    for rest in after(body, CHECKSUM) {
        let digits = digits(rest, HASH_DIGITS)?;
        if releases.is_shipped(digits) {
            continue;
        }
        parts.checksums += 1;
        let release = releases.of_hash(digits);
        found.push(release.with_context(|| format!("no release has a file with {digits}"))?);
        hashes.push(digits.to_owned());
    }
    for rest in after(body, CODE_ID) {
        parts.code_ids += 1;
        found.push(code_ids.release(digits(rest, SIGNATURE_DIGITS)?)?);
    }
    ensure!(parts == expected, "{parts:?} instead of {expected:?}");
    found.sort_unstable();
    found.dedup();
    match found[..] {
        [release] => Ok(AnswerRelease { release, hashes }),
        _ => bail!("an answer has parts of the releases {found:?}"),
    }
}

// === impl CodeIds ===

impl CodeIds {
    /// Code ids of versions below a directory.
    pub(super) fn new(versions: PathBuf) -> Self {
        Self {
            versions,
            known: HashMap::new(),
        }
    }

    fn release(&mut self, signature: &str) -> Result<u32> {
        if let Some(release) = self.known.get(signature) {
            return Ok(*release);
        }
        let version = self.versions.join(format!("production_{signature}"));
        let release = read_release(&version.join(NUMBER_FILE))?;
        self.known.insert(signature.to_owned(), release);
        Ok(release)
    }
}

/// The release whose number a file contains.
pub(super) fn read_release(file: &std::path::Path) -> Result<u32> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let number = text.strip_prefix(MARKER.as_bytes()).and_then(parse_number);
    number.with_context(|| format!("{} names no release", file.display()))
}

/// The texts that follow each occurrence of a word.
fn after<'t>(text: &'t [u8], word: &'t [u8]) -> impl Iterator<Item = &'t [u8]> {
    let places = memchr::memmem::find_iter(text, word);
    places.map(move |place| &text[place + word.len()..])
}

fn digits(text: &[u8], count: usize) -> Result<&str> {
    let digits = text
        .get(..count)
        .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    Ok(std::str::from_utf8(
        digits.context("a hash without its digits")?,
    )?)
}

#[cfg(test)]
mod tests {
    use super::super::releases::hash;
    use super::*;

    const ONE_OF_EACH: AnswerParts = AnswerParts {
        markers: 1,
        checksums: 1,
        code_ids: 1,
    };

    fn signature(release: u32) -> String {
        format!("{release:040x}")
    }

    /// An answer with a marker, a checksum and a code id.
    fn answer(marker: u32, checksum: u32, code_id: u32) -> String {
        format!(
            "release-{marker:06} {{sha256}}{} urn:puppet:code-id:1:{};production",
            hash(format!("sourced release-{checksum:06}\n").as_bytes()),
            signature(code_id)
        )
    }

    fn examine_text(text: &str) -> Result<u32> {
        let versions = tempfile::tempdir()?;
        for release in 1..=3 {
            let version = versions
                .path()
                .join(format!("production_{}", signature(release)));
            std::fs::create_dir(&version)?;
            std::fs::write(version.join("RELEASE"), format!("release-{release:06}"))?;
        }
        let mut code_ids = CodeIds::new(versions.path().to_owned());
        let examined = examine(
            text.as_bytes(),
            ONE_OF_EACH,
            &Releases::new(3),
            &mut code_ids,
        );
        examined.map(|answer| answer.release)
    }

    #[test]
    fn an_answer_is_of_one_release() {
        assert_eq!(examine_text(&answer(2, 2, 2)).unwrap(), 2);
    }

    #[test]
    fn an_answer_with_a_part_of_another_release_is_found() {
        for (marker, checksum, code_id) in [(1, 2, 2), (2, 1, 2), (2, 2, 1)] {
            let error = examine_text(&answer(marker, checksum, code_id)).unwrap_err();
            let shown = error.to_string();
            assert!(shown.contains("the releases [1, 2]"), "{shown}");
        }
    }

    #[test]
    fn an_incomplete_answer_is_found() {
        let whole = answer(1, 1, 1);
        let unknown = format!("release-000001 {{sha256}}{} ", "0".repeat(64));
        for text in [
            "",
            "release-000001",
            &whole[..whole.len() - 30],
            &unknown,
            &whole.repeat(2),
        ] {
            assert!(examine_text(text).is_err(), "{text}");
        }
        assert!(examine_text(&answer(1, 1, 9)).is_err());
    }
}
