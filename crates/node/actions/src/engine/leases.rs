//! Answers to `tutti hold_lease`, `release_lease` and `show_lease`: [`hold`], [`release`], [`show`], and the start of the
//! lease holder.
//!
//! Invariant: an answer never waits for Puppet; the lease holder does.

use std::process::Stdio;
use std::sync::Arc;

use error_causes::chain;
use pxp::action::{HoldLeaseParams, ReleaseLeaseParams, ShowLeaseResult};
use serde_json::{Value, json};
use tokio::process::Command;

use super::disk::run_blocking;
use super::requester::ActionRequester;
use super::state::ActionEngineState;
use crate::leases::LeaseError;
use crate::modules::LEASE_HOLDER;

/// Holds or renews a lease. The error is a text for the requester.
pub(super) async fn hold(
    shared: &Arc<ActionEngineState>,
    asker: &ActionRequester,
    params: HoldLeaseParams,
) -> Result<Value, String> {
    let (leases, requester) = (shared.leases.clone(), asker.uri.to_string());
    let lease = params.lease;
    let held = change(move || leases.hold(&params, &requester)).await?;
    if held.needs_holder {
        tracing::info!(%lease, requester = %asker.uri, "lease");
        start_holder(shared)?;
    }
    Ok(serde_json::to_value(held.result).expect("texts and numbers"))
}

/// Ends a lease. The error is a text for the requester.
pub(super) async fn release(
    shared: &Arc<ActionEngineState>,
    params: ReleaseLeaseParams,
) -> Result<Value, String> {
    let (leases, lease) = (shared.leases.clone(), params.lease);
    let released = change(move || leases.release(&params)).await?;
    if released {
        let lease = lease.map(tracing::field::display);
        tracing::info!(lease, "lease released");
    }
    Ok(json!({ "released": released }))
}

/// The lease of the node. The error is a text for the requester.
pub(super) async fn show(shared: &Arc<ActionEngineState>) -> Result<Value, String> {
    let leases = shared.leases.clone();
    let lease = change(move || leases.show_to_orchestrator()).await?;
    Ok(serde_json::to_value(ShowLeaseResult { lease }).expect("texts and numbers"))
}

/// Starts a lease holder if there is a lease without one.
pub(super) async fn resume(shared: &Arc<ActionEngineState>) -> Result<(), String> {
    let leases = shared.leases.clone();
    match change(move || leases.resume()).await? {
        true => start_holder(shared),
        false => Ok(()),
    }
}

async fn change<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LeaseError> + Send + 'static,
) -> Result<T, String> {
    let done = run_blocking(move || Ok(work())).await;
    done.map_err(|error| error.to_string())?
        .map_err(|error| chain(&error))
}

/// Starts a lease holder, which outlives the agent. If there is one already, the new one ends by itself.
fn start_holder(shared: &ActionEngineState) -> Result<(), String> {
    let config = &shared.config;
    let (program, args) = config
        .wrapper
        .split_first()
        .expect("the engine checks its wrapper");
    let spawned = Command::new(program)
        .args(args)
        .arg(LEASE_HOLDER)
        .arg(shared.spool.directory())
        .args(&config.modules_config_dir)
        .env_clear()
        .envs(shared.environment.merge_variables(Vec::new()))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    // tokio reaps it when it ends.
    spawned.map(drop).map_err(|error| {
        format!(
            "cannot start the lease holder {}: {error}",
            program.display()
        )
    })
}
