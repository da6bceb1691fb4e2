//! Catalogs of nodes: environments on disk, compilation with Ruby where the code is Ruby, comparison
//! of catalogs, also of many nodes and with those of a puppetserver, exported resources and capabilities
//! of applications. Main types:
//! [`EnvironmentFiles`], [`RubyWorkerProvider`], [`CatalogDifference`], [`PuppetserverCatalogs`],
//! [`PuppetdbExports`].
//!
//! Invariant: a compilation has Ruby of its own environment version only.

mod blocking_inventory;
mod capabilities;
mod comparison;
pub mod defaults;
mod engine;
mod environment;
mod exports;
mod grouping;
mod many_nodes;
mod ruby;
mod shadow;
mod waiting;

pub use capabilities::{
    CapabilitiesOfCode, CapabilitySources, EmbeddedCapabilities, KeepCapabilitiesError,
    PuppetdbCapabilities, ReadCapabilitiesError,
};
pub use comparison::{CatalogDifference, ResourceDifference, compare_catalogs};
pub use engine::{
    CatalogCompiler, CatalogError, CatalogNode, CatalogRequest, CatalogSettings, Catalogs,
    ChosenCompiler, CodeImpactRequest, CompileCaller, CompileOrigin, CompilePriority,
    CompileQueueFull, CompiledNode, CompilerChoices, ImpactVersion, KeptCatalog, NodeImpact,
    NodeInputs, NodeMessage, OpenEnvironment, QueryChange, WrittenCatalog,
};
pub use environment::{
    ApplicationDefinition, CompilerOptions, ConfigVersion, ConfigVersionError, EnvironmentFiles,
    EnvironmentListing, EnvironmentListingError, EnvironmentOnDisk, EnvironmentReadError,
    EnvironmentTimeout, ListedSettings, ListedSettingsError, OutsideFileState, OutsideFileStates,
    OutsideFiles, changed_files, enables_applications, module_directories,
};
pub use exports::{
    EmbeddedExports, InventoryQueries, KeepExportsError, KeepTurn, KeptExports, PuppetdbExports,
};
pub use grouping::{
    CauseGroup, CauseGroups, ChangeGroup, ChangeGroups, DifferenceCause, DifferenceExample,
};
pub use many_nodes::{NodeOutcome, compare_nodes};
pub use ruby::RubyWorkerProvider;
pub use shadow::{CatalogOutcome, CatalogQuestion, CatalogRequestError, PuppetserverCatalogs};
