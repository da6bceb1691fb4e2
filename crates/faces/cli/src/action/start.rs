//! Options shared by all actions, and the job that runs them. Main type: [`ActionOptions`].

use api_types::{ActionCommand, ActionType, JobCreated, Object};
use serde_json::Value;

use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::rollout::RolloutArguments;
use crate::targets::TargetOptions;
use crate::task::{EnvironmentOption, print_left_out_nodes};
use crate::{EXIT_SUCCESS, OutputFormat, VerbResult, follow, terminal};

/// Targets and limits of an action.
#[derive(Debug, clap::Args)]
pub(super) struct ActionOptions {
    #[command(flatten)]
    pub(super) targets: TargetOptions,
    #[command(flatten)]
    pub(super) environment: EnvironmentOption,
    /// Number of nodes at once [default: the server's limit]
    #[arg(long, value_name = "N", value_parser = crate::duration::parse_node_count)]
    pub(super) concurrency: Option<u32>,
    #[command(flatten)]
    pub(super) rollout: RolloutArguments,
    /// Time limit for one node: seconds, or 15m, 4h, 1d
    #[arg(long, value_name = "TIME", value_parser = crate::duration::parse_seconds)]
    pub(super) timeout: Option<u64>,
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
            concurrency,
            rollout,
            timeout,
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
            timeout,
            concurrency,
            batch: rollout.batch,
            pause_between_batches: rollout.pause_between_batches,
            max_failures: rollout.max_failures,
        };
        let path = ["orchestrator", "v1", "command", "action"];
        let created: JobCreated = client.post(&path, &command).await?;
        print_left_out_nodes(&created);
        let number = created.job.name;
        if self.no_wait {
            say!("{number}");
            return Ok(EXIT_SUCCESS);
        }
        if shown.format == OutputFormat::Human {
            let (number, heading) = (
                terminal::style_heading(&number),
                terminal::escape_control(heading),
            );
            say!(
                "Job {number}: {} on {told}\n",
                terminal::style_heading(heading)
            );
        }
        follow::follow(client, &number, shown.format).await
    }
}
