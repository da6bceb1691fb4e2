//! `tutti plan show`, `plan list` and `plan jobs`.

use api_types::converge::{CONVERGENCE_PLAN, NOT_CONVERGED};
use api_types::multi_pass::{MULTI_PASS_PLAN, PASSES_FAILED};
use api_types::{PlanDetail, PlanFunctionReplaced, PlanJob, PlanJobList, PlanList, PlanQuestion};
use serde_json::{Value, json};

use super::requests::{fetch_events, fetch_plan_detail, fetch_plan_job};
use super::{events, preview};
use crate::client::ApiClient;
use crate::defaults::{
    FAILED_LINES, FAILED_TARGETS, JOBS_SHOWN, REPLACED_FUNCTIONS_SHOWN, UNSETTLED_NODES,
};
use crate::definition::RunnableDefinition;
use crate::named_list::{self, NamedLine};
use crate::present::OutputOptions;
use crate::terminal::{
    error_output, escape_control, escaped_name, style_dim, style_failure, style_name, style_state,
    style_warning,
};
use crate::values::{duration, or_empty, result_lines};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, Result, VerbResult, task};

/// Arguments of `tutti plan show`.
#[derive(Debug, clap::Args)]
pub struct ShowOptions {
    /// Plan, such as deploy or deploy::rollout; all when absent
    plan: Option<String>,
    /// Include plans that you may not run
    #[arg(long, conflicts_with = "plan")]
    all: bool,
    #[command(flatten)]
    environment: task::EnvironmentOption,
    #[command(flatten)]
    shown: OutputOptions,
}

/// Arguments of `tutti plan jobs`.
#[derive(Debug, clap::Args)]
pub struct JobsOptions {
    /// Number of the plan job; the newest are listed when absent
    job: Option<String>,
    /// Number of plan jobs, the newest first
    #[arg(long, default_value_t = JOBS_SHOWN, conflicts_with = "job")]
    limit: u64,
    #[command(flatten)]
    shown: OutputOptions,
}

/// Arguments of `tutti plan list`.
#[derive(Debug, clap::Args)]
pub struct ListOptions {
    /// Include plans that you may not run
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    environment: task::EnvironmentOption,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(super) async fn show(options: &ShowOptions, client: &ApiClient) -> VerbResult {
    let environment = options.environment.effective_environment(client);
    let format = options.shown.format;
    match &options.plan {
        None => plans(&environment, options.all, format, client).await,
        Some(plan) => {
            let detail = fetch_plan_detail(client, plan, &environment).await?;
            format.present(&detail, print)
        }
    }
}

pub(super) async fn list(options: &ListOptions, client: &ApiClient) -> VerbResult {
    let environment = options.environment.effective_environment(client);
    plans(&environment, options.all, options.shown.format, client).await
}

/// Prints the plans that the user may run, or all.
async fn plans(
    environment: &str,
    all: bool,
    format: OutputFormat,
    client: &ApiClient,
) -> VerbResult {
    let query = [("environment", environment)];
    let mut list: PlanList = client.get(&["orchestrator", "v1", "plans"], &query).await?;
    list.items.retain(|plan| all || plan.permitted);
    format.present(&list, |list| {
        let lines = list.items.iter().map(|plan| NamedLine {
            name: &plan.name,
            permitted: plan.permitted,
            description: plan.description.as_deref(),
            error: plan.error.as_ref(),
        });
        let environment = escape_control(environment);
        named_list::print(lines, &format!("No plans in environment {environment}."));
    })
}

fn print(detail: &PlanDetail) {
    let definition = RunnableDefinition {
        name: &detail.name,
        metadata: &detail.metadata,
        default: |about| match about.get("default_value")? {
            // The source text of an expression, in a plan in the Puppet language.
            Value::String(text) => Some(text.clone()),
            value => Some(value.to_string()),
        },
        is_required: |about| about.get("default_value").is_none(),
    };
    definition.print_heading();
    if detail.metadata.get("private") == Some(&Value::Bool(true)) {
        say!("  Private: only other plans run it.\n");
    } else {
        let (name, needed) = (
            escape_control(&detail.name),
            definition.required_arguments(),
        );
        say!("  tutti plan run {name}{needed}\n");
    }
    definition.print_parameters();
    print_replaced_functions(&detail.replaced_functions);
}

/// Prints the Ruby functions that are replaced by built-in ones.
fn print_replaced_functions(functions: &[PlanFunctionReplaced]) {
    if functions.is_empty() {
        return;
    }
    say!(
        "\n  {}",
        style_warning(
            "Plans of this environment call the built-in functions instead of these of modules, which are Ruby and not \
             those of stdlib 8.5 or 9.7:"
        )
    );
    for function in functions.iter().take(REPLACED_FUNCTIONS_SHOWN) {
        let file = format!("{}/{}", function.module, function.file);
        let file = style_dim(escape_control(&file));
        say!("    {}  {file}", escaped_name(&function.name));
    }
    if let Some(more) = functions.len().checked_sub(REPLACED_FUNCTIONS_SHOWN + 1) {
        say!("    … and {} more: --format json has all", more + 1);
    }
}

pub(super) async fn jobs(options: &JobsOptions, client: &ApiClient) -> VerbResult {
    let Some(number) = &options.job else {
        return list_jobs(options.limit, options.shown.format, client).await;
    };
    let job = fetch_plan_job(client, number).await?;
    let told = fetch_events(client, number).await?;
    let document = json!({"plan_job": job, "events": told});
    options.shown.format.present(&document, |_| {
        events::print(&told);
        outcome(&job);
    })?;
    Ok(match job.state.as_str() {
        "failure" => EXIT_NODES_FAILED,
        _ => EXIT_SUCCESS,
    })
}

async fn list_jobs(limit: u64, format: OutputFormat, client: &ApiClient) -> VerbResult {
    let list = fetch_newest(&limit.to_string(), client).await?;
    format.list(
        &list,
        &list.items,
        "No plan jobs yet.",
        &[
            ("ID", &|job| escape_control(&job.name)),
            ("STATUS", &state),
            ("PLAN", &describe_plan),
            ("TOOK", &|job| or_empty(job.duration.map(duration))),
            ("STARTED", &|job| job.created_timestamp.to_string()),
            ("OWNER", &|job| escape_control(&job.owner.login)),
        ],
    )?;
    if format == OutputFormat::Human {
        print_open_questions(&list);
    }
    Ok(EXIT_SUCCESS)
}

/// Prints the questions that plans wait with, below another list; nothing if the user may not see plan jobs.
pub(crate) async fn print_questions(client: &ApiClient) {
    if let Ok(list) = fetch_newest(&JOBS_SHOWN.to_string(), client).await {
        print_open_questions(&list);
    }
}

fn print_open_questions(list: &PlanJobList) {
    let asking: Vec<_> = list.items.iter().flat_map(questions).collect();
    if !asking.is_empty() {
        say!("");
        asking.iter().for_each(|line| say!("{line}"));
    }
}

async fn fetch_newest(limit: &str, client: &ApiClient) -> Result<PlanJobList> {
    let query = [
        ("order_by", "name"),
        ("order", "desc"),
        ("limit", limit),
        ("results", "exclude"),
    ];
    client
        .get(&["orchestrator", "v1", "plan_jobs"], &query)
        .await
}

/// The state, as a person sees it: a plan that waits for an answer does nothing by itself.
fn state(job: &PlanJob) -> String {
    match job.questions.is_empty() {
        true => style_state(&job.state),
        false => style_warning("waiting"),
    }
}

/// The open questions of the plan, and the commands that answer them.
fn questions(job: &PlanJob) -> Vec<String> {
    let number = escape_control(&job.name);
    let line = |question: &PlanQuestion| {
        let asks = style_warning(format!("plan job {number} asks:"));
        let (step, prompt) = (
            escape_control(&question.step),
            escape_control(&question.prompt),
        );
        let next = style_dim(format!("tutti plan approve {number} {step} --answer TEXT"));
        format!("{asks} {prompt}  {next}")
    };
    job.questions.iter().map(line).collect()
}

/// Prints the result of a plan job.
pub(super) fn outcome(job: &PlanJob) {
    let took = or_empty(job.duration.map(|took| format!(" in {}", duration(took))));
    let (name, state, plan) = (escape_control(&job.name), state(job), describe_plan(job));
    say!("\nPlan job {name} {state}: {plan}{took}");
    questions(job).iter().for_each(|line| say!("{line}"));
    let result = job.result.as_ref().filter(|result| !result.is_null());
    let lines = match (job.state.as_str(), result) {
        ("failure", Some(error)) if error["msg"].is_string() => error_lines(error),
        (_, Some(result)) if preview::is_preview(job) => preview::summary(result),
        (_, Some(result)) if is_of_puppet_runs(job) => vec![count_runs(result)],
        (_, result) => result.into_iter().flat_map(result_lines).collect(),
    };
    for line in lines {
        say!("    {line}");
    }
    let is_resumable = result.is_none_or(|error| failed_nodes_key(error).is_none());
    if job.state == "failure" && !preview::is_preview(job) && is_resumable {
        let next = format!(
            "tutti plan steps {name} shows what it did; tutti plan resume {name} resumes it after the cause is \
             fixed"
        );
        say!("{}", style_dim(next));
    }
}

/// The lines of an error in Puppet's form: message, kind, details.
fn error_lines(error: &Value) -> Vec<String> {
    let msg = error["msg"].as_str().unwrap_or_default();
    let mut lines: Vec<_> = msg.lines().map(escape_control).map(style_failure).collect();
    if let Some(kind) = error["kind"].as_str() {
        lines.push(style_dim(format!("({})", escape_control(kind))));
    }
    let details = &error["details"];
    if let Some(file) = details["file"].as_str() {
        let line = details["line"].as_u64();
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        lines.push(style_dim(format!("{}{line}", escape_control(file))));
    }
    lines.extend(failed_targets(details));
    lines.extend(unsettled_nodes(error));
    lines
}

/// True for repeated runs of Puppet, which no plan of an environment has started.
fn is_of_puppet_runs(job: &PlanJob) -> bool {
    let plan = job.options.get("plan_name").and_then(Value::as_str);
    plan.is_some_and(|plan| [CONVERGENCE_PLAN, MULTI_PASS_PLAN].contains(&plan))
}

/// The number of runs in a line.
fn count_runs(result: &Value) -> String {
    let by_runs = result["nodes_by_runs"].as_object().into_iter().flatten();
    let (mut runs, mut nodes) = (0, 0);
    for (count, of_nodes) in by_runs {
        let (count, of_nodes) = (count.parse().unwrap_or(0), of_nodes.as_u64().unwrap_or(0));
        runs += count * of_nodes;
        nodes += of_nodes;
    }
    let (rounds, round, plural_round) = match result["passes"].as_u64() {
        Some(passes) => (passes, "pass", "passes"),
        None => (
            result["waves"].as_u64().unwrap_or_default(),
            "wave",
            "waves",
        ),
    };
    let plural = |count: u64, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let round = if rounds == 1 { round } else { plural_round };
    format!(
        "{} of Puppet on {} in {rounds} {round}",
        plural(runs, "run"),
        plural(nodes, "node"),
    )
}

/// The key of the nodes in the error of repeated runs of Puppet that have not converged, or whose nodes did not succeed;
/// `None` for other errors.
fn failed_nodes_key(error: &Value) -> Option<&'static str> {
    match error["kind"].as_str() {
        Some(NOT_CONVERGED) => Some("unsettled"),
        Some(PASSES_FAILED) => Some("unsuccessful"),
        _ => None,
    }
}

/// The nodes that have not converged or did not succeed, with the reason of each.
fn unsettled_nodes(error: &Value) -> Vec<String> {
    let Some(key) = failed_nodes_key(error) else {
        return Vec::new();
    };
    let details = &error["details"];
    // In a plan the error has the results too.
    let outcome = details.get("convergence").unwrap_or(details);
    let nodes: Vec<_> = outcome[key].as_object().into_iter().flatten().collect();
    let omitted = outcome[format!("{key}_omitted")]
        .as_u64()
        .unwrap_or_default();
    let mut lines: Vec<String> = nodes
        .iter()
        .take(UNSETTLED_NODES)
        .map(|(name, node)| {
            let text = |key: &str| escape_control(node[key].as_str().unwrap_or_default());
            let resources = node["resources"].as_array().into_iter().flatten();
            let resources: Vec<_> = resources
                .filter_map(|name| name.as_str().map(escape_control))
                .collect();
            let resources = match resources.is_empty() {
                true => String::new(),
                false => format!(": {}", resources.join(", ")),
            };
            let (name, state) = (style_name(escape_control(name)), text("state"));
            let failed = style_failure("✗");
            format!("{failed} {name}  {state}: {}{resources}", text("reason"))
        })
        .collect();
    let further = nodes.len().saturating_sub(UNSETTLED_NODES) as u64 + omitted;
    if further > 0 {
        lines.push(format!(
            "… and {further} more nodes: --format json has up to a thousand"
        ));
    }
    lines
}

/// The targets on which a step failed: name, exit code, and their standard error.
fn failed_targets(details: &Value) -> Vec<String> {
    let results = details["result_set"].as_array().into_iter().flatten();
    let failed = results.filter(|result| result["status"] == "failure");
    let failed: Vec<_> = failed.collect();
    let shown = failed.iter().take(FAILED_TARGETS);
    let mut lines: Vec<_> = shown.flat_map(|result| failed_target(result)).collect();
    if failed.len() > FAILED_TARGETS {
        let more = failed.len() - FAILED_TARGETS;
        lines.push(format!("… and {more} more targets: --format json has all"));
    }
    lines
}

fn failed_target(result: &Value) -> Vec<String> {
    let (value, error) = (&result["value"], &result["value"]["_error"]);
    let code = value["exit_code"]
        .as_i64()
        .or_else(|| error["details"]["exit_code"].as_i64());
    let code = code.map_or_else(String::new, |code| format!(" (exit code {code})"));
    let name = escape_control(result["target"].as_str().unwrap_or_default());
    let mut lines = vec![format!("{} {}{code}", style_failure("✗"), style_name(name))];
    // The program's own message is more useful than its exit code.
    let stderr = value["stderr"]
        .as_str()
        .filter(|text| !text.trim().is_empty());
    let text = stderr.or_else(|| error["msg"].as_str()).unwrap_or_default();
    let text: Vec<_> = text.trim_end().lines().collect();
    let shown = text.iter().take(FAILED_LINES);
    lines.extend(shown.map(|line| format!("    {}", error_output(escape_control(line)))));
    if text.len() > FAILED_LINES {
        let more = text.len() - FAILED_LINES;
        lines.push(format!("    … and {more} more lines"));
    }
    lines
}

fn describe_plan(job: &PlanJob) -> String {
    let name = job.options.get("plan_name").and_then(Value::as_str);
    let name = escape_control(name.unwrap_or_default());
    match preview::is_preview(job) {
        true => format!("{name} (preview)"),
        false => name,
    }
}
