//! The table of mistakes as a text. Main types: [`Entry`], [`Outcome`].
//!
//! A row is a line after `$ `, then the indented exit code and output. All other text is for
//! readers and is preserved.

use std::fmt;

/// Placeholder for any text of a line; alone in a line, for any lines.
const ANY: &str = "…";

const INDENT: &str = "    ";

/// A part of the table.
pub(super) enum Entry {
    /// A heading, a remark or an empty line.
    Remark(String),
    /// A row with a mistake.
    Row(Row),
}

/// A mistake: a typed line and its outcome.
pub(super) struct Row {
    /// The line as typed.
    pub(super) line: String,
    pub(super) expected: Outcome,
}

/// The outcome of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) code: i32,
    printed: Vec<String>,
}

// === impl Entry ===

impl Entry {
    pub(super) fn is_row(&self) -> bool {
        matches!(self, Self::Row(_))
    }
}

// === impl Outcome ===

impl Outcome {
    pub(super) fn new(code: i32, printed: &str) -> Self {
        let lines = printed.trim_end().lines();
        let printed = lines.map(|line| line.trim_end().to_owned()).collect();
        Self { code, printed }
    }

    /// True if `other` equals this outcome, with [`ANY`] as a placeholder.
    pub(super) fn allows(&self, other: &Self) -> bool {
        self.code == other.code && lines_match(&self.printed, &other.printed)
    }
}

fn lines_match(expected: &[String], printed: &[String]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first.trim() == ANY => {
            (0..=printed.len()).any(|skipped| lines_match(rest, &printed[skipped..]))
        }
        Some((first, rest)) => printed
            .split_first()
            .is_some_and(|(line, others)| line_matches(first, line) && lines_match(rest, others)),
    }
}

fn line_matches(expected: &str, printed: &str) -> bool {
    let Some((before, after)) = expected.split_once(ANY) else {
        return expected == printed;
    };
    let Some(rest) = printed.strip_prefix(before) else {
        return false;
    };
    let places = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    places
        .into_iter()
        .any(|at| line_matches(after, &rest[at..]))
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{INDENT}exit code {}", self.code)?;
        for line in &self.printed {
            match line.is_empty() {
                true => writeln!(f, "{INDENT}|")?,
                false => writeln!(f, "{INDENT}| {line}")?,
            }
        }
        Ok(())
    }
}

/// Parses the whole table.
pub(super) fn read(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    for line in text.lines() {
        let row = match entries.last_mut() {
            Some(Entry::Row(row)) => Some(row),
            _ => None,
        };
        if let Some(typed) = line.strip_prefix("$ ") {
            entries.push(Entry::Row(Row {
                line: typed.to_owned(),
                expected: Outcome::new(-1, ""),
            }));
        } else if let (Some(row), Some(outcome)) = (row, line.strip_prefix(INDENT)) {
            if let Some(code) = outcome.strip_prefix("exit code ") {
                row.expected.code = code.parse().unwrap_or(-1);
            } else if let Some(printed) = outcome.strip_prefix('|') {
                let printed = printed.strip_prefix(' ').unwrap_or(printed);
                row.expected.printed.push(printed.to_owned());
            }
        } else {
            entries.push(Entry::Remark(line.to_owned()));
        }
    }
    entries
}

/// The table as a text.
pub(super) fn written(entries: &[Entry]) -> String {
    let text = entries.iter().map(|entry| match entry {
        Entry::Remark(line) => format!("{line}\n"),
        Entry::Row(row) => format!("$ {}\n{}", row.line, row.expected),
    });
    text.collect()
}

#[test]
fn a_table_is_written_as_it_was_read() {
    let text = "# remark\n\n$ tutti x\n    exit code 2\n    | error: … is\n    |\n    | …\n\n$ tutti y\n    exit code 0\n";
    let entries = read(text);
    assert_eq!(written(&entries), text);
    let Entry::Row(row) = &entries[2] else {
        panic!("no row")
    };
    for (printed, expected) in [
        ("error: 3 is\n\nmore\nand more", true),
        ("error: a b is\n", false),
        ("error: is\n\n", false),
    ] {
        let outcome = Outcome::new(2, printed);
        assert_eq!(row.expected.allows(&outcome), expected, "{printed:?}");
    }
    assert!(!row.expected.allows(&Outcome::new(1, "error: 3 is\n\n")));
}
