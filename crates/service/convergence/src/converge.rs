//! The waves as steps of a plan: [`converge`].
//!
//! Invariant: everything that decides on the next wave is the outcome of a step, so a plan that is evaluated again
//! after a restart finds the wave that was under way.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jobs::{JobSpec, NodeScope};
use plans::{LocalEffect, PlanBranch, PlanFault, StepOutcome, StepWork};
use serde_json::{Value, json};

use crate::descriptions::{describe_next, summarize_runs};
use crate::options::ConvergenceOptions;
use crate::outcome::{ConvergenceOutcome, count_nodes};
use crate::plan_steps::{PuppetSteps, named_nodes};
use crate::progress::{ConvergenceProgress, EndedWave, NextWave};
use crate::rerun_draw::RerunDraw;
use crate::rerun_limiter::RerunLimiter;

/// Knows whether catalogs of this server were compiled from data of other nodes that have changed since.
#[async_trait]
pub trait ImportedData: fmt::Debug + Send + Sync {
    /// Compares the last catalogs of these nodes with the data that there are now.
    async fn compare(&self, certnames: &[String]) -> ComparedImports;
}

/// Nodes by what became of the data of other nodes in their last catalogs. All others have the same data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComparedImports {
    /// Nodes whose exported resources of others, query results, or capabilities of others have other values now.
    pub changed: Vec<String>,
    /// Nodes of which that is not known.
    pub unknown: Vec<String>,
    /// The first reason for which it is not known.
    pub failure: Option<String>,
}

/// Runs to be repeated.
#[derive(Debug)]
pub struct ConvergenceRequest<'a> {
    /// The runs of the first wave. Its work is that of all waves.
    pub job: &'a JobSpec,
    pub options: ConvergenceOptions,
    pub imported_data: &'a Arc<dyn ImportedData>,
    /// The reruns of all jobs.
    pub reruns: &'a Arc<RerunLimiter>,
    /// Position in the plan's code, for users.
    pub site: &'a str,
    /// The options as the plan's code has them, which distinguish its steps.
    pub shown: &'a Value,
}

/// Runs Puppet on the nodes of the job, and again on those that have reason to. `take_results` gets the results of the
/// nodes of each wave, in the form of a job's outcome.
///
/// # Errors
/// A wave could not be started, or the plan has to end. Nodes that have not converged are no error.
pub fn converge(
    branch: &PlanBranch<'_>,
    request: &ConvergenceRequest<'_>,
    take_results: &mut dyn FnMut(&[Value]),
) -> Result<ConvergenceOutcome, PlanFault> {
    let steps = PuppetSteps {
        branch,
        site: request.site,
    };
    let waves = ConvergenceWaves { steps, request };
    let mut progress = ConvergenceProgress::new(request.options);
    let (mut number, mut job) = (1, request.job.clone());
    loop {
        let wave = waves.run(number, job, &progress, take_results)?;
        let summary = summarize_runs(&wave.runs);
        let Some(next) = progress.record_wave(wave) else {
            return waves.end(number, progress, &format!("{summary}; "));
        };
        let text = format!("{summary}; {}", describe_next(&next));
        waves.tell("wave_ended", number, &text)?;
        waves.steps.sleep(next.pause)?;
        let Some(next) = waves.draw_reruns(next, &mut progress)? else {
            return waves.end(number, progress, "");
        };
        number = next.number;
        job = JobSpec {
            scope: NodeScope::Nodes(parse_names(&next.nodes)),
            nodes: None,
            ..request.job.clone()
        };
    }
}

/// The steps of the waves.
struct ConvergenceWaves<'a> {
    steps: PuppetSteps<'a>,
    request: &'a ConvergenceRequest<'a>,
}

impl ConvergenceWaves<'_> {
    /// Runs Puppet, waits for all nodes, and compares the data of other nodes.
    fn run(
        &self,
        number: u32,
        job: JobSpec,
        progress: &ConvergenceProgress,
        take_results: &mut dyn FnMut(&[Value]),
    ) -> Result<EndedWave, PlanFault> {
        let nodes = named_nodes(&job);
        let arguments = json!({"wave": number, "on": nodes, "do": self.request.shown});
        let ended = self.steps.run_job(arguments, job)?;
        take_results(ended.results());
        let is_halted = ended.is_halted();
        let runs = ended.runs();
        drop(ended);
        let names = runs.iter().map(|run| run.certname.as_str());
        let nodes: BTreeSet<&str> = progress.nodes().chain(names).collect();
        let imports = self.compare_imports(number, nodes)?;
        Ok(EndedWave {
            runs,
            changed_imports: imports.changed.into_iter().collect(),
            unknown_imports: imports.unknown.into_iter().collect(),
            is_halted,
        })
    }

    fn compare_imports(
        &self,
        number: u32,
        nodes: BTreeSet<&str>,
    ) -> Result<ComparedImports, PlanFault> {
        let arguments = json!({"wave": number, "of": nodes.len()});
        let imported_data = Arc::clone(self.request.imported_data);
        let nodes = nodes.into_iter().map(str::to_owned).collect();
        let work = StepWork::RunLocalEffect(Arc::new(ImportsComparison {
            imported_data,
            nodes,
        }));
        let outcome = self.steps.step("imported_data", arguments, work)?;
        let names = |key: &str| {
            let names = outcome.value[key].as_array().into_iter().flatten();
            let names = names.filter_map(|name| name.as_str().map(str::to_owned));
            names.collect::<Vec<_>>()
        };
        let imports = ComparedImports {
            changed: names("changed"),
            unknown: names("unknown"),
            failure: outcome.value["failure"].as_str().map(str::to_owned),
        };
        if let Some(failure) = &imports.failure {
            let nodes = count_nodes(imports.unknown.len());
            let text = format!(
                "it is not known whether data of other nodes have changed that {nodes} import: {failure}"
            );
            self.tell("imported_data_unknown", number, &text)?;
        }
        Ok(imports)
    }

    /// Takes the reruns of a wave, when there are enough. Returns the nodes that have one; `None` if no node has.
    fn draw_reruns(
        &self,
        next: NextWave,
        progress: &mut ConvergenceProgress,
    ) -> Result<Option<NextWave>, PlanFault> {
        let draw = RerunDraw {
            limiter: self.request.reruns,
            wave: next.number,
            candidates: progress.candidates(),
            longest_wait: self.request.options.max_delay,
        };
        let left_out = draw.run(&self.steps)?;
        Ok(progress.leave_out(next, left_out))
    }

    fn end(
        &self,
        number: u32,
        progress: ConvergenceProgress,
        summary: &str,
    ) -> Result<ConvergenceOutcome, PlanFault> {
        let outcome = progress.into_outcome();
        let text = format!("{summary}{}", outcome.describe());
        self.tell("convergence_ended", number, &text)?;
        Ok(outcome)
    }

    fn tell(&self, kind: &str, number: u32, text: &str) -> Result<(), PlanFault> {
        self.steps.tell(("wave", number), kind, text)
    }
}

struct ImportsComparison {
    imported_data: Arc<dyn ImportedData>,
    nodes: Vec<String>,
}

#[async_trait]
impl LocalEffect for ImportsComparison {
    fn is_repeatable(&self) -> bool {
        true
    }

    async fn perform(&self) -> StepOutcome {
        let ComparedImports {
            changed,
            unknown,
            failure,
        } = self.imported_data.compare(&self.nodes).await;
        StepOutcome::ok(json!({"changed": changed, "unknown": unknown, "failure": failure}))
    }
}

fn parse_names(nodes: &[String]) -> Vec<pcp::Certname> {
    // They are names of nodes that have run.
    nodes.iter().filter_map(|name| name.parse().ok()).collect()
}
