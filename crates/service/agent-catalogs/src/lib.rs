//! Catalogs as real agents request them. Main type: [`AgentCatalogs`].
//!
//! A catalog is static: it describes the files that it needs from modules, with addresses of their
//! contents by hash. Invariant: all that one catalog names belongs to one version of the code.

mod agent_catalogs;
mod ahead;
mod block_catalog;
mod block_variables;
mod catalog_check;
mod catalog_writer;
mod checksum;
mod compared_node;
mod compile_cause;
mod compressed_catalog;
mod contents;
mod current_catalog;
pub mod defaults;
mod deferred_components;
mod digest;
mod error;
mod facts_policy;
mod failed_imports;
mod fingerprint;
mod forwarded_capabilities;
mod history;
mod ignored_names;
mod imported_data;
mod interned;
mod kept_catalogs;
mod metadata_document;
mod new_catalog;
mod service_catalog;
mod static_files;
mod stored_catalogs;
mod stored_form;
mod syntax_tree;

pub use agent_catalogs::{
    AgentCatalog, AgentCatalogRequest, AgentCatalogSettings, AgentCatalogSources, AgentCatalogs,
    AgentFacts, AgentIdentity,
};
pub use ahead::AheadSummary;
pub use block_catalog::{BlockCatalogRequest, BlockProgram, BlockProgramError};
pub use block_variables::{BlockVariables, BlockVariablesError};
pub use catalog_check::CatalogState;
pub use checksum::{ChecksumType, UnknownChecksumType};
pub use compile_cause::{CatalogCompilation, CompileCause, NameList};
pub use compressed_catalog::CompressedCatalog;
pub use error::AgentCatalogError;
pub use facts_policy::{FactsPolicies, FactsPolicy};
pub use fingerprint::CatalogInput;
pub use history::{KeptCatalogRecord, NodeCatalogRecord};
pub use ignored_names::IgnoredNames;
pub use imported_data::ImportChanges;
pub use metadata_document::MetadataDocument;
pub use service_catalog::{ServiceCatalog, ServiceCatalogRequest};
pub use static_files::{BY_HASH, StaticContent, StaticContents, StaticFileError, inline_files};
pub use stored_catalogs::{CatalogDatabase, RecordedCompilation};
pub use syntax_tree::SyntaxTreeError;
