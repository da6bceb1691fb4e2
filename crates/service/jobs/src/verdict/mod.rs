//! Ends of runs without an outcome from the agent: every reason, with a message for the operator.
//!
//! [`RunVerdict`] becomes a state, a `_error` result and a message. Invariant: a verdict states the
//! known facts (did the action start?) and the next step (the texts are in `messages`), and its kind
//! determines if a real outcome that arrives later would be news ([`is_given_up_result`]).

mod evidence;
mod messages;

use std::sync::Arc;

use jiff::Timestamp;
use pcp::Certname;
use serde_json::{Value, json};
use store::JobNumber;

use crate::in_flight::{CancelReason, UnknownReason};
use crate::over_ssh::NodeTransport;
use crate::rollout::HaltReason;
use crate::state::RunState;

pub(crate) use evidence::{ErrorEvidence, ErrorReporter};
pub(crate) use messages::clip;

/// The action could not be run on the node.
pub const KIND_EXECUTION: &str = "puppetlabs.orchestrator/execution-failure";
/// The node's groups in the classifier do not agree.
pub const KIND_CONFLICT: &str = "tutti/classification-conflict";
/// The node's Puppet is older than on-demand runs need.
pub const KIND_OLD_PUPPET: &str = "tutti/puppet-too-old";
/// The run reached its timeout.
pub const KIND_TIMEOUT: &str = "tutti/timeout";
/// The job was stopped by force.
pub const KIND_STOPPED: &str = "tutti/stopped";
/// More nodes of the job failed than its `max_failures` allows.
pub const KIND_MAX_FAILURES: &str = "tutti/max-failures";
/// A node whose capabilities the node consumes did not succeed in the same job.
pub const KIND_DEPENDENCY: &str = "tutti/dependency-failed";
/// Another job runs Puppet on the node, or is about to.
const KIND_LEFT_TO_JOB: &str = "tutti/left-to-other-job";
/// A puppetserver compiles the node's catalogs, so it cannot run with a version that its job names.
pub const KIND_PUPPETSERVER: &str = "tutti/catalogs-of-puppetserver";
/// It is unknown if the action ran, and how it ended.
pub const KIND_UNKNOWN: &str = "tutti/outcome-unknown";
/// The action ran; its agent cannot return its result.
pub const KIND_RESULT_LOST: &str = "tutti/result-lost";

/// Prefix of an agent's error if it carried the action out and cannot determine how that ended.
const UNDETERMINED: &str = "the outcome is not known";

/// Time since which a node has not been connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AbsenceStart {
    /// Its session ended at this time.
    Gone(Timestamp),
    /// The node has not connected since this server started, at this time.
    Start(Timestamp),
}

/// Reason that a run is over without an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunVerdict {
    NotConnected,
    /// The node is reached over SSH, which Puppet runs do not support.
    NeedsAgent,
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
    /// The node's Puppet lacks options that an on-demand run needs.
    OldPuppet {
        version: String,
    },
    /// The job names a version of the code, and a puppetserver compiles the node's catalogs.
    OfPuppetserver {
        reason: String,
    },
    /// There are no parameters for the node, for the reason in this `_error`.
    NoParams(Box<Value>),
    /// A broker or the node refused the request, with this message.
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
        /// The agent is a pxp-agent, which cannot tell some outcomes.
        is_stock: bool,
    },
    /// The node did not come back within the time allowed for a silent one.
    Away {
        since: AbsenceStart,
        seconds: u64,
    },
    Unknown(UnknownReason),
    /// The action ran to its end; its agent reports with this message why its result is lost.
    /// `None`: the exit code is not known either.
    ResultLost {
        words: String,
        exit_code: Option<i64>,
    },
    /// The agent, or the end of an SSH session, carried the action out and cannot determine how it
    /// ended, with this message.
    Undetermined {
        words: String,
        via: NodeTransport,
    },
    /// The job was stopped before the run started.
    NotStarted,
    /// Too many nodes of the job failed before the run started.
    TooManyFailures(Arc<HaltReason>),
    /// A node that this one waits for did not succeed.
    DependencyFailed {
        /// The node that it waits for.
        waits_for: Certname,
        /// The node whose run did not succeed: that one, or one that it waits for in turn.
        failed: Certname,
    },
    /// This other job runs Puppet on the node, or is about to.
    LeftToJob(JobNumber),
    /// The command was answered with an error, but its job was stored all the same.
    Withdrawn,
    /// The store refuses to record the start of the run.
    Unmarked,
    /// The store refuses to record the end of the run.
    Unrecorded,
}

// === impl AbsenceStart ===

impl AbsenceStart {
    pub(crate) fn timestamp(self) -> Timestamp {
        match self {
            Self::Gone(since) | Self::Start(since) => since,
        }
    }
}

// === impl RunVerdict ===

impl RunVerdict {
    /// The verdict for a request that was answered with an error, given this evidence about the
    /// action.
    pub(crate) fn from_error(evidence: ErrorEvidence, words: &str, via: NodeTransport) -> Self {
        let words = words.to_owned();
        match evidence {
            ErrorEvidence::NotRun => Self::Refused(words),
            ErrorEvidence::ResultLost => Self::ResultLost {
                words,
                exit_code: None,
            },
            ErrorEvidence::Undetermined | ErrorEvidence::Unproved => {
                Self::Undetermined { words, via }
            }
        }
    }

    /// The agent was asked to cancel and did not report in time.
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
            Self::NotStarted
            | Self::TooManyFailures(_)
            | Self::DependencyFailed { .. }
            | Self::LeftToJob(_)
            | Self::Withdrawn => RunState::Skipped,
            Self::ResultLost { .. } => RunState::Failed,
            _ => RunState::Errored,
        }
    }

    /// The run's result as stored.
    pub(crate) fn result(&self, node: &Certname) -> Value {
        let details = match self {
            Self::ResultLost {
                exit_code: Some(exit_code),
                ..
            } => json!({ "exit_code": exit_code }),
            Self::TooManyFailures(reason) => reason.details(),
            Self::DependencyFailed { waits_for, failed } => {
                json!({ "waits_for": waits_for, "failed": failed })
            }
            Self::LeftToJob(job) => json!({ "job": job.to_string() }),
            Self::NoParams(error) => return json!({"_error": error}),
            _ => json!({}),
        };
        json!({"_error": {"kind": self.kind(), "msg": self.message(node), "details": details}})
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::NotConnected
            | Self::NeedsAgent
            | Self::Busy
            | Self::OtherEnvironment { .. }
            | Self::NoParams(_)
            | Self::Refused(_)
            | Self::Unreadable
            | Self::Unmarked => KIND_EXECUTION,
            Self::TooManyFailures(_) => KIND_MAX_FAILURES,
            Self::DependencyFailed { .. } => KIND_DEPENDENCY,
            Self::LeftToJob(_) => KIND_LEFT_TO_JOB,
            Self::Conflict { .. } => KIND_CONFLICT,
            Self::OldPuppet { .. } => KIND_OLD_PUPPET,
            Self::OfPuppetserver { .. } => KIND_PUPPETSERVER,
            Self::TimedOut { .. } => KIND_TIMEOUT,
            Self::Stopped { .. } | Self::NotStarted | Self::Withdrawn => KIND_STOPPED,
            Self::ResultLost { .. } => KIND_RESULT_LOST,
            Self::Silent { .. }
            | Self::Away { .. }
            | Self::Unknown(_)
            | Self::Undetermined { .. }
            | Self::Unrecorded => KIND_UNKNOWN,
        }
    }
}

/// True if an agent's error means that the end of the action cannot be determined.
pub(crate) fn is_undetermined(words: &str) -> bool {
    words.starts_with(UNDETERMINED)
}

/// True if a stored result is of a run that was given up, so that a real outcome that arrives later
/// is news. A run that was ended and reported as such has its exit code in the result.
pub(crate) fn is_given_up_result(result: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct StoredResult<'a> {
        #[serde(borrow, rename = "_error")]
        error: Option<StoredError<'a>>,
    }
    #[derive(serde::Deserialize)]
    struct StoredError<'a> {
        #[serde(borrow)]
        kind: std::borrow::Cow<'a, str>,
        #[serde(default)]
        details: StoredErrorDetails,
    }
    #[derive(Default, serde::Deserialize)]
    struct StoredErrorDetails {
        exit_code: Option<i64>,
    }
    let error = serde_json::from_str::<StoredResult<'_>>(result)
        .ok()
        .and_then(|shape| shape.error);
    error.is_some_and(|error| {
        [KIND_TIMEOUT, KIND_STOPPED, KIND_UNKNOWN, KIND_RESULT_LOST].contains(&error.kind.as_ref())
            && error.details.exit_code.is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_flight::UnexpectedAgent;

    fn every() -> Vec<RunVerdict> {
        use CancelReason::{Stop, Timeout};
        let mut all = vec![
            RunVerdict::NotConnected,
            RunVerdict::NeedsAgent,
            RunVerdict::Busy,
            RunVerdict::OtherEnvironment {
                own: "test".to_owned(),
                asked: "production".to_owned(),
            },
            RunVerdict::Conflict {
                what: "the groups of db1 do not agree".to_owned(),
                asked: "production".to_owned(),
            },
            RunVerdict::OldPuppet {
                version: "4.10.12".to_owned(),
            },
            RunVerdict::OfPuppetserver {
                reason: "moved later".to_owned(),
            },
            RunVerdict::Refused("unknown module: task".to_owned()),
            RunVerdict::Unreadable,
            RunVerdict::TimedOut {
                seconds: 5,
                told: false,
            },
            RunVerdict::cancel_unanswered(Timeout, 5),
            RunVerdict::cancel_unanswered(Stop, 5),
            RunVerdict::Stopped { told: false },
            RunVerdict::Silent {
                asked: 35,
                is_stock: false,
            },
            RunVerdict::Away {
                since: AbsenceStart::Start(Timestamp::UNIX_EPOCH),
                seconds: 420,
            },
            RunVerdict::from_error(
                ErrorEvidence::Undetermined,
                UNDETERMINED,
                NodeTransport::Agent,
            ),
            RunVerdict::from_error(ErrorEvidence::Unproved, "?", NodeTransport::Ssh),
            RunVerdict::Unmarked,
            RunVerdict::Unrecorded,
        ];
        let why = [
            UnknownReason::NoSpoolId,
            UnknownReason::Forgotten,
            UnknownReason::OtherAgent(UnexpectedAgent {
                expected: uuid::Uuid::from_u128(1),
                found: None,
            }),
            UnknownReason::TooLongAgo,
            UnknownReason::ResentOften,
        ];
        all.extend(why.map(RunVerdict::Unknown));
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
        for verdict in [RunVerdict::NotStarted, RunVerdict::Withdrawn] {
            assert_eq!(verdict.state(), RunState::Skipped);
        }
    }

    #[test]
    fn only_a_given_up_run_leaves_room_for_news() {
        let node: Certname = "db1".parse().unwrap();
        let guess = |verdict: RunVerdict| is_given_up_result(&verdict.result(&node).to_string());
        assert!(guess(RunVerdict::Silent {
            asked: 35,
            is_stock: true
        }));
        assert!(guess(RunVerdict::TimedOut {
            seconds: 1,
            told: true
        }));
        assert!(guess(RunVerdict::Stopped { told: false }));
        assert!(!guess(RunVerdict::NotConnected));
        assert!(!is_given_up_result(r#"{"_output":"hello"}"#));
        let ended = r#"{"_error":{"kind":"tutti/timeout","msg":"","details":{"exit_code":143}}}"#;
        assert!(!is_given_up_result(ended));
        assert!(!is_given_up_result(r#"{"_error":"text of a task"}"#));
        assert!(!is_given_up_result("not json"));
    }

    #[test]
    fn an_error_becomes_what_it_proves_and_no_more() {
        let node: Certname = "db1".parse().unwrap();
        let words = "the outcome is not known: the machine was restarted while the action ran";
        for evidence in [ErrorEvidence::Undetermined, ErrorEvidence::Unproved] {
            let told = RunVerdict::from_error(evidence, words, NodeTransport::Agent);
            assert_eq!(told.kind(), KIND_UNKNOWN);
            let message = told.message(&node);
            assert!(
                message.contains(&format!("its agent says: {words}")),
                "{message}"
            );
        }
        let refused = RunVerdict::Refused("unknown module: task".to_owned());
        let told = RunVerdict::from_error(
            ErrorEvidence::NotRun,
            "unknown module: task",
            NodeTransport::Agent,
        );
        assert_eq!(told, refused);
    }

    #[test]
    fn a_lost_result_is_a_failure_with_the_exit_code_and_never_called_not_run() {
        let node: Certname = "db1".parse().unwrap();
        let lost = |exit_code| RunVerdict::ResultLost {
            words: "invalid UTF-8 on stdout".to_owned(),
            exit_code,
        };
        for (exit_code, expected) in [(Some(0), "exit code 0"), (None, "exit code is not known")] {
            let verdict = lost(exit_code);
            assert_eq!(verdict.state(), RunState::Failed);
            let message = verdict.message(&node);
            assert!(
                message.contains("ran") && message.contains(expected),
                "{message}"
            );
            assert!(!message.contains("did not run"), "{message}");
        }
        let result = |exit_code| lost(exit_code).result(&node);
        assert_eq!(
            result(Some(3))["_error"]["details"],
            json!({"exit_code": 3})
        );
        assert!(!is_given_up_result(&result(Some(3)).to_string()));
        assert!(
            is_given_up_result(&result(None).to_string()),
            "an outcome is news"
        );
    }

    #[test]
    fn a_node_without_an_agent_says_nothing_by_its_agent() {
        let words = "the outcome is not known: the connection broke";
        let verdict =
            RunVerdict::from_error(ErrorEvidence::Undetermined, words, NodeTransport::Ssh);
        assert_eq!(verdict.kind(), KIND_UNKNOWN);
        let message = verdict.message(&"db1".parse().unwrap());
        let begin = "how it ended on db1 is not known (it ran over SSH): the connection broke; ";
        assert!(message.starts_with(begin), "{message}");
        assert!(!message.contains("agent"), "{message}");
    }
}
