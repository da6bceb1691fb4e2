//! `tutti accept-older-history`: continues with a database that is older than the last known state.
//! Main function: [`run`].
//!
//! Invariant: without `--yes` nothing is changed; with it, the loss is recorded in the audit log
//! before a server can start.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::Result;
use cli::say;
use serde_json::json;
use store::{OlderHistory, OpenStoreError, Store, StoreConfig};

use crate::config::Config;

/// Continue with a database that is older than the last known state (a restored backup, a standby
/// that lagged)
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The server's configuration
    #[arg(long, env = "TUTTI_CONFIG", hide_env_values = true, default_value = crate::config::DEFAULT_PATH, value_name = "FILE")]
    config: PathBuf,
    /// Accept the loss; without this option only the difference is printed
    #[arg(long)]
    yes: bool,
}

/// Prints the difference, or accepts it.
pub(crate) fn run(options: &Options) -> Result<()> {
    let config = Config::read(&options.config)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match options.yes {
            true => Box::pin(accept(&config)).await,
            false => Box::pin(compare(&config)).await,
        }
    })
}

async fn compare(config: &Config) -> Result<()> {
    match Store::open(&config.store_config()).await {
        Ok(store) => {
            store.close().await;
            say!("The database is as new as this server knows it: nothing is to be done.");
            Ok(())
        }
        Err(OpenStoreError::HistoryWentBack(older)) => {
            print_difference(&older);
            say!(
                "If the newer database can be brought back, do that instead. With --yes the server \
                 goes on with this one:\n\
                 - runs that waited then may have been sent since: their agents are asked, and \
                 nothing is sent again;\n\
                 - plans that ran then end as failed;\n\
                 - slots of schedules until now are passed over;\n\
                 - passwords, tokens, roles and permissions are those of then: look through them."
            );
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

async fn accept(config: &Config) -> Result<()> {
    let settings = StoreConfig {
        older_history: true,
        ..config.store_config()
    };
    let store = Store::open(&settings).await?;
    let Some(older) = store.older_history().cloned() else {
        store.close().await;
        say!("The database is as new as this server knows it: nothing is to be done.");
        return Ok(());
    };
    print_difference(&older);
    // Before the change: if it cannot be recorded, nothing is changed.
    let audit = crate::audit::open(config, store.clone()).await;
    let recorded = audit
        .record(&acceptance_event(&older), &audit::AuditOutcome::default())
        .await;
    audit.shutdown().await;
    recorded?;
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    let accepted = store.accept_older_history(now_ms).await?;
    store.close().await;
    if let Some(accepted) = accepted {
        say!(
            "It is the history now. {} runs that waited are asked about at their agents; {} plans \
             were ended; slots of {} schedules were passed over. Start the server.",
            accepted.runs,
            accepted.plans,
            accepted.schedules
        );
    }
    Ok(())
}

fn acceptance_event(older: &OlderHistory) -> audit::AuditedAction {
    let mark = |mark: &store::HistoryMark| {
        json!({
            "epoch": mark.epoch, "commits": mark.commits, "job": mark.job, "event": mark.event,
            "audit": mark.audit,
        })
    };
    let mut details = serde_json::Map::new();
    details.insert("known".to_owned(), mark(&older.last_known));
    details.insert("found".to_owned(), mark(&older.in_database));
    audit::AuditedAction {
        actor: audit::AuditActor::server(),
        service: "store".to_owned(),
        action: "accept_older_history".to_owned(),
        details,
        ..audit::AuditedAction::default()
    }
}

fn print_difference(older: &OlderHistory) {
    say!("{older}.");
    let (known, found) = (&older.last_known, &older.in_database);
    let at = jiff::Timestamp::from_millisecond(known.at_ms);
    if let Ok(at) = at
        && known.at_ms > 0
    {
        say!("The server wrote its numbers down at {at}.");
    }
    if known.job > found.job {
        say!("Lost are jobs {} to {}.", found.job + 1, known.job);
    }
    if known.audit > found.audit {
        let (first, last) = (found.audit + 1, known.audit);
        say!("Lost are entries {first} to {last} of the audit.");
    }
}
