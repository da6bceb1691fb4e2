//! Catalogs as the database has them: [`CatalogSealer`].
//!
//! The contents are JSON. A body is the length of its dependencies, these as JSON with the exported resources
//! that wait for the agent, and the document; both are compressed. All is sealed, since catalogs contain passwords, and digests of facts and parameters help
//! to guess them. Invariant: a sealed part belongs to one catalog of one node, and is read as no other.

use std::io::{self, Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use pcp::Certname;
use pki::seal::{SealKey, UnsealError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use store::AgentCatalogRow;

use crate::kept_catalogs::{CatalogDependencies, KeptAgentCatalog, NewestCatalog};
use crate::{CompressedCatalog, StaticContent, StaticContents};

/// Seals catalogs for the database, and opens them.
#[derive(Debug)]
pub(crate) struct CatalogSealer {
    key: Arc<SealKey>,
}

/// Reason that a stored catalog cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoredCatalogError {
    #[error(transparent)]
    Unseal(#[from] UnsealError),
    #[error("it is the sealed part of another catalog")]
    OfOther,
    #[error("it is cut off")]
    CutOff,
    #[error("it cannot be read")]
    Read(#[from] io::Error),
    #[error("it is not in the form of this version")]
    Form(#[from] serde_json::Error),
    #[error("its environment has no valid name")]
    Environment,
}

/// What is stored of a newest catalog besides the document.
#[derive(Debug, Serialize, Deserialize)]
struct StoredDependencies {
    #[serde(flatten)]
    dependencies: CatalogDependencies,
    /// The `catalog_uuid` of the document. Rows of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    catalog_uuid: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exported: Option<Arc<[Json]>>,
}

/// The two sealed parts of a row.
const CONTENTS: &str = "contents";
const BODY: &str = "body";

impl CatalogSealer {
    pub(crate) fn new(key: Arc<SealKey>) -> Self {
        Self { key }
    }

    /// The row of a catalog.
    pub(crate) fn row(
        &self,
        certname: &Certname,
        catalog: &KeptAgentCatalog,
    ) -> Result<AgentCatalogRow, StoredCatalogError> {
        let place = |part| part_place(certname, catalog.sequence, part);
        let contents: Vec<_> = catalog.contents.iter().collect();
        let contents = compress(&contents)?;
        let body = match &catalog.newest {
            Some(newest) => {
                let dependencies = compress(&StoredDependencies {
                    dependencies: newest.dependencies.clone(),
                    catalog_uuid: newest.uuid.clone(),
                    exported: newest.exported.clone(),
                })?;
                let length = u32::try_from(dependencies.len());
                let length = length.map_err(|_| StoredCatalogError::CutOff)?;
                let document = newest.body.gzip();
                let plain = [&length.to_le_bytes(), &*dependencies, &*document].concat();
                Some(self.seal(&place(BODY), &plain))
            }
            None => None,
        };
        Ok(AgentCatalogRow {
            certname: certname.to_string(),
            sequence: catalog.sequence,
            environment: catalog.environment.to_string(),
            code_id: catalog.code_id.clone(),
            used_ms: catalog.used_ms.load(Ordering::Relaxed),
            given: catalog.is_given(),
            contents: self.seal(&place(CONTENTS), &contents),
            body,
        })
    }

    /// The catalog of a row.
    pub(crate) fn catalog(
        &self,
        certname: &Certname,
        row: AgentCatalogRow,
    ) -> Result<KeptAgentCatalog, StoredCatalogError> {
        let place = |part| part_place(certname, row.sequence, part);
        let contents = self.open(&place(CONTENTS), &row.contents)?;
        let contents: Vec<(environments::Sha256, StaticContent)> = uncompress(&contents)?;
        let newest = match &row.body {
            Some(body) => Some(Arc::new(read_body(self.open(&place(BODY), body)?)?)),
            None => None,
        };
        let environment = row.environment.parse();
        Ok(KeptAgentCatalog {
            sequence: row.sequence,
            environment: environment.map_err(|_| StoredCatalogError::Environment)?,
            code_id: row.code_id,
            contents: Arc::new(contents.into_iter().collect::<StaticContents>()),
            newest,
            given: AtomicBool::new(row.given),
            awaits_forwarding: AtomicBool::new(false),
            used_ms: AtomicI64::new(row.used_ms),
        })
    }

    fn seal(&self, place: &str, plain: &[u8]) -> Vec<u8> {
        self.key.seal(&[place.as_bytes(), plain].concat())
    }

    fn open(&self, place: &str, sealed: &[u8]) -> Result<Vec<u8>, StoredCatalogError> {
        let mut plain = self.key.open(sealed)?;
        if !plain.starts_with(place.as_bytes()) {
            return Err(StoredCatalogError::OfOther);
        }
        plain.drain(..place.len());
        Ok(plain)
    }
}

/// The first bytes of a sealed part, which name its place.
fn part_place(certname: &Certname, sequence: i64, part: &str) -> String {
    format!("{certname}\n{sequence}\n{part}\n")
}

fn read_body(plain: Vec<u8>) -> Result<NewestCatalog, StoredCatalogError> {
    let mut rest = Bytes::from(plain);
    let Some((length, _)) = rest.split_first_chunk::<4>() else {
        return Err(StoredCatalogError::CutOff);
    };
    let length = u32::from_le_bytes(*length) as usize;
    let _ = rest.split_to(4);
    if rest.len() < length {
        return Err(StoredCatalogError::CutOff);
    }
    let stored: StoredDependencies = uncompress(&rest.split_to(length))?;
    let body = CompressedCatalog::from_gzip(rest);
    Ok(NewestCatalog {
        uuid: stored.catalog_uuid.or_else(|| body.read_uuid()),
        body,
        dependencies: stored.dependencies,
        exported: stored.exported,
    })
}

fn compress(value: &impl Serialize) -> Result<Vec<u8>, StoredCatalogError> {
    let text = serde_json::to_vec(value)?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&text)?;
    Ok(encoder.finish()?)
}

fn uncompress<T: DeserializeOwned>(gzip: &[u8]) -> Result<T, StoredCatalogError> {
    let mut text = Vec::new();
    // this server made and sealed it, so it is no bomb
    GzDecoder::new(gzip).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::CatalogFingerprint;

    fn catalog(uuid: Option<&str>) -> KeptAgentCatalog {
        KeptAgentCatalog {
            sequence: 1,
            environment: "production".parse().unwrap(),
            code_id: "a".to_owned(),
            contents: Arc::default(),
            newest: Some(Arc::new(NewestCatalog {
                body: CompressedCatalog::new(r#"{"catalog_uuid": "of-document"}"#),
                uuid: uuid.map(Into::into),
                dependencies: CatalogDependencies {
                    fingerprint: CatalogFingerprint::empty(),
                    outside_files: None,
                    hiera_keys: Arc::default(),
                    queries: Arc::default(),
                    volatile: None,
                },
                exported: None,
            })),
            given: AtomicBool::new(true),
            awaits_forwarding: AtomicBool::new(false),
            used_ms: AtomicI64::new(5),
        }
    }

    #[test]
    fn the_id_is_stored_and_that_of_an_earlier_version_read_from_the_document() {
        let directory = tempfile::tempdir().unwrap();
        let key = SealKey::open_or_create(&directory.path().join("seal.key")).unwrap();
        let sealer = CatalogSealer::new(Arc::new(key));
        let certname = "node1".parse().unwrap();
        for (stored, read) in [(Some("stored"), "stored"), (None, "of-document")] {
            let row = sealer.row(&certname, &catalog(stored)).unwrap();
            let newest = sealer.catalog(&certname, row).unwrap().newest.unwrap();
            assert_eq!(newest.uuid.as_deref(), Some(read));
        }
    }
}
