//! Plans of a module: `plans/<plan>.pp` and `plans/<plan>.yaml`, also in subdirectories.
//!
//! Invariant: a file's path determines the plan's name; a file that defines another plan is an
//! error.

use std::collections::BTreeMap;
use std::io::Read;

use super::modules::ModuleDirectory;
use super::{DirectoryVersion, list_names};
use crate::CodeError;
use crate::defaults::{DIRECTORY_DEPTH, PLAN_BYTES, PLANS_PER_MODULE};
use crate::plan::{EnvironmentPlanSource, PlanLanguage, PlanName, PlanSummary};

const DIRECTORY: &str = "plans";

/// Languages by file extension. If a plan has files in both, the first is used.
const LANGUAGES: [(&str, PlanLanguage); 2] =
    [("pp", PlanLanguage::Puppet), ("yaml", PlanLanguage::Yaml)];

// === impl DirectoryVersion ===

impl DirectoryVersion {
    pub(super) fn list_plans(&self) -> Result<Vec<PlanSummary>, CodeError> {
        let mut summaries = Vec::new();
        for module in self.modules.list_modules()? {
            let mut names = BTreeMap::new();
            if let Err(problem) = collect_plans(&module, "", DIRECTORY_DEPTH, &mut names) {
                // A module that cannot be read does not hide plans of the others, and is listed
                // itself.
                summaries.extend(module.name.parse().ok().map(|name| PlanSummary {
                    name,
                    description: None,
                    private: false,
                    problem: Some(problem),
                }));
            }
            for (name, language) in names {
                summaries.push(match read_plan_file(&module, &name, language) {
                    Ok(plan) => to_summary(name, plan),
                    Err(error) => PlanSummary {
                        name,
                        description: None,
                        private: false,
                        problem: Some(error),
                    },
                });
            }
        }
        summaries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(summaries)
    }

    pub(super) fn read_plan(&self, name: &PlanName) -> Result<EnvironmentPlanSource, CodeError> {
        let module = self.modules.find_module(name.module());
        for (_, language) in LANGUAGES {
            if let Some(module) = &module
                && let Some(plan) = read_plan_file(module, name, language)?
            {
                return Ok(plan);
            }
        }
        Err(CodeError::UnknownPlan {
            plan: name.clone(),
            environment: self.environment.clone(),
        })
    }
}

fn to_summary(name: PlanName, plan: Option<EnvironmentPlanSource>) -> PlanSummary {
    let metadata = plan.map(|plan| plan.metadata).unwrap_or_default();
    PlanSummary {
        name,
        description: metadata.description,
        private: metadata.private,
        problem: None,
    }
}

/// Collects the plans below a directory of `plans/`, sorted by name.
fn collect_plans(
    module: &ModuleDirectory,
    below: &str,
    depth: usize,
    names: &mut BTreeMap<PlanName, PlanLanguage>,
) -> Result<(), CodeError> {
    let directory = module.directory.join(DIRECTORY).join(below);
    if module.kind_inside(&directory)?.is_none() {
        return Ok(());
    }
    for file in list_names(&directory)? {
        let path = directory.join(&file);
        if path.is_dir() {
            if depth > 0 {
                collect_plans(module, &format!("{below}{file}/"), depth - 1, names)?;
            }
            continue;
        }
        let Some((stem, extension)) = file.rsplit_once('.') else {
            continue;
        };
        let Some((_, language)) = LANGUAGES.iter().find(|(known, _)| *known == extension) else {
            continue;
        };
        let words = format!("{below}{stem}").replace('/', "::");
        let Ok(name) = format!("{}::{words}", module.name).parse() else {
            continue;
        };
        names.entry(name).or_insert(*language);
        if names.len() > PLANS_PER_MODULE {
            let what = format!("a module may have {PLANS_PER_MODULE} plans");
            return Err(CodeError::refuse(directory, what));
        }
    }
    Ok(())
}

fn read_plan_file(
    module: &ModuleDirectory,
    name: &PlanName,
    language: PlanLanguage,
) -> Result<Option<EnvironmentPlanSource>, CodeError> {
    let extension = LANGUAGES.iter().find(|(_, known)| *known == language);
    let extension = extension.map_or("pp", |(extension, _)| extension);
    let relative = format!("{DIRECTORY}/{}.{extension}", name.file_stem());
    let Some((path, file)) = module.open(&relative)? else {
        return Ok(None);
    };
    let mut content = Vec::new();
    // One byte more than the limit is enough to detect an excess.
    let read = file.take(PLAN_BYTES + 1).read_to_end(&mut content);
    let bytes = read.map_err(|error| CodeError::io(&path, error))?;
    if bytes as u64 > PLAN_BYTES {
        return Err(CodeError::refuse(
            path,
            format!("it has more than {PLAN_BYTES} bytes"),
        ));
    }
    EnvironmentPlanSource::read_plan(name.clone(), language, path, content).map(Some)
}
