//! Relationships to capabilities in the catalog of a node.
//!
//! `require` is the only relationship to a capability. In its place a catalog that does not show the
//! capability has one to the producer, if that is on the node.
//!
//! Components of other nodes are not in the catalog, so that a relationship to them orders nothing.
//!
//! Invariant: a capability that a catalog does not show is named by no relationship in it.

use evaluator::{EvalResult, SourceLocation};
use pcore::Value;

use crate::catalog::{ResourceId, ResourceParameter};
use crate::compilation::Compilation;
use crate::error::fail_at;
use crate::reference::{CatalogReference, flat_values};

/// The attributes that are relationships.
const RELATIONSHIPS: [&str; 4] = [REQUIRE, "before", "notify", "subscribe"];
const REQUIRE: &str = "require";

/// The references of a relationship as the document shows them.
#[derive(Default)]
struct ShownReferences {
    values: Vec<Value>,
    /// True if the declaration had other ones.
    is_changed: bool,
}

impl Compilation<'_> {
    /// Replaces the capabilities in the relationships of all resources. The attributes of all
    /// relationships and overrides are set.
    pub(super) fn finish_relationships(&self) -> EvalResult<()> {
        self.order_behind_producers()?;
        let ids: Vec<ResourceId> = {
            let state = self.state();
            let ids = state.catalog.ids();
            ids.filter(|id| !state.catalog.resource(*id).is_pruned)
                .collect()
        };
        for id in ids {
            for name in RELATIONSHIPS {
                self.finish_relationship(id, name)?;
            }
        }
        Ok(())
    }

    /// Orders what comes after a capability that the document does not show behind the producer of
    /// that capability.
    fn order_behind_producers(&self) -> EvalResult<()> {
        let pruned = {
            let state = self.state();
            let capabilities = state.applications.capabilities.iter();
            let mut pruned: Vec<(ResourceId, Option<ResourceId>)> = capabilities
                .filter(|(id, _)| state.catalog.resource(**id).is_pruned)
                .map(|(id, producer)| (*id, *producer))
                .collect();
            pruned.sort_unstable();
            pruned
        };
        for (capability, producer) in pruned {
            for name in ["before", "notify"] {
                let parameter = {
                    let state = self.state();
                    let resource = state.catalog.resource(capability);
                    resource.parameters.get(name).cloned()
                };
                let Some(parameter) = parameter else {
                    continue;
                };
                let mut later = ShownReferences::default();
                self.add_all_shown((capability, name), &parameter.value, &mut later)?;
                for value in &later.values {
                    self.order_behind(producer, (name, value), &parameter.location)?;
                }
            }
        }
        Ok(())
    }

    fn order_behind(
        &self,
        producer: Option<ResourceId>,
        (name, value): (&str, &Value),
        location: &SourceLocation,
    ) -> EvalResult<()> {
        let Some(later) = self.referenced(value)? else {
            let text = format!("Could not find resource '{value}' in parameter '{name}'");
            return fail_at(text, location);
        };
        match producer {
            Some(producer) if producer != later => {
                let component = Value::from(self.label(producer));
                self.append_reference(later, REQUIRE, component)
            }
            _ => Ok(()),
        }
    }

    /// Replaces the capabilities in one relationship of a resource. What it consumes is required, by
    /// agents that do not know the attribute.
    fn finish_relationship(&self, id: ResourceId, name: &'static str) -> EvalResult<()> {
        let (given, consume) = {
            let state = self.state();
            let resource = state.catalog.resource(id);
            let links = resource.links.as_ref();
            let consumes = |_: &_| name == REQUIRE && !self.agent_knows_capabilities();
            let consume = links.filter(consumes).and_then(|it| it.consume.clone());
            (resource.parameters.get(name).cloned(), consume)
        };
        let mut shown = ShownReferences::default();
        if let Some(given) = &given {
            self.add_all_shown((id, name), &given.value, &mut shown)?;
        }
        if let Some(consume) = &consume {
            let required = shown.values.len();
            self.add_all_shown((id, name), &consume.value, &mut shown)?;
            shown.is_changed |= shown.values.len() > required;
        }
        let (Some(parameter), true) = (given.or(consume), shown.is_changed) else {
            return Ok(());
        };
        let mut state = self.state();
        let parameters = &mut state.catalog.resource_mut(id).parameters;
        let mut values = shown.values;
        let value = match values.len() {
            0 => {
                parameters.shift_remove(name);
                return Ok(());
            }
            1 => values.remove(0),
            _ => Value::array(values),
        };
        parameters.insert(name.into(), ResourceParameter { value, ..parameter });
        Ok(())
    }

    /// Adds the references of a relationship as the document shows them: with a producer of this node
    /// in place of a capability that it does not show.
    fn add_all_shown(
        &self,
        owner: (ResourceId, &str),
        value: &Value,
        shown: &mut ShownReferences,
    ) -> EvalResult<()> {
        flat_values(value)
            .into_iter()
            .try_for_each(|value| self.add_shown(owner, value, shown))
    }

    fn add_shown(
        &self,
        (id, name): (ResourceId, &str),
        value: &Value,
        shown: &mut ShownReferences,
    ) -> EvalResult<()> {
        let referenced = self.referenced(value)?;
        let state = self.state();
        if referenced.is_none() {
            let reference = CatalogReference::of_value(value);
            let left_out = &state.applications.left_out;
            match reference.is_some_and(|it| left_out.contains(&it)) {
                true => shown.is_changed = true,
                false => shown.values.push(value.clone()),
            }
            return Ok(());
        }
        let capability = referenced.and_then(|referenced| {
            let producer = state.applications.capabilities.get(&referenced)?;
            Some((referenced, *producer))
        });
        let Some((capability, producer)) = capability else {
            shown.values.push(value.clone());
            return Ok(());
        };
        if name != REQUIRE {
            let text = format!("'{name}' is not a valid relationship to a capability");
            let resource = state.catalog.resource(id);
            return fail_at(text, &resource.location);
        }
        if !state.catalog.resource(capability).is_pruned {
            shown.values.push(value.clone());
            return Ok(());
        }
        shown.is_changed = true;
        if let Some(producer) = producer.filter(|producer| *producer != id) {
            let component = Value::from(state.catalog.resource(producer).to_string());
            if !shown.values.contains(&component) {
                shown.values.push(component);
            }
        }
        Ok(())
    }

    /// The resource that a value of a relationship stands for; `None` if the document shows none.
    fn referenced(&self, value: &Value) -> EvalResult<Option<ResourceId>> {
        match CatalogReference::of_value(value) {
            Some(reference) => self.find_present(&reference),
            None => Ok(None),
        }
    }

    /// The resource with this reference; `None` also for an application of other nodes, and for a component that is
    /// left out of this catalog.
    pub(crate) fn find_present(
        &self,
        reference: &CatalogReference,
    ) -> EvalResult<Option<ResourceId>> {
        let found = self.find_resource(&reference.type_name, &reference.title)?;
        let state = self.state();
        let is_other = |id: &ResourceId| {
            let resource = state.catalog.resource(*id);
            let left_out = &state.applications.left_out;
            resource.is_pruned
                && (resource.kind.is_application() || left_out.contains(&resource.reference()))
        };
        Ok(found.filter(|id| !is_other(id)))
    }

    /// True for a resource that the catalog does not have because it is for other nodes, and for a
    /// capability that these produce.
    pub(crate) fn is_elsewhere(&self, reference: &CatalogReference) -> bool {
        let state = self.state();
        let applications = &state.applications;
        applications.left_out.contains(reference)
            || applications.expected_producers.contains_key(reference)
    }
}
