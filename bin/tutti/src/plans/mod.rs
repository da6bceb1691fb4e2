//! The engine that runs plans. Main function: [`start`].

mod apply_compiler;
mod nodes;
mod owner;
mod owner_rights;
mod programs;

use ::catalogs::Catalogs;
use std::sync::Arc;

use ::plans::{JobPlanEffects, Plans, PlansConfig};
use agent_catalogs::AgentCatalogs;
use anyhow::{Context as _, Result};
use classifier::Classifier;
use convergence::{ImportedData, RerunLimiter};
use environments::{BlobStore, CodeReader};
use evaluator::defaults::SHARED_BYTES_MAX;
use evaluator::{ParseCache, SharedBytes};
use fabric::Fabric;
use inventory::Inventory;
use jobs::{FleetResolver, Jobs};
use pki::seal::SealKey;
use plan_language::{PlanServices, PuppetPlans};
use rbac::Rbac;
use store::Store;

use self::apply_compiler::PlanCatalogs;
use self::nodes::PlanNodes;
use self::owner_rights::OwnerRestrictedJobs;
use self::programs::{CatalogImports, ServerPlans};
use crate::config::Config;

/// Parts of the server that plans use.
pub(crate) struct PlanDependencies<'a> {
    pub(crate) store: &'a Store,
    pub(crate) jobs: &'a Jobs,
    pub(crate) access: &'a Rbac,
    pub(crate) code: &'a Arc<dyn CodeReader>,
    pub(crate) blobs: &'a BlobStore,
    pub(crate) inventory: &'a Inventory,
    pub(crate) classifier: &'a Classifier,
    pub(crate) fabric: &'a Fabric,
    pub(crate) catalogs: &'a Catalogs,
    pub(crate) agent_catalogs: &'a AgentCatalogs,
    pub(crate) reruns: &'a Arc<RerunLimiter>,
}

/// Starts the engine, and resumes unfinished plans.
pub(crate) async fn start(config: &Config, reach: PlanDependencies<'_>) -> Result<Plans> {
    let seal = SealKey::open_or_create(&config.data_dir.join("seal.key"))?;
    let effects = OwnerRestrictedJobs {
        jobs: reach.jobs.clone(),
        access: reach.access.clone(),
        effects: JobPlanEffects::new(reach.jobs.clone(), reach.store.clone()),
    };
    let imported_data: Arc<dyn ImportedData> =
        Arc::new(CatalogImports(reach.agent_catalogs.clone()));
    let puppet_plans = PuppetPlans::new(PlanServices {
        code: Arc::clone(reach.code),
        blobs: reach.blobs.clone(),
        nodes: Arc::new(PlanNodes {
            access: reach.access.clone(),
            inventory: reach.inventory.clone(),
            classifier: reach.classifier.clone(),
            fleet: FleetResolver::new(reach.inventory.clone(), reach.classifier.clone()),
            fabric: reach.fabric.clone(),
        }),
        imported_data: Arc::clone(&imported_data),
        reruns: Arc::clone(reach.reruns),
        pass_planner: Arc::new(reach.jobs.clone()),
        apply_compiler: Arc::new(PlanCatalogs(reach.catalogs.clone())),
        parsed: ParseCache::new(),
        shared_bytes: Arc::new(SharedBytes::new(SHARED_BYTES_MAX)),
        data: Arc::default(),
        hiera_config: Some(config.code.hiera_config()),
    });
    let programs = ServerPlans {
        puppet_plans,
        imported_data,
        reruns: Arc::clone(reach.reruns),
    };
    let plans = Plans::start(
        PlansConfig::default(),
        reach.store.clone(),
        Arc::new(effects),
        Arc::new(programs),
        Arc::new(seal),
        Arc::new(crate::server::steady_clock(config)),
    );
    plans.await.context("cannot take up the plans of before")
}
