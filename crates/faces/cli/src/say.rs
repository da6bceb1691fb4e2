//! Printing to stdout. Main macro: [`say!`].
//!
//! Invariant: a closed pipe (`tutti job list | head`) ends the program quietly, a full disk with a
//! message; neither is a panic, and neither is a success.

use std::cell::RefCell;
use std::fmt::Arguments;
use std::io::{ErrorKind, Write as _};

use crate::EXIT_ERROR;

/// `println!`, with colours only on a terminal.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {
        $crate::print_line(format_args!($($text)*))
    };
}

/// The implementation of [`say!`].
#[expect(
    clippy::exit,
    reason = "the reader closed the pipe; println! would panic here"
)]
pub fn print_line(text: Arguments<'_>) {
    if append_to_capture(text) {
        return;
    }
    let mut stdout = anstream::stdout().lock();
    let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
    let Err(error) = written else { return };
    if error.kind() != ErrorKind::BrokenPipe {
        anstream::eprintln!("error: cannot write to standard output: {error}");
    }
    std::process::exit(EXIT_ERROR.into());
}

thread_local! {
    static CAPTURED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on, captures the output of this thread: for tests of commands.
pub fn capture() {
    CAPTURED.set(Some(String::new()));
}

/// Ends the capture and returns the output, without colours.
pub fn captured() -> String {
    CAPTURED.take().unwrap_or_default()
}

/// True while the output of this thread is captured.
pub(crate) fn is_captured() -> bool {
    CAPTURED.with_borrow(Option::is_some)
}

fn append_to_capture(text: Arguments<'_>) -> bool {
    CAPTURED.with_borrow_mut(|captured| {
        let Some(captured) = captured else {
            return false;
        };
        captured.push_str(&anstream::adapter::strip_str(&text.to_string()).to_string());
        captured.push('\n');
        true
    })
}
