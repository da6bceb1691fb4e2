//! Lists of tasks or plans: the name and the first line of the description. Main type:
//! [`NamedLine`].

use api_types::ErrorBody;

use crate::terminal::{self, escape_control, style_dim, style_failure, style_name};

/// Columns between the name and the description.
const GAP: usize = 2;

/// A task or plan in a list.
pub(crate) struct NamedLine<'a> {
    pub(crate) name: &'a str,
    /// True if the user may run it.
    pub(crate) permitted: bool,
    pub(crate) description: Option<&'a str>,
    /// The error that prevents it from running.
    pub(crate) error: Option<&'a ErrorBody>,
}

/// Prints the list, with the descriptions in one column, or the text `empty`.
pub(crate) fn print<'a>(lines: impl Iterator<Item = NamedLine<'a>>, empty: &str) {
    let items: Vec<_> = lines.collect();
    if items.is_empty() {
        say!("{empty}");
    }
    let width = items.iter().map(|item| item.name.chars().count());
    let width = width.max().unwrap_or(0);
    for item in items {
        say!("{}", item.line(width, terminal::table_width()));
    }
}

// === impl NamedLine ===

impl NamedLine<'_> {
    /// The name, in `width` columns, and as much of the description's first line as fits. An error
    /// is printed in full, since it says where to look.
    fn line(&self, width: usize, room: Option<usize>) -> String {
        let name = escape_control(self.name);
        let words = match self.error {
            Some(error) => format!("cannot be used: {}", error.msg),
            None => self.description.unwrap_or_default().to_owned(),
        };
        let mut text = escape_control(words.lines().next().unwrap_or_default());
        if !self.permitted {
            text = format!("(not permitted) {text}").trim_end().to_owned();
        }
        if let Some(room) = room.filter(|_| self.error.is_none()) {
            text = shorten(&text, room.saturating_sub(width + GAP));
        }
        if text.is_empty() {
            return style_name(name);
        }
        let pad = " ".repeat(width.saturating_sub(name.chars().count()) + GAP);
        let text = match (self.error, self.permitted) {
            (Some(_), _) => style_failure(text),
            (None, true) => text,
            (None, false) => style_dim(text),
        };
        format!("{}{pad}{text}", style_name(name))
    }
}

/// `text`, shortened with an ellipsis to `room` columns.
fn shorten(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use api_types::{ApiError, kinds};

    use super::*;

    fn plain(item: &NamedLine<'_>, room: Option<usize>) -> String {
        anstream::adapter::strip_str(&item.line(8, room)).to_string()
    }

    fn item<'a>(name: &'a str, permitted: bool, description: Option<&'a str>) -> NamedLine<'a> {
        NamedLine {
            name,
            permitted,
            description,
            error: None,
        }
    }

    #[test]
    fn each_is_listed_with_the_first_line_of_what_it_does() {
        let package = item("package", true, Some("Show a package\nand more"));
        assert_eq!(plain(&package, None), "package   Show a package");
        assert_eq!(plain(&package, Some(24)), "package   Show a package");
        assert_eq!(plain(&package, Some(20)), "package   Show a pa…");
        assert_eq!(plain(&item("a", true, None), None), "a");
        let evil = item("a", true, Some("\u{1b}[2J"));
        assert_eq!(plain(&evil, None), "a         ␛[2J");
    }

    #[test]
    fn what_may_not_be_run_says_so_first() {
        let package = item("package", false, Some("Show a package"));
        assert_eq!(
            plain(&package, None),
            "package   (not permitted) Show a package"
        );
        assert_eq!(
            plain(&item("a", false, None), None),
            "a         (not permitted)"
        );
    }

    #[test]
    fn what_cannot_be_used_says_where_to_look_in_full() {
        let error = ApiError::new(kinds::INVALID_TASK, "m/tasks/init.json: no JSON\nmore");
        let invalid = NamedLine {
            error: Some(&error.body),
            ..item("m", true, Some("Does it"))
        };
        assert_eq!(
            plain(&invalid, Some(20)),
            "m         cannot be used: m/tasks/init.json: no JSON"
        );
    }
}
