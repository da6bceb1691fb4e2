//! The error that ends a command, as it is printed: [`report_error`].

use std::process::ExitCode;

use owo_colors::OwoColorize as _;

/// Prints the error with its causes, and returns the exit code.
pub(crate) fn report_error(error: &anyhow::Error, code: u8) -> ExitCode {
    anstream::eprintln!("{} {}", "error:".red().bold(), describe_chain(error));
    ExitCode::from(code)
}

/// The error and its sources in one line, without those already contained in the previous message.
fn describe_chain(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for message in error.chain().map(ToString::to_string) {
        let message = message.trim_end();
        if told.is_empty() {
            told.push_str(message);
        } else if !told.contains(message) {
            told.push_str(": ");
            told.push_str(message);
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_was_told_is_not_told_again() {
        let error = anyhow::anyhow!("no such file")
            .context("cannot read x: no such file; make one")
            .context("cannot start");
        assert_eq!(
            describe_chain(&error),
            "cannot start: cannot read x: no such file; make one"
        );
    }
}
