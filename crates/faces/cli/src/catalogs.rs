//! Catalogs that the server compiles: [`compile_on_server`].

use api_types::kinds::CATALOG_COMPILE;
use api_types::{CatalogCompileCommand, CompiledCatalogReply};
use serde_json::Value;

use crate::client::ApiClient;
use crate::{CommandFailure, ConnectionFlags, Result};

/// The server's answer to a request for a catalog.
#[derive(Debug)]
pub enum ServerCatalog {
    /// The catalog.
    Compiled(Box<CompiledCatalogReply>),
    /// The code cannot be compiled.
    Failed(CatalogCompileFailure),
}

/// Error of a compilation on the server.
#[derive(Debug)]
pub struct CatalogCompileFailure {
    /// Puppet's message, with the place in the code.
    pub message: String,
    /// Suggestions, such as similar names.
    pub hints: Vec<String>,
    /// Further errors that were found.
    pub others: Vec<String>,
}

/// Lets the server that the environment variables and configuration files name compile a catalog.
///
/// # Errors
/// The server cannot be reached, or refuses the request.
pub fn compile_on_server(command: &CatalogCompileCommand) -> Result<ServerCatalog> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| CommandFailure::Usage(error.to_string()))?;
    let client = ApiClient::with_token(&ConnectionFlags::default())?;
    let path = ["tutti", "v1", "catalogs", "compile"];
    match runtime.block_on(client.post_long(&path, command)) {
        Ok(compiled) => Ok(ServerCatalog::Compiled(Box::new(compiled))),
        Err(CommandFailure::Refused {
            kind, msg, details, ..
        }) if kind == CATALOG_COMPILE.name => {
            let texts = |key: &str| {
                let texts = details.get(key).and_then(Value::as_array);
                let texts = texts.into_iter().flatten();
                texts
                    .filter_map(|it| it.as_str().map(str::to_owned))
                    .collect()
            };
            Ok(ServerCatalog::Failed(CatalogCompileFailure {
                message: msg,
                hints: texts("hints"),
                others: texts("others"),
            }))
        }
        Err(failure) => Err(failure),
    }
}
