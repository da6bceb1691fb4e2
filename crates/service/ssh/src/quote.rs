//! Quoting for a POSIX shell.
//!
//! Invariant: any text becomes exactly one word of the shell with that text; no part of it is
//! interpreted as a command (A5).

/// Quotes `text` as one word.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Builds a command line that runs `script` by `sh`, regardless of the user's login shell.
pub(crate) fn sh(script: &str) -> String {
    format!("sh -c {}", quote(script))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a5_every_text_arrives_as_it_is() {
        for text in [
            "",
            "plain",
            "it's",
            "'; touch /tmp/x; '",
            "$(id) `id` ${HOME} \\ \" ! * ? ~ # & | < > ( ) { } [ ]",
            "-n",
            "two\nlines\ttab",
            "ünïcode \u{202e}",
            "''''",
        ] {
            let line = sh(&format!("printf %s {}", quote(text)));
            let output = Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        }
    }
}
