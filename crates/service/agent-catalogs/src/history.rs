//! What is known of a node's catalog and of its compilations: [`NodeCatalogRecord`].
//!
//! Invariant: no value of a fact, parameter or query result is told, only their names.

use std::sync::atomic::Ordering;

use pcp::Certname;
use store::StoreError;

use crate::agent_catalogs::AgentCatalogs;
use crate::kept_catalogs::KeptAgentCatalog;
use crate::stored_catalogs::RecordedCompilation;

/// The last compilation of a node, with all that its catalog depends on.
#[derive(Debug, Clone)]
pub struct NodeCatalogRecord {
    pub compilation: RecordedCompilation,
    /// The catalog; `None` if it is not kept any more, or the environment has no versions.
    pub kept: Option<KeptCatalogRecord>,
}

/// A kept catalog: its size, and the names of what it depends on.
#[derive(Debug, Clone)]
pub struct KeptCatalogRecord {
    /// Time at which it was given last, to the day, in milliseconds since 1970; `None` if its agent did not
    /// get it yet.
    pub used_ms: Option<i64>,
    /// Bytes of the compressed document.
    pub compressed_bytes: u64,
    /// Number of the contents that it names by hash.
    pub contents: u64,
    /// Facts that the code read, such as `os.family`.
    pub facts: Vec<String>,
    /// Keys of Hiera's data that had values.
    pub hiera_keys: Vec<String>,
    /// Queries of the data of other nodes, as code has them.
    pub queries: Vec<String>,
    /// Files outside of the version; `None` if they cannot be compared.
    pub outside_files: Option<Vec<String>>,
}

impl AgentCatalogs {
    /// The last compilations of a node, the newest first; none if catalogs are in memory only.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn compilations(
        &self,
        certname: &Certname,
    ) -> Result<Vec<RecordedCompilation>, StoreError> {
        match &self.inner.stored {
            Some(stored) => stored.compilations(certname).await,
            None => Ok(Vec::new()),
        }
    }

    /// The last compilation of a node, with its catalog; `None` if none is recorded.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn node_catalog(
        &self,
        certname: &Certname,
    ) -> Result<Option<NodeCatalogRecord>, StoreError> {
        let last = self.compilations(certname).await?.into_iter().next();
        let Some(compilation) = last else {
            return Ok(None);
        };
        let newest = self.kept_catalogs(certname).await.into_iter().next();
        let newest = newest.filter(|it| it.sequence == compilation.sequence);
        Ok(Some(NodeCatalogRecord {
            kept: newest.and_then(|catalog| kept_record(&catalog)),
            compilation,
        }))
    }
}

fn kept_record(catalog: &KeptAgentCatalog) -> Option<KeptCatalogRecord> {
    let newest = catalog.newest.as_ref()?;
    let used_ms = catalog.used_ms.load(Ordering::Relaxed);
    let dependencies = &newest.dependencies;
    let facts = dependencies.fingerprint.read_facts.iter();
    let queries = dependencies.queries.iter();
    let paths = dependencies.outside_files.as_ref();
    Some(KeptCatalogRecord {
        used_ms: catalog.is_given().then_some(used_ms),
        compressed_bytes: newest.body.len() as u64,
        contents: catalog.contents.len() as u64,
        facts: facts.map(ToString::to_string).collect(),
        hiera_keys: dependencies.hiera_keys.to_vec(),
        queries: queries.map(|it| it.query.to_string()).collect(),
        outside_files: paths.map(|paths| {
            let paths = paths.keys();
            paths.map(|path| path.display().to_string()).collect()
        }),
    })
}
