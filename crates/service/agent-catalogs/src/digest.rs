//! SHA-256 of fields: [`digest_of`].
//!
//! Invariants: no two lists of fields have the same bytes; a digest is stored only where it is sealed, since
//! it would help to guess short secrets.

use environments::Sha256;
use pcore::{Hash, Value};
use sha2::Digest as _;

/// Hashes fields with their lengths.
#[derive(Default)]
pub(crate) struct FieldHasher(sha2::Sha256);

impl FieldHasher {
    pub(crate) fn count(&mut self, number: usize) {
        self.0.update((number as u64).to_le_bytes());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    pub(crate) fn hash(&mut self, entries: &Hash) {
        self.value(&Value::hash(entries.clone()));
    }

    /// All values here came as JSON, so JSON distinguishes them.
    pub(crate) fn value(&mut self, value: &Value) {
        let json = value.to_json().unwrap_or_default();
        self.text(&json.to_string());
    }

    fn finish(self) -> Sha256 {
        let digest: [u8; 32] = self.0.finalize().into();
        digest.into()
    }
}

/// The digest of the fields that `add` adds.
pub(crate) fn digest_of(add: impl FnOnce(&mut FieldHasher)) -> Sha256 {
    let mut hasher = FieldHasher::default();
    add(&mut hasher);
    hasher.finish()
}
