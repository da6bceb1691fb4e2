//! Catalogs of `apply` blocks for other servers that run plans: [`BlockCatalogRequest`].
//!
//! They are compiled as those of the plans of this server. Invariant: no data of other nodes are read for a block,
//! and nothing of it is recorded.

use std::io;

use catalogs::{CompileCaller, CompileOrigin, CompilePriority};
use compiler::{ApplyProgram, CatalogDocument, CompileLog, CompileRequest, DocumentForm};
use environments::EnvironmentName;
use evaluator::{LogLevel, SourceLocation};
use pcore::{Hash, Value};
use pcp::Certname;
use serde_json::{Map, Value as Json};

use crate::AgentCatalogError;
use crate::agent_catalogs::AgentCatalogs;
use crate::block_variables::{BlockVariables, BlockVariablesError};
use crate::service_catalog::ServiceCatalog;
use crate::syntax_tree::{SyntaxTree, SyntaxTreeError};

/// The statements of a block and the variables of its plan.
#[derive(Debug)]
pub struct BlockProgram {
    program: ApplyProgram,
    /// Names of variables with values that are not read, and the types of these.
    left_out: Vec<(String, String)>,
}

/// A catalog of a block that a service requests.
#[derive(Debug)]
pub struct BlockCatalogRequest {
    /// Certname of the service.
    pub service: String,
    /// Name of the target.
    pub certname: Certname,
    pub environment: EnvironmentName,
    pub facts: Map<String, Json>,
    pub trusted: Map<String, Json>,
    pub program: BlockProgram,
    /// Bytes that the request holds while it waits.
    pub bytes: usize,
}

/// Reason that a block is not compiled.
#[derive(Debug, thiserror::Error)]
pub enum BlockProgramError {
    #[error("code_ast: {0}")]
    Tree(#[from] SyntaxTreeError),
    #[error("variables: {0}")]
    Variables(#[from] BlockVariablesError),
    #[error("a thread of this server ended unexpectedly")]
    Thread(#[source] io::Error),
}

impl BlockProgram {
    /// Reads a syntax tree in JSON, the variables of the plan, and those of the target, which are used where the
    /// plan has none of that name.
    ///
    /// # Errors
    /// The tree has no text that can be parsed, or a variable cannot be read.
    pub async fn read(
        tree: String,
        variables: BlockVariables,
        target_variables: Map<String, Json>,
    ) -> Result<Self, BlockProgramError> {
        let reading = tokio::task::spawn_blocking(move || {
            let statements = SyntaxTree::read(&tree)?.into_statements()?;
            let read = variables.read()?;
            let mut variables = to_hash(target_variables);
            for (name, value) in read.values.iter() {
                variables.insert(name.clone(), value.clone());
            }
            let program = ApplyProgram {
                statements,
                variables,
            };
            Ok(Self {
                program,
                left_out: read.of_unknown_types,
            })
        });
        let read = reading.await;
        read.map_err(|error| BlockProgramError::Thread(error.into()))?
    }

    /// The compilation of the block for a target.
    #[must_use]
    pub fn into_request(
        self,
        certname: &str,
        facts: Map<String, Json>,
        trusted: Map<String, Json>,
    ) -> CompileRequest {
        CompileRequest {
            certname: certname.to_owned(),
            facts: to_hash(facts),
            trusted: to_hash(trusted),
            block: Some(self.program),
            ..CompileRequest::default()
        }
    }

    /// Warnings about the variables that are left out.
    fn warnings(&self) -> Vec<CompileLog> {
        let left_out = self.left_out.iter();
        left_out
            .map(|(name, ty)| CompileLog {
                level: LogLevel::Warning,
                message: format!(
                    "The variable '{name}' is not set, because this server does not read values of type {ty} in \
                     compile requests. Assign what the block needs of it to another variable before the block"
                ),
                location: SourceLocation::default(),
            })
            .collect()
    }
}

impl AgentCatalogs {
    /// Compiles a block for a service.
    ///
    /// # Errors
    /// The code cannot be compiled, or the engine is busy.
    pub async fn block_catalog(
        &self,
        request: BlockCatalogRequest,
    ) -> Result<ServiceCatalog, AgentCatalogError> {
        let catalogs = &self.inner.catalogs;
        let environment = request.environment;
        let opened = catalogs.environment(&environment, None).await?;
        let origin = CompileOrigin {
            caller: CompileCaller::Client(request.service),
            priority: CompilePriority::Foreground,
        };
        let mut logs = request.program.warnings();
        let certname = request.certname.as_str();
        let compile = request
            .program
            .into_request(certname, request.facts, request.trusted);
        let write = |document: &mut CatalogDocument| document.to_json(DocumentForm::Rich);
        let waiting = (&origin, request.bytes);
        let compiling = catalogs.compile_block(opened, compile, waiting, write);
        let compiled = Box::pin(compiling).await?;
        logs.extend(compiled.logs);
        Ok(ServiceCatalog {
            environment,
            document: compiled.catalog,
            logs,
            took: compiled.took,
        })
    }
}

fn to_hash(fields: Map<String, Json>) -> Hash {
    let fields = fields.into_iter();
    fields
        .map(|(name, value)| (Value::from(name), Value::from_json(&value)))
        .collect()
}
