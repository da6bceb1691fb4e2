//! Nodes of applications and runs that are not connected: [`print_absent_nodes`], [`warn_of_absent_nodes`],
//! [`describe_absence`].
//!
//! Invariant: similar names are those that the server gave; none is searched here.

use api_types::Scope;
use api_types::environments::{AbsentNodes, UnknownNode};

use super::requests::fetch_run_order;
use crate::client::ApiClient;
use crate::defaults::ABSENT_NODES_SHOWN;
use crate::terminal::{escape_control, escaped_name, style_heading};

/// Prints the nodes that are not connected, those first of which nothing is known.
pub(crate) fn print_absent_nodes(nodes: &AbsentNodes) {
    for list in list_absent_nodes(nodes) {
        say!("");
        list.iter().for_each(|line| say!("{line}"));
    }
}

/// Writes the nodes of a run that are not connected to standard error, before the run starts. If the server does not tell
/// them, nothing is written: whatever prevents the run is the answer to the command itself.
pub(crate) async fn warn_of_absent_nodes(
    client: &ApiClient,
    environment: &str,
    scope: &Scope,
    multi_pass: bool,
) {
    let Ok(order) = fetch_run_order(client, environment, scope, multi_pass).await else {
        return;
    };
    for list in list_absent_nodes(&order.absent_nodes) {
        list.iter().for_each(|line| anstream::eprintln!("{line}"));
        anstream::eprintln!();
    }
}

/// The lines of each kind of nodes that are not connected.
fn list_absent_nodes(nodes: &AbsentNodes) -> Vec<Vec<String>> {
    let unknown = nodes.unknown.iter().map(describe_unknown_node);
    let disconnected = nodes.disconnected.iter().map(|node| escaped_name(node));
    let lists = [
        list_names("Never connected", unknown.collect(), nodes.unknown_omitted),
        list_names(
            "Not connected now",
            disconnected.collect(),
            nodes.disconnected_omitted,
        ),
    ];
    lists.into_iter().flatten().collect()
}

/// The reason that a node cannot run, after a comma; empty if it is connected, or is not named among many others.
pub(super) fn describe_absence(node: &str, absent_nodes: &AbsentNodes) -> String {
    let mut unknown = absent_nodes.unknown.iter();
    if let Some(unknown) = unknown.find(|it| it.name == node) {
        return format!(", never connected{}", did_you_mean(&unknown.near));
    }
    let mut disconnected = absent_nodes.disconnected.iter();
    match disconnected.any(|it| it == node) {
        true => ", not connected now".to_owned(),
        false => String::new(),
    }
}

/// Some names below the number of all, of which `omitted` are not in the list; `None` without names.
fn list_names(heading: &str, names: Vec<String>, omitted: u64) -> Option<Vec<String>> {
    let (shown, others) = names.split_at(names.len().min(ABSENT_NODES_SHOWN));
    let others = omitted + others.len() as u64;
    let nodes = match shown.len() as u64 + others {
        0 => return None,
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    };
    let mut lines = vec![format!("{}: {nodes}", style_heading(heading))];
    lines.extend(shown.iter().map(|name| format!("  {name}")));
    if others > 0 {
        lines.push(format!("  and {others} more"));
    }
    Some(lines)
}

/// The name of a node, with similar names of known nodes.
fn describe_unknown_node(node: &UnknownNode) -> String {
    format!("{}{}", escaped_name(&node.name), did_you_mean(&node.near))
}

/// ` (did you mean a or b?)`; empty if no name is near.
fn did_you_mean(near: &[String]) -> String {
    let names: Vec<String> = near.iter().map(|name| escape_control(name)).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!(" (did you mean {one}?)"),
        [first @ .., last] => format!(" (did you mean {} or {last}?)", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_node_is_described_with_similar_names() {
        let unknown = |name: &str, near: &[&str]| UnknownNode {
            name: name.to_owned(),
            near: near.iter().map(|&name| name.to_owned()).collect(),
        };
        let nodes = AbsentNodes {
            unknown: vec![
                unknown("db9", &[]),
                unknown("wbe1", &["web1"]),
                unknown("wbe2", &["web2", "web3", "web\u{1b}4"]),
            ],
            disconnected: vec!["db1".to_owned()],
            ..AbsentNodes::default()
        };
        for (node, described) in [
            ("db9", ", never connected"),
            ("wbe1", ", never connected (did you mean web1?)"),
            (
                "wbe2",
                ", never connected (did you mean web2, web3 or web␛4?)",
            ),
            ("db1", ", not connected now"),
            ("web1", ""),
        ] {
            assert_eq!(describe_absence(node, &nodes), described, "{node}");
        }
    }

    #[test]
    fn absent_nodes_are_listed_by_kind_and_some_of_many_by_name() {
        let disconnected = (0..12).map(|n| format!("db{n}"));
        let nodes = AbsentNodes {
            disconnected: disconnected.collect(),
            disconnected_omitted: 5,
            ..AbsentNodes::default()
        };
        let lists = list_absent_nodes(&nodes);
        let [list] = &lists[..] else {
            panic!("{lists:?}")
        };
        let plain = |line: &String| anstream::adapter::strip_str(line).to_string();
        let list: Vec<String> = list.iter().map(plain).collect();
        assert_eq!(list[..2], ["Not connected now: 17 nodes", "  db0"]);
        assert_eq!(list[10..], ["  db9", "  and 7 more"]);
        assert!(list_absent_nodes(&AbsentNodes::default()).is_empty());
    }
}
