//! The finished catalog as agents get it: [`CatalogDocument`].
//!
//! The fields and their order are those of Puppet's `Catalog#to_data_hash`, format 2.
//! Invariant: virtual resources are left out, with their edges; exported ones are virtual unless they
//! are collected.

use pcore::Value;
use serde_json::{Map, Value as Json, json};

use super::{Catalog, CatalogResource, ResourceId, ResourceKind};
use crate::environment::CompilerEnvironment;
use crate::relationships::CatalogReference;
use crate::request::CompileRequest;

/// The catalog format that Puppet 7 and 8 write.
const CATALOG_FORMAT: u32 = 2;

/// The attributes whose lists are flat in a document.
const RELATIONSHIPS: [&str; 4] = ["before", "subscribe", "notify", "require"];

/// A compiled catalog.
#[derive(Debug)]
pub struct CatalogDocument {
    identity: CatalogIdentity,
    catalog: Catalog,
}

/// The representation of values that JSON does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentForm {
    /// Rich data: objects with `__ptype`, for `application/vnd.puppet.rich+json`.
    Rich,
    /// Texts, for `application/json` and agents that do not know rich data.
    Plain,
}

/// The fields of a catalog besides its content.
#[derive(Debug)]
pub(crate) struct CatalogIdentity {
    name: String,
    environment: String,
    version: Value,
    code_id: Option<String>,
    catalog_uuid: String,
}

/// A value of an attribute that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the value of '{attribute}' of {resource} cannot be written: {cause}")]
pub struct RichValueError {
    /// Reference to the resource.
    pub resource: String,
    pub attribute: String,
    pub cause: String,
}

impl CatalogIdentity {
    pub(crate) fn of(environment: &CompilerEnvironment, request: &CompileRequest) -> Self {
        Self {
            name: request.certname.clone(),
            environment: environment.name().to_owned(),
            version: request.version.clone(),
            code_id: request.code_id.clone(),
            catalog_uuid: request.catalog_uuid.clone(),
        }
    }
}

impl CatalogDocument {
    pub(crate) fn new(identity: CatalogIdentity, catalog: Catalog) -> Self {
        Self { identity, catalog }
    }

    /// Number of resources in the catalog, virtual ones left out.
    #[must_use]
    pub fn resource_count(&self) -> usize {
        self.catalog.ids().filter(|id| self.is_shown(*id)).count()
    }

    /// The document as JSON.
    pub fn to_json(&self, form: DocumentForm) -> Result<Json, RichValueError> {
        let catalog = &self.catalog;
        let shown: Vec<ResourceId> = catalog.ids().filter(|id| self.is_shown(*id)).collect();
        let resources: Result<Vec<Json>, RichValueError> = shown
            .iter()
            .map(|id| resource_json(catalog.resource(*id), form))
            .collect();
        let identity = &self.identity;
        Ok(json!({
            "tags": tags_json(&catalog.tags),
            "name": identity.name,
            "version": identity.version.to_json().unwrap_or_default(),
            "code_id": identity.code_id,
            "catalog_uuid": identity.catalog_uuid,
            "catalog_format": CATALOG_FORMAT,
            "environment": identity.environment,
            "resources": resources?,
            "edges": self.edges(&shown),
            "classes": catalog.classes.iter().map(|it| Json::from(&**it)).collect::<Vec<_>>(),
        }))
    }

    fn is_shown(&self, id: ResourceId) -> bool {
        !self.catalog.resource(id).is_virtual
    }

    /// The resources that the node exports, which other nodes may collect; some are in the catalog of
    /// the node itself too.
    pub fn exported_resources(&self, form: DocumentForm) -> Result<Vec<Json>, RichValueError> {
        let catalog = &self.catalog;
        let resources = catalog.ids().map(|id| catalog.resource(id));
        resources
            .filter(|resource| resource.is_exported)
            .map(|resource| resource_json(resource, form))
            .collect()
    }

    /// Containment edges, by contained resource in the order of the catalog.
    fn edges(&self, shown: &[ResourceId]) -> Vec<Json> {
        let mut edges = Vec::new();
        for id in shown {
            let target = self.catalog.resource(*id).to_string();
            for container in self.catalog.containers(*id) {
                if self.is_shown(*container) {
                    let source = self.catalog.resource(*container).to_string();
                    edges.push(json!({"source": source, "target": target}));
                }
            }
        }
        edges
    }
}

fn resource_json(resource: &CatalogResource, form: DocumentForm) -> Result<Json, RichValueError> {
    let mut data = Map::new();
    data.insert("type".to_owned(), Json::from(&*resource.type_name));
    data.insert("title".to_owned(), Json::from(&*resource.title));
    data.insert("tags".to_owned(), tags_json(&resource.tags));
    if resource.location.line > 0 {
        if let Some(file) = &resource.location.file {
            data.insert("file".to_owned(), Json::from(&**file));
        }
        data.insert("line".to_owned(), Json::from(resource.location.line));
    }
    data.insert("exported".to_owned(), Json::from(resource.is_exported));
    data.insert("kind".to_owned(), Json::from(kind_name(resource)));
    let parameters = parameters_json(resource, form)?;
    if !parameters.is_empty() {
        data.insert("parameters".to_owned(), Json::Object(parameters));
    }
    if !resource.sensitive_parameters.is_empty() {
        let names = resource.sensitive_parameters.iter();
        let names: Vec<Json> = names.map(|name| Json::from(&**name)).collect();
        data.insert("sensitive_parameters".to_owned(), Json::Array(names));
    }
    Ok(Json::Object(data))
}

fn kind_name(resource: &CatalogResource) -> &'static str {
    match &resource.kind {
        ResourceKind::Native(_) => "compilable_type",
        ResourceKind::DefinedType(_) => "defined_type",
        ResourceKind::Class(_) if resource.is_declared_class => "class",
        ResourceKind::Class(_) | ResourceKind::Node(_) => "unknown",
    }
}

fn tags_json(tags: &super::TagSet) -> Json {
    tags.iter().map(|tag| Json::from(&**tag)).collect()
}

fn parameters_json(
    resource: &CatalogResource,
    form: DocumentForm,
) -> Result<Map<String, Json>, RichValueError> {
    let mut parameters = Map::new();
    let name_variable = match &resource.kind {
        ResourceKind::Native(ty) => ty.name_variable(),
        _ => "name",
    };
    for (name, value) in title_values(resource) {
        let is_set = resource
            .parameters
            .get(name)
            .is_some_and(|it| !it.value.is_undef());
        let is_title =
            name == name_variable && *value == *resource.title && resource.has_text_title();
        if !is_set && !is_title {
            parameters.insert(name.to_owned(), Json::from(value));
        }
    }
    for (name, parameter) in &resource.parameters {
        let value = &parameter.value;
        let is_title = || {
            **name == *name_variable
                && matches!(value, Value::Str(text) if **text == *resource.title)
                && resource.has_text_title()
        };
        if value.is_undef() || is_title() {
            continue;
        }
        let json = value_json(name, value, form).map_err(|cause| RichValueError {
            resource: resource.to_string(),
            attribute: name.to_string(),
            cause,
        })?;
        parameters.insert(name.to_string(), json);
    }
    Ok(parameters)
}

/// The attributes that the title sets.
fn title_values(resource: &CatalogResource) -> Vec<(&str, &str)> {
    match &resource.kind {
        ResourceKind::Native(ty) => {
            let parts = ty.parse_title(&resource.title).unwrap_or_default();
            let set = parts.into_iter();
            set.filter_map(|(name, value)| Some((name, value?)))
                .collect()
        }
        _ if resource.has_text_title() => Vec::new(),
        _ => vec![("name", &*resource.title)],
    }
}

fn value_json(name: &str, value: &Value, form: DocumentForm) -> Result<Json, String> {
    let flat;
    let value = match value {
        Value::Array(values) if RELATIONSHIPS.contains(&name) || has_reference(values) => {
            flat = flattened(values, RELATIONSHIPS.contains(&name));
            &flat
        }
        other => other,
    };
    let value = with_reference_texts(value);
    let written = match form {
        DocumentForm::Rich => value.to_rich_json(),
        DocumentForm::Plain => return Ok(plain_json(&value)),
    };
    written.map_err(|error| error.to_string())
}

/// JSON with texts for values that JSON does not have.
fn plain_json(value: &Value) -> Json {
    match value {
        Value::Array(values) => values.iter().map(plain_json).collect(),
        Value::Hash(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, value)| (key.to_string(), plain_json(value)));
            Json::Object(entries.collect())
        }
        other => other
            .to_json()
            .unwrap_or_else(|_| Json::from(other.to_string())),
    }
}

fn has_reference(values: &[Value]) -> bool {
    values.iter().any(|value| match value {
        Value::Array(values) => has_reference(values),
        other => reference(other).is_some(),
    })
}

fn reference(value: &Value) -> Option<CatalogReference> {
    CatalogReference::of(value.as_type()?)
}

/// The values of nested lists in one list, without undef for relationships.
fn flattened(values: &[Value], is_relationship: bool) -> Value {
    fn flatten(values: &[Value], is_relationship: bool, into: &mut Vec<Value>) {
        for value in values {
            match value {
                Value::Array(inner) => flatten(inner, is_relationship, into),
                Value::Undef if is_relationship => {}
                other => into.push(other.clone()),
            }
        }
    }
    let mut flat = Vec::with_capacity(values.len());
    flatten(values, is_relationship, &mut flat);
    Value::array(flat)
}

/// The value with references to resources as texts.
fn with_reference_texts(value: &Value) -> Value {
    match value {
        Value::Array(values) if values.iter().any(contains_reference) => {
            Value::array(values.iter().map(with_reference_texts).collect())
        }
        Value::Hash(entries) if contains_reference(value) => {
            let entries = entries.iter();
            let entries = entries
                .map(|(key, value)| (with_reference_texts(key), with_reference_texts(value)));
            Value::hash(entries.collect())
        }
        other => match reference(other) {
            Some(reference) => Value::from(reference.to_string()),
            None => other.clone(),
        },
    }
}

fn contains_reference(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(contains_reference),
        Value::Hash(entries) => entries
            .iter()
            .any(|(key, value)| contains_reference(key) || contains_reference(value)),
        other => reference(other).is_some(),
    }
}
