//! The classification that a group gives to its nodes, including inherited values. Main type:
//! [`InheritedValues`].
//!
//! Invariant: values are merged from the root downwards, and the child overrides its parent,
//! parameter by parameter; every value has a reference to the group that defined it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::group::{ClassifierGroup, GroupClasses, GroupParameters};

/// A value and the group that it comes from, as an index into the tree.
#[derive(Clone, Debug)]
pub(super) struct SourcedValue {
    pub(super) value: Value,
    pub(super) defined_by: usize,
}

pub(super) type SourcedParameters = BTreeMap<String, Arc<SourcedValue>>;

/// A class with its parameters, and the groups that declare it.
#[derive(Clone, Debug)]
pub(super) struct SourcedClass {
    pub(super) defined_by: usize,
    pub(super) parameters: SourcedParameters,
}

pub(super) type SourcedClasses = BTreeMap<String, SourcedClass>;

#[derive(Clone, Debug)]
pub(super) struct InheritedValues {
    pub(super) environment: String,
    pub(super) environment_trumps: bool,
    pub(super) classes: SourcedClasses,
    pub(super) config_data: SourcedClasses,
    pub(super) variables: SourcedParameters,
}

impl InheritedValues {
    /// The values of the group with index `at`, merged over those of its parent.
    pub(super) fn new(at: usize, group: &ClassifierGroup, above: Option<&Self>) -> Self {
        let mut all = above.cloned().unwrap_or_else(|| Self {
            environment: String::new(),
            environment_trumps: false,
            classes: SourcedClasses::new(),
            config_data: SourcedClasses::new(),
            variables: SourcedParameters::new(),
        });
        all.environment.clone_from(&group.environment);
        all.environment_trumps = group.environment_trumps;
        override_classes(&mut all.classes, &group.classes, at);
        override_classes(&mut all.config_data, &group.config_data, at);
        override_parameters(&mut all.variables, &group.variables, at);
        all
    }
}

fn override_classes(all: &mut SourcedClasses, classes: &GroupClasses, at: usize) {
    for (name, parameters) in classes {
        let class = all.entry(name.clone()).or_insert_with(|| SourcedClass {
            defined_by: at,
            parameters: SourcedParameters::new(),
        });
        class.defined_by = at;
        override_parameters(&mut class.parameters, parameters, at);
    }
}

fn override_parameters(all: &mut SourcedParameters, parameters: &GroupParameters, at: usize) {
    for (name, value) in parameters {
        let value = SourcedValue {
            value: value.clone(),
            defined_by: at,
        };
        all.insert(name.clone(), Arc::new(value));
    }
}

/// The classes without their sources.
pub(super) fn without_class_sources(classes: &SourcedClasses) -> GroupClasses {
    let each = classes.iter();
    each.map(|(name, class)| (name.clone(), without_sources(&class.parameters)))
        .collect()
}

/// The parameters without their sources.
pub(super) fn without_sources(parameters: &SourcedParameters) -> GroupParameters {
    let each = parameters.iter();
    each.map(|(name, sourced)| (name.clone(), sourced.value.clone()))
        .collect()
}
