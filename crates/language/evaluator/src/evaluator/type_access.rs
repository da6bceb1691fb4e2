//! `[]` on types: pcore creates the type, the evaluator adds the location to its errors.

use pcore::{Type, TypeKind, Value};

use super::{EvalContext, Evaluator};
use crate::catalog_host::{AttributeLookup, CatalogHost};
use crate::code::{LoweredNode, NodeId};
use crate::error::{EvalResult, raise};

impl Evaluator<'_> {
    pub(super) fn access_type(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        ty: &Type,
        ids: &[NodeId],
        keys: &[Value],
    ) -> EvalResult {
        if let Some(catalog) = self.host.catalog()
            && let Some((type_name, title)) = titled(ty)
        {
            return self.resource_attributes(cx, node, catalog, (type_name, title), keys);
        }
        let error = match ty.parameterize(keys) {
            Ok(made) => return Ok(made),
            Err(error) => error,
        };
        let Some(issue) = error.issue else {
            return raise(error.message);
        };
        if issue == EMPTY_REFERENCE && self.host.catalog().is_some() {
            let is_list = keys.len() > 1 || matches!(keys.first(), Some(Value::Array(_)));
            return Ok(match is_list {
                true => Value::array(Vec::new()),
                false => Value::Undef,
            });
        }
        // several keys may come from one list, which is then the location
        let at = match error.argument {
            Some(place) => ids
                .get(place)
                .or(ids.last())
                .map_or(node.at, |id| cx.unit.node(*id).at),
            None => node.at,
        };
        Err(self.fail(cx, at, issue, error.message))
    }

    /// `File['/x']['mode']`: the values of attributes of a declared resource or class.
    fn resource_attributes(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        catalog: &dyn CatalogHost,
        (type_name, title): (&str, &str),
        keys: &[Value],
    ) -> EvalResult {
        let is_list = keys.len() > 1 || matches!(keys.first(), Some(Value::Array(_)));
        let mut names = crate::ruby::flatten(keys);
        names.retain(|name| !name.is_undef());
        let mut values = Vec::with_capacity(names.len());
        for name in &names {
            let name = name.to_string();
            match catalog.attribute(self, type_name, title, &name)? {
                AttributeLookup::Value(value) => values.push(value),
                AttributeLookup::UnknownResource => {
                    let text = format!("Resource not found: {type_name}['{title}']");
                    return Err(self.fail(cx, node.at, "UNKNOWN_RESOURCE", text));
                }
                AttributeLookup::UnknownAttribute => {
                    let shown = capitalize(type_name);
                    let text = format!(
                        "The resource {shown}['{title}'] does not have a parameter called '{name}'"
                    );
                    return Err(self.fail(cx, node.at, "UNKNOWN_RESOURCE_PARAMETER", text));
                }
            }
        }
        Ok(if is_list {
            Value::array(values)
        } else {
            values.pop().unwrap_or_default()
        })
    }
}

/// Issue of a reference whose titles are all undef, which names nothing in a catalog.
const EMPTY_REFERENCE: &str = "EMPTY_RESOURCE_SPECIALIZATION";

/// Type and title of a reference to one resource or class.
fn titled(ty: &Type) -> Option<(&str, &str)> {
    match ty.kind() {
        TypeKind::Class(Some(name)) => Some(("Class", name)),
        TypeKind::Resource {
            type_name: Some(type_name),
            title: Some(title),
        } => Some((type_name, title)),
        _ => None,
    }
}

/// Ruby's `capitalize`: the first letter is large, all others are small.
fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + &letters.as_str().to_lowercase()
    })
}
