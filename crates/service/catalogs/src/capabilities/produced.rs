//! Whether a node has produced what it should: [`CapabilitySources::missing`] and
//! [`CapabilitySources::missing_after_run`].
//!
//! Invariant: what an older catalog of the node produced does not count after a run.

use std::collections::HashSet;

use environments::EnvironmentName;
use inventory::QueryError;
use pcp::Certname;
use store::StoreError;
use tokio::time::Instant;

use super::of_code::CapabilitySources;
use crate::defaults::{FOREIGN_CATALOG_POLL, FOREIGN_CATALOG_WAIT};

/// Capabilities of a node that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadCapabilitiesError {
    #[error("the capabilities of {certname} cannot be read from the database of this server")]
    Store {
        certname: String,
        source: StoreError,
    },
    #[error("the capabilities of {certname} cannot be read from PuppetDB")]
    PuppetDb {
        certname: String,
        source: QueryError,
    },
}

/// The capabilities that the newest catalog of a node produces.
#[derive(Debug, Default)]
struct NodeCapabilities {
    /// References such as `Sql[app1]`.
    references: HashSet<String>,
    /// Id of the run for which another server compiled the catalog; `None` if this server did.
    foreign_run: Option<String>,
}

impl NodeCapabilities {
    fn missing(&self, capabilities: &[String]) -> Vec<String> {
        let missing = capabilities
            .iter()
            .filter(|it| !self.references.contains(*it));
        missing.cloned().collect()
    }
}

impl CapabilitySources {
    /// Those of the capabilities that the node has not produced in its last catalog of this environment. Empty without
    /// sources.
    ///
    /// # Errors
    /// The database or PuppetDB cannot be read.
    pub async fn missing(
        &self,
        environment: &EnvironmentName,
        producer: &Certname,
        capabilities: &[String],
    ) -> Result<Vec<String>, ReadCapabilitiesError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let produced = self.produced_by(producer, environment).await?;
        Ok(produced.missing(capabilities))
    }

    /// The same after a run of the node. PuppetDB stores the catalog that another server compiled for it some time later,
    /// so it is waited for.
    ///
    /// # Errors
    /// The database or PuppetDB cannot be read.
    pub async fn missing_after_run(
        &self,
        environment: &EnvironmentName,
        producer: &Certname,
        (capabilities, transaction_uuid): (&[String], &str),
    ) -> Result<Vec<String>, ReadCapabilitiesError> {
        if self.puppetdb.is_none() {
            return self.missing(environment, producer, capabilities).await;
        }
        let end = Instant::now() + FOREIGN_CATALOG_WAIT;
        loop {
            let produced = self.produced_by(producer, environment).await?;
            let is_of_run = match &produced.foreign_run {
                Some(run) => run == transaction_uuid,
                None => true,
            };
            let missing = match is_of_run {
                true => produced.missing(capabilities),
                false => capabilities.to_vec(),
            };
            let is_complete = missing.is_empty() || (is_of_run && produced.foreign_run.is_some());
            if is_complete || Instant::now() >= end {
                return Ok(missing);
            }
            // PuppetDB sends no event when it has stored a catalog
            tokio::time::sleep(FOREIGN_CATALOG_POLL).await;
        }
    }

    async fn produced_by(
        &self,
        producer: &Certname,
        environment: &EnvironmentName,
    ) -> Result<NodeCapabilities, ReadCapabilitiesError> {
        let certname = || producer.to_string();
        let own = match &self.embedded {
            Some(embedded) => embedded.produced_by(producer, environment).await,
            None => Ok(Vec::new()),
        };
        let own = own.map_err(|source| ReadCapabilitiesError::Store {
            certname: certname(),
            source,
        })?;
        if let Some(puppetdb) = &self.puppetdb {
            let failure = |source| ReadCapabilitiesError::PuppetDb {
                certname: certname(),
                source,
            };
            let catalog = puppetdb.catalog_of(producer).await.map_err(failure)?;
            // those of a node have one time
            let own_ms = own.iter().filter_map(|it| it.produced_ms).max();
            let newer = catalog.filter(|it| own_ms.is_none_or(|own| own < it.produced_ms));
            if let Some(catalog) = newer {
                let references = puppetdb.produced_by(producer, environment).await;
                return Ok(NodeCapabilities {
                    references: references.map_err(failure)?,
                    foreign_run: Some(catalog.transaction_uuid.unwrap_or_default()),
                });
            }
        }
        Ok(NodeCapabilities {
            references: own.into_iter().map(|it| it.reference).collect(),
            foreign_run: None,
        })
    }
}
