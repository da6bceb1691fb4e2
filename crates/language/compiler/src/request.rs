//! Input and result of a compilation: [`CompileRequest`], [`CompiledCatalog`].

use evaluator::{LogLevel, SourceLocation};
use pcore::{Hash, Value};

use crate::CatalogDocument;

/// The node for which a catalog is compiled.
#[derive(Debug, Clone, Default)]
pub struct CompileRequest {
    pub certname: String,
    pub facts: Hash,
    /// The variable `$trusted`.
    pub trusted: Hash,
    /// The variable `$server_facts`.
    pub server_facts: Hash,
    /// Classes of the classifier, by name.
    pub classes: Vec<ClassifiedClass>,
    /// Variables that the classifier sets in the top scope.
    pub parameters: Hash,
    /// Version of the catalog: seconds of the epoch, or the output of `config_version`.
    pub version: Value,
    pub code_id: Option<String>,
    pub catalog_uuid: String,
}

/// A class that the classifier assigns to a node.
#[derive(Debug, Clone)]
pub struct ClassifiedClass {
    pub name: String,
    /// Values of the class's parameters; empty to use data and defaults.
    pub parameters: Hash,
}

/// A catalog and the messages of its compilation.
#[derive(Debug)]
pub struct CompiledCatalog {
    pub document: CatalogDocument,
    pub logs: Vec<CompileLog>,
}

/// A message that the manifests or the compiler logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileLog {
    pub level: LogLevel,
    pub message: String,
    pub location: SourceLocation,
}
