//! Catalogs of `apply` blocks for other servers that run plans: [`BlockCatalogRequest`].
//!
//! They are compiled as those of the plans of this server. Invariant: no data of other nodes are read for a block,
//! and nothing of it is recorded.

use std::io;

use catalogs::{CatalogError, CompileCaller, CompileOrigin, CompilePriority};
use compiler::{ApplyProgram, CatalogDocument, CompileLog, CompileRequest, DocumentForm};
use environments::EnvironmentName;
use evaluator::{LogLevel, SourceLocation};
use partial_debug::partial_debug;
use pcore::{Hash, Value};
use pcp::Certname;
use serde_json::{Map, Value as Json};

use crate::AgentCatalogError;
use crate::agent_catalogs::AgentCatalogs;
use crate::block_variables::{BlockVariables, BlockVariablesError};
use crate::service_catalog::ServiceCatalog;
use crate::syntax_tree::{SyntaxTree, SyntaxTreeError};

/// The statements of a block and the variables of its plan.
pub struct BlockProgram {
    program: ApplyProgram,
    /// Bytes that the parsed text counts in the queue of compilations.
    text_bytes: usize,
    /// Names of variables with values that are not read, and the types of these.
    unread_variables: Vec<(String, String)>,
}

/// A catalog of a block that a service requests.
pub struct BlockCatalogRequest {
    /// Certname of the service.
    pub service: String,
    /// Name of the target.
    pub certname: Certname,
    pub environment: EnvironmentName,
    pub facts: Map<String, Json>,
    pub trusted: Map<String, Json>,
    pub program: BlockProgram,
    /// Bytes of facts and variables, which the request holds while it waits.
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

// Leaves out the values of the variables, which may be secret.
partial_debug!(BlockProgram {
    text_bytes,
    unread_variables
});

// Leaves out the values of facts and variables, which may be secret.
partial_debug!(BlockCatalogRequest {
    service,
    certname,
    environment,
    program
});

impl BlockProgram {
    /// Reads a syntax tree in JSON, the variables of the plan, and those of the target, which are used where the
    /// plan has none of that name. `memory` is what the caller reserved for the work; it is dropped at the end of the
    /// work, also if the caller does not wait for it.
    ///
    /// # Errors
    /// The tree has no text that can be parsed, or a variable cannot be read.
    pub async fn read(
        tree: String,
        variables: BlockVariables,
        target_variables: Map<String, Json>,
        memory: impl Send + 'static,
    ) -> Result<Self, BlockProgramError> {
        let reading = tokio::task::spawn_blocking(move || {
            let _memory = memory;
            let tree = SyntaxTree::read(&tree)?;
            let text_bytes = tree.bytes_in_queue();
            let statements = tree.into_statements()?;
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
                text_bytes,
                unread_variables: read.of_unknown_types,
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

    /// Warnings about the variables that are not read.
    fn warnings(&self) -> Vec<CompileLog> {
        let unread = self.unread_variables.iter();
        unread
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
        let bytes = request.bytes + request.program.text_bytes;
        let mut logs = request.program.warnings();
        let unread = request.program.unread_variables.iter();
        let unread: Vec<String> = unread.map(|(name, ty)| format!("{name} ({ty})")).collect();
        let certname = request.certname.as_str();
        let compile = request
            .program
            .into_request(certname, request.facts, request.trusted);
        let write = |document: &mut CatalogDocument| document.to_json(DocumentForm::Rich);
        let compiling = catalogs.compile_foreign_block(opened, compile, (&origin, bytes), write);
        let compiled = Box::pin(compiling).await;
        let compiled = compiled.map_err(|error| match error {
            CatalogError::Compile(error) if !unread.is_empty() => {
                let variables = unread.join(", ");
                AgentCatalogError::UnreadVariables { error, variables }
            }
            error => error.into(),
        })?;
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

#[cfg(test)]
mod tests {
    use std::future::{Future as _, poll_fn};
    use std::sync::mpsc;
    use std::task::Poll;
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    const TEXT: &str = "notify { 'n': }";

    /// Sends the thread on which it is dropped.
    struct DropThread(mpsc::Sender<ThreadId>);

    impl Drop for DropThread {
        fn drop(&mut self) {
            let _ = self.0.send(thread::current().id());
        }
    }

    fn tree() -> String {
        let locator = json!({"__ptype": "Puppet::AST::Locator", "string": TEXT, "file": null});
        json!({"__ptype": "Puppet::AST::Program", "locator": locator}).to_string()
    }

    fn variables() -> BlockVariables {
        let all = json!({"password": "s3cret", "running": {"__ptype": "Future", "name": "s3cret"}});
        BlockVariables::List(vec![all.as_object().cloned().unwrap_or_default()])
    }

    #[tokio::test]
    async fn memory_is_held_until_the_thread_is_done_although_the_caller_left() {
        let (sender, dropped) = mpsc::channel();
        let memory = DropThread(sender);
        let reading = BlockProgram::read(tree(), variables(), Map::new(), memory);
        let mut reading = Box::pin(reading);
        poll_fn(|context| {
            let _ = reading.as_mut().poll(context);
            Poll::Ready(())
        })
        .await;
        drop(reading);
        let on = dropped.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_ne!(on, thread::current().id());
    }

    #[tokio::test]
    async fn programs_count_their_text_and_show_no_values() {
        let program = BlockProgram::read(tree(), variables(), Map::new(), ()).await;
        let program = program.unwrap();
        assert_eq!(program.text_bytes, TEXT.len() * 35);
        let request = BlockCatalogRequest {
            service: "orchestrator".to_owned(),
            certname: "web1".parse().unwrap(),
            environment: "production".parse().unwrap(),
            facts: Map::from_iter([("secret".to_owned(), json!("s3cret"))]),
            trusted: Map::new(),
            program,
            bytes: 1,
        };
        let shown = format!("{request:?}");
        assert!(
            shown.contains("Future") && !shown.contains("s3cret"),
            "{shown}"
        );
    }
}
