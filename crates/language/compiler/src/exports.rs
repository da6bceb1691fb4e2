//! Exported resources of other nodes: [`ExportedResources`].
//!
//! Invariant: a resource of another node never replaces one of this node.

use std::sync::Arc;

use evaluator::{
    CatalogScopeId, CollectorQuery, EvalResult, Evaluator, ResourceAttribute, SourceLocation, raise,
};
use pcore::{Hash, Value};

use crate::catalog::{CatalogResource, ResourceId};
use crate::compilation::Compilation;

/// Source of the resources that other nodes export, such as PuppetDB.
pub trait ExportedResources: Send + Sync {
    /// The exported resources of a type (`File`, `Foo::Bar`) that a query accepts, except those of
    /// the node itself.
    fn search(
        &self,
        certname: &str,
        type_name: &str,
        query: Option<&CollectorQuery>,
    ) -> Result<Vec<ExportedResource>, ExportSearchError>;
}

/// A resource that another node exports.
#[derive(Debug, Clone)]
pub struct ExportedResource {
    /// Certname of the node that exports it.
    pub certname: String,
    pub title: String,
    pub parameters: Hash,
    /// Tags for queries; the resource gets the tags of its collector.
    pub tags: Vec<String>,
}

/// Error of a search; it names the server and the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExportSearchError(pub String);

impl Compilation<'_> {
    /// Adds the resources that other nodes export and a collector wants. Returns the new ones.
    pub(crate) fn add_exported_of_others(
        &self,
        evaluator: &mut Evaluator<'_>,
        (type_name, query): (&Arc<str>, Option<&CollectorQuery>),
        scope: CatalogScopeId,
    ) -> EvalResult<Vec<ResourceId>> {
        let Some(exports) = &self.request.exports else {
            return Ok(Vec::new());
        };
        let found = match exports.search(&self.request.certname, type_name, query) {
            Ok(found) => found,
            Err(error) => return raise(error.to_string()),
        };
        let mut new = Vec::new();
        for resource in found {
            if let Some(known) = self.find_resource(type_name, &resource.title)? {
                let origin = self.state().collected_exports.get(&known).cloned();
                if origin.as_deref() == Some(resource.certname.as_str()) {
                    continue;
                }
                return raise(format!(
                    "A duplicate resource was found while collecting exported resources, with the type and title {type_name}[{}]",
                    resource.title
                ));
            }
            new.push(self.add_exported(evaluator, type_name, scope, resource)?);
        }
        Ok(new)
    }

    fn add_exported(
        &self,
        evaluator: &mut Evaluator<'_>,
        type_name: &Arc<str>,
        scope: CatalogScopeId,
        exported: ExportedResource,
    ) -> EvalResult<ResourceId> {
        let Some(kind) = self.find_type(evaluator, type_name)? else {
            return raise(format!("Invalid resource type {type_name}"));
        };
        let source = self.state().scope(scope).source;
        let title: Arc<str> = exported.title.as_str().into();
        let owner = (scope, source);
        let mut resource = CatalogResource::new(Arc::clone(type_name), title, kind, owner);
        let attributes = exported
            .parameters
            .iter()
            .map(|(name, value)| ResourceAttribute {
                name: name.to_string().into(),
                value: value.clone(),
                is_added: false,
                location: SourceLocation::default(),
            });
        self.set_attributes(&mut resource, attributes.collect())?;
        let id = self.add_resource(scope, resource)?;
        self.state().collected_exports.insert(id, exported.certname);
        Ok(id)
    }
}

impl ExportedResource {
    /// True if a query of a collector accepts the resource.
    #[must_use]
    pub fn is_accepted_by(&self, query: &CollectorQuery) -> bool {
        match query {
            CollectorQuery::And(left, right) => {
                self.is_accepted_by(left) && self.is_accepted_by(right)
            }
            CollectorQuery::Or(left, right) => {
                self.is_accepted_by(left) || self.is_accepted_by(right)
            }
            CollectorQuery::Compare {
                is_equal,
                attribute,
                value,
            } => self.has(attribute, value) == *is_equal,
        }
    }

    fn has(&self, attribute: &str, value: &Value) -> bool {
        match attribute {
            "tag" => {
                let wanted = value.to_string().to_lowercase();
                self.tags.contains(&wanted)
            }
            "title" => value.as_str() == Some(self.title.as_str()),
            name => match self.parameters.get_str(name) {
                Some(Value::Array(elements)) => elements.iter().any(|it| it.equals(value)),
                Some(actual) => actual.equals(value),
                None => value.is_undef(),
            },
        }
    }
}
