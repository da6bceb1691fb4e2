//! The graph of an environment's applications: [`ApplicationGraph`].
//!
//! Invariant: the document is that of Puppet 5 and 6, in the order of the declarations.

use std::sync::Arc;

use evaluator::SourceLocation;
use serde::ser::{Serialize, SerializeMap as _, SerializeStruct as _, Serializer};

use super::component_order::producers_first;
use super::links::ComponentCapabilities;
use crate::interrupt::CompileInterrupt;
use crate::reference::CatalogReference;
use crate::request::CompileLog;

/// The environment whose graph is wanted.
#[derive(Debug, Clone, Default)]
pub struct ApplicationGraphRequest {
    /// Identifier of the code version, as the document names it.
    pub code_id: Option<String>,
    /// Ends the compilation early; `None` if only its own limits end it.
    pub interrupt: Option<Arc<CompileInterrupt>>,
}

/// The applications of an environment with their components.
#[derive(Debug)]
pub struct ApplicationGraph {
    pub environment: String,
    pub code_id: Option<String>,
    /// Instances in the order of their declarations.
    pub applications: Vec<ApplicationInstance>,
    /// Warnings about the site, and messages of its code.
    pub logs: Vec<CompileLog>,
}

/// An application of the site.
#[derive(Debug)]
pub struct ApplicationInstance {
    /// Reference such as `Lamp[app1]`.
    pub reference: String,
    /// Components in the order of their declarations.
    pub components: Vec<ApplicationComponent>,
}

/// A component of an application.
#[derive(Debug)]
pub struct ApplicationComponent {
    /// Reference such as `Lamp::Mysql[app1]`.
    pub reference: String,
    /// References of the capabilities that the component exports.
    pub produces: Vec<String>,
    /// References of the capabilities that it requires, then of those that it consumes.
    pub consumes: Vec<String>,
    /// Certname to which the component is mapped, as written.
    pub node: String,
}

/// An environment whose graph cannot be made.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message} in environment {environment}")]
pub struct ApplicationGraphError {
    /// Puppet's message with the place in the code, without the environment.
    pub message: String,
    pub environment: String,
    /// Place in the code; `None` if the error has none.
    pub location: Option<SourceLocation>,
    /// Suggestions, such as similar names.
    pub hints: Vec<String>,
    /// Further errors that were found, each with its place.
    pub others: Vec<String>,
}

impl ApplicationGraph {
    pub(super) fn empty(environment: &str, request: &ApplicationGraphRequest) -> Self {
        Self {
            environment: environment.to_owned(),
            code_id: request.code_id.clone(),
            applications: Vec::new(),
            logs: Vec::new(),
        }
    }

    /// Components that wait for each other, from producer to consumer: the last is the first again.
    /// `None` if there is an order in which all components can be applied.
    #[must_use]
    pub fn component_cycle(&self) -> Option<Vec<&str>> {
        let cycle = self.producers_first().err()?;
        Some(cycle.into_iter().map(|it| &*it.reference).collect())
    }

    /// All components in an order in which producers come before their consumers, and components
    /// without such a relation as they are declared. If components wait for each other, the error is
    /// one such cycle.
    pub fn producers_first(
        &self,
    ) -> Result<Vec<&ApplicationComponent>, Vec<&ApplicationComponent>> {
        let components: Vec<&ApplicationComponent> = self
            .applications
            .iter()
            .flat_map(|application| &application.components)
            .collect();
        let named: Vec<ComponentCapabilities> = components
            .iter()
            .map(|component| ComponentCapabilities {
                exports: references(&component.produces),
                consumes: references(&component.consumes),
                requires: Vec::new(),
            })
            .collect();
        let named: Vec<&ComponentCapabilities> = named.iter().collect();
        let of_indices =
            |indices: Vec<usize>| indices.into_iter().map(|it| components[it]).collect();
        producers_first(&named).map(of_indices).map_err(of_indices)
    }
}

/// References as keys: the whole text is the title.
fn references(texts: &[String]) -> Vec<CatalogReference> {
    texts
        .iter()
        .map(|text| CatalogReference {
            type_name: "".into(),
            title: text.as_str().into(),
        })
        .collect()
}

impl Serialize for ApplicationGraph {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("ApplicationGraph", 3)?;
        document.serialize_field("environment", &self.environment)?;
        document.serialize_field("applications", &ApplicationsView(&self.applications))?;
        document.serialize_field("code_id", &self.code_id)?;
        document.end()
    }
}

/// Instances by reference.
struct ApplicationsView<'g>(&'g [ApplicationInstance]);

impl Serialize for ApplicationsView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for application in self.0 {
            let components = ComponentsView(&application.components);
            map.serialize_entry(&application.reference, &components)?;
        }
        map.end()
    }
}

/// Components by reference.
struct ComponentsView<'g>(&'g [ApplicationComponent]);

impl Serialize for ComponentsView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for component in self.0 {
            map.serialize_entry(&component.reference, &ComponentView(component))?;
        }
        map.end()
    }
}

struct ComponentView<'g>(&'g ApplicationComponent);

impl Serialize for ComponentView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("ApplicationComponent", 3)?;
        document.serialize_field("produces", &self.0.produces)?;
        document.serialize_field("consumes", &self.0.consumes)?;
        document.serialize_field("node", &self.0.node)?;
        document.end()
    }
}
