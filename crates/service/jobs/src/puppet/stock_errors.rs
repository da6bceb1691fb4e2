//! Causes of errors of pxp-module-puppet: [`StockError`].
//!
//! The module of a pxp-agent reports the type of an error and a short text. `tutti-agent` also
//! reports a cause and the next step, so its errors are not looked up here.

/// An error of pxp-module-puppet, by its `error_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StockError {
    /// The cause, as `tutti-agent` names it.
    pub(super) cause: &'static str,
    /// The next step for the operator.
    pub(super) next_step: &'static str,
}

impl StockError {
    pub(super) fn from_type(error_type: &str) -> Option<Self> {
        let (cause, next_step) = match error_type {
            "agent_disabled" => (
                "disabled",
                "`puppet agent --enable` on the node allows runs again",
            ),
            "agent_locked" => (
                "already_running",
                "look at the process that runs Puppet on the node, and run it again when that has ended",
            ),
            "no_puppet_bin" => (
                "not_installed",
                "install Puppet there, or name it as `puppet_bin` in pxp-module-puppet.conf",
            ),
            "agent_failed_to_start" => (
                "not_started",
                "look at the log of pxp-agent on the node, and run `puppet agent --test` there",
            ),
            "no_last_run_report" => (
                "no_report",
                "look at Puppet's log on the node, and whether `report` is true in its puppet.conf",
            ),
            "invalid_last_run_report" => (
                "invalid_report",
                "look at this file on the node, and whether its disk is full",
            ),
            _ => return None,
        };
        Some(Self { cause, next_step })
    }
}

/// The next step after a failed run with a report but without failed resources, for which a
/// pxp-agent reports no error of Puppet's.
pub(super) const NO_ERRORS_TOLD: &str = "a pxp-agent tells no more: look at Puppet's log on the node, or run `puppet agent --test` there";
