//! Proofs that an agent's error gives about the action: [`ErrorEvidence`].
//!
//! Invariant: "did not run" needs a proof, since operators repeat such an action. A stock pxp-agent
//! sends the same message type before an action starts, while it fails and after it ended, so the
//! text of the message decides; `tutti-agent` and the SSH runner send an error only for an action
//! that did not start, unless the text states otherwise.

use super::is_undetermined;

/// The agent that reported an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorReporter {
    /// A pxp-agent, or an agent that announced nothing (a stock pcp-broker forwards no announcements).
    Stock,
    /// `tutti-agent`, or the runner of SSH connections.
    Tutti,
}

/// Conclusion from an error about the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorEvidence {
    /// The action did not start.
    NotRun,
    /// The action ended; its result is lost. The exit code in a status answer is that of its
    /// process.
    ResultLost,
    /// The agent carried the action out and reports that its end is unknown.
    Undetermined,
    /// The error fits an action that ran as well as one that did not.
    Unproved,
}

/// Errors of request validation and of a task that cannot be started.
const REFUSALS: [&str; 5] = [
    "unknown module: ",
    "unknown action '",
    "invalid input for ",
    "Failed to initialize the metadata file: ",
    "failed to start action task: ",
];

/// The agent's text before the reason why an action failed inside it.
const FAILED: &str = "Failed to execute the task for the ";

/// Actions that fetch everything before they start a process. `file download` is not one of them: some of
/// its files may be in place when the next one fails.
const ALL_OR_NOTHING: [&str; 3] = ["'task run'", "'script run'", "'command run'"];

/// Reasons that precede the start of such an action (pxp-agent 1.15.25, by the order of its steps).
const BEFORE_START: [&str; 6] = [
    "Failed to download file with: ",
    "Cannot download file. ",
    "no implementations match supported features: ",
    "at least one file must be specified for a task",
    "unsupported task input method: ",
    "run_command thread failed to fetch user's passwd entry!",
];

/// Endings of such reasons.
const BEFORE_START_ENDS: [&str; 2] = [
    "file requested by implementation not found",
    "file requested as additional task dependency not found",
];

/// Errors about the output of a process that ended.
const AFTER_END: [&str; 2] = ["The task executed for the ", "Message size: "];

/// Reasons of PCP peers that refuse a message as a whole.
const UNDELIVERED: [&str; 6] = [
    "Not connected.",
    "Message not ",
    "Multiple recipients no longer supported.",
    "Could not decode message",
    "no data",
    "invalid data",
];

impl ErrorEvidence {
    /// The evidence of an `rpc_error_message`, or of the error in a status answer.
    pub(crate) fn from_rpc_error(words: &str, speaker: ErrorReporter) -> Self {
        if is_undetermined(words) {
            return Self::Undetermined;
        }
        if starts_with_any(words, &AFTER_END) {
            return Self::ResultLost;
        }
        if speaker == ErrorReporter::Tutti || Self::is_validation_error(words) {
            return Self::NotRun;
        }
        match failure_reason(words) {
            Some(reason) if is_before_start(reason) => Self::NotRun,
            _ => Self::Unproved,
        }
    }

    /// True if an error refuses a request before anything of it is looked up or started.
    pub(crate) fn is_validation_error(words: &str) -> bool {
        starts_with_any(words, &REFUSALS) || is_blocking_only(words)
    }

    /// The evidence of an `error_message` of the PCP layer that answers a request: either no
    /// component that acts on the message got it, or nothing is proved.
    pub(crate) fn from_pcp_error(words: &str) -> Self {
        let undelivered = starts_with_any(words, &UNDELIVERED) || words.ends_with(" fast enough.");
        match undelivered || words.contains(" is too large for its type; ") {
            true => Self::NotRun,
            false => Self::Unproved,
        }
    }
}

fn starts_with_any(words: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|begin| words.starts_with(begin))
}

fn is_blocking_only(words: &str) -> bool {
    words.starts_with("the module '") && words.ends_with("supports only blocking PXP requests")
}

/// The reason in "Failed to execute the task for the LABEL. Error: REASON". The label ends with the
/// transaction id in parentheses, and module and action were validated before.
fn failure_reason(words: &str) -> Option<&str> {
    let (label, reason) = words.strip_prefix(FAILED)?.split_once("). Error: ")?;
    let is_atomic = ALL_OR_NOTHING.iter().any(|action| label.contains(action));
    is_atomic.then_some(reason)
}

fn is_before_start(reason: &str) -> bool {
    starts_with_any(reason, &BEFORE_START)
        || BEFORE_START_ENDS.iter().any(|end| reason.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: &str = "non blocking 'task run' request (transaction 5f5a)";

    fn failed(reason: &str) -> String {
        format!("{FAILED}{LABEL}. Error: {reason}")
    }

    #[test]
    fn a_stock_agents_error_proves_that_nothing_ran_only_where_its_words_precede_the_start() {
        for words in [
            "unknown module: task".to_owned(),
            "unknown action 'x' for module 'task'".to_owned(),
            "the module 'echo' supports only blocking PXP requests".to_owned(),
            format!("invalid input for {LABEL}"),
            "Failed to initialize the metadata file: no space".to_owned(),
            failed("Failed to download file with: Downloading file \"x\" failed after trying all"),
            failed("no implementations match supported features: shell"),
            failed("'x.rb' file requested by implementation not found"),
        ] {
            let evidence = ErrorEvidence::from_rpc_error(&words, ErrorReporter::Stock);
            assert_eq!(evidence, ErrorEvidence::NotRun, "{words}");
        }
        for words in [
            failed("Destination /x already exists and is not a directory!"),
            failed("failed to write output on file"),
            format!("{FAILED}{LABEL}. Unexpected error: stdin pipe i/o failed: Broken pipe (32)"),
            format!(
                "{FAILED}non blocking 'file download' request (transaction 5f5a). Error: \
                 Failed to download file with: x"
            ),
            "something else".to_owned(),
            String::new(),
        ] {
            let evidence = ErrorEvidence::from_rpc_error(&words, ErrorReporter::Stock);
            assert_eq!(evidence, ErrorEvidence::Unproved, "{words}");
        }
    }

    #[test]
    fn an_error_about_the_output_proves_that_it_ran_whoever_says_it() {
        for words in [
            format!("The task executed for the {LABEL} returned invalid UTF-8 on stdout"),
            format!("The task executed for the {LABEL} returned invalid results on stdout: x"),
            "Message size: 70000000 exceeded max-message-size 67108864".to_owned(),
        ] {
            for speaker in [ErrorReporter::Stock, ErrorReporter::Tutti] {
                let evidence = ErrorEvidence::from_rpc_error(&words, speaker);
                assert_eq!(evidence, ErrorEvidence::ResultLost, "{words}");
            }
        }
    }

    #[test]
    fn our_agents_error_is_a_refusal_unless_it_says_that_the_outcome_is_not_known() {
        let words = "cannot start: the outcome is not known";
        let evidence = ErrorEvidence::from_rpc_error(words, ErrorReporter::Tutti);
        assert_eq!(evidence, ErrorEvidence::NotRun);
        let words = "the outcome is not known: the machine was restarted";
        let evidence = ErrorEvidence::from_rpc_error(words, ErrorReporter::Tutti);
        assert_eq!(evidence, ErrorEvidence::Undetermined);
    }

    #[test]
    fn a_pcp_error_is_a_proof_only_where_it_says_that_the_message_was_not_delivered() {
        for words in ["Not connected.", "Message not authorized.", "invalid data"] {
            let evidence = ErrorEvidence::from_pcp_error(words);
            assert_eq!(evidence, ErrorEvidence::NotRun, "{words}");
        }
        for words in ["java.nio.channels.ClosedChannelException", ""] {
            let evidence = ErrorEvidence::from_pcp_error(words);
            assert_eq!(evidence, ErrorEvidence::Unproved, "{words}");
        }
    }
}
