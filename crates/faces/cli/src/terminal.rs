//! The terminal's width and colours, and the escaping of control characters.
//!
//! Invariant: colours are used on a terminal only (`anstream` strips them elsewhere and honours
//! NO_COLOR), and output of nodes can never move the cursor or change the screen.

use std::fmt::Display;
use std::io::IsTerminal as _;

use dialoguer::Confirm;
use owo_colors::OwoColorize as _;

use crate::defaults::{WIDTH, WIDTH_MIN};
use crate::say;
use crate::{CommandFailure, Result};

/// Width of the terminal, in columns.
pub fn width() -> usize {
    let columns = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    let window = || {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    };
    columns.or_else(window).unwrap_or(WIDTH).max(WIDTH_MIN)
}

/// Columns that a table may use; unlimited if stdout is no terminal and `COLUMNS` is not set.
pub fn table_width() -> Option<usize> {
    (is_interactive() || std::env::var_os("COLUMNS").is_some()).then(width)
}

/// True if stdout is a terminal.
pub fn is_interactive() -> bool {
    // Tests must not depend on the terminal in which they run.
    !say::is_captured() && std::io::stdout().is_terminal()
}

/// True if a question can be asked: stdin and stdout are a terminal.
pub(crate) fn can_confirm() -> bool {
    is_interactive() && std::io::stdin().is_terminal()
}

/// Asks a question at the terminal, to which "no" is the default.
pub(crate) fn confirm(prompt: &str) -> Result<bool> {
    let confirm = Confirm::new().with_prompt(prompt).default(false);
    let answer = confirm.interact();
    answer.map_err(|error| CommandFailure::Usage(format!("not confirmed: {error}; --yes confirms")))
}

/// True if stdout and stderr are a terminal, so that progress is visible.
pub fn is_watched() -> bool {
    is_interactive() && std::io::stderr().is_terminal()
}

/// Style for results that are as intended: green.
pub fn style_success(text: impl Display) -> String {
    text.green().to_string()
}

/// Style for failures: red and bold.
pub fn style_failure(text: impl Display) -> String {
    text.red().bold().to_string()
}

/// Style for a node's standard error: distinct, but not alarming.
pub fn error_output(text: impl Display) -> String {
    text.red().to_string()
}

/// Style for warnings: yellow.
pub fn style_warning(text: impl Display) -> String {
    text.yellow().to_string()
}

/// Style for names of nodes, environments and other resources.
pub fn style_name(text: impl Display) -> String {
    text.cyan().to_string()
}

/// An escaped name in the style of names.
pub fn escaped_name(text: &str) -> String {
    style_name(escape_control(text))
}

/// Style for changes that noop prevented.
pub fn style_noop(text: impl Display) -> String {
    text.magenta().to_string()
}

/// Style for secondary text: dimmed.
pub fn style_dim(text: impl Display) -> String {
    text.dimmed().to_string()
}

/// Style for headings of tables: bold.
pub fn style_heading(text: impl Display) -> String {
    text.bold().to_string()
}

/// Escaped text in the style of headings.
pub fn escaped_heading(text: &str) -> String {
    style_heading(escape_control(text))
}

/// A state in its colour.
pub fn style_state(state: &str) -> String {
    match state {
        "finished" | "success" => style_success(state),
        "failed" | "errored" | "failure" => style_failure(state),
        "skipped" | "stopped" | "stopping" => style_warning(state),
        _ => style_name(escape_control(state)),
    }
}

/// Escapes control characters in text from a node, except tabs: a node's output must not be able to
/// clear the screen or to fake other output.
pub fn escape_control(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' => '\t',
            c if (c as u32) < 0x20 => char::from_u32(0x2400 + c as u32).unwrap_or('�'),
            '\u{7f}' => '␡',
            c if c.is_control() || is_bidi(c) => '�',
            c => c,
        })
        .collect()
}

fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_cannot_move_the_cursor() {
        assert_eq!(escape_control("a\x1b[2Jb\tc\r"), "a␛[2Jb\tc␍");
        assert_eq!(escape_control("x\u{202e}y\u{9b}z"), "x�y�z");
    }

    #[test]
    fn other_scripts_stay_as_they_are() {
        assert_eq!(escape_control("größe 大きさ"), "größe 大きさ");
    }
}
