//! `tutti node-group list`, `show` and `rules`.

use std::collections::{HashMap, HashSet};

use api_types::classifier::{NodeGroup, NodeGroupRules};
use serde_json::Value;

use super::find;
use crate::client::ApiClient;
use crate::output::{OutputOptions, json};
use crate::terminal::{self, escape_control};
use crate::{CommandFailure, EXIT_SUCCESS, OutputFormat, table};

/// Arguments of `tutti node-group list`.
#[derive(Debug, clap::Args)]
pub struct ListOptions {
    /// Show the ids of the groups
    #[arg(long)]
    ids: bool,
    #[command(flatten)]
    shown: OutputOptions,
}

/// Arguments of `tutti node-group show` and `rules`.
#[derive(Debug, clap::Args)]
pub struct ShowOptions {
    /// Name or id of the group
    group: String,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(super) async fn list(options: &ListOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let groups = find::fetch_groups(client).await?;
    if options.shown.format == OutputFormat::Json {
        json(&groups);
        return Ok(EXIT_SUCCESS);
    }
    let mut heading = vec!["GROUP", "ENVIRONMENT", "CLASSES", "RULE"];
    heading.extend(options.ids.then_some("ID"));
    let rows = tree(&groups).into_iter().map(|(depth, group)| {
        let name = terminal::style_name(escape_control(&group.name));
        let trumps = if group.environment_trumps {
            " (trumps)"
        } else {
            ""
        };
        let classes: Vec<_> = keys(&group.classes).collect();
        let mut row = vec![
            format!("{}{name}", "  ".repeat(depth)),
            format!("{}{trumps}", escape_control(&group.environment)),
            classes.join(", "),
            text(group.rule.as_ref()),
        ];
        row.extend(options.ids.then(|| escape_control(&group.id)));
        row
    });
    table::print(&heading, rows.collect());
    Ok(EXIT_SUCCESS)
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

pub(super) async fn show(options: &ShowOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let group = find::group(client, &options.group).await?;
    if options.shown.format == OutputFormat::Json {
        json(&group);
        return Ok(EXIT_SUCCESS);
    }
    let trumps = if group.environment_trumps {
        " (trumps)"
    } else {
        ""
    };
    let mut fields = vec![
        (
            "group",
            terminal::style_heading(escape_control(&group.name)),
        ),
        ("id", escape_control(&group.id)),
        ("parent", escape_control(&group.parent)),
        (
            "environment",
            format!("{}{trumps}", escape_control(&group.environment)),
        ),
        ("rule", text(group.rule.as_ref())),
        (
            "edited",
            format!("{} ({} times)", group.last_edited, group.serial_number),
        ),
    ];
    if let Some(description) = &group.description {
        fields.insert(3, ("description", escape_control(description)));
    }
    table::fields(&fields);
    for (title, parts) in [
        ("Classes", &group.classes),
        ("Configuration data", &group.config_data),
        ("Variables", &group.variables),
    ] {
        let parts = parts.as_object().filter(|parts| !parts.is_empty());
        if let Some(parts) = parts {
            say!("\n{}", terminal::style_heading(title));
            for (name, value) in parts {
                say!(
                    "  {}  {}",
                    terminal::style_name(escape_control(name)),
                    text(Some(value))
                );
            }
        }
    }
    Ok(EXIT_SUCCESS)
}

pub(super) async fn rules(options: &ShowOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let id = find::resolve_id(client, &options.group).await?;
    let [service, version, groups] = find::GROUPS;
    let path = [service, version, groups, id.as_str(), "rules"];
    let rules: NodeGroupRules = client.get(&path, &[]).await?;
    if options.shown.format == OutputFormat::Json {
        json(&rules);
        return Ok(EXIT_SUCCESS);
    }
    table::fields(&[
        ("rule", text(rules.rule.as_ref())),
        ("with those above", text(rules.rule_with_inherited.as_ref())),
        (
            "as a query of nodes",
            text(rules.translated.nodes_query_format.as_ref()),
        ),
        (
            "of the inventory",
            text(rules.translated.inventory_query_format.as_ref()),
        ),
    ]);
    Ok(EXIT_SUCCESS)
}

fn keys(value: &Value) -> impl Iterator<Item = String> {
    let keys = value.as_object().into_iter().flatten();
    keys.map(|(key, _)| escape_control(key))
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
