//! The catalogs of an apply step: [`ApplyCatalogs`].
//!
//! Invariant: a catalog depends on the plan's code version, on the variables of the plan, and on the
//! variables and facts of the target as they were when the step began.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use compiler::{ApplyProgram, CompileRequest, trusted_data};
use jobs::{NodeParamTexts, NodeParamsSource, OpenNodeParams};
use partial_debug::partial_debug;
use pcore::Hash;
use pcp::Certname;
use serde_json::{Map, Value as Json, json};

use crate::defaults::FILE_SOURCES_MAX;
use crate::host::PlanHost;
use crate::objects::PlanTarget;
use crate::run::TargetState;
use crate::world::{ApplyCompiler, ApplyEnvironment, PlanOwner};

/// The parameter with the catalog.
const CATALOG: &str = "catalog";

/// The beginning of sources that are files of modules.
const SOURCE: &str = "\"puppet:///modules/";

/// Compiles the catalog of each target of a step.
pub(super) struct ApplyCatalogs {
    compiler: Arc<dyn ApplyCompiler>,
    owner: PlanOwner,
    environment: String,
    code_id: Option<String>,
    program: ApplyProgram,
    /// Name in the plan, variables and facts of the targets, by certname.
    targets: HashMap<String, TargetData>,
}

#[derive(Clone, Default)]
struct TargetData {
    name: String,
    vars: Hash,
    facts: Hash,
}

impl ApplyCatalogs {
    pub(super) fn new(host: &PlanHost<'_>, targets: &[PlanTarget], program: ApplyProgram) -> Self {
        let states = host.run.targets.borrow();
        let nothing = TargetState::default();
        let data = |target: &PlanTarget| {
            let state = states.get(target.name()).unwrap_or(&nothing);
            let data = TargetData {
                name: target.safe_name(),
                vars: state.vars.clone(),
                facts: state.facts.clone(),
            };
            (target.certname().to_owned(), data)
        };
        Self {
            compiler: Arc::clone(&host.run.world.apply_compiler),
            owner: host.run.owner(),
            environment: host.run.launch.environment.clone(),
            code_id: host.run.launch.code_id.clone(),
            program,
            targets: targets.iter().map(data).collect(),
        }
    }

    /// The variables of the target, replaced by those of the plan.
    fn request(&self, certname: &str, target: &TargetData) -> CompileRequest {
        let mut variables = target.vars.clone();
        for (name, value) in self.program.variables.iter() {
            variables.insert(name.clone(), value.clone());
        }
        let program = ApplyProgram {
            statements: self.program.statements.clone(),
            variables,
        };
        CompileRequest {
            certname: certname.to_owned(),
            facts: target.facts.clone(),
            // the name is not of a certificate, but of the plan
            trusted: trusted_data(certname, "local", None),
            block: Some(program),
            ..CompileRequest::default()
        }
    }
}

#[async_trait]
impl NodeParamsSource for ApplyCatalogs {
    fn sample(&self) -> Map<String, Json> {
        Map::from_iter([(CATALOG.to_owned(), json!({}))])
    }

    async fn open(&self) -> Result<Box<dyn OpenNodeParams + '_>, Json> {
        let code_id = self.code_id.as_deref();
        let opening = self.compiler.open(&self.owner, &self.environment, code_id);
        let environment = opening.await.map_err(|why| apply_error(&why))?;
        Ok(Box::new(OpenApplyCatalogs {
            catalogs: self,
            environment,
            files: Mutex::default(),
        }))
    }
}

/// Catalogs whose code is open.
struct OpenApplyCatalogs<'c> {
    catalogs: &'c ApplyCatalogs,
    environment: Box<dyn ApplyEnvironment>,
    /// Files of modules that the catalogs compiled so far name as sources.
    files: Mutex<BTreeSet<String>>,
}

#[async_trait]
impl OpenNodeParams for OpenApplyCatalogs<'_> {
    async fn of_node(&self, node: &Certname) -> Result<NodeParamTexts, Json> {
        let certname = node.as_str();
        let nothing = TargetData::default();
        let target = self.catalogs.targets.get(certname).unwrap_or(&nothing);
        let request = self.catalogs.request(certname, target);
        let catalog = self.environment.compile(request).await.map_err(|why| {
            apply_error(&format!(
                "Apply failed to compile for {}: {why}",
                target.name
            ))
        })?;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        add_file_sources(catalog.get(), &mut files);
        drop(files);
        Ok(BTreeMap::from([(CATALOG.to_owned(), catalog)]))
    }

    fn files(&self) -> Vec<String> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.iter().cloned().collect()
    }
}

/// Finds the sources `puppet:///modules/MODULE/PATH` in a catalog, as entries `MODULE/files/PATH`.
fn add_file_sources(catalog: &str, files: &mut BTreeSet<String>) {
    for (at, _) in catalog.match_indices(SOURCE) {
        let source = &catalog[at + SOURCE.len()..];
        let source = source.split('"').next().unwrap_or_default();
        // a path with an escape has control characters or quotes, which no module file has
        if let Some((module, path)) = source.split_once('/')
            && !source.contains('\\')
            && files.len() < FILE_SOURCES_MAX
        {
            files.insert(format!("{module}/files/{path}"));
        }
    }
}

fn apply_error(msg: &str) -> Json {
    json!({"kind": "bolt/apply-error", "msg": msg, "details": {}})
}

// Leaves out the values of variables and facts.
partial_debug!(ApplyCatalogs { environment });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_modules_are_found_in_catalogs() {
        let catalog = json!({"resources": [
            {"parameters": {"source": "puppet:///modules/a/b/c.txt"}},
            {"parameters": {"source": ["puppet:///modules/d/e", "/local", "puppet:///modules/a/b/c.txt"]}},
            {"parameters": {"content": "see puppet:///modules/x/y"}},
            {"parameters": {"source": "puppet:///modules/odd\\\"/x"}},
            {"parameters": {"source": "puppet:///modules/only"}},
        ]});
        let mut files = BTreeSet::new();
        add_file_sources(&catalog.to_string(), &mut files);
        assert_eq!(
            files.into_iter().collect::<Vec<_>>(),
            ["a/files/b/c.txt", "d/files/e"]
        );
    }
}
