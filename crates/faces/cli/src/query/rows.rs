//! Prints the rows of a query as a table. Main function: [`print`].

use serde_json::Value;

use crate::terminal::{escape_control, style_dim, style_name};
use crate::{table, values};

/// Prints one column for each key of any row, in the order of their first occurrence.
pub(super) fn print(rows: &[Value]) {
    let mut keys: Vec<&String> = Vec::new();
    for key in rows
        .iter()
        .filter_map(Value::as_object)
        .flat_map(|row| row.keys())
    {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    if keys.is_empty() {
        rows.iter().for_each(|row| say!("{}", cell(row)));
    } else {
        let heading: Vec<_> = keys.iter().map(|key| escape_control(key)).collect();
        let heading: Vec<_> = heading.iter().map(String::as_str).collect();
        let cells = rows.iter().map(|row| {
            let cells = keys.iter().map(|key| cell(&row[key.as_str()]));
            let mut cells: Vec<_> = cells.collect();
            cells[0] = style_name(&cells[0]);
            cells
        });
        table::print(&heading, cells.collect());
    }
    say!("{}", style_dim(values::format_count(rows.len(), "row")));
}

/// Text unchanged, other values as JSON in one line; null is empty.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        other => escape_control(&values::plain(other)),
    }
}
