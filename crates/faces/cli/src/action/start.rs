//! Options shared by all actions, and the job that runs them. Main type: [`ActionOptions`].

use api_types::{ActionCommand, ActionType, JobCreated, Object};
use serde_json::Value;

use crate::VerbResult;
use crate::client::ApiClient;
use crate::follow::JobStart;
use crate::present::OutputOptions;
use crate::rollout::JobLimits;
use crate::targets::TargetOptions;
use crate::task::{EnvironmentOption, print_left_out_nodes};
use crate::terminal::escaped_heading;

/// Targets and limits of an action.
#[derive(Debug, clap::Args)]
pub(super) struct ActionOptions {
    #[command(flatten)]
    pub(super) targets: TargetOptions,
    #[command(flatten)]
    pub(super) environment: EnvironmentOption,
    #[command(flatten)]
    pub(super) limits: JobLimits,
    /// Reason, stored with the job
    #[arg(long)]
    pub(super) description: Option<String>,
    #[command(flatten)]
    pub(super) shown: OutputOptions,
}

/// Options of actions that run as a job only.
#[derive(Debug, clap::Args)]
pub(super) struct JobOptions {
    #[command(flatten)]
    action: ActionOptions,
    /// User of the nodes who runs it [default: the user of the agent]
    #[arg(long, value_name = "USER")]
    run_as: Option<String>,
    /// Print the job's number and do not wait
    #[arg(long)]
    no_wait: bool,
}

impl JobOptions {
    /// Creates the job and watches it. `heading` describes the action.
    pub(super) async fn start(
        self,
        client: &ApiClient,
        kind: ActionType,
        params: Vec<(&str, Value)>,
        heading: &str,
    ) -> VerbResult {
        let ActionOptions {
            targets,
            environment,
            limits,
            description,
            shown,
        } = self.action;
        let scope = targets.scope(client).await?;
        let told = targets.describe_targets(&scope);
        let command = ActionCommand {
            kind,
            params: params
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
            scope,
            environment: environment.effective_environment(client),
            run_as: self.run_as,
            description: description.unwrap_or_default(),
            userdata: Object::new(),
            timeout: limits.timeout,
            concurrency: limits.concurrency,
            batch: limits.rollout.batch,
            pause_between_batches: limits.rollout.pause_between_batches,
            max_failures: limits.rollout.max_failures,
            splay: limits.rollout.splay,
        };
        let path = ["orchestrator", "v1", "command", "action"];
        let created: JobCreated = client.post(&path, &command).await?;
        print_left_out_nodes(&created);
        let started = JobStart {
            number: &created.job.name,
            kind: "job",
            what: &format!("{} on {told}", escaped_heading(heading)),
            no_wait: self.no_wait,
            format: shown.format,
        };
        started.follow(client).await
    }
}
