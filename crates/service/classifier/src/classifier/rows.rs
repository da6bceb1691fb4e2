//! Conversion of groups to rows of the store, and back.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use store::NodeGroupRow;

use super::ClassifierOpenError;
use crate::NodeGroupRule;
use crate::group::ClassifierGroup;

pub(super) fn to_row(group: &ClassifierGroup) -> NodeGroupRow {
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

pub(super) fn from_rows(
    rows: Vec<NodeGroupRow>,
) -> Result<Vec<Arc<ClassifierGroup>>, ClassifierOpenError> {
    rows.into_iter()
        .map(|row| from_row(row).map(Arc::new))
        .collect()
}

fn from_row(row: NodeGroupRow) -> Result<ClassifierGroup, ClassifierOpenError> {
    let wrong = |what: String| ClassifierOpenError::Row {
        id: row.id.clone(),
        what,
    };
    let rule = row.rule.as_deref().map(|text| {
        let json: Value =
            decode_errors::json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        NodeGroupRule::parse(&json).map_err(|error| wrong(error.to_string()))
    });
    Ok(ClassifierGroup {
        id: row.id.parse().map_err(|error| wrong(format!("{error}")))?,
        parent: row
            .parent
            .parse()
            .map_err(|error| wrong(format!("{error}")))?,
        rule: rule.transpose()?,
        classes: parse_column(&row.classes).map_err(wrong)?,
        config_data: parse_column(&row.config_data).map_err(wrong)?,
        variables: parse_column(&row.variables).map_err(wrong)?,
        name: row.name,
        description: row.description,
        environment: row.environment,
        environment_trumps: row.environment_trumps,
        last_edited_ms: row.last_edited_ms,
        serial_number: row.serial_number,
    })
}

fn parse_column<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    decode_errors::json::from_str(text).map_err(|error| error.to_string())
}
