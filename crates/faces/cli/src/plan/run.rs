//! `tutti plan run PLAN key=value …`. Main type: [`Options`].

use std::collections::BTreeMap;

use api_types::{
    EnvironmentPlanRunCommand, Object, PlanCode, PlanName, PlanNoop, PlanParam, PlanRunCommand,
};

use super::follow;
use super::requests::fetch_plan_detail;
use super::targets::PlanTargets;
use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::task::EnvironmentOption;
use crate::terminal::{escape_control, style_heading};
use crate::{EXIT_SUCCESS, OutputFormat, Result, VerbResult, params};

/// Arguments of `tutti plan run`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Plan, such as deploy or deploy::rollout
    plan: String,
    /// Parameters: what is JSON is taken as JSON, the rest as text
    #[arg(value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// All parameters as a JSON object, or @FILE
    #[arg(long, value_name = "JSON")]
    params: Option<String>,
    #[command(flatten)]
    targets: PlanTargets,
    #[command(flatten)]
    environment: EnvironmentOption,
    /// Time limit of the plan: seconds, or 15m, 4h, 1d
    #[arg(long, value_name = "TIME", value_parser = crate::duration::parse_seconds)]
    timeout: Option<u64>,
    /// Show what the plan would do, and do nothing; with =run, tasks that support it run in noop
    /// mode
    #[arg(
        long,
        value_name = "run",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "show"
    )]
    noop: Option<NoopMode>,
    /// Code version that the plan reads: the live one at its start, or always the current one
    /// [default: as configured on the server]
    #[arg(long, value_enum, value_name = "WHICH")]
    code: Option<PlanCodeChoice>,
    /// Reason, stored with the plan job
    #[arg(long)]
    description: Option<String>,
    /// Run as this user, whose password is prompted for or read from standard input
    #[arg(long, value_name = "LOGIN")]
    pub(super) user: Option<String>,
    /// Refused with an explanation: every user of the machine could read a password on the command
    /// line
    #[arg(long, hide = true, value_name = "PASSWORD", requires = "user")]
    pub(super) password: Option<String>,
    /// Print the plan job's number and do not wait; questions of the plan get their default
    /// answers, and fail without one
    #[arg(long)]
    no_wait: bool,
    /// With --no-wait: questions of the plan wait until `tutti plan approve` answers them
    #[arg(long, requires = "no_wait")]
    answer_later: bool,
    #[command(flatten)]
    shown: OutputOptions,
}

/// The extent of a dry run.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum NoopMode {
    /// Run nothing
    #[value(hide = true)]
    Show,
    /// Tasks that support it run in noop mode
    Run,
}

/// The code version that a plan reads.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum PlanCodeChoice {
    /// The live version at its start
    Pinned,
    /// The same, and deployments of the environment wait until the plan ends
    Lock,
    /// The live version at the time of each read
    Latest,
}

impl From<PlanCodeChoice> for PlanCode {
    fn from(code: PlanCodeChoice) -> Self {
        match code {
            PlanCodeChoice::Pinned => Self::Pinned,
            PlanCodeChoice::Lock => Self::Lock,
            PlanCodeChoice::Latest => Self::Latest,
        }
    }
}

impl NoopMode {
    fn to_api(noop: Option<Self>) -> PlanNoop {
        match noop {
            None => PlanNoop::Off,
            Some(Self::Show) => PlanNoop::Show,
            Some(Self::Run) => PlanNoop::Run,
        }
    }
}

pub(super) async fn run(options: Options, client: &ApiClient) -> VerbResult {
    let environment = options.environment.effective_environment(client);
    let detail = fetch_plan_detail(client, &options.plan, &environment).await?;
    let params = options.params.as_deref();
    let params = params::parse(&options.pairs, params, &detail.metadata)?;
    let nodes = options.targets.parameter(client, &detail, &params).await?;
    let command = PlanRunCommand {
        plan_name: options.plan.clone(),
        params,
        environment,
        description: options.description.unwrap_or_default(),
        userdata: Object::new(),
        timeout: options.timeout,
        noop: NoopMode::to_api(options.noop),
        code: options.code.map(Into::into),
        unattended: (options.no_wait && !options.answer_later).then_some(true),
    };
    let number = start_plan(client, command, nodes).await?.name;
    if options.no_wait {
        say!("{}", escape_control(&number));
        return Ok(EXIT_SUCCESS);
    }
    let format = options.shown.format;
    if format == OutputFormat::Human {
        let (number, plan) = (escape_control(&number), escape_control(&options.plan));
        let (number, plan) = (style_heading(number), style_heading(plan));
        let looked = match options.noop {
            None => "",
            Some(NoopMode::Show) => " (preview: nothing is done)",
            Some(NoopMode::Run) => " (preview: only tasks that support noop run, in noop mode)",
        };
        say!("Plan job {number}: {plan}{looked}\n");
    }
    follow::follow(client, &number, format).await
}

/// Starts the plan. Puppet Enterprise has two commands: only the second takes targets.
async fn start_plan(
    client: &ApiClient,
    mut command: PlanRunCommand,
    nodes: Option<(String, PlanParam)>,
) -> Result<PlanName> {
    let path = |name| ["orchestrator", "v1", "command", name];
    let (name, param) = match nodes {
        Some((name, param)) if param.kind.is_some() => (name, param),
        plain => {
            command
                .params
                .extend(plain.map(|(name, param)| (name, param.value)));
            return client.post(&path("plan_run"), &command).await;
        }
    };
    let plain = command.params.into_iter();
    let plain = plain.map(|(name, value)| (name, PlanParam { value, kind: None }));
    let mut params: BTreeMap<_, _> = plain.collect();
    params.insert(name, param);
    let command = EnvironmentPlanRunCommand {
        plan_name: command.plan_name,
        params,
        environment: command.environment,
        description: command.description,
        userdata: command.userdata,
        timeout: command.timeout,
        noop: command.noop,
        code: command.code,
        unattended: command.unattended,
    };
    client.post(&path("environment_plan_run"), &command).await
}
