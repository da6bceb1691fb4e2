//! Commands that work on files of this machine, without a server. Main type: [`LocalCommand`].
//!
//! Invariant: this crate parses them and links no engine; the program runs them with the crate
//! `local-commands`, through a [`LocalRunner`].

use std::pin::Pin;

use crate::audit::AuditVerification;
use crate::{VerbResult, code};

/// A command for the files of this machine, with its arguments.
#[derive(Debug)]
pub enum LocalCommand {
    /// `tutti audit verify`: of the API, of an exported file, or of the database.
    AuditVerify(Box<AuditVerification>),
    /// `tutti code deploy --local`.
    CodeDeploy(code::DeployOptions),
    /// `tutti code versions --local`.
    CodeVersions(code::VersionsOptions),
    /// `tutti code rollback --local`.
    CodeRollback(code::RollbackOptions),
    /// `tutti code verify --local`.
    CodeVerify(code::VerifyOptions),
    /// `tutti code id`.
    CodeId(code::IdOptions),
    /// `tutti code content`.
    CodeContent(code::ContentOptions),
    /// `tutti code puppetserver-setup`.
    PuppetserverSetup(code::SetupOptions),
}

/// The exit code of a command, once it ends.
pub type LocalExit = Pin<Box<dyn Future<Output = VerbResult>>>;

/// Runs a local command.
pub type LocalRunner = fn(LocalCommand) -> LocalExit;
