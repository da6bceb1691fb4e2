//! Documents whose commands are typed in tests. Main type: [`TypedDocument`].
//!
//! A fenced block whose info string has `on=MACHINE` is typed on that machine, in the order of the
//! document:
//!
//! | first word of the info string | typed text |
//! |---|---|
//! | `console` | lines that begin with `$ `, continued by a `\` at the end; others are output |
//! | `file` | a file: the first line is `# /its/path`, the others are its content |
//! | anything else | all lines |
//!
//! Invariant: a block without `on=` is shown and not typed.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::fenced_blocks::{FencedBlock, fenced_blocks};

/// The typed blocks of a document.
#[derive(Clone, Debug)]
pub struct TypedDocument {
    pub steps: Vec<TypedStep>,
}

/// A block that is typed on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedStep {
    /// The heading above the block, without its marks.
    pub heading: String,
    /// The machine on which it is typed.
    pub machine: String,
    pub action: TypedAction,
}

/// The use of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedAction {
    /// The commands to type.
    Commands(String),
    /// The file to write.
    File { path: String, content: String },
}

// === impl TypedDocument ===

impl TypedDocument {
    /// Reads the blocks of a Markdown file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let document = Self::parse(&text)?;
        ensure!(
            !document.steps.is_empty(),
            "nothing in {} is typed",
            path.display()
        );
        Ok(document)
    }

    /// Reads the blocks of a Markdown text.
    pub fn parse(text: &str) -> Result<Self> {
        let mut steps = Vec::new();
        for block in fenced_blocks(text) {
            let mut words = block.info.split_whitespace();
            if let Some(machine) = words.find_map(|it| it.strip_prefix("on=")) {
                steps.push(TypedStep {
                    heading: block.heading.to_owned(),
                    machine: machine.to_owned(),
                    action: action(&block).with_context(|| {
                        format!("the block `{}` below {:?}", block.info, block.heading)
                    })?,
                });
            }
        }
        Ok(Self { steps })
    }
}

fn action(block: &FencedBlock<'_>) -> Result<TypedAction> {
    match block.info.split_whitespace().next() {
        Some("console") => {
            let commands = commands(&block.lines);
            ensure!(!commands.is_empty(), "it has no line that begins with `$ `");
            Ok(TypedAction::Commands(commands))
        }
        Some("file") => {
            let (first, rest) = block.lines.split_first().context("it is empty")?;
            let path = first.strip_prefix("# /").context("it names no file")?;
            Ok(TypedAction::File {
                path: format!("/{path}"),
                content: joined(rest),
            })
        }
        _ => Ok(TypedAction::Commands(block.text())),
    }
}

fn commands(block: &[&str]) -> String {
    let mut typed = Vec::new();
    let mut goes_on = false;
    for line in block {
        let command = match line.strip_prefix("$ ") {
            Some(command) => command,
            None if goes_on => line,
            None => continue,
        };
        goes_on = command.ends_with('\\');
        typed.push(command);
    }
    joined(&typed)
}

fn joined(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "# Start\n\n```\nnot typed\n```\n\n## One\n\n```console on=server\n$ tutti login \\\n    admin\n\
        Logged in\n$ tutti ca list\nNothing\n```\n\n```file on=node\n# /etc/x.conf\na = 1\n# b\n```\n\n```sh on=node\n\
        true\nfalse\n```\n";

    fn step(machine: &str, action: TypedAction) -> TypedStep {
        TypedStep {
            heading: "One".to_owned(),
            machine: machine.to_owned(),
            action,
        }
    }

    #[test]
    fn what_is_marked_is_typed_and_its_output_is_not() {
        let document = TypedDocument::parse(DOCUMENT).unwrap();
        let commands = |text: &str| TypedAction::Commands(text.to_owned());
        let file = TypedAction::File {
            path: "/etc/x.conf".to_owned(),
            content: "a = 1\n# b\n".to_owned(),
        };
        let expected = [
            step(
                "server",
                commands("tutti login \\\n    admin\ntutti ca list\n"),
            ),
            step("node", file),
            step("node", commands("true\nfalse\n")),
        ];
        assert_eq!(document.steps, expected);
    }

    #[test]
    fn a_marked_block_that_cannot_be_typed_is_named() {
        for (block, part) in [
            ("```console on=server\nno command\n```\n", "begins with"),
            ("```file on=server\nkey = 1\n```\n", "names no file"),
        ] {
            let error = TypedDocument::parse(&format!("# Here\n{block}")).unwrap_err();
            let told = format!("{error:#}");
            assert!(told.contains(part) && told.contains("Here"), "{told}");
        }
    }
}
