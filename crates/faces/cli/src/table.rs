//! Tables that fit the terminal. Main function: [`print`].

use comfy_table::presets;
use comfy_table::{ColumnConstraint, ContentArrangement, Table};

use crate::terminal::{self, style_heading};

/// Blank columns between two columns.
const GAP: usize = 2;

/// Number of columns that are shown on any terminal.
const COLUMNS_MIN: usize = 2;

/// Narrowest width of a shortened column.
const CUT_MIN: usize = 12;

/// Prints rows under a bold heading. Columns are in order of importance: on a narrow terminal one
/// is shortened and those after it are left out, since cells broken over lines cannot be read.
/// Output into a pipe is complete.
pub(crate) fn print(heading: &[&str], rows: Vec<Vec<String>>) {
    say!("{}", render(heading, rows, terminal::table_width()));
}

fn render(heading: &[&str], mut rows: Vec<Vec<String>>, room: Option<usize>) -> String {
    let widths = table(heading, &rows).column_max_content_widths();
    let (mut shown, left) = room.map_or((widths.len(), 0), |room| columns_that_fit(&widths, room));
    if left >= CUT_MIN {
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(shown)) {
            *cell = shorten(cell, left);
        }
        shown += 1;
    }
    let mut table = table(heading, &rows);
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

fn table(heading: &[&str], rows: &[Vec<String>]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(heading.iter().map(style_heading));
    table.add_rows(rows);
    table
}

/// The number of columns that fit whole, and the space left for a part of the next one.
fn columns_that_fit(widths: &[u16], room: usize) -> (usize, usize) {
    let (mut shown, mut used) = (0, 0);
    for width in widths.iter().map(|width| usize::from(*width)) {
        if used + width > room && shown >= COLUMNS_MIN {
            return (shown, room.saturating_sub(used));
        }
        used += width + GAP;
        shown += 1;
    }
    (shown, 0)
}

/// As much of a cell as fits. A shortened cell loses its colour.
fn shorten(cell: &str, room: usize) -> String {
    let plain = anstream::adapter::strip_str(cell).to_string();
    // Characters outside ASCII may be two columns wide.
    let width = |letter: char| if letter.is_ascii() { 1 } else { 2 };
    if plain.chars().map(width).sum::<usize>() <= room {
        return cell.to_owned();
    }
    let mut used = 1;
    let kept = plain.chars().take_while(|letter| {
        used += width(*letter);
        used <= room
    });
    let kept: String = kept.collect();
    format!("{}…", kept.trim_end())
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
        assert_eq!(
            rendered(Some(44))[1],
            format!("1   finished  {}", "x".repeat(30))
        );
        let cut = rendered(Some(41));
        assert_eq!(cut.len(), 3);
        assert_eq!(cut[1], format!("1   finished  {}…", "x".repeat(26)));
        assert_eq!(
            (cut[1].chars().count(), cut[2].as_str()),
            (41, "12  大きさ    y")
        );
        assert_eq!(rendered(Some(25))[0], "ID  STATUS");
        assert_eq!(rendered(Some(5))[0], "ID  STATUS");
    }

    #[test]
    fn wide_letters_are_cut_early_enough() {
        assert_eq!(shorten("大きさ", 6), "大きさ");
        assert_eq!(shorten("大きさ", 5), "大き…");
        assert_eq!(
            shorten("\u{1b}[36mname\u{1b}[0m", 4),
            "\u{1b}[36mname\u{1b}[0m"
        );
        assert_eq!(shorten("\u{1b}[36mnames\u{1b}[0m", 4), "nam…");
    }
}
