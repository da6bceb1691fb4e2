//! Catalogs as real agents request them. Main type: [`AgentCatalogs`].
//!
//! A catalog is static: it describes the files that it needs from modules, with addresses of their
//! contents by hash. Invariant: all that one catalog names belongs to one version of the code.

mod agent_catalogs;
mod catalog_id;
mod checksum;
mod compressed_catalog;
pub mod defaults;
mod error;
mod ignored_names;
mod kept_catalogs;
mod metadata_document;
mod static_files;

pub use agent_catalogs::{
    AgentCatalog, AgentCatalogRequest, AgentCatalogs, AgentFacts, AgentIdentity,
};
pub use checksum::{ChecksumType, UnknownChecksumType};
pub use compressed_catalog::CompressedCatalog;
pub use error::AgentCatalogError;
pub use ignored_names::IgnoredNames;
pub use metadata_document::MetadataDocument;
pub use static_files::{BY_HASH, StaticContent, StaticContents, StaticFileError, inline_files};
