//! One compilation, here or on a puppetserver: [`CompiledNode`].
//!
//! Invariant: the slot belongs to the thread that compiles, so it is free only when the thread is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use compiler::{
    CatalogDocument, CatalogReads, CompileInterrupt, CompileLog, CompileRequest, CompiledCatalog,
    DocumentForm, ProducedCapabilities, ProducedCapability, RichValueError, RubyCalls,
};
use environments::EnvironmentName;
use evaluator::LogLevel;
use pcore::Value;
use pcp::Certname;
use serde_json::Value as Json;
use tokio::task::JoinHandle;

use super::compiler_choice::ChosenCompiler;
use super::environment_cache::OpenEnvironment;
use super::error::CatalogError;
use super::node_data::CatalogNode;
use super::queue::CompileOrigin;
use super::slots::{CompileSlot, CompileSlots};
use super::{CatalogRequest, CatalogSettings, Catalogs};
use crate::capabilities::EmbeddedCapabilities;
use crate::defaults::QUEUE_TIME_MAX;
use crate::exports::{EmbeddedExports, KeepTurn};
use crate::shadow::CatalogQuestion;

/// A catalog with the circumstances of its compilation.
#[derive(Debug)]
pub struct CompiledNode {
    pub environment: EnvironmentName,
    /// Code id of the version; `None` if the environment has no versions.
    pub code_id: Option<String>,
    pub compiler: ChosenCompiler,
    /// The catalog as an agent receives it, with sensitive values in clear.
    pub catalog: Json,
    /// Messages of the manifests and of the compiler.
    pub messages: Vec<NodeMessage>,
    pub ruby_calls: RubyCalls,
    /// Time in the queue.
    pub waited: Duration,
    /// Time of the compilation, with the time to write the document.
    pub took: Duration,
}

/// A catalog that [`Catalogs::compile_in`] compiled.
#[derive(Debug)]
pub struct WrittenCatalog<T> {
    pub catalog: T,
    /// Puppet's id of the catalog, which differs in each compilation.
    pub catalog_uuid: String,
    /// What the catalog depends on besides its node and environment.
    pub reads: CatalogReads,
    /// Messages of the manifests and of the compiler.
    pub logs: Vec<CompileLog>,
    /// References of the components that the catalog leaves for a later run.
    pub left_out: Vec<String>,
    /// Capabilities that the node produces for applications.
    pub produced: Vec<ProducedCapability>,
    pub ruby_calls: RubyCalls,
    /// Time in the queue.
    pub waited: Duration,
    /// Time of the compilation, with the time to write the document.
    pub took: Duration,
}

/// A message of a compilation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeMessage {
    /// `notice`, `warning`, `err` or another level of Puppet.
    pub level: &'static str,
    pub text: String,
    /// Place in the code, as Puppet writes it; empty if there is none.
    pub place: String,
}

/// The place of a catalog that its node gets among those of the node.
#[derive(Debug)]
pub struct KeptCatalog {
    /// `None` if a PuppetDB has the exported resources of all nodes.
    exports: Option<(EmbeddedExports, KeepTurn)>,
    /// `None` if there is no store of capabilities.
    capabilities: Option<(EmbeddedCapabilities, KeepTurn)>,
}

impl KeptCatalog {
    /// Begins a catalog, for which nothing has been read yet.
    pub(super) fn begin(settings: &CatalogSettings, certname: &Certname) -> Self {
        let exports = settings.kept_exports.clone();
        let capabilities = settings.capabilities.embedded.clone();
        Self {
            exports: exports.map(|store| {
                let turn = store.begin(certname.as_str());
                (store, turn)
            }),
            capabilities: capabilities.map(|store| {
                let turn = store.begin(certname.as_str());
                (store, turn)
            }),
        }
    }

    /// True if the exported resources are kept here.
    pub(super) fn keeps_exports(&self) -> bool {
        self.exports.is_some()
    }
}

/// Interrupts a compilation whose request ended.
pub(super) struct InterruptOnDrop(pub(super) Arc<CompileInterrupt>);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.interrupt("the request of the catalog ended");
    }
}

impl Catalogs {
    /// Compiles a node here, and keeps its exported resources and capabilities with `kept`.
    pub(super) async fn compile_native(
        &self,
        node: &CatalogNode,
        opened: Arc<OpenEnvironment>,
        origin: &CompileOrigin,
        compiler: ChosenCompiler,
        kept: Option<KeptCatalog>,
    ) -> Result<CompiledNode, CatalogError> {
        let (environment, code_id) = (opened.environment.clone(), opened.code_id.clone());
        let write = |document: &mut CatalogDocument| document.to_json(DocumentForm::Rich);
        let compiling = self.compile_node(node, opened, origin, kept, (write, |_| true));
        let compiled = compiling.await?;
        Ok(CompiledNode {
            environment,
            code_id,
            compiler,
            catalog: compiled.catalog,
            messages: compiled.logs.iter().map(NodeMessage::from).collect(),
            ruby_calls: compiled.ruby_calls,
            waited: compiled.waited,
            took: compiled.took,
        })
    }

    /// Compiles a node in an open environment, writes the catalog with `write`, and keeps its exported
    /// resources and capabilities with `kept`; `None` if no agent gets the catalog now. Nothing is kept of a
    /// catalog for which `is_given` returns false.
    ///
    /// # Errors
    /// As [`compile_in`](Self::compile_in), or the exported resources or the capabilities cannot be kept.
    pub async fn compile_node<T: Send + 'static>(
        &self,
        node: &CatalogNode,
        opened: Arc<OpenEnvironment>,
        origin: &CompileOrigin,
        kept: Option<KeptCatalog>,
        (write, is_given): (
            impl FnOnce(&mut CatalogDocument) -> Result<T, RichValueError> + Send + 'static,
            fn(&T) -> bool,
        ),
    ) -> Result<WrittenCatalog<T>, CatalogError> {
        let request = self.node_request(node, &opened);
        let (environment, code_id) = (opened.environment.clone(), opened.code_id.clone());
        let are_kept = kept.as_ref().is_some_and(KeptCatalog::keeps_exports);
        let write = move |document: &mut CatalogDocument| {
            let exported = match are_kept {
                true => document.exported_resources(DocumentForm::Texts)?,
                false => Vec::new(),
            };
            Ok((write(document)?, exported))
        };
        let compiling = self.compile_with(opened, request, (origin, node.facts_bytes), write);
        let compiled = Box::pin(compiling).await?;
        let (catalog, exported) = compiled.catalog;
        if let Some(mut kept) = kept.filter(|_| is_given(&catalog)) {
            let capabilities = kept.capabilities.take();
            let keeping = self.keep_exported(kept, &environment, code_id.clone(), exported.into());
            keeping.await?;
            if let Some(capabilities) = capabilities {
                let produced = compiled.produced.clone();
                let keeping = self.keep_capabilities(capabilities, &environment, code_id, produced);
                keeping.await?;
            }
        }
        Ok(WrittenCatalog {
            catalog,
            catalog_uuid: compiled.catalog_uuid,
            reads: compiled.reads,
            logs: compiled.logs,
            left_out: compiled.left_out,
            produced: compiled.produced,
            ruby_calls: compiled.ruby_calls,
            waited: compiled.waited,
            took: compiled.took,
        })
    }

    /// Keeps the capabilities of a catalog that its node gets.
    async fn keep_capabilities(
        &self,
        (store, turn): (EmbeddedCapabilities, KeepTurn),
        environment: &EnvironmentName,
        code_id: Option<String>,
        produced: Vec<ProducedCapability>,
    ) -> Result<(), CatalogError> {
        let certname = turn.certname().to_owned();
        let environment = environment.to_string();
        let keeping = async move {
            let keeping = store.keep(turn, &environment, code_id.as_deref(), &produced);
            keeping.await
        };
        let kept = self.to_the_end(&certname, keeping).await?;
        kept.map_err(CatalogError::KeepCapabilities)
    }

    /// Does work for a catalog in a task that the end of the request does not end.
    async fn to_the_end<T: Send + 'static>(
        &self,
        certname: &str,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, CatalogError> {
        let done = self.inner.compilations.spawn(work).await;
        done.map_err(|error| CatalogError::Defect {
            certname: certname.to_owned(),
            cause: error.to_string(),
        })
    }

    /// Keeps the exported resources of a catalog, as
    /// [`exported_resources`](CatalogDocument::exported_resources) has them in plain form, in a task that the
    /// end of the request does not end. Does nothing if a PuppetDB has those of all nodes.
    ///
    /// # Errors
    /// The resources exceed a limit or cannot be stored, or the node was deleted.
    pub async fn keep_exported(
        &self,
        kept: KeptCatalog,
        environment: &EnvironmentName,
        code_id: Option<String>,
        exported: Arc<[Json]>,
    ) -> Result<(), CatalogError> {
        let Some((exports, turn)) = kept.exports else {
            return Ok(());
        };
        let certname = turn.certname().to_owned();
        let environment = environment.to_string();
        let keeping = async move {
            let keeping = exports.keep_exports(turn, &environment, code_id.as_deref(), &exported);
            keeping.await
        };
        let kept = self.to_the_end(&certname, keeping).await?;
        // those of a newer catalog are as good as these
        kept.map(drop).map_err(CatalogError::KeepExports)
    }

    /// Compiles in an open environment, and writes the catalog with `write`, when a slot is free.
    /// The engine sets version, code id, uuid and the sources of other nodes' data of the request.
    /// Blocks of plans wait for a place before they enter the queue.
    ///
    /// # Errors
    /// The code cannot be compiled or the catalog cannot be written, the engine is busy or stops, or
    /// the version was removed meanwhile.
    pub async fn compile_in<T: Send + 'static>(
        &self,
        opened: Arc<OpenEnvironment>,
        request: CompileRequest,
        origin: &CompileOrigin,
        write: impl FnOnce(&mut CatalogDocument) -> Result<T, RichValueError> + Send + 'static,
    ) -> Result<WrittenCatalog<T>, CatalogError> {
        // the values of a block are those of its plan, which has a budget for them
        let compiling = self.compile_with(opened, request, (origin, 0), write);
        Box::pin(compiling).await
    }

    /// The same for a block of another server's plan, whose values are as many bytes as the second value of
    /// `waiting`.
    ///
    /// # Errors
    /// As [`compile_in`](Self::compile_in).
    pub async fn compile_foreign_block<T: Send + 'static>(
        &self,
        opened: Arc<OpenEnvironment>,
        request: CompileRequest,
        waiting: (&CompileOrigin, usize),
        write: impl FnOnce(&mut CatalogDocument) -> Result<T, RichValueError> + Send + 'static,
    ) -> Result<WrittenCatalog<T>, CatalogError> {
        let compiling = self.compile_with(opened, request, waiting, write);
        Box::pin(compiling).await
    }

    /// The same for a request that holds as many bytes as the second value of `waiting` while it waits.
    async fn compile_with<T: Send + 'static>(
        &self,
        opened: Arc<OpenEnvironment>,
        request: CompileRequest,
        waiting: (&CompileOrigin, usize),
        write: impl FnOnce(&mut CatalogDocument) -> Result<T, RichValueError> + Send + 'static,
    ) -> Result<WrittenCatalog<T>, CatalogError> {
        let (origin, _) = waiting;
        let _place = tokio::select! {
            place = self.inner.plan_places.acquire(&origin.caller) => place,
            () = self.inner.stopping.cancelled() => return Err(CatalogError::Stopping),
        };
        let slots = &self.inner.slots;
        let (slot, waited) = self
            .wait_for_slot(slots, &opened.environment, waiting)
            .await?;
        let interrupt = Arc::new(CompileInterrupt::default());
        let certname = request.certname.clone();
        let request = self.complete_request(request, &opened, &interrupt);
        let catalog_uuid = request.catalog_uuid.clone();
        let ends = InterruptOnDrop(Arc::clone(&interrupt));
        let since = Instant::now();
        let on_thread = Arc::clone(&opened);
        let compilations = &self.inner.compilations;
        let compiling =
            compilations.spawn_blocking(move || compile_in_slot(&on_thread, &request, slot, write));
        let limited = self.within_limits(compiling, &interrupt, (&opened, &certname));
        let compiled = limited.await?;
        drop(ends);
        let (catalog, compiled) = compiled?;
        Ok(WrittenCatalog {
            catalog,
            catalog_uuid,
            reads: compiled.reads,
            logs: compiled.logs,
            left_out: compiled.left_out,
            produced: compiled.capabilities,
            ruby_calls: compiled.ruby_calls,
            waited,
            took: since.elapsed(),
        })
    }

    /// Awaits a compilation on a thread, and interrupts it when its time is over or the engine stops. `subject` is
    /// what it compiles.
    ///
    /// # Errors
    /// The engine stops, the thread is lost, or the version was removed meanwhile.
    pub(super) async fn within_limits<T>(
        &self,
        compiling: JoinHandle<T>,
        interrupt: &CompileInterrupt,
        (opened, subject): (&OpenEnvironment, &str),
    ) -> Result<T, CatalogError> {
        let time_max = self.inner.settings.time_max;
        tokio::pin!(compiling);
        let compiled = tokio::select! {
            compiled = &mut compiling => compiled,
            () = tokio::time::sleep(time_max) => {
                let seconds = time_max.as_secs_f64();
                interrupt.interrupt(format!(
                    "the compilation took longer than {seconds} s; if the code needs more, raise \
                     catalogs.compile_timeout_s"
                ));
                compiling.await
            }
            () = self.inner.stopping.cancelled() => {
                interrupt.interrupt("the server is shutting down");
                let _ = compiling.await;
                return Err(CatalogError::Stopping);
            }
        };
        let compiled = compiled.map_err(|error| CatalogError::Defect {
            certname: subject.to_owned(),
            cause: error.to_string(),
        })?;
        match opened.code_id.as_ref().filter(|_| !opened.is_present()) {
            Some(code_id) => Err(CatalogError::VersionRemoved {
                environment: opened.environment.clone(),
                code_id: code_id.clone(),
            }),
            None => Ok(compiled),
        }
    }

    /// Waits for a slot, and returns the time that it took.
    pub(super) async fn wait_for_slot(
        &self,
        slots: &CompileSlots,
        environment: &EnvironmentName,
        (origin, bytes): (&CompileOrigin, usize),
    ) -> Result<(CompileSlot, Duration), CatalogError> {
        let since = Instant::now();
        let slot = slots.acquire(environment, origin, bytes);
        let slot = tokio::select! {
            slot = tokio::time::timeout(QUEUE_TIME_MAX, slot) => slot,
            () = self.inner.stopping.cancelled() => return Err(CatalogError::Stopping),
        };
        let slot = slot.map_err(|_| CatalogError::WaitedTooLong {
            seconds: QUEUE_TIME_MAX.as_secs(),
        })?;
        Ok((slot.map_err(CatalogError::QueueFull)?, since.elapsed()))
    }

    fn node_request(&self, node: &CatalogNode, opened: &OpenEnvironment) -> CompileRequest {
        let mut server_facts = self.inner.settings.server_facts.clone();
        // as in Puppet, these are variables of the top scope too
        let mut parameters = server_facts.clone();
        for (name, value) in node.parameters.iter() {
            parameters.insert(name.clone(), value.clone());
        }
        server_facts.insert("environment", Value::from(opened.environment.as_str()));
        CompileRequest {
            certname: node.certname.to_string(),
            facts: node.facts.clone(),
            trusted: node.trusted.clone(),
            server_facts,
            classes: node.classes.clone(),
            config_data: Arc::clone(&node.config_data),
            parameters,
            deferred_components: Arc::clone(&node.deferred_components),
            ..CompileRequest::default()
        }
    }

    fn complete_request(
        &self,
        request: CompileRequest,
        opened: &OpenEnvironment,
        interrupt: &Arc<CompileInterrupt>,
    ) -> CompileRequest {
        let settings = &self.inner.settings;
        // The data of other nodes are read with the rights of a plan's owner, by functions of the plan.
        let is_node = request.block.is_none();
        // The same for all nodes of one code, and no time: a time would tell nothing about the code. The
        // program of `config_version` is code of the control repository, so it is not run on the server.
        let version = match &opened.code_id {
            Some(code_id) => Value::from(code_id.as_str()),
            None => Value::Int(seconds_of_epoch()),
        };
        CompileRequest {
            version,
            code_id: opened.code_id.clone(),
            exports: settings.exports.clone().filter(|_| is_node),
            capabilities: settings
                .capabilities
                .of_code(opened.code_id.as_deref())
                .filter(|_| is_node)
                .map(|it| Arc::new(it) as Arc<dyn ProducedCapabilities>),
            puppetdb_queries: settings.puppetdb_queries.clone().filter(|_| is_node),
            catalog_uuid: uuid::Uuid::new_v4().to_string(),
            interrupt: Some(Arc::clone(interrupt)),
            ..request
        }
    }

    /// Lets the puppetserver of the configuration compile a node.
    pub(super) async fn compile_on_puppetserver(
        &self,
        node: &CatalogNode,
        environment: &EnvironmentName,
        request: &CatalogRequest,
        compiler: ChosenCompiler,
    ) -> Result<CompiledNode, CatalogError> {
        let certname = node.certname.clone();
        if request.keep_exports {
            let reason = compiler.reason;
            return Err(CatalogError::ExportsOfPuppetserver { certname, reason });
        }
        let Some(puppetserver) = &self.inner.settings.puppetserver else {
            return Err(CatalogError::NoPuppetserver { certname });
        };
        if request.code_id.is_some() {
            let reason = compiler.reason;
            return Err(CatalogError::OnlyLive { certname, reason });
        }
        let slots = &self.inner.puppetserver_slots;
        let (slot, waited) = self
            .wait_for_slot(slots, environment, (&request.origin, node.facts_bytes))
            .await?;
        let question = CatalogQuestion {
            certname: certname.to_string(),
            environment: environment.to_string(),
            facts: node.reported_facts.clone().unwrap_or_default(),
        };
        let since = Instant::now();
        let answer = tokio::select! {
            answer = puppetserver.catalog(&question) => answer,
            () = self.inner.stopping.cancelled() => return Err(CatalogError::Stopping),
        };
        drop(slot);
        let outcome = answer.map_err(CatalogError::Puppetserver)?;
        let catalog = outcome.map_err(CatalogError::PuppetserverCompile)?;
        let code_id = catalog["code_id"].as_str().map(str::to_owned);
        Ok(CompiledNode {
            environment: environment.clone(),
            code_id,
            compiler,
            catalog,
            messages: Vec::new(),
            ruby_calls: RubyCalls::default(),
            waited,
            took: since.elapsed(),
        })
    }
}

/// Compiles on the current thread, and frees the slot at the end.
fn compile_in_slot<T>(
    opened: &OpenEnvironment,
    request: &CompileRequest,
    slot: CompileSlot,
    write: impl FnOnce(&mut CatalogDocument) -> Result<T, RichValueError>,
) -> Result<(T, CompiledCatalog), CatalogError> {
    let mut compiled =
        compiler::compile(&opened.compiler, request).map_err(CatalogError::Compile)?;
    let written = write(&mut compiled.document);
    drop(slot);
    let written = written.map_err(|error| CatalogError::Document {
        certname: request.certname.clone(),
        cause: error.to_string(),
    })?;
    Ok((written, compiled))
}

fn seconds_of_epoch() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_secs()).unwrap_or(i64::MAX)
}

impl From<&CompileLog> for NodeMessage {
    fn from(log: &CompileLog) -> Self {
        let level = match log.level {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Notice => "notice",
            LogLevel::Warning => "warning",
            LogLevel::Err => "err",
            LogLevel::Alert => "alert",
            LogLevel::Emerg => "emerg",
            LogLevel::Crit => "crit",
        };
        Self {
            level,
            text: log.message.clone(),
            place: log.location.to_string(),
        }
    }
}
