//! Prints the impact of code on catalogs: [`print_impact`].

use api_types::CodeImpactGroup;

use crate::terminal::{escape_control, escaped_heading, style_dim, style_failure, style_success};

/// Prints groups of nodes with their changes; `equal` of `total` nodes have none.
pub fn print_impact(groups: &[CodeImpactGroup], equal: usize, total: usize) {
    groups.iter().for_each(print_group);
    let line = format!("{equal} of {total} nodes have equal catalogs");
    say!("{}", style_dim(line));
}

fn print_group(group: &CodeImpactGroup) {
    let number = match group.nodes.len() {
        1 => "1 node".to_owned(),
        number => format!("{number} nodes"),
    };
    say!(
        "{}",
        escaped_heading(&format!("{number}: {}", group.nodes.join(", ")))
    );
    for change in &group.changes {
        let line = format!("  {}", escape_control(change));
        match change.get(..1) {
            _ if group.error => say!("{}", style_failure(line)),
            Some("-") => say!("{}", style_failure(line)),
            Some("+") => say!("{}", style_success(line)),
            _ => say!("{line}"),
        }
    }
}
