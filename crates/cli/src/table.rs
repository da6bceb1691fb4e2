//! Tables that fit the terminal. Main function: [`print`].

use comfy_table::presets;
use comfy_table::{ColumnConstraint, ContentArrangement, Table};

use crate::terminal;

/// Between two columns.
const GAP: usize = 2;

/// Columns that are shown however narrow the terminal is.
const COLUMNS_MIN: usize = 2;

/// Prints rows under a bold heading. Columns are in the order of their weight: the last ones are left
/// out where the terminal is too narrow for them, for cells broken over lines cannot be read. What goes
/// into a pipe is whole.
pub(crate) fn print(heading: &[&str], rows: Vec<Vec<String>>) {
    say!("{}", render(heading, rows, terminal::room()));
}

fn render(heading: &[&str], rows: Vec<Vec<String>>, room: Option<usize>) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(heading.iter().map(terminal::heading));
    table.add_rows(rows);
    let widths = table.column_max_content_widths();
    let shown = room.map_or(widths.len(), |room| columns_that_fit(&widths, room));
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, GAP as u16));
        if index >= shown {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
    let lines = table.to_string();
    let lines: Vec<_> = lines.lines().map(str::trim_end).collect();
    lines.join("\n")
}

fn columns_that_fit(widths: &[u16], room: usize) -> usize {
    let mut used = 0;
    let fitting = widths.iter().take_while(|width| {
        used += usize::from(**width) + GAP;
        used <= room + GAP
    });
    fitting.count().max(COLUMNS_MIN)
}

/// `key : value` lines, the keys in one column.
pub(crate) fn fields(fields: &[(&str, String)]) {
    let width = fields.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    for (key, value) in fields {
        let pad = " ".repeat(width - key.len());
        say!("{}{pad}  {value}", terminal::dim(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(room: Option<usize>) -> Vec<String> {
        let rows = vec![
            vec!["1".to_owned(), "finished".to_owned(), "x".repeat(30)],
            vec!["12".to_owned(), "大きさ".to_owned(), "y".to_owned()],
        ];
        let text = render(&["ID", "STATUS", "TASK"], rows, room);
        let plain = anstream::adapter::strip_str(&text).to_string();
        plain
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }

    #[test]
    fn a_pipe_gets_everything() {
        let lines = rendered(None);
        assert_eq!(lines[0], "ID  STATUS    TASK");
        assert_eq!(lines[1], format!("1   finished  {}", "x".repeat(30)));
        assert_eq!(lines[2], "12  大きさ    y");
    }

    #[test]
    fn a_narrow_terminal_loses_the_last_columns_and_breaks_no_cell() {
        assert_eq!(rendered(Some(44)).len(), 3);
        assert_eq!(rendered(Some(44))[0], "ID  STATUS    TASK");
        assert_eq!(rendered(Some(41))[0], "ID  STATUS");
        assert_eq!(rendered(Some(5))[0], "ID  STATUS");
    }
}
