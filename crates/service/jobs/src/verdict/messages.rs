//! Messages to the operator about runs that are over without an outcome.
//!
//! Invariant: each message has the cause, the node, and the next step; text from a node is clipped.

use std::borrow::Cow;
use std::fmt;

use pcp::Certname;

use super::{AbsenceStart, RunVerdict, UNDETERMINED};
use crate::defaults::NODE_MESSAGE_BYTES;
use crate::in_flight::{UnexpectedAgent, UnknownReason};
use crate::over_ssh::NodeTransport;
use crate::puppet::OLDEST;

/// The usual cause of a silence about one action, if the agent is a pxp-agent and connected.
const UNTELLABLE: &str = " (a pxp-agent over PCP 2 tells neither result nor status of an action whose standard error \
     is not UTF-8)";

// === impl RunVerdict ===

impl RunVerdict {
    pub(crate) fn message(&self, node: &Certname) -> String {
        match self {
            Self::NotConnected => format!(
                "{node} is not connected; is tutti-agent (or pxp-agent) running there, and does \
                 `tutti node show {node}` list it?"
            ),
            Self::NeedsAgent => format!(
                "{node} has no agent, only an SSH connection, and Puppet runs on demand need one: \
                 connect tutti-agent there (`tutti-agent bootstrap`), or run a task that starts Puppet"
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
            Self::OldPuppet { version } => format!(
                "{node} has Puppet {}, by the facts that it told last, and a run on demand needs \
                 {OLDEST} or newer (`--job-id`); nothing was sent: upgrade Puppet there, or, if that \
                 is done already, let it run once by itself, so that its facts are new",
                clip(version)
            ),
            Self::OfPuppetserver { reason } => format!(
                "the catalogs of {node} are compiled by a puppetserver{}, which knows no version but the live one, and \
                 the job names a version (code_id); nothing was sent: run it without code_id, or choose \
                 compiler = \"native\" for the node in [catalogs]",
                shown_reason(reason)
            ),
            Self::NoParams(error) => {
                let msg = error["msg"].as_str().unwrap_or("it has no parameters");
                clip(msg).to_owned()
            }
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
            Self::Silent { asked, is_stock } => {
                let cause = if *is_stock { UNTELLABLE } else { "" };
                format!(
                    "{node} gave no answer to {asked} status requests{cause}; the action may have run, \
                     run in part or not at all: look at the node before running it again"
                )
            }
            Self::Away { since, seconds } => format!(
                "{node} is {since}; the server waited {seconds} s for it, as long as for a silent \
                 node. The action may have run, run in part or not at all: look at the node before \
                 running it again"
            ),
            Self::ResultLost { words, exit_code } => {
                let code = match exit_code {
                    Some(code) => format!("with exit code {code}"),
                    None => "its exit code is not known".to_owned(),
                };
                format!(
                    "it ran on {node} and ended ({code}), but its result is lost, its agent says: {}; \
                     running it again repeats what it did",
                    clip(words)
                )
            }
            Self::Unknown(why) => format!(
                "how it ended on {node} is not known: {}; the action may have run, run in part or \
                 not at all: look at the node before running it again",
                describe_unknown(*why)
            ),
            Self::Undetermined { words, via } => {
                let told = match via {
                    NodeTransport::Agent => format!(", its agent says: {}", clip(words)),
                    // No agent is connected that could report.
                    NodeTransport::Ssh => {
                        format!(" (it ran over SSH){}", clip(strip_error_prefix(words)))
                    }
                };
                format!(
                    "how it ended on {node} is not known{told}; the action may have run, run in part \
                     or not at all: look at the node before running it again"
                )
            }
            Self::NotStarted => "the job was stopped before this node started".to_owned(),
            Self::TooManyFailures(reason) => {
                format!("nothing was sent to {node}: {reason}")
            }
            Self::DependencyFailed { waits_for, failed } if waits_for == failed => format!(
                "nothing was sent to {node}: it consumes what {failed} produces, whose run did not succeed"
            ),
            Self::DependencyFailed { waits_for, failed } => format!(
                "nothing was sent to {node}: it consumes what {waits_for} produces, which did not run because of \
                 {failed}, whose run did not succeed"
            ),
            Self::LeftToJob(job) => {
                format!("nothing was sent to {node}: job {job} runs Puppet there, or is about to")
            }
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
}

impl fmt::Display for AbsenceStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(since) => write!(f, "not connected since {since:.0}"),
            Self::Start(start) => write!(
                f,
                "not connected since before the server's start at {start:.0}"
            ),
        }
    }
}

/// The error without its prefix.
fn strip_error_prefix(words: &str) -> &str {
    words.strip_prefix(UNDETERMINED).unwrap_or(words)
}

/// The reason in parentheses, if there is one.
fn shown_reason(reason: &str) -> String {
    match reason {
        "" => String::new(),
        reason => format!(" ({})", clip(reason)),
    }
}

/// `text` without the part beyond the bound, cut at a character.
pub(crate) fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(NODE_MESSAGE_BYTES)]
}

fn describe_unknown(why: UnknownReason) -> Cow<'static, str> {
    let words = match why {
        UnknownReason::OtherAgent(UnexpectedAgent { expected, found }) => {
            let found = found.map_or("an agent without a spool id".to_owned(), |spool_id| {
                format!("an agent with the spool {spool_id}")
            });
            return Cow::Owned(format!(
                "it was sent to the agent with the spool {expected}, and {found} answers under \
                 this certname: the spool was emptied or purged, the node was set up anew, or two \
                 agents share the certname"
            ));
        }
        UnknownReason::NoSpoolId => {
            "its agent knows nothing of the run (a pxp-agent says the same of one it never got, \
             one it lost and one that died)"
        }
        UnknownReason::Forgotten => "its agent confirmed the run and has no record of it any more",
        UnknownReason::TooLongAgo => "its agent knows nothing of the run and may have purged it",
        UnknownReason::ResentOften => {
            "its agent never recorded the run, although it was sent again"
        }
        UnknownReason::OverSsh => {
            "it ran over SSH, the server was restarted meanwhile, and nothing on the node keeps the \
             outcome"
        }
    };
    Cow::Borrowed(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let text = "ä".repeat(NODE_MESSAGE_BYTES);
        assert_eq!(clip(&text).len(), NODE_MESSAGE_BYTES);
        assert_eq!(clip("short"), "short");
    }
}
