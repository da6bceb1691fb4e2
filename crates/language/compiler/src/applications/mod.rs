//! Applications across nodes: `site`, `application`, and the capabilities that their components
//! produce and consume. Main types: [`ApplicationGraph`], [`ProducedCapabilities`].
//!
//! There are two compilations. That of an environment ([`application_graph`]) evaluates the site and
//! the applications, but not their components, and results in the graph of all components. That of a
//! node evaluates the components that the applications map to it; a component that consumes a
//! capability of another node reads it from a [`ProducedCapabilities`].
//!
//! Invariant: without the setting `applications` of the environment nothing here has an effect.

mod capabilities;
mod component_order;
mod deferred_components;
mod graph;
mod graph_checks;
mod graph_document;
mod links;
mod mappings;
mod node_applications;
mod node_links;
mod node_map;
mod node_relationships;
mod site;
mod source;
mod state;

pub use self::graph::application_graph;
pub use self::graph_document::{
    ApplicationComponent, ApplicationGraph, ApplicationGraphError, ApplicationGraphRequest,
    ApplicationInstance,
};
pub use self::source::{
    CapabilitySearch, CapabilitySearchError, ProducedCapabilities, ProducedCapability,
    StoredCapability,
};
pub(crate) use self::state::ApplicationState;
