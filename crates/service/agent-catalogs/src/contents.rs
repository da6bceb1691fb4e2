//! Contents of files that catalogs name by hash.
//!
//! Invariant: a content is given only to nodes whose last catalogs name it.

use std::io;
use std::sync::Arc;

use catalogs::CatalogError;
use environments::{CodeFile, FileMount, Sha256};
use pcp::Certname;
use store::StoreError;

use crate::agent_catalogs::{AgentCatalogRequest, AgentCatalogs, AgentIdentity};
use crate::kept_catalogs::KeptAgentCatalog;
use crate::{AgentCatalogError, StaticContent};

impl AgentCatalogs {
    /// Opens a content that one of the last catalogs of a node names; `None` if none does.
    ///
    /// # Errors
    /// The file cannot be read, or has another content now.
    pub async fn content(
        &self,
        agent: &AgentIdentity,
        sha256: Sha256,
    ) -> Result<Option<CodeFile>, AgentCatalogError> {
        let mut found = self.find_content(&agent.certname, &sha256).await;
        if found.is_none() && !self.inner.kept.is_current(&agent.certname) {
            // The catalog of the agent was not stored before the server ended. Unless something was deployed
            // meanwhile, a new one names the same contents.
            Box::pin(self.compile_from_known_facts(agent)).await?;
            found = self.find_content(&agent.certname, &sha256).await;
        }
        let Some((catalog, content)) = found else {
            return Ok(None);
        };
        let code = Arc::clone(&self.inner.code);
        let opening = tokio::task::spawn_blocking(move || {
            let version = code.version_of(&catalog.environment, Some(&catalog.code_id))?;
            version.file(FileMount::Modules, Some(&content.module), &content.path)
        });
        let opened = opening.await.map_err(io::Error::from);
        let file = opened.map_err(AgentCatalogError::Thread)?;
        let file = file.map_err(CatalogError::Code)?;
        match file.sha256 == sha256 {
            true => Ok(Some(file)),
            false => Err(AgentCatalogError::ContentChanged { sha256 }),
        }
    }

    /// Compiles the catalog of a node from the facts that it sent last, so that it is kept. Does nothing if
    /// none are known.
    async fn compile_from_known_facts(
        &self,
        agent: &AgentIdentity,
    ) -> Result<(), AgentCatalogError> {
        let known = self.inner.inventory.facts(&agent.certname).await;
        let known = known.map_err(|source| AgentCatalogError::FactSource {
            certname: agent.certname.clone(),
            source,
        })?;
        let environment = known.and_then(|record| record.environment?.parse().ok());
        let Some(environment) = environment else {
            return Ok(());
        };
        let request = AgentCatalogRequest {
            checks_environment: false,
            ..AgentCatalogRequest::from_known_facts(agent.clone(), environment)
        };
        self.catalog(request).await.map(drop)
    }

    /// Code ids of versions whose files agents may still request.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn versions_in_use(&self) -> Result<Vec<String>, StoreError> {
        // first, because what is written meanwhile is in memory before
        let mut code_ids = self.inner.kept.code_ids();
        if let Some(stored) = &self.inner.stored {
            code_ids.extend(stored.code_ids().await?);
        }
        code_ids.sort();
        code_ids.dedup();
        Ok(code_ids)
    }

    async fn find_content(
        &self,
        certname: &Certname,
        sha256: &Sha256,
    ) -> Option<(Arc<KeptAgentCatalog>, StaticContent)> {
        let catalogs = self.kept_catalogs(certname).await;
        catalogs.into_iter().find_map(|catalog| {
            let content = catalog.content(sha256)?.clone();
            Some((catalog, content))
        })
    }
}
