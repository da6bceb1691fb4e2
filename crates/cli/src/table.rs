//! Tables that fit the terminal. Main function: [`print`].

use comfy_table::presets;
use comfy_table::{ContentArrangement, Table};

use crate::terminal;

/// Prints rows under a bold heading; cells wrap to the terminal's width.
pub(crate) fn print(heading: &[&str], rows: Vec<Vec<String>>) {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(terminal::width()).unwrap_or(u16::MAX))
        .set_header(heading.iter().map(|title| terminal::heading(title)));
    table.add_rows(rows);
    anstream::println!(
        "{}",
        table
            .to_string()
            .lines()
            .map(str::trim_end)
            .collect::<Vec<_>>()
            .join("\n")
    );
}

/// `key : value` lines, the keys in one column.
pub(crate) fn fields(fields: &[(&str, String)]) {
    let width = fields.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    for (key, value) in fields {
        let pad = " ".repeat(width - key.len());
        anstream::println!("{}{pad}  {value}", terminal::dim(key));
    }
}
