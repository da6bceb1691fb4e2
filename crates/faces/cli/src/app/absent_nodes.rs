//! Nodes of applications that are not connected: [`print_absent_nodes`], [`describe_absence`].
//!
//! Invariant: similar names are those that the server gave; none is searched here.

use api_types::environments::{AbsentNodes, UnknownNode};

use crate::defaults::ABSENT_NODES_SHOWN;
use crate::terminal::{escape_control, escaped_name, style_heading};

/// Prints the nodes that are not connected, those first of which nothing is known.
pub(crate) fn print_absent_nodes(nodes: &AbsentNodes) {
    let unknown = nodes.unknown.iter().map(describe_unknown_node);
    let disconnected = nodes.disconnected.iter().map(|node| escaped_name(node));
    let unknown: Vec<String> = unknown.collect();
    let disconnected: Vec<String> = disconnected.collect();
    print_names("Never connected", &unknown, nodes.unknown_omitted);
    print_names(
        "Not connected now",
        &disconnected,
        nodes.disconnected_omitted,
    );
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

/// Prints some names below the number of all, of which `omitted` are not in the list.
fn print_names(heading: &str, names: &[String], omitted: u64) {
    let (shown, others) = names.split_at(names.len().min(ABSENT_NODES_SHOWN));
    let others = omitted + others.len() as u64;
    let nodes = match shown.len() as u64 + others {
        0 => return,
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    };
    say!("");
    say!("{}: {nodes}", style_heading(heading));
    for name in shown {
        say!("  {name}");
    }
    if others > 0 {
        say!("  and {others} more");
    }
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
}
