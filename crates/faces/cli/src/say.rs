//! Printing to stdout. Main macro: [`say!`].
//!
//! Invariant: a closed pipe (`tutti job list | head`) ends the program quietly, a full disk with a
//! message; neither is a panic, and neither is a success.

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
    #[cfg(test)]
    if tests::caught(text) {
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

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::RefCell;
    use std::fmt::Arguments;

    thread_local! {
        static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
    }

    pub(super) fn caught(text: Arguments<'_>) -> bool {
        CAUGHT.with_borrow_mut(|caught| match caught {
            Some(all) => {
                all.push_str(&anstream::adapter::strip_str(&text.to_string()).to_string());
                all.push('\n');
                true
            }
            None => false,
        })
    }

    /// From now on, captures the output of this thread.
    pub(crate) fn catch() {
        CAUGHT.set(Some(String::new()));
    }

    /// The captured output, without colours.
    pub(crate) fn printed() -> String {
        CAUGHT.take().unwrap_or_default()
    }
}
