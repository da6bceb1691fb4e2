//! Conversion of groups to rows of the store, and back.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use store::NodeGroupRow;

use super::OpenError;
use crate::Rule;
use crate::group::Group;

pub(super) fn write(group: &Group) -> NodeGroupRow {
    NodeGroupRow {
        id: group.id.to_string(),
        parent: group.parent.to_string(),
        name: group.name.clone(),
        description: group.description.clone(),
        environment: group.environment.clone(),
        environment_trumps: group.environment_trumps,
        rule: group.rule.as_ref().map(|rule| rule.to_json().to_string()),
        classes: json!(group.classes).to_string(),
        config_data: json!(group.config_data).to_string(),
        variables: json!(group.variables).to_string(),
        last_edited_ms: group.last_edited_ms,
        serial_number: group.serial_number,
    }
}

pub(super) fn read(rows: Vec<NodeGroupRow>) -> Result<Vec<Arc<Group>>, OpenError> {
    rows.into_iter()
        .map(|row| group(row).map(Arc::new))
        .collect()
}

fn group(row: NodeGroupRow) -> Result<Group, OpenError> {
    let wrong = |what: String| OpenError::Row {
        id: row.id.clone(),
        what,
    };
    let rule = row.rule.as_deref().map(|text| {
        let json: Value =
            decode_errors::json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        Rule::parse(&json).map_err(|error| wrong(error.to_string()))
    });
    Ok(Group {
        id: row.id.parse().map_err(|error| wrong(format!("{error}")))?,
        parent: row
            .parent
            .parse()
            .map_err(|error| wrong(format!("{error}")))?,
        rule: rule.transpose()?,
        classes: column(&row.classes).map_err(wrong)?,
        config_data: column(&row.config_data).map_err(wrong)?,
        variables: column(&row.variables).map_err(wrong)?,
        name: row.name,
        description: row.description,
        environment: row.environment,
        environment_trumps: row.environment_trumps,
        last_edited_ms: row.last_edited_ms,
        serial_number: row.serial_number,
    })
}

fn column<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    decode_errors::json::from_str(text).map_err(|error| error.to_string())
}
