//! Relationships of `->` and `~>`: at the end they become the attributes `before` and `notify` of
//! their sources.

use std::collections::HashSet;
use std::sync::Arc;

use evaluator::{EvalResult, RelationshipOperand, SourceLocation, raise};
use pcore::Value;

use crate::catalog::{ResourceId, ResourceParameter};
use crate::compilation::Compilation;
use crate::reference::CatalogReference;

impl Compilation<'_> {
    /// Sets the attributes of all relationships.
    pub(crate) fn evaluate_relationships(&self) -> EvalResult<()> {
        let relationships = std::mem::take(&mut self.state().relationships);
        for relationship in relationships {
            let attribute = match relationship.is_subscription {
                true => "notify",
                false => "before",
            };
            for source in &relationship.sources {
                for target in &relationship.targets {
                    let sources = self.references(source, true);
                    let targets = self.references(target, false);
                    for source in &sources {
                        for target in &targets {
                            self.add_relationship(attribute, source, target)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Type and title of the resources that an operand stands for. A collector without resources
    /// stands for the operands on its left, if it is the source.
    fn references(&self, operand: &RelationshipOperand, is_source: bool) -> Vec<CatalogReference> {
        let mut operand = operand.clone();
        let mut seen = HashSet::new();
        loop {
            let index = match &operand {
                RelationshipOperand::Reference(ty) => {
                    return CatalogReference::of(ty).into_iter().collect();
                }
                RelationshipOperand::Collector(index) => *index,
            };
            let state = self.state();
            let collector = &state.collectors[index as usize];
            if !collector.collected.is_empty() || !is_source || !seen.insert(index) {
                let reference = |id: &ResourceId| {
                    let resource = state.catalog.resource(*id);
                    CatalogReference {
                        type_name: Arc::clone(&resource.type_name),
                        title: Arc::clone(&resource.title),
                    }
                };
                return collector.collected.iter().map(reference).collect();
            }
            let alternatives = state.alternatives.get(&index).cloned().unwrap_or_default();
            drop(state);
            match alternatives.as_slice() {
                [only @ RelationshipOperand::Collector(_)] => operand = only.clone(),
                operands => {
                    let references = operands.iter().filter_map(|operand| match operand {
                        RelationshipOperand::Reference(ty) => CatalogReference::of(ty),
                        RelationshipOperand::Collector(_) => None,
                    });
                    return references.collect();
                }
            }
        }
    }

    fn add_relationship(
        &self,
        attribute: &str,
        source: &CatalogReference,
        target: &CatalogReference,
    ) -> EvalResult<()> {
        let source_id = self.find_present(source)?;
        let target_id = self.find_present(target)?;
        let is_elsewhere =
            |id: Option<ResourceId>, reference| id.is_none() && self.is_elsewhere(reference);
        if is_elsewhere(source_id, source) || is_elsewhere(target_id, target) {
            return Ok(());
        }
        let Some(source_id) = source_id else {
            return raise(format!(
                "Could not find resource '{source}' for relationship on '{target}'"
            ));
        };
        if target_id.is_none() {
            return raise(format!(
                "Could not find resource '{target}' for relationship from '{source}'"
            ));
        }
        self.append_reference(source_id, attribute, Value::from(target.to_string()))
    }

    /// Adds a value to a relationship attribute of a resource, which becomes a list.
    pub(crate) fn append_reference(
        &self,
        id: ResourceId,
        attribute: &str,
        value: Value,
    ) -> EvalResult<()> {
        let mut state = self.state();
        state.charge_value(&value)?;
        let resource = state.catalog.resource_mut(id);
        let source = resource.source;
        if let Some(parameter) = resource.parameters.get_mut(attribute) {
            let mut values = match std::mem::take(&mut parameter.value) {
                Value::Array(values) => Arc::unwrap_or_clone(values),
                Value::Undef => Vec::new(),
                single => vec![single],
            };
            values.push(value);
            parameter.value = Value::array(values);
            return Ok(());
        }
        resource.parameters.insert(
            attribute.into(),
            ResourceParameter {
                value: Value::array(vec![value]),
                source,
                location: SourceLocation::default(),
            },
        );
        Ok(())
    }
}
