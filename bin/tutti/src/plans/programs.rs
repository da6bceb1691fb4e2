//! The programs of all plan jobs: [`ServerPlans`].
//!
//! Invariant: a plan job has the same program after a restart of the server.

use std::sync::Arc;

use ::plans::{PlanFault, PlanLaunch, PlanProgram, PlanProgramSource};
use agent_catalogs::AgentCatalogs;
use async_trait::async_trait;
use convergence::{BuiltInConvergence, ImportedData};
use pcp::Certname;
use plan_language::PuppetPlans;

/// Plans of environments, and the server's own.
#[derive(Debug)]
pub(super) struct ServerPlans {
    pub(super) puppet_plans: PuppetPlans,
    pub(super) imported_data: Arc<dyn ImportedData>,
}

impl PlanProgramSource for ServerPlans {
    fn program(&self, launch: &PlanLaunch) -> Result<Arc<dyn PlanProgram>, PlanFault> {
        let Some(stored) = &launch.built_in else {
            return self.puppet_plans.program(launch);
        };
        let program = BuiltInConvergence::new(stored, Arc::clone(&self.imported_data));
        let unreadable = |error: convergence::InvalidConvergence| {
            PlanFault::new("tutti/plan-unreadable", &error.to_string())
        };
        Ok(Arc::new(program.map_err(unreadable)?))
    }
}

/// The catalogs of this server, and the data of other nodes in them.
#[derive(Debug)]
pub(super) struct CatalogImports(pub(super) AgentCatalogs);

#[async_trait]
impl ImportedData for CatalogImports {
    async fn changed(&self, certnames: &[String]) -> Result<Vec<String>, String> {
        let names = certnames.iter().map(|name| name.parse::<Certname>());
        let names: Result<Vec<Certname>, _> = names.collect();
        let names = names.map_err(|error| error.to_string())?;
        let changed = self.0.nodes_with_changed_imports(names).await;
        Ok(changed.iter().map(ToString::to_string).collect())
    }
}
