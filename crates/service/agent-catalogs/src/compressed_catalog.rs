//! The text of a catalog, compressed: [`CompressedCatalog`].
//!
//! Agents accept it as it is; a catalog has a tenth of its size then.

use std::io::{Read as _, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// A document as JSON in the format of gzip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompressedCatalog(Bytes);

impl CompressedCatalog {
    /// Compresses a text.
    pub(crate) fn new(text: &str) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        // writing into memory does not fail
        let written = encoder.write_all(text.as_bytes());
        let bytes = written.and_then(|()| encoder.finish()).unwrap_or_default();
        Self(Bytes::from(bytes))
    }

    /// A document that [`gzip`](Self::gzip) returned.
    pub(crate) fn from_gzip(gzip: Bytes) -> Self {
        Self(gzip)
    }

    /// The document in the format of gzip, as agents accept it.
    #[must_use]
    pub fn gzip(&self) -> Bytes {
        self.0.clone()
    }

    /// The document as JSON.
    #[must_use]
    pub fn text(&self) -> Bytes {
        let mut text = Vec::new();
        // these bytes were made here
        let _ = GzDecoder::new(&*self.0).read_to_end(&mut text);
        Bytes::from(text)
    }

    /// Number of compressed bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::CompressedCatalog;

    #[test]
    fn a_text_is_compressed_and_read_again() {
        let text = r#"{"resources": []}"#.repeat(1_000);
        let body = CompressedCatalog::new(&text);
        assert_eq!(body.text(), text.as_bytes());
        assert!(body.len() < text.len() / 10);
    }
}
