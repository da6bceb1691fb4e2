//! Deploys a part of an environment: [`deploy_modules`], [`deploy_control`].
//!
//! Invariant: if no version is live yet, the whole environment is deployed, since a part alone is
//! incomplete.

use std::sync::Arc;

use super::{
    DeploymentTools, DeploymentWork, PerformError, ResolveRoundResult, WorkOutcome,
    build_and_notify, deploy, find_environment, switch_unless_dry_run,
};
use code_store::version_lock::is_module_name;

/// Deploys some modules, or the whole environment if no version is live yet.
pub(super) async fn deploy_modules(
    tools: &DeploymentTools,
    round: &ResolveRoundResult,
    work: &DeploymentWork,
    names: &[String],
    performed: &mut WorkOutcome,
) -> Result<(), PerformError> {
    let Some(live) = tools.deployer.live_lock(&work.environment) else {
        return Box::pin(deploy(tools, round, work, performed)).await;
    };
    let round = round.as_ref().map_err(Arc::clone)?;
    let built = tools
        .deployer
        .build_modules(&work.environment, names, round);
    let built = Box::pin(built).await?;
    let there = &built.as_ref().map_or(&live, |built| &built.lock).modules;
    let there: Vec<String> = there.iter().map(|module| module.name.clone()).collect();
    let is_there = |name: &&String| there.iter().any(|module| is_module_name(module, name));
    let missing = names.iter().find(|name| !is_there(name)).cloned();
    match (built, missing) {
        (Some(built), None) => switch_unless_dry_run(tools, work, built, performed).await,
        (_, missing) => Err(PerformError::NoModule {
            environment: work.environment.clone(),
            module: missing.unwrap_or_else(|| names.join(", ")),
            there,
        }),
    }
}

/// Deploys the control repository and keeps the modules; deploys both if no version is live yet.
pub(super) async fn deploy_control(
    tools: &DeploymentTools,
    round: &ResolveRoundResult,
    work: &DeploymentWork,
    performed: &mut WorkOutcome,
) -> Result<(), PerformError> {
    if tools.deployer.live_lock(&work.environment).is_none() {
        return Box::pin(deploy(tools, round, work, performed)).await;
    }
    let round = round.as_ref().map_err(Arc::clone)?;
    let found = find_environment(tools, round, &work.environment).await?;
    let found = found.ok_or_else(|| PerformError::NoBranch(work.environment.clone()))?;
    let build = tools.deployer.build_control(&found, round);
    let built = Box::pin(build_and_notify(tools, work, &found, build, performed)).await?;
    switch_unless_dry_run(tools, work, built, performed).await
}
