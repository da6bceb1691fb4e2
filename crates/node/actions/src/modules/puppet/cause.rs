//! Cause of a failed run, derived from Puppet's messages: [`classify_messages`], [`explain`].
//!
//! Puppet has no error codes, only texts, the same in versions 5 to 8. Invariant: unknown texts
//! give the cause [`PuppetCause::Other`], never a guess, and Puppet's own text is always reported.

use pxp::action::PuppetCause;

use super::report::{cut, keep_error};

const ENVIRONMENT: &[&str] = &[
    "does not match agent specified environment",
    "not found on server, aborting run",
    "Could not find a directory environment named",
    "Could not find environment",
];

const CERTIFICATE: &[&str] = &[
    "certificate verify failed",
    "no certificate found and waitforcert is disabled",
    "Couldn't fetch certificate from CA server",
    "Could not request certificate",
    "did not match server certificate",
    "does not match its private key",
    "does not match the agent's private key",
    "certificate revoked",
    "certificate has been revoked",
    "has expired, verify time is synchronized",
    "The CRL issued by",
];

const UNREACHABLE: &[&str] = &[
    "Failed to open TCP connection",
    "Connection refused",
    "Could not select a functional puppet server",
    "No more routes to",
    "getaddrinfo",
    "No route to host",
    "execution expired",
    "Net::OpenTimeout",
    "Net::ReadTimeout",
    "Error 502",
    "Error 503",
    "Error 504",
];

/// The cause derived from the errors that Puppet logged.
pub(super) fn classify_messages<'a>(messages: impl Iterator<Item = &'a str>) -> PuppetCause {
    // The strongest evidence wins, regardless of the order: a failed compile is also logged as a
    // catalog that could not be retrieved.
    let rank = |cause: &PuppetCause| match cause {
        PuppetCause::EnvironmentMismatch => 0,
        PuppetCause::Certificate => 1,
        PuppetCause::CatalogFailed => 2,
        PuppetCause::ServerUnreachable => 3,
        _ => 4,
    };
    messages
        .map(classify_message)
        .min_by_key(rank)
        .unwrap_or(PuppetCause::Other)
}

fn classify_message(message: &str) -> PuppetCause {
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if says(ENVIRONMENT) {
        PuppetCause::EnvironmentMismatch
    } else if message.contains(" on SERVER: ") && !says(&["Error 502", "Error 503", "Error 504"]) {
        PuppetCause::CatalogFailed
    } else if says(CERTIFICATE) {
        PuppetCause::Certificate
    } else if says(UNREACHABLE) {
        PuppetCause::ServerUnreachable
    } else {
        PuppetCause::Other
    }
}

/// Cause, Puppet's message and next step, as a text for users.
pub(super) fn explain(cause: PuppetCause, messages: &[String]) -> String {
    let (what, next) = match cause {
        PuppetCause::EnvironmentMismatch => (
            "the node's environment on the server is another than the run asked for",
            "check the node's classification, or run without enforcing the environment",
        ),
        PuppetCause::Certificate => (
            "the node and the server do not accept each other's certificates",
            "sign the node's certificate, or check both clocks and the CRL",
        ),
        PuppetCause::CatalogFailed => (
            "the server did not compile a catalog",
            "mend the code or the data that the message names",
        ),
        PuppetCause::ServerUnreachable => (
            "no Puppet server answered",
            "check that the server runs and that the node reaches it (`puppet config print server`)",
        ),
        _ => (
            "the Puppet run failed",
            "read its output, or run `puppet agent --test` on the node",
        ),
    };
    // If there are several, the last one is a summary.
    let said = match (cause, messages) {
        (_, []) => String::new(),
        (PuppetCause::Other, messages) => format!(": {}", messages[messages.len() - 1]),
        (cause, messages) => {
            let fitting = messages.iter().find(|it| classify_message(it) == cause);
            format!(": {}", fitting.unwrap_or(&messages[0]))
        }
    };
    format!("{what}{said}; {next}")
}

/// The errors that Puppet printed; used for a run that left no report.
pub(super) fn printed_errors(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    let lines = text.lines().map(strip_colors);
    let mut errors = Vec::new();
    for line in lines {
        // Puppet's message about an unsigned certificate is not a log message.
        let unsigned = ["Couldn't fetch certificate", "Exiting"];
        let unsigned = unsigned.iter().any(|words| line.starts_with(words));
        let error = line.strip_prefix("Error: ").or(unsigned.then_some(&line));
        if let Some(error) = error.map(str::trim).filter(|error| !error.is_empty()) {
            keep_error(&mut errors, cut(error.to_owned()));
        }
    }
    errors
}

/// True if Puppet exited because another run is in progress.
pub(super) fn says_in_progress(output: &[u8]) -> bool {
    let text = String::from_utf8_lossy(output);
    text.contains("already in progress; skipping")
        || text.contains("the maxwaitforlock timeout has been exceeded")
}

/// A line without the escape sequences that color it.
fn strip_colors(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after.find(|it: char| it.is_ascii_alphabetic());
        rest = end.map_or("", |end| &after[end + 1..]);
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_puppet_says_has_its_cause() {
        for (message, expected) in [
            (
                "Not using catalog because its environment 'production' does not match agent \
                 specified environment 'dev' and strict_environment_mode is set",
                PuppetCause::EnvironmentMismatch,
            ),
            (
                "Could not retrieve catalog from remote server: Error 500 on SERVER: Server Error: \
                 Evaluation Error: Error while evaluating a Resource Statement, Connection refused",
                PuppetCause::CatalogFailed,
            ),
            (
                "Request to https://puppet:8140/puppet/v3 failed after 0.1 seconds: Failed to open \
                 TCP connection to puppet:8140 (Connection refused - connect(2))",
                PuppetCause::ServerUnreachable,
            ),
            (
                "certificate verify failed [self signed certificate in certificate chain for CN=x]",
                PuppetCause::Certificate,
            ),
            ("Found 1 dependency cycle:", PuppetCause::Other),
        ] {
            assert_eq!(
                classify_messages([message].into_iter()),
                expected,
                "{message}"
            );
            let text = explain(expected, &["first".to_owned(), message.to_owned()]);
            assert!(text.contains(message), "{text}");
        }
        assert_eq!(classify_messages([].into_iter()), PuppetCause::Other);
    }

    #[test]
    fn the_strongest_evidence_wins() {
        let both = [
            "Could not retrieve catalog; skipping run",
            "Error 500 on SERVER: boom",
        ];
        assert_eq!(
            classify_messages(both.into_iter()),
            PuppetCause::CatalogFailed
        );
        let both = ["No more routes to ca", "x: Error 500 on SERVER: boom"];
        assert_eq!(
            classify_messages(both.into_iter()),
            PuppetCause::CatalogFailed
        );
    }

    #[test]
    fn errors_are_found_in_colored_output() {
        let output = b"\x1b[0;32mInfo: Using environment\x1b[0m\n\x1b[1;31mError: no \xff light\x1b[0m\nError: \n";
        assert_eq!(printed_errors(output), ["no \u{fffd} light"]);
        assert!(printed_errors(b"\x1b[").is_empty());
        let unsigned = "Couldn't fetch certificate from CA server; you might still need to sign it";
        let errors = printed_errors(unsigned.as_bytes());
        assert_eq!(
            classify_messages(errors.iter().map(String::as_str)),
            PuppetCause::Certificate
        );
    }
}
