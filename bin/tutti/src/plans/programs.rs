//! The programs of all plan jobs: [`ServerPlans`].
//!
//! Invariant: a plan job has the same program after a restart of the server.

use std::sync::Arc;

use ::plans::{PlanFault, PlanLaunch, PlanProgram, PlanProgramSource};
use agent_catalogs::{AgentCatalogs, ImportChanges};
use api_types::multi_pass::MULTI_PASS_PLAN;
use async_trait::async_trait;
use convergence::passes::BuiltInPasses;
use convergence::{BuiltInConvergence, ComparedImports, ImportedData, RerunLimiter};
use pcp::Certname;
use plan_language::PuppetPlans;

/// Plans of environments, and the server's own.
#[derive(Debug)]
pub(super) struct ServerPlans {
    pub(super) puppet_plans: PuppetPlans,
    pub(super) imported_data: Arc<dyn ImportedData>,
    pub(super) reruns: Arc<RerunLimiter>,
}

impl PlanProgramSource for ServerPlans {
    fn program(&self, launch: &PlanLaunch) -> Result<Arc<dyn PlanProgram>, PlanFault> {
        let Some(stored) = &launch.built_in else {
            return self.puppet_plans.program(launch);
        };
        let unreadable = |text: String| PlanFault::new("tutti/plan-unreadable", &text);
        if launch.plan == MULTI_PASS_PLAN {
            let program = BuiltInPasses::new(stored);
            return Ok(Arc::new(
                program.map_err(|error| unreadable(error.to_string()))?,
            ));
        }
        let imported_data = Arc::clone(&self.imported_data);
        let program = BuiltInConvergence::new(stored, imported_data, Arc::clone(&self.reruns));
        Ok(Arc::new(
            program.map_err(|error| unreadable(error.to_string()))?,
        ))
    }
}

/// The catalogs of this server, and the data of other nodes in them.
#[derive(Debug)]
pub(super) struct CatalogImports(pub(super) AgentCatalogs);

#[async_trait]
impl ImportedData for CatalogImports {
    async fn compare(&self, certnames: &[String]) -> ComparedImports {
        // They are names of nodes that have run.
        let names = certnames.iter().filter_map(|name| name.parse().ok());
        let ImportChanges {
            changed,
            unknown,
            failure,
        } = self.0.compare_imports(names.collect()).await;
        let texts = |names: Vec<Certname>| names.iter().map(ToString::to_string).collect();
        ComparedImports {
            changed: texts(changed),
            unknown: texts(unknown),
            failure,
        }
    }
}
