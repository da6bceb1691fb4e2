//! Deploys a part of an environment: [`modules`], [`control`].
//!
//! Invariant: if no version is live yet, the whole environment is deployed, since a part alone is incomplete.

use std::sync::Arc;

use super::{Look, PerformError, Performed, Tools, Work, building, deploy, find, finish};
use code_store::lock::is_module_name;

/// Deploys some modules, or the whole environment if no version is live yet.
pub(super) async fn modules(
    tools: &Tools,
    round: &Look,
    work: &Work,
    names: &[String],
    performed: &mut Performed,
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
        (Some(built), None) => finish(tools, work, built, performed).await,
        (_, missing) => Err(PerformError::NoModule {
            environment: work.environment.clone(),
            module: missing.unwrap_or_else(|| names.join(", ")),
            there,
        }),
    }
}

/// Deploys the control repository and keeps the modules; deploys both if no version is live yet.
pub(super) async fn control(
    tools: &Tools,
    round: &Look,
    work: &Work,
    performed: &mut Performed,
) -> Result<(), PerformError> {
    if tools.deployer.live_lock(&work.environment).is_none() {
        return Box::pin(deploy(tools, round, work, performed)).await;
    }
    let round = round.as_ref().map_err(Arc::clone)?;
    let found = find(tools, round, &work.environment).await?;
    let found = found.ok_or_else(|| PerformError::NoBranch(work.environment.clone()))?;
    let build = tools.deployer.build_control(&found, round);
    let built = Box::pin(building(tools, work, &found, build, performed)).await?;
    finish(tools, work, built, performed).await
}
