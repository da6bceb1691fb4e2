//! `tutti node-group list`, `show` and `rules`.

use std::collections::{HashMap, HashSet};

use api_types::classifier::{NodeGroup, NodeGroupRules};
use serde_json::Value;

use super::find;
use crate::client::ApiClient;
use crate::present::{Column, Fields, OutputOptions};
use crate::terminal::{escape_control, escaped_heading, escaped_name, style_heading};
use crate::{OutputFormat, VerbResult, present};

/// Arguments of `tutti node-group show` and `rules`.
#[derive(Debug, clap::Args)]
pub struct ShowOptions {
    /// Name or id of the group
    group: String,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(super) async fn list(ids: bool, format: OutputFormat, client: &ApiClient) -> VerbResult {
    let groups = find::fetch_groups(client).await?;
    let mut columns: Vec<Column<'_, (usize, &NodeGroup)>> = vec![
        ("GROUP", &|(depth, group)| {
            format!("{}{}", "  ".repeat(*depth), escaped_name(&group.name))
        }),
        ("ENVIRONMENT", &|(_, group)| environment(group)),
        ("CLASSES", &|(_, group)| keys(&group.classes)),
        ("RULE", &|(_, group)| text(group.rule.as_ref())),
    ];
    if ids {
        columns.push(("ID", &|(_, group)| escape_control(&group.id)));
    }
    format.present(&groups, |_| present::table(&tree(&groups), &columns))
}

/// Each group after its parent, with its depth. A group whose parent is not visible, or that is its
/// own parent, has depth 0; each group occurs once, even if the parents form a cycle.
fn tree(groups: &[NodeGroup]) -> Vec<(usize, &NodeGroup)> {
    let ids: HashSet<&str> = groups.iter().map(|group| group.id.as_str()).collect();
    let mut below: HashMap<&str, Vec<&NodeGroup>> = HashMap::new();
    let mut open = Vec::new();
    let mut sorted: Vec<_> = groups.iter().collect();
    sorted.sort_by(|one, other| other.name.cmp(&one.name));
    for group in sorted {
        if group.parent == group.id || !ids.contains(group.parent.as_str()) {
            open.push((0, group));
        } else {
            below.entry(&group.parent).or_default().push(group);
        }
    }
    let mut tree = Vec::with_capacity(groups.len());
    while let Some((depth, group)) = open.pop() {
        tree.push((depth, group));
        let children = below.remove(group.id.as_str()).unwrap_or_default();
        open.extend(children.into_iter().map(|child| (depth + 1, child)));
    }
    // The rest are cycles; a server has no such groups.
    tree.extend(below.into_values().flatten().map(|group| (0, group)));
    tree
}

pub(super) async fn show(options: &ShowOptions, client: &ApiClient) -> VerbResult {
    let group = find::group(client, &options.group).await?;
    options.shown.format.present(&group, |group| {
        let edited = format!("{} ({} times)", group.last_edited, group.serial_number);
        Fields::default()
            .value("group", escaped_heading(&group.name))
            .text("id", &group.id)
            .text("parent", &group.parent)
            .optional_text("description", group.description.as_deref())
            .value("environment", environment(group))
            .value("rule", text(group.rule.as_ref()))
            .value("edited", edited)
            .print();
        let value = |value: &Value| text(Some(value));
        print_part("Classes", &group.classes, value);
        print_part("Configuration data", &group.config_data, value);
        print_part("Variables", &group.variables, value);
    })
}

/// Prints the classes, configuration data or variables of a group or node below a title.
pub(super) fn print_part(title: &str, parts: &Value, format: impl Fn(&Value) -> String) {
    let parts = parts.as_object().filter(|parts| !parts.is_empty());
    if let Some(parts) = parts {
        say!("\n{}", style_heading(title));
        for (name, value) in parts {
            say!("  {}  {}", escaped_name(name), format(value));
        }
    }
}

pub(super) async fn rules(options: &ShowOptions, client: &ApiClient) -> VerbResult {
    let id = find::resolve_id(client, &options.group).await?;
    let path = find::route([&id, "rules"]);
    let rules: NodeGroupRules = client.get(&path, &[]).await?;
    options.shown.format.present(&rules, |rules| {
        let queries = &rules.translated;
        Fields::default()
            .value("rule", text(rules.rule.as_ref()))
            .value("with those above", text(rules.rule_with_inherited.as_ref()))
            .value(
                "as a query of nodes",
                text(queries.nodes_query_format.as_ref()),
            )
            .value(
                "of the inventory",
                text(queries.inventory_query_format.as_ref()),
            )
            .print();
    })
}

/// The environment of a group, and whether it overrides others.
fn environment(group: &NodeGroup) -> String {
    let trumps = if group.environment_trumps {
        " (trumps)"
    } else {
        ""
    };
    format!("{}{trumps}", escape_control(&group.environment))
}

fn keys(value: &Value) -> String {
    let keys = value.as_object().into_iter().flatten();
    let keys: Vec<_> = keys.map(|(key, _)| escape_control(key)).collect();
    keys.join(", ")
}

/// JSON in one line; `-` for no value.
fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "-".to_owned(),
        Some(value) => escape_control(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn group(id: &str, parent: &str) -> NodeGroup {
        serde_json::from_value(json!({
            "name": id, "id": id, "environment": "production", "environment_trumps": false,
            "parent": parent, "rule": null, "classes": {}, "config_data": {}, "variables": {},
            "last_edited": "2026-11-21T20:00:00.000Z", "serial_number": 1
        }))
        .unwrap()
    }

    #[test]
    fn every_group_comes_once_behind_its_parent() {
        let groups = [
            ("b", "root"),
            ("root", "root"),
            ("a", "root"),
            ("c", "b"),
            ("x", "unseen"),
        ];
        let groups = groups.map(|(id, parent)| group(id, parent));
        let tree: Vec<_> = tree(&groups)
            .iter()
            .map(|(n, g)| (*n, g.name.clone()))
            .collect();
        let expected = [(0, "root"), (1, "a"), (1, "b"), (2, "c"), (0, "x")];
        assert_eq!(tree, expected.map(|(depth, name)| (depth, name.to_owned())));
    }

    #[test]
    fn a_cycle_ends() {
        let groups = [group("a", "b"), group("b", "a"), group("c", "a")];
        assert_eq!(tree(&groups).len(), 3);
    }
}
