//! The result of a command that reads or changes files of the node: [`print_result`].
//!
//! Invariant: a result is on standard output, an error with its causes on standard error.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use agent::config::error::EXIT_FAILURE;
use error_causes::chain;

/// Prints the result, and returns the exit code of the program.
pub(crate) fn print_result(done: Result<String, impl Error + 'static>) -> ExitCode {
    match done {
        Ok(text) => {
            // A reader that has closed the pipe needs no further output.
            let _ = write!(std::io::stdout(), "{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("tutti-agent: {}", chain(&error));
            ExitCode::from(EXIT_FAILURE)
        }
    }
}
