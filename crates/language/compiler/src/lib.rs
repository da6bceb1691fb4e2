//! Catalogs from manifests, as Puppet compiles them, without Puppet. Main types:
//! [`CompilerEnvironment`], [`CompileRequest`], [`compile`].
//!
//! The evaluator evaluates expressions and calls [`evaluator::CatalogHost`]; this crate keeps
//! resources, scopes, classes and collectors, and orders the steps of a compilation as Puppet does
//! (`compile`). The result is a document that agents of Puppet 7 and 8 accept
//! ([`CatalogDocument`]).
//!
//! Invariant: the document depends only on the environment and the request, and nothing that a
//! manifest does affects another compilation.

mod applications;
mod block_text;
mod catalog;
mod catalog_reads;
mod catalog_size;
mod classes;
mod collector;
mod collectors;
mod compilation;
mod compile;
mod data_queries;
pub mod defaults;
mod definitions;
mod environment;
mod error;
mod exported_collection;
mod exports;
mod finish;
mod functions;
mod host;
mod interrupt;
mod name_cache;
mod names;
mod native_calls;
mod native_types;
mod node;
mod node_data;
mod overrides;
mod puppetdb_queries;
mod reference;
mod relationships;
mod request;
mod resources;
mod ruby;
mod ruby_calls;
mod scope;
mod state;

pub use applications::{
    ApplicationComponent, ApplicationGraph, ApplicationGraphError, ApplicationGraphRequest,
    ApplicationInstance, CapabilitySearch, CapabilitySearchError, ProducedCapabilities,
    ProducedCapability, StoredCapability, application_graph,
};
pub use block_text::parse_block;
pub use catalog::{
    CatalogDocument, DocumentForm, FileResource, PlainCatalog, PlainConversion, RichValueError,
    StaticFiles,
};
pub use catalog_reads::{CatalogReads, VolatileCause};
pub use compile::compile;
pub use data_queries::{CapabilityQuery, DataQuery, DataQueryResult, DataSources};
pub use environment::{CompilerEnvironment, CompilerSource, EnvironmentSettings};
pub use error::CompileError;
pub use exports::{ExportSearch, ExportSearchError, ExportedResource, ExportedResources};
pub use interrupt::{CompileInterrupt, InterruptibleWait};
pub use node_data::{trusted_data, with_agent_facts};
pub use puppetdb_queries::{PuppetdbQueries, PuppetdbQueryError};
pub use request::{
    ApplyProgram, ClassifiedClass, CompileLog, CompileRequest, CompiledCatalog, DeferredComponents,
};
pub use ruby::{
    BlockArity, ErbSource, RubyCaller, RubyCalls, RubyCode, RubyCodeBlock, RubyDataCall,
    RubyFunctionKind, RubyProvider, ruby_error,
};
