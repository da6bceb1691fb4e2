//! Ends of a run that no outcome tells: every reason, in words for the operator.
//!
//! [`Verdict`] becomes a state, a `_error` result and a message. The rule: a verdict says what is
//! known (did the action start?) and what to do next, and its kind tells whether a real outcome
//! that still comes would be news ([`is_guess`]).

use std::borrow::Cow;

use pcp::Certname;
use serde_json::{Value, json};

use crate::defaults::NODE_MESSAGE_BYTES;
use crate::flight::{CancelReason, Stranger, WhyUnknown};
use crate::state::RunState;

/// The action could not be run on the node.
pub const KIND_EXECUTION: &str = "puppetlabs.orchestrator/execution-failure";
/// The node's groups in the classifier do not agree.
pub const KIND_CONFLICT: &str = "tutti/classification-conflict";
/// The time of the run was over.
pub const KIND_TIMEOUT: &str = "tutti/timeout";
/// The job was stopped by force.
pub const KIND_STOPPED: &str = "tutti/stopped";
/// Whether and how the action ran is not known.
pub const KIND_UNKNOWN: &str = "tutti/outcome-unknown";

/// How an agent's error begins when it carried the action out and cannot say how that ended.
const UNDETERMINED: &str = "the outcome is not known";

/// Why a run is over without an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    NotConnected,
    Busy,
    /// The node is classified into another environment than the enforced one.
    OtherEnvironment {
        own: String,
        asked: String,
    },
    /// The node's groups do not agree, so it is classified into no environment.
    Conflict {
        what: String,
        asked: String,
    },
    /// A broker or the node refused the request, with these words.
    Refused(String),
    /// The secrets of a job from before a restart cannot be read.
    Unreadable,
    TimedOut {
        seconds: u64,
        told: bool,
    },
    Stopped {
        told: bool,
    },
    Silent {
        asked: u32,
    },
    Unknown(WhyUnknown),
    /// The agent itself cannot say how the action ended, in these words.
    Undetermined(String),
    /// The job was stopped before the run started.
    NotStarted,
    /// The command was answered with an error, and its job was kept all the same.
    Withdrawn,
    /// The store refuses to record that the run starts.
    Unmarked,
    /// The store refuses to record how the run ended.
    Unrecorded,
}

// === impl Verdict ===

impl Verdict {
    /// An agent answered a request with an error.
    pub(crate) fn of_error(words: &str) -> Self {
        if is_undetermined(words) {
            Self::Undetermined(words.to_owned())
        } else {
            Self::Refused(words.to_owned())
        }
    }

    /// The agent was told to cancel and did not report.
    pub(crate) fn cancel_unanswered(reason: CancelReason, timeout_seconds: u64) -> Self {
        match reason {
            CancelReason::Timeout => Self::TimedOut {
                seconds: timeout_seconds,
                told: true,
            },
            CancelReason::Stop => Self::Stopped { told: true },
        }
    }

    pub(crate) fn state(&self) -> RunState {
        match self {
            Self::NotStarted | Self::Withdrawn => RunState::Skipped,
            _ => RunState::Errored,
        }
    }

    pub(crate) fn message(&self, node: &Certname) -> String {
        match self {
            Self::NotConnected => format!(
                "{node} is not connected; is tutti-agent (or pxp-agent) running there, and does \
                 `tutti node show {node}` list it?"
            ),
            Self::Busy => format!(
                "{node} does not take messages: its queue in the broker stayed full; nothing was \
                 sent, so the action can be run again"
            ),
            Self::OtherEnvironment { own, asked } => format!(
                "{node} is in the environment `{own}`, and the job is for `{asked}`; nothing was \
                 sent: run it in its own environment, classify it anew, or set enforce_environment \
                 to false"
            ),
            Self::Conflict { what, asked } => format!(
                "{node} is classified into no environment, and the job is for `{asked}`: {}; nothing \
                 was sent: mend the groups (the classifier explains them), or set \
                 enforce_environment to false",
                clip(what)
            ),
            Self::Refused(words) => format!("{node} did not run it: {}", clip(words)),
            Self::Unreadable => format!(
                "the parameters for {node} were sealed with a key that is gone (the server's seal \
                 key was replaced while the job waited); nothing was sent, run it again"
            ),
            Self::TimedOut {
                seconds,
                told: true,
            } => format!(
                "the time limit of {seconds} s passed; {node} was told to end the action but has \
                 not reported that it did"
            ),
            Self::TimedOut {
                seconds,
                told: false,
            } => format!(
                "the time limit of {seconds} s passed; the agent on {node} cannot cancel, or is \
                 not connected, so the action may still run there"
            ),
            Self::Stopped { told: true } => format!(
                "the job was stopped by force; {node} was told to end the action but has not \
                 reported that it did"
            ),
            Self::Stopped { told: false } => format!(
                "the job was stopped by force; the agent on {node} cannot cancel, or is not \
                 connected, so the action may still run there"
            ),
            Self::Silent { asked } => format!(
                "{node} gave no answer to {asked} status requests; the action may have run, run \
                 in part or not at all: look at the node before running it again"
            ),
            Self::Unknown(why) => format!(
                "how it ended on {node} is not known: {}; the action may have run, run in part or \
                 not at all: look at the node before running it again",
                reason(*why)
            ),
            Self::Undetermined(words) => format!(
                "how it ended on {node} is not known, its agent says: {}; the action may have run, \
                 run in part or not at all: look at the node before running it again",
                clip(words)
            ),
            Self::NotStarted => "the job was stopped before this node started".to_owned(),
            Self::Withdrawn => format!(
                "the command was answered with an error (the database was lost while it wrote the \
                 job), so nothing was sent to {node}: run the task again"
            ),
            Self::Unmarked => format!(
                "the server's database refused to record the start on {node} (its log says why); \
                 nothing was sent, so the action can be run again"
            ),
            Self::Unrecorded => format!(
                "the server's database refused to record how it ended on {node} (its log says \
                 why): look at the node before running it again"
            ),
        }
    }

    /// What is stored as the run's result.
    pub(crate) fn result(&self, node: &Certname) -> Value {
        json!({"_error": {"kind": self.kind(), "msg": self.message(node), "details": {}}})
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::NotConnected
            | Self::Busy
            | Self::OtherEnvironment { .. }
            | Self::Refused(_)
            | Self::Unreadable
            | Self::Unmarked => KIND_EXECUTION,
            Self::Conflict { .. } => KIND_CONFLICT,
            Self::TimedOut { .. } => KIND_TIMEOUT,
            Self::Stopped { .. } | Self::NotStarted | Self::Withdrawn => KIND_STOPPED,
            Self::Silent { .. } | Self::Unknown(_) | Self::Undetermined(_) | Self::Unrecorded => {
                KIND_UNKNOWN
            }
        }
    }
}

/// Whether an agent's error says that nobody knows how the action ended.
pub(crate) fn is_undetermined(words: &str) -> bool {
    words.starts_with(UNDETERMINED)
}

/// Whether a stored result is of a run that was given up, so that its real outcome, should it
/// come, tells something new. A run that was ended and reported so has its exit code in there.
pub(crate) fn is_guess(result: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Shape<'a> {
        #[serde(borrow, rename = "_error")]
        error: Option<Inner<'a>>,
    }
    #[derive(serde::Deserialize)]
    struct Inner<'a> {
        #[serde(borrow)]
        kind: std::borrow::Cow<'a, str>,
        #[serde(default)]
        details: Details,
    }
    #[derive(Default, serde::Deserialize)]
    struct Details {
        exit_code: Option<i64>,
    }
    let error = serde_json::from_str::<Shape<'_>>(result)
        .ok()
        .and_then(|shape| shape.error);
    error.is_some_and(|error| {
        [KIND_TIMEOUT, KIND_STOPPED, KIND_UNKNOWN].contains(&error.kind.as_ref())
            && error.details.exit_code.is_none()
    })
}

/// `text` without the part beyond the bound, cut at a character.
pub(crate) fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(NODE_MESSAGE_BYTES)]
}

fn reason(why: WhyUnknown) -> Cow<'static, str> {
    let words = match why {
        WhyUnknown::OtherAgent(Stranger { expected, found }) => {
            let found = found.map_or("an agent without a spool id".to_owned(), |spool_id| {
                format!("an agent with the spool {spool_id}")
            });
            return Cow::Owned(format!(
                "it was sent to the agent with the spool {expected}, and {found} answers under \
                 this certname: the spool was emptied or purged, the node was set up anew, or two \
                 agents share the certname"
            ));
        }
        WhyUnknown::NoSpoolId => {
            "its agent knows nothing of the run (a pxp-agent says the same of one it never got, \
             one it lost and one that died)"
        }
        WhyUnknown::Forgotten => "its agent confirmed the run and has no record of it any more",
        WhyUnknown::TooLongAgo => "its agent knows nothing of the run and may have purged it",
        WhyUnknown::ResentOften => "its agent never recorded the run, although it was sent again",
        WhyUnknown::OverSsh => {
            "it ran over SSH, the server was restarted meanwhile, and nothing on the node keeps the \
             outcome"
        }
    };
    Cow::Borrowed(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every() -> Vec<Verdict> {
        use CancelReason::{Stop, Timeout};
        let mut all = vec![
            Verdict::NotConnected,
            Verdict::Busy,
            Verdict::OtherEnvironment {
                own: "test".to_owned(),
                asked: "production".to_owned(),
            },
            Verdict::Conflict {
                what: "the groups of db1 do not agree".to_owned(),
                asked: "production".to_owned(),
            },
            Verdict::Refused("unknown module: task".to_owned()),
            Verdict::Unreadable,
            Verdict::TimedOut {
                seconds: 5,
                told: false,
            },
            Verdict::cancel_unanswered(Timeout, 5),
            Verdict::cancel_unanswered(Stop, 5),
            Verdict::Stopped { told: false },
            Verdict::Silent { asked: 35 },
            Verdict::Undetermined("the outcome is not known".to_owned()),
            Verdict::Unmarked,
            Verdict::Unrecorded,
        ];
        let why = [
            WhyUnknown::NoSpoolId,
            WhyUnknown::Forgotten,
            WhyUnknown::OtherAgent(Stranger {
                expected: uuid::Uuid::from_u128(1),
                found: None,
            }),
            WhyUnknown::TooLongAgo,
            WhyUnknown::ResentOften,
        ];
        all.extend(why.map(Verdict::Unknown));
        all
    }

    #[test]
    fn every_verdict_names_the_node_and_has_a_kind_and_words() {
        let node: Certname = "db1.example.com".parse().unwrap();
        for verdict in every() {
            assert_eq!(verdict.state(), RunState::Errored);
            let result = verdict.result(&node);
            let error = &result["_error"];
            assert!(
                error["msg"].as_str().unwrap().contains("db1.example.com"),
                "{error}"
            );
            assert!(error["kind"].as_str().unwrap().contains('/'), "{error}");
        }
        for verdict in [Verdict::NotStarted, Verdict::Withdrawn] {
            assert_eq!(verdict.state(), RunState::Skipped);
        }
    }

    #[test]
    fn only_a_given_up_run_leaves_room_for_news() {
        let node: Certname = "db1".parse().unwrap();
        let guess = |verdict: Verdict| is_guess(&verdict.result(&node).to_string());
        assert!(guess(Verdict::Silent { asked: 35 }));
        assert!(guess(Verdict::TimedOut {
            seconds: 1,
            told: true
        }));
        assert!(guess(Verdict::Stopped { told: false }));
        assert!(!guess(Verdict::NotConnected));
        assert!(!is_guess(r#"{"_output":"hello"}"#));
        let ended = r#"{"_error":{"kind":"tutti/timeout","msg":"","details":{"exit_code":143}}}"#;
        assert!(!is_guess(ended));
        assert!(!is_guess(r#"{"_error":"text of a task"}"#));
        assert!(!is_guess("not json"));
    }

    #[test]
    fn an_error_is_a_refusal_unless_the_agent_says_that_it_does_not_know() {
        let words = "the outcome is not known: the machine was restarted while the action ran";
        let undetermined = Verdict::Undetermined(words.to_owned());
        assert_eq!(Verdict::of_error(words), undetermined);
        assert_eq!(undetermined.kind(), KIND_UNKNOWN);
        for words in [
            "unknown module: task",
            "cannot start: the outcome is not known",
        ] {
            assert_eq!(Verdict::of_error(words), Verdict::Refused(words.to_owned()));
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let text = "ä".repeat(NODE_MESSAGE_BYTES);
        assert_eq!(clip(&text).len(), NODE_MESSAGE_BYTES);
        assert_eq!(clip("short"), "short");
    }
}
