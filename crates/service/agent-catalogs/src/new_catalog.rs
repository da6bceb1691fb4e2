//! Compilation of a node's catalog for its agent.
//!
//! Invariant: a new catalog is kept with everything on which it depends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use catalogs::{
    CatalogError, CatalogNode, CompileCaller, CompileOrigin, CompilePriority, KeptCatalog,
    OpenEnvironment, WrittenCatalog,
};
use compiler::{CatalogDocument, CatalogReads, DocumentForm, RichValueError};
use environments::CodeVersion;
use serde_json::Value as Json;
use store::now_ms;

use crate::agent_catalogs::{AgentCatalog, AgentCatalogRequest, AgentCatalogs};
use crate::compile_cause::{CatalogCompilation, CompileCause};
use crate::defaults::AHEAD_CALLER;
use crate::fingerprint::{CatalogFingerprint, CatalogInputs, ReadFact};
use crate::kept_catalogs::{CatalogDependencies, KeptAgentCatalog, NewestCatalog};
use crate::static_files::{StaticContents, StaticFileError, inline_files};
use crate::stored_catalogs::StoredCatalogs;
use crate::{AgentCatalogError, ChecksumType, CompressedCatalog};

/// Purpose of a compilation.
#[derive(Debug)]
pub(crate) enum CompilePurpose {
    /// A node gets the catalog; its capabilities and exported resources are kept with `kept`, or the latter by a
    /// PuppetDB.
    Request { kept: KeptCatalog },
    /// The node may request it later. `newest` is the position of the node's newest catalog.
    Ahead { newest: i64 },
}

impl AgentCatalogs {
    pub(crate) async fn compile(
        &self,
        request: &AgentCatalogRequest,
        node: &CatalogNode,
        opened: Arc<OpenEnvironment>,
        (purpose, causes): (CompilePurpose, Vec<CompileCause>),
    ) -> Result<AgentCatalog, AgentCatalogError> {
        let version = self.static_version(request, &opened).await?;
        let (caller, priority, kept, ahead) = match purpose {
            CompilePurpose::Request { kept } => {
                let caller = node.certname().to_string();
                (caller, CompilePriority::Foreground, Some(kept), None)
            }
            CompilePurpose::Ahead { newest } => {
                let caller = AHEAD_CALLER.to_owned();
                (caller, CompilePriority::Background, None, Some(newest))
            }
        };
        let origin = CompileOrigin {
            caller: CompileCaller::Client(caller),
            priority,
        };
        let catalogs = &self.inner.catalogs;
        let writes_exports = ahead.is_some() && catalogs.keeps_exports();
        let write = document_writer(version, request.form, writes_exports);
        let write = (write, Result::is_ok as fn(&WrittenDocument) -> bool);
        let compiling = catalogs.compile_node(node, Arc::clone(&opened), &origin, kept, write);
        let compiled = match compiling.await {
            Ok(compiled) => compiled,
            Err(error) => {
                if ahead.is_none()
                    && let CatalogError::Compile(failed) = &error
                {
                    let (failures, certname) = (&self.inner.failed_imports, node.certname());
                    failures.record(certname, failed.queries.clone());
                }
                return Err(error.into());
            }
        };
        let volatile = compiled.reads.volatile;
        let left_out = compiled.left_out.clone();
        let produced = compiled.produced.clone();
        let took = compiled.took;
        let (body, kept) = self.keep(request, node, &opened, (compiled, causes, ahead))?;
        if ahead.is_none() {
            // If the request ends here, or the queue fails, the next use of the catalog forwards it.
            let is_queued = self.forward(request, (&body, &produced)).await;
            if let Some(kept) = kept {
                kept.awaits_forwarding.store(!is_queued, Ordering::Relaxed);
            }
        }
        Ok(AgentCatalog {
            environment: opened.environment.clone(),
            code_id: opened.code_id.clone(),
            body,
            compile_time: Some(took),
            volatile,
            left_out,
        })
    }

    /// Keeps a new catalog, and records its compilation. One that is compiled in advance is kept only if the
    /// node's newest catalog is still the one with the position `ahead`.
    fn keep(
        &self,
        request: &AgentCatalogRequest,
        node: &CatalogNode,
        opened: &OpenEnvironment,
        (compiled, causes, ahead): (
            WrittenCatalog<WrittenDocument>,
            Vec<CompileCause>,
            Option<i64>,
        ),
    ) -> Result<(CompressedCatalog, Option<Arc<KeptAgentCatalog>>), AgentCatalogError> {
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
            ahead: ahead.is_some(),
            causes,
        };
        let stored = inner.stored.as_ref();
        let sequence = stored.map_or(0, StoredCatalogs::next_sequence);
        let uuid = Some(compilation.catalog_uuid.as_str().into());
        let catalog = opened.code_id.as_ref().map(|code_id| {
            let inputs = self.inputs(request.format(), node, opened, code_id);
            KeptAgentCatalog {
                sequence,
                environment: opened.environment.clone(),
                code_id: code_id.clone(),
                contents: Arc::new(contents),
                newest: Some(Arc::new(NewestCatalog {
                    body: body.clone(),
                    uuid,
                    dependencies: dependencies(&inputs, &compiled.reads, opened),
                    exported: document.exported,
                })),
                given: AtomicBool::new(ahead.is_none()),
                awaits_forwarding: AtomicBool::new(true),
                used_ms: AtomicI64::new(now_ms()),
            }
        });
        let unwritten = usize::from(stored.is_some());
        let catalog = match (catalog, ahead) {
            (Some(catalog), None) => Some(inner.kept.keep(certname, catalog, unwritten)),
            (Some(catalog), Some(newest)) => {
                let kept = inner
                    .kept
                    .keep_ahead(certname, catalog, (newest, unwritten));
                if kept.is_none() {
                    return Ok((body, None));
                }
                kept
            }
            (None, _) => None,
        };
        if let Some(stored) = stored {
            if catalog.is_none() {
                inner.kept.add_unwritten(certname);
            }
            stored.write_compiled(certname, catalog.clone(), (sequence, &compilation));
        }
        Ok((body, catalog))
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
        outside_files: opened.outside_files.states(),
        hiera_keys: Arc::new(reads.hiera_keys.clone()),
        queries: Arc::new(reads.queries.clone()),
        volatile: reads.volatile.map(|it| it.as_str().to_owned()),
    }
}

/// A document as it is kept.
pub(crate) struct KeptDocument {
    body: CompressedCatalog,
    /// Bytes of the text.
    bytes: u64,
    /// Exported resources, if they are kept later.
    exported: Option<Arc<[Json]>>,
}

type WrittenDocument = Result<(KeptDocument, StaticContents), StaticFileError>;

/// Writes a document, with the files of `version` if it is static, and its exported resources if
/// `writes_exports`.
fn document_writer(
    version: Option<(Arc<dyn CodeVersion>, ChecksumType)>,
    form: DocumentForm,
    writes_exports: bool,
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
        let exported = match writes_exports {
            true => Some(document.exported_resources(DocumentForm::Texts)?.into()),
            false => None,
        };
        let document = KeptDocument {
            exported,
            body: CompressedCatalog::new(&text),
            bytes: text.len() as u64,
        };
        Ok(Ok((document, contents)))
    }
}
