//! Second names of resources: the attribute `alias`, and values of name variables.
//!
//! Invariant: an alias never names two resources.

use std::sync::Arc;

use pcore::Value;
use resource_types::{ResourceType, UniquenessKeyPart};

use super::{Catalog, CatalogResource, ResourceId, ResourceKind};

/// Error for a name that another resource has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct AliasError(String);

impl Catalog {
    /// Adds the aliases of a resource: those that it sets, and the values of its name variables if
    /// they are not the title.
    pub(crate) fn add_aliases(&mut self, id: ResourceId) -> Result<(), AliasError> {
        let resource = self.resource(id);
        let mut aliases = Vec::new();
        if let Some(alias) = resource.parameters.get("alias") {
            flat_texts(&alias.value, &mut aliases);
        }
        for alias in aliases {
            self.add_alias(id, &[Some(alias)])?;
        }
        let key = uniqueness_key(self.resource(id))?;
        match key.as_slice() {
            [] => Ok(()),
            [Some(only)] if **only == *self.resource(id).title => Ok(()),
            _ => self.add_alias(id, &key),
        }
    }

    pub(crate) fn add_alias(
        &mut self,
        id: ResourceId,
        key: &[Option<String>],
    ) -> Result<(), AliasError> {
        let resource = self.resource(id);
        let type_name = Arc::clone(&resource.type_name);
        if let [Some(only)] = key {
            if **only == *resource.title {
                return Ok(());
            }
            match self.find_exact(&type_name, only) {
                Some(known) if known == id => return Ok(()),
                Some(known) => return Err(self.taken(id, known, key)),
                None => {}
            }
            let titles = self.by_title.entry(type_name).or_default();
            titles.insert(only.as_str().into(), id);
            return Ok(());
        }
        let full_key = (type_name, key.to_vec());
        match self.by_key.get(&full_key) {
            Some(known) if *known == id => Ok(()),
            Some(known) => Err(self.taken(id, *known, key)),
            None => {
                self.by_key.insert(full_key, id);
                Ok(())
            }
        }
    }

    #[cold]
    fn taken(&self, id: ResourceId, known: ResourceId, key: &[Option<String>]) -> AliasError {
        let resource = self.resource(id);
        let quoted: Vec<String> = key
            .iter()
            .map(|part| {
                part.as_ref()
                    .map_or_else(|| "nil".to_owned(), |it| format!("{it:?}"))
            })
            .collect();
        let key = match key.len() {
            1 if resource.parameters.contains_key("alias") => quoted[0].clone(),
            _ => format!("[{}]", quoted.join(", ")),
        };
        let newref = format!("[\"{}\", {}]", resource.type_name, quoted.join(", "));
        let place = crate::error::location_text(&resource.location);
        let at = if place.is_empty() {
            String::new()
        } else {
            format!(" at {place}")
        };
        let mut text =
            format!("Cannot alias {resource} to {key}{at}; resource {newref} already declared");
        let other = crate::error::location_text(&self.resource(known).location);
        if !other.is_empty() {
            text = format!("{text} {other}");
        }
        AliasError(text)
    }

    /// The resource whose name variables are those of a title; for titles and aliases there is
    /// [`find_exact`](Self::find_exact).
    pub(crate) fn find_by_name(
        &self,
        type_name: &str,
        title: &str,
        native: &ResourceType,
    ) -> Option<ResourceId> {
        let key = native.uniqueness_key::<Value>(title, |_| None).ok()?;
        let key: Vec<Option<String>> = key.iter().map(part_text).collect();
        match key.as_slice() {
            [Some(only)] => self.find_exact(type_name, only),
            _ => self.by_key.get(&(type_name.into(), key)).copied(),
        }
    }
}

/// The values of the name variables; empty if the type has none that identify a resource, or if only
/// the title does.
fn uniqueness_key(resource: &CatalogResource) -> Result<Vec<Option<String>>, AliasError> {
    match &resource.kind {
        ResourceKind::Native(ty) if ty.is_isomorphic() => {
            let value = |name: &str| {
                let parameter = resource.parameters.get(name)?;
                (!parameter.value.is_undef()).then_some(&parameter.value)
            };
            let key = ty
                .uniqueness_key(&resource.title, value)
                .map_err(|error| AliasError(error.to_string()))?;
            if key.iter().all(|part| *part == UniquenessKeyPart::Absent) {
                return Ok(Vec::new());
            }
            Ok(key.iter().map(part_text).collect())
        }
        ResourceKind::Native(_) => Ok(Vec::new()),
        _ if !resource.parameters.contains_key("name") => Ok(Vec::new()),
        _ => Ok(vec![Some(resource.name().to_string())]),
    }
}

fn part_text(part: &UniquenessKeyPart<'_, Value>) -> Option<String> {
    match part {
        UniquenessKeyPart::Value(Value::Str(text)) => Some(text.to_string()),
        UniquenessKeyPart::Value(value) => Some(value.to_string()),
        UniquenessKeyPart::Title(text) => Some((*text).to_owned()),
        UniquenessKeyPart::Absent => None,
    }
}

/// The texts in a value of `alias`.
pub(crate) fn flat_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Undef => {}
        Value::Array(values) => values.iter().for_each(|value| flat_texts(value, texts)),
        other => texts.push(other.to_string()),
    }
}
