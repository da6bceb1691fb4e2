//! The audit log of a server: [`open`], and the path of its head, which is kept beside the
//! database.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cli::CommandFailure;
use cli::audit::AuditVerification;
use store::Store;

use crate::config::Config;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Opens the audit log.
pub(crate) async fn open(config: &Config, store: Store) -> audit::Audit {
    let settings = audit::AuditConfig {
        head_file: Some(head_file(config)),
        keep: config.audit.keep_days.map(|days| DAY * days),
    };
    Box::pin(audit::Audit::open(store, settings)).await
}

/// Path of the head. It is not in the database: a user who can change the database may not be able
/// to change this file.
pub(crate) fn head_file(config: &Config) -> PathBuf {
    config.data_dir.join("audit-head")
}

/// `tutti audit verify --offline`: reads the store that the configuration names.
pub(crate) async fn verify_store(
    verification: Box<AuditVerification>,
) -> Result<u8, CommandFailure> {
    let path = verification
        .offline()
        .unwrap_or(Path::new(crate::config::DEFAULT_PATH));
    let config = match Config::read(path) {
        Ok(config) => config,
        // The error draws the line of the file, which a `CommandFailure` would not.
        Err(error) => {
            crate::error_report::report_error(&error.into(), cli::EXIT_ERROR);
            return Ok(cli::EXIT_ERROR);
        }
    };
    let head_file = head_file(&config);
    Box::pin(local_commands::audit::verify_store(
        &verification.options,
        config.store_url(),
        &head_file,
    ))
    .await
}
