//! `tutti audit …`: the audit log and the check of its hash chain. Main type: [`AuditVerb`].

mod export;
mod list;
mod pages;
mod verify;

use crate::VerbResult;
use crate::client::ApiClient;
use crate::local::{LocalCommand, LocalRunner};
use crate::settings::ConnectionFlags;

pub use pages::AuditPages;
pub use verify::{AuditVerification, AuditVerifyOptions, RecordedHead};

/// Verbs of `tutti audit`.
#[derive(Debug, clap::Subcommand)]
pub enum AuditVerb {
    /// List audit entries, the newest first: actions, users and refusals
    List(list::Options),
    /// Write every entry with its hashes, as lines of JSON
    Export(export::Options),
    /// Check that no entry was changed, removed, moved or inserted
    ///
    /// Exit code 0: the chain is intact; 1: it is not, and the first bad entry is named; 2: it
    /// could not be checked.
    Verify(AuditVerifyOptions),
}

pub(crate) async fn run(
    verb: AuditVerb,
    connection: ConnectionFlags,
    run_local: LocalRunner,
) -> VerbResult {
    match verb {
        AuditVerb::List(options) => list::run(&options, &ApiClient::with_token(&connection)?).await,
        AuditVerb::Export(options) => export::run(&options, &AuditPages::open(&connection)?).await,
        AuditVerb::Verify(options) => {
            let verification = AuditVerification {
                options,
                connection,
            };
            run_local(LocalCommand::AuditVerify(Box::new(verification))).await
        }
    }
}
