//! Lists of what can be run: names, and the first line of what each does. Main type: [`NamedLine`].

use crate::terminal;

/// Between the name and what it does.
const GAP: usize = 2;

/// A task or a plan of a list.
pub(crate) struct NamedLine<'a> {
    pub(crate) name: &'a str,
    /// The user may run it.
    pub(crate) permitted: bool,
    pub(crate) description: Option<&'a str>,
}

/// Prints the list, with what each does in one column.
pub(crate) fn print(items: &[NamedLine<'_>]) {
    let width = items.iter().map(|item| item.name.chars().count());
    let width = width.max().unwrap_or(0);
    for item in items {
        say!("{}", item.line(width, terminal::room()));
    }
}

// === impl NamedLine ===

impl NamedLine<'_> {
    /// The name, in `width` columns, and the first line of what it does, as far as there is room for it.
    fn line(&self, width: usize, room: Option<usize>) -> String {
        let name = terminal::harmless(self.name);
        let description = self.description.unwrap_or_default();
        let description = description.lines().next().unwrap_or_default();
        let mut text = terminal::harmless(description);
        if !self.permitted {
            text = format!("(not permitted) {text}").trim_end().to_owned();
        }
        if let Some(room) = room {
            text = fitted(&text, room.saturating_sub(width + GAP));
        }
        if text.is_empty() {
            return terminal::name(name);
        }
        let pad = " ".repeat(width.saturating_sub(name.chars().count()) + GAP);
        let text = if self.permitted {
            text
        } else {
            terminal::dim(text)
        };
        format!("{}{pad}{text}", terminal::name(name))
    }
}

/// `text` with an ellipsis in the place of what does not fit.
fn fitted(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(item: &NamedLine<'_>, room: Option<usize>) -> String {
        anstream::adapter::strip_str(&item.line(8, room)).to_string()
    }

    fn item<'a>(name: &'a str, permitted: bool, description: Option<&'a str>) -> NamedLine<'a> {
        NamedLine {
            name,
            permitted,
            description,
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
}
