//! Expressions that need a catalog: the parts are evaluated here, the effects are those of the
//! [`CatalogHost`].
//!
//! Invariant: the host gets values only; titles and attributes are evaluated before it is called.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pcore::{Type, TypeKind, Value};
use syntax::ast::AttributeOpKind;

use super::{EvalContext, Evaluator};
use crate::catalog_code::{
    AttributeNode, CollectorNode, CollectorQueryNode, ResourceBodyNode, ResourceDefaultsNode,
    ResourceNode, ResourceOverrideNode, ResourceTypeNode,
};
use crate::catalog_host::{
    CatalogHost, CollectorDeclaration, CollectorQuery, CollectorReference, EvaluatedResourceBody,
    ResourceAttribute, ResourceChange, ResourceDeclaration,
};
use crate::code::{LoweredNode, NodeId};
use crate::defaults::{SEARCHED_ATTRIBUTES_MAX, SEARCHED_TITLES_MAX};
use crate::error::{EvalResult, EvalUnwind, RUNTIME_ERROR, raise};
use crate::label;

impl<'h> Evaluator<'h> {
    /// The compiler; an error if no catalog is being compiled.
    pub(super) fn catalog_host(
        &self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
    ) -> EvalResult<&'h dyn CatalogHost> {
        match self.host.catalog() {
            Some(catalog) => Ok(catalog),
            None => {
                let label = super::node_label(&node.kind);
                let text = format!(
                    "{} is only available when compiling a catalog",
                    label::with_capital_article(&label)
                );
                let code = "EXPRESSION_NOT_SUPPORTED_WHEN_SCRIPTING";
                Err(self.fail(cx, node.at, code, text))
            }
        }
    }
}

impl Evaluator<'_> {
    #[inline(never)]
    pub(super) fn resource(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        resource: &ResourceNode,
    ) -> EvalResult {
        let catalog = self.catalog_host(cx, node)?;
        let type_name = match &resource.type_name {
            ResourceTypeNode::Name(name) => Arc::clone(name),
            ResourceTypeNode::Expression {
                type_expr,
                is_reference,
            } => self.resource_type(cx, *type_expr, *is_reference)?,
        };
        let bodies = self.resource_bodies(cx, node, &resource.bodies)?;
        let declaration = ResourceDeclaration {
            form: resource.form,
            type_name,
            bodies,
            scope: cx.catalog_scope(),
            location: cx.unit.location_at(node.at),
        };
        catalog.declare(self, declaration).map(Value::array)
    }

    fn resource_type(
        &mut self,
        cx: EvalContext<'_>,
        id: NodeId,
        is_reference: bool,
    ) -> EvalResult<Arc<str>> {
        let value = self.eval(cx, id)?;
        let generalized = || Type::infer(&value).generalize().to_string();
        let actual = match &value {
            _ if !is_reference => generalized(),
            Value::Type(ty) => match ty.kind() {
                TypeKind::Class(None) => return Ok("class".into()),
                TypeKind::Resource {
                    type_name: Some(name),
                    title: None,
                } => return Ok(Arc::clone(name)),
                TypeKind::Class(_) | TypeKind::Resource { .. } => ty.to_string(),
                _ => generalized(),
            },
            _ => generalized(),
        };
        let text = format!(
            "Illegal Resource Type expression, expected result to be a type name, or untitled Resource, got {actual}"
        );
        Err(self.fail(cx, cx.unit.node(id).at, "ILLEGAL_RESOURCE_TYPE", text))
    }

    fn resource_bodies(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        bodies: &[ResourceBodyNode],
    ) -> EvalResult<Vec<EvaluatedResourceBody>> {
        let mut seen: Vec<Arc<str>> = Vec::new();
        let mut evaluated = Vec::with_capacity(bodies.len());
        let mut defaults: Option<Vec<ResourceAttribute>> = None;
        for body in bodies {
            let (titles, is_default) = self.titles(cx, node, body, &mut seen)?;
            let attributes = self.attributes(cx, node, &body.attributes, true)?;
            if is_default {
                defaults = Some(attributes.clone());
            }
            evaluated.push(EvaluatedResourceBody {
                titles,
                are_converted: false,
                attributes,
            });
        }
        let Some(defaults) = defaults else {
            return Ok(evaluated);
        };
        for body in &mut evaluated {
            self.charge_list(cx, node.at, defaults.len())?;
            body.attributes = with_defaults(&defaults, std::mem::take(&mut body.attributes));
        }
        Ok(evaluated)
    }

    /// Evaluates the titles of a body; the flag is true if `default` is among them.
    fn titles(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        body: &ResourceBodyNode,
        seen: &mut Vec<Arc<str>>,
    ) -> EvalResult<(Vec<Arc<str>>, bool)> {
        let value = self.eval(cx, body.title)?;
        let at = cx.unit.node(body.title).at;
        if value.is_undef() {
            let text = "Missing title. The title expression resulted in undef";
            return Err(self.fail(cx, at, "MISSING_TITLE", text));
        }
        let flat = match &value {
            Value::Array(elements) => crate::ruby::flatten(elements),
            single => vec![single.clone()],
        };
        let mut titles = Vec::with_capacity(flat.len());
        let mut is_default = false;
        for (index, title) in flat.iter().enumerate() {
            match title {
                Value::Default => is_default = true,
                Value::Str(text) if !text.is_empty() => {
                    // few titles are compared one by one, many are checked by the catalog
                    if seen.len() < SEARCHED_TITLES_MAX && seen.contains(text)
                        || titles.len() < SEARCHED_TITLES_MAX && titles.contains(text)
                    {
                        let text = format!(
                            "The title '{text}' has already been used in this resource expression"
                        );
                        return Err(self.fail(cx, node.at, "DUPLICATE_TITLE", text));
                    }
                    titles.push(Arc::clone(text));
                }
                other => return Err(self.illegal_title(cx, at, index, other)),
            }
        }
        seen.extend(titles.iter().cloned());
        Ok((titles, is_default))
    }

    #[cold]
    fn illegal_title(
        &self,
        cx: EvalContext<'_>,
        at: u32,
        index: usize,
        title: &Value,
    ) -> Box<EvalUnwind> {
        let (code, text) = match title {
            Value::Undef => (
                "MISSING_TITLE_AT",
                format!(
                    "Missing title at index {index}. The title expression resulted in an undef title"
                ),
            ),
            Value::Str(_) => (
                "EMPTY_STRING_TITLE_AT",
                format!(
                    "Empty string title at {index}. Title strings must have a length greater than zero."
                ),
            ),
            other => (
                "ILLEGAL_TITLE_TYPE_AT",
                format!(
                    "Illegal title type at index {index}. Expected String, got {}",
                    Type::infer(other).generalize()
                ),
            ),
        };
        self.fail(cx, at, code, text)
    }

    /// Evaluates attributes. With `is_unique`, an attribute may be set only once.
    fn attributes(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        attributes: &[AttributeNode],
        is_unique: bool,
    ) -> EvalResult<Vec<ResourceAttribute>> {
        let mut evaluated: Vec<ResourceAttribute> = Vec::with_capacity(attributes.len());
        let mut names = AttributeNames::default();
        for attribute in attributes {
            let value = self.eval(cx, attribute.value)?;
            if value.as_object().is_some_and(|it| it.elements().is_some()) {
                let text = "Error while evaluating a '=>' expression, Use of an Iterator is not supported here";
                return Err(self.fail(cx, attribute.at, RUNTIME_ERROR, text));
            }
            let location = cx.unit.location_at(attribute.at);
            let first_new = evaluated.len();
            if attribute.kind == AttributeOpKind::Splat {
                let Value::Hash(entries) = &value else {
                    let text = format!(
                        "Expected value of type Hash, got {}",
                        Type::infer(&value).generalize()
                    );
                    let at = cx.unit.node(attribute.value).at;
                    return Err(self.fail(cx, at, "TYPE_MISMATCH", text));
                };
                self.charge_list(cx, attribute.at, entries.len())?;
                evaluated.extend(entries.iter().map(|(name, value)| ResourceAttribute {
                    name: name.to_string().into(),
                    value: value.clone(),
                    is_added: false,
                    location: location.clone(),
                }));
            } else {
                evaluated.push(ResourceAttribute {
                    name: Arc::clone(&attribute.name),
                    value,
                    is_added: attribute.kind == AttributeOpKind::Append,
                    location,
                });
            }
            if is_unique && let Some(name) = names.find_duplicate(&evaluated, first_new) {
                let text = format!("The attribute '{name}' has already been set");
                return Err(self.fail(cx, node.at, "DUPLICATE_ATTRIBUE", text));
            }
        }
        Ok(evaluated)
    }

    #[inline(never)]
    pub(super) fn resource_defaults(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        defaults: &ResourceDefaultsNode,
    ) -> EvalResult {
        let catalog = self.catalog_host(cx, node)?;
        let reference = self.eval(cx, defaults.type_ref)?;
        let type_name = match reference.as_type().map(Type::kind) {
            Some(TypeKind::Resource {
                type_name: Some(name),
                title: None,
            }) => Arc::clone(name),
            _ => {
                let text = format!(
                    "Illegal Resource Type expression, expected result to be a type name, or untitled Resource, got {}",
                    Type::infer(&reference).generalize()
                );
                let at = cx.unit.node(defaults.type_ref).at;
                return Err(self.fail(cx, at, "ILLEGAL_RESOURCE_TYPE", text));
            }
        };
        let change = ResourceChange {
            type_name,
            attributes: self.attributes(cx, node, &defaults.attributes, false)?,
            scope: cx.catalog_scope(),
            location: cx.unit.location_at(node.at),
        };
        catalog.set_defaults(self, change)?;
        Ok(reference)
    }

    #[inline(never)]
    pub(super) fn resource_override(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        changes: &ResourceOverrideNode,
    ) -> EvalResult {
        let catalog = self.catalog_host(cx, node)?;
        let resources = self.eval(cx, changes.resources)?;
        let attributes = self.attributes(cx, node, &changes.attributes, false)?;
        let references = match &resources {
            Value::Array(elements) => crate::ruby::flatten(elements),
            single => vec![single.clone()],
        };
        for reference in &references {
            let (type_name, title) = match reference.as_type().map(Type::kind) {
                Some(TypeKind::Resource {
                    type_name: Some(name),
                    title: Some(title),
                }) if !name.eq_ignore_ascii_case("class") => (name, title),
                _ => {
                    let text = format!(
                        "Resource Override can only operate on resources, got: {}",
                        label::value_label(reference)
                    );
                    return Err(self.fail(cx, node.at, "ILLEGAL_OVERRIDDEN_TYPE", text));
                }
            };
            let change = ResourceChange {
                type_name: Arc::clone(type_name),
                attributes: attributes.clone(),
                scope: cx.catalog_scope(),
                location: cx.unit.location_at(node.at),
            };
            catalog.override_attributes(self, title, change)?;
        }
        Ok(resources)
    }

    #[inline(never)]
    pub(super) fn collector(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        collector: &CollectorNode,
    ) -> EvalResult {
        let catalog = self.catalog_host(cx, node)?;
        let Some(type_name) = &collector.type_name else {
            return raise("LHS is not a type");
        };
        let type_name = super::access::relative_name(type_name).to_lowercase();
        if type_name == "class" {
            return raise("Classes cannot be collected");
        }
        let attributes = self.attributes(cx, node, &collector.attributes, false)?;
        let query = match &collector.query {
            Some(query) => Some(self.collector_query(cx, query)?),
            None => None,
        };
        let declaration = CollectorDeclaration {
            type_name,
            is_exported: collector.is_exported,
            query,
            attributes,
            scope: cx.catalog_scope(),
            location: cx.unit.location_at(node.at),
        };
        let index = catalog.collect(self, declaration)?;
        Ok(Value::object(CollectorReference {
            index,
            is_exported: collector.is_exported,
        }))
    }

    fn collector_query(
        &mut self,
        cx: EvalContext<'_>,
        query: &CollectorQueryNode,
    ) -> EvalResult<CollectorQuery> {
        if let Err(exhausted) = self.budget.spend_step().and_then(|()| self.stack.check()) {
            return Err(self.exhausted_error(&exhausted));
        }
        Ok(match query {
            CollectorQueryNode::And(operands) => {
                CollectorQuery::And(self.collector_queries(cx, operands)?)
            }
            CollectorQueryNode::Or(operands) => {
                CollectorQuery::Or(self.collector_queries(cx, operands)?)
            }
            CollectorQueryNode::Compare {
                is_equal,
                attribute,
                value,
            } => CollectorQuery::Compare {
                is_equal: *is_equal,
                attribute: self.eval(cx, *attribute)?.to_string().into(),
                value: self.eval(cx, *value)?,
            },
            CollectorQueryNode::Illegal(label) => {
                return raise(format!("Cannot collect by {}", label::with_article(label)));
            }
        })
    }

    fn collector_queries(
        &mut self,
        cx: EvalContext<'_>,
        queries: &[CollectorQueryNode],
    ) -> EvalResult<Vec<CollectorQuery>> {
        let queries = queries.iter();
        queries
            .map(|query| self.collector_query(cx, query))
            .collect()
    }
}

/// Names of the attributes before the one that is evaluated. A few are searched in the list itself,
/// which takes no memory.
#[derive(Default)]
struct AttributeNames {
    names: HashSet<Arc<str>>,
    /// How many attributes of the list are in `names`.
    noted: usize,
}

impl AttributeNames {
    /// Name of the first attribute from `first_new` on that one before has too.
    fn find_duplicate<'a>(
        &mut self,
        attributes: &'a [ResourceAttribute],
        first_new: usize,
    ) -> Option<&'a Arc<str>> {
        let (before, new) = attributes.split_at(first_new);
        let mut new = new.iter().map(|it| &it.name);
        if attributes.len() <= SEARCHED_ATTRIBUTES_MAX {
            return new.find(|name| before.iter().any(|it| it.name == **name));
        }
        let unknown = before[self.noted..].iter();
        self.names.extend(unknown.map(|it| Arc::clone(&it.name)));
        self.noted = first_new;
        new.find(|name| self.names.contains(*name))
    }
}

/// The attributes of the `default` body, in their order, with the values of the body, then the
/// body's other attributes.
fn with_defaults(
    defaults: &[ResourceAttribute],
    own: Vec<ResourceAttribute>,
) -> Vec<ResourceAttribute> {
    let mut places = HashMap::with_capacity(own.len());
    for (index, attribute) in own.iter().enumerate() {
        places.entry(Arc::clone(&attribute.name)).or_insert(index);
    }
    let mut own: Vec<Option<ResourceAttribute>> = own.into_iter().map(Some).collect();
    let mut merged = Vec::with_capacity(defaults.len() + own.len());
    for default in defaults {
        let replacing = places
            .get(&default.name)
            .and_then(|index| own[*index].take());
        merged.push(replacing.unwrap_or_else(|| default.clone()));
    }
    merged.extend(own.into_iter().flatten());
    merged
}
