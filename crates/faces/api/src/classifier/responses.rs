//! Groups and classifications in the form of the API.

use api_types::PreciseTimestamp;
use api_types::classifier::{Classified, ClassifiedByName, GroupName, NodeGroup};
use classifier::{AGENT_SPECIFIED, ClassifierGroup, NodeClassification};
use serde_json::{Value, json};

pub(super) fn group(group: &ClassifierGroup) -> NodeGroup {
    NodeGroup {
        name: group.name.clone(),
        id: group.id.to_string(),
        description: group.description.clone(),
        environment: group.environment.clone(),
        environment_trumps: group.environment_trumps,
        parent: group.parent.to_string(),
        rule: group.rule.as_ref().map(|rule| rule.to_json()),
        classes: json!(group.classes),
        config_data: json!(group.config_data),
        variables: json!(group.variables),
        last_edited: PreciseTimestamp::from_ms(group.last_edited_ms),
        serial_number: group.serial_number,
    }
}

pub(super) fn classified(name: &str, given: &NodeClassification) -> Classified {
    Classified {
        name: name.to_owned(),
        groups: given
            .groups
            .iter()
            .map(|group| group.id.to_string())
            .collect(),
        environment: environment(given),
        classes: json!(given.classes),
        parameters: json!(given.parameters),
        config_data: json!(given.config_data),
    }
}

pub(super) fn by_name(given: &NodeClassification) -> ClassifiedByName {
    let group = |group: &classifier::GroupRef| GroupName {
        id: group.id.to_string(),
        name: group.name.clone(),
    };
    let set = given.classes.iter().filter(|(_, set)| !set.is_empty());
    let set: serde_json::Map<String, Value> = set
        .map(|(class, set)| (class.clone(), json!(set)))
        .collect();
    ClassifiedByName {
        groups: given.groups.iter().map(group).collect(),
        environment: environment(given),
        classes: given.classes.keys().cloned().collect(),
        parameters: Value::Object(set),
        config_data: json!(given.config_data),
        variables: json!(given.parameters),
    }
}

fn environment(given: &NodeClassification) -> String {
    let known = given.environment.clone();
    known.unwrap_or_else(|| AGENT_SPECIFIED.to_owned())
}
