//! The node map of an application, its parameter `nodes`.
//!
//! The type of the parameter is checked only in a graph, as in Puppet, so any value is possible here.

use std::sync::Arc;

use evaluator::EvalResult;
use pcore::{TypeKind, Value};

use crate::catalog::ResourceId;
use crate::compilation::Compilation;
use crate::error::fail_at;
use crate::reference::CatalogReference;

impl Compilation<'_> {
    /// The components in the node map of an application with their certnames, in the order of the map. A
    /// component may be there more than once.
    pub(super) fn mapped_components(
        &self,
        id: ResourceId,
    ) -> EvalResult<Vec<(CatalogReference, Arc<str>)>> {
        let nodes = self.state().catalog.resource(id).value("nodes");
        let refuse = |text: String| {
            let text = format!("Invalid node mapping in {}: {text}", self.label(id));
            fail_at(text, &self.resource_location(id))
        };
        let entries = match nodes {
            None | Some(Value::Undef) => return Ok(Vec::new()),
            Some(Value::Hash(entries)) => entries,
            Some(_) => return refuse("Mapping must be a hash".to_owned()),
        };
        let mut mapped = Vec::new();
        for (key, value) in entries.iter() {
            let Some(certname) = node_name(key) else {
                return refuse(format!("Key {key} is not a Node"));
            };
            let single = std::slice::from_ref(value);
            let components = match value {
                Value::Array(components) => components.as_slice(),
                _ => single,
            };
            for component in components {
                match component.as_type().and_then(CatalogReference::of) {
                    Some(reference) => mapped.push((reference, Arc::clone(&certname))),
                    None => return refuse(format!("Value {component} is not a resource")),
                }
            }
        }
        Ok(mapped)
    }
}

/// The certname in `Node[certname]`.
fn node_name(key: &Value) -> Option<Arc<str>> {
    match key.as_type()?.kind() {
        TypeKind::Resource {
            type_name: Some(type_name),
            title: Some(title),
        } if type_name.eq_ignore_ascii_case("node") => Some(Arc::clone(title)),
        _ => None,
    }
}
