//! The text of a catalog, compressed: [`CompressedCatalog`].
//!
//! Agents accept it as it is; a catalog has a tenth of its size then.

use std::fmt;
use std::io::{BufReader, Read as _, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

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

    /// The `catalog_uuid` of the document; `None` if it has none. The key is among the first of a document, and
    /// only the part before it is decompressed.
    pub(crate) fn read_uuid(&self) -> Option<Box<str>> {
        let reader = BufReader::new(GzDecoder::new(&*self.0));
        let mut found = None;
        let mut document = serde_json::Deserializer::from_reader(reader);
        // ends with an error as soon as the key is found
        let _ = document.deserialize_map(UuidVisitor { found: &mut found });
        found
    }

    /// Number of compressed bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

struct UuidVisitor<'f> {
    found: &'f mut Option<Box<str>>,
}

impl<'de> Visitor<'de> for UuidVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a catalog")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "catalog_uuid" {
                *self.found = map.next_value()?;
                return Ok(());
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
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

    #[test]
    fn the_id_of_a_document_is_found_without_the_rest() {
        let uuid = |text: &str| CompressedCatalog::new(text).read_uuid();
        let whole = r#"{"tags": ["a"], "catalog_uuid": "x", "resources": []}"#;
        for text in [whole, r#"{"catalog_uuid": "x", "resources": [}"#] {
            assert_eq!(uuid(text).as_deref(), Some("x"), "{text}");
        }
        for other in [
            r#"{"catalog_uuid": null}"#,
            "{}",
            "[]",
            "",
            r#"{"resources": [{"catalog_uuid": "x"}]}"#,
        ] {
            assert_eq!(uuid(other), None, "{other}");
        }
    }
}
