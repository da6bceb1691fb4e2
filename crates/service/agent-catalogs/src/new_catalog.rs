//! Compilation of a node's catalog for its agent.
//!
//! Invariant: a new catalog is kept with everything on which it depends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64};

use catalogs::{
    CatalogError, CatalogNode, CompileCaller, CompileOrigin, CompilePriority, KeptCatalog,
    OpenEnvironment, WrittenCatalog,
};
use compiler::{CatalogDocument, CatalogReads, DocumentForm, RichValueError};
use environments::CodeVersion;
use store::now_ms;

use crate::agent_catalogs::{AgentCatalog, AgentCatalogRequest, AgentCatalogs};
use crate::compile_cause::{CatalogCompilation, CompileCause};
use crate::fingerprint::{CatalogFingerprint, CatalogInputs, ReadFact};
use crate::kept_catalogs::{CatalogDependencies, KeptAgentCatalog, NewestCatalog};
use crate::static_files::{StaticContents, StaticFileError, inline_files};
use crate::stored_catalogs::StoredCatalogs;
use crate::{AgentCatalogError, ChecksumType, CompressedCatalog};

impl AgentCatalogs {
    pub(crate) async fn compile(
        &self,
        request: &AgentCatalogRequest,
        node: &CatalogNode,
        opened: Arc<OpenEnvironment>,
        (kept, causes): (Option<KeptCatalog>, Vec<CompileCause>),
    ) -> Result<AgentCatalog, AgentCatalogError> {
        let certname = node.certname();
        let version = self.static_version(request, &opened).await?;
        let origin = CompileOrigin {
            caller: CompileCaller::Client(certname.to_string()),
            priority: CompilePriority::Foreground,
        };
        let write = document_writer(version, request.form);
        let (catalogs, environment) = (&self.inner.catalogs, Arc::clone(&opened));
        let compiling = catalogs.compile_node(node, environment, &origin, kept, write);
        let compiled = compiling.await?;
        let volatile = compiled.reads.volatile;
        let took = compiled.took;
        let body = self.keep(request, node, &opened, (compiled, causes))?;
        self.forward(request, &body).await;
        Ok(AgentCatalog {
            environment: opened.environment.clone(),
            code_id: opened.code_id.clone(),
            body,
            compile_time: Some(took),
            volatile,
        })
    }

    /// Keeps a new catalog, and records its compilation.
    fn keep(
        &self,
        request: &AgentCatalogRequest,
        node: &CatalogNode,
        opened: &OpenEnvironment,
        (compiled, causes): (WrittenCatalog<WrittenDocument>, Vec<CompileCause>),
    ) -> Result<CompressedCatalog, AgentCatalogError> {
        let (certname, inner) = (node.certname(), &self.inner);
        let (document, contents) = compiled.catalog?;
        let body = document.body;
        let compilation = CatalogCompilation {
            catalog_uuid: compiled.catalog_uuid,
            environment: opened.environment.to_string(),
            code_id: opened.code_id.clone(),
            milliseconds: u64::try_from(compiled.took.as_millis()).unwrap_or(u64::MAX),
            bytes: document.bytes,
            volatile: compiled.reads.volatile.map(|it| it.as_str().to_owned()),
            ahead: false,
            causes,
        };
        let stored = inner.stored.as_ref();
        let sequence = stored.map_or(0, StoredCatalogs::next_sequence);
        let catalog = opened.code_id.as_ref().map(|code_id| {
            let inputs = self.inputs(request, node, opened, code_id);
            KeptAgentCatalog {
                sequence,
                environment: opened.environment.clone(),
                code_id: code_id.clone(),
                contents: Arc::new(contents),
                newest: Some(NewestCatalog {
                    body: body.clone(),
                    dependencies: dependencies(&inputs, &compiled.reads, opened),
                }),
                given: AtomicBool::new(true),
                used_ms: AtomicI64::new(now_ms()),
            }
        });
        let unwritten = usize::from(stored.is_some());
        let catalog = catalog.map(|catalog| inner.kept.keep(certname, catalog, unwritten));
        if let Some(stored) = stored {
            if catalog.is_none() {
                inner.kept.add_unwritten(certname);
            }
            stored.write_compiled(certname, catalog, (sequence, &compilation));
        }
        Ok(body)
    }

    /// The version whose files a catalog describes; `None` if the catalog is not static.
    async fn static_version(
        &self,
        request: &AgentCatalogRequest,
        opened: &OpenEnvironment,
    ) -> Result<Option<(Arc<dyn CodeVersion>, ChecksumType)>, AgentCatalogError> {
        let (Some(checksum_type), Some(code_id)) = (request.static_files, opened.code_id.clone())
        else {
            return Ok(None);
        };
        let (code, environment) = (Arc::clone(&self.inner.code), opened.environment.clone());
        let version =
            tokio::task::spawn_blocking(move || code.version_of(&environment, Some(&code_id)));
        let version = version.await.map_err(io::Error::from);
        let version = version.map_err(AgentCatalogError::Thread)?;
        Ok(Some((version.map_err(CatalogError::Code)?, checksum_type)))
    }
}

/// Everything on which a new catalog depends.
fn dependencies(
    inputs: &CatalogInputs<'_>,
    reads: &CatalogReads,
    opened: &OpenEnvironment,
) -> CatalogDependencies {
    let read_facts = reads.facts.paths.iter().cloned().map(ReadFact).collect();
    CatalogDependencies {
        fingerprint: CatalogFingerprint::new(inputs, Arc::new(read_facts)),
        outside_files: opened.outside_files.states().map(Arc::new),
        queries: Arc::new(reads.queries.clone()),
        volatile: reads.volatile.map(|it| it.as_str().to_owned()),
    }
}

/// A document as it is kept.
pub(crate) struct KeptDocument {
    body: CompressedCatalog,
    /// Bytes of the text.
    bytes: u64,
}

type WrittenDocument = Result<(KeptDocument, StaticContents), StaticFileError>;

/// Writes a document, with the files of `version` if it is static.
fn document_writer(
    version: Option<(Arc<dyn CodeVersion>, ChecksumType)>,
    form: DocumentForm,
) -> impl FnOnce(&mut CatalogDocument) -> Result<WrittenDocument, RichValueError> + Send + 'static {
    move |document| {
        let contents = match version {
            Some((version, checksum_type)) => inline_files(document, &*version, checksum_type),
            None => Ok(StaticContents::default()),
        };
        let contents = match contents {
            Ok(contents) => contents,
            Err(error) => return Ok(Err(error)),
        };
        let text = document.to_text(form)?;
        let document = KeptDocument {
            body: CompressedCatalog::new(&text),
            bytes: text.len() as u64,
        };
        Ok(Ok((document, contents)))
    }
}
