//! `tutti plan show`, `plan list` and `plan jobs`.

use api_types::{PlanDetail, PlanFunctionReplaced, PlanJob, PlanJobList, PlanList, PlanQuestion};
use serde_json::{Value, json as object};

use super::{events, preview};
use crate::client::ApiClient;
use crate::defaults::{FAILED_LINES, FAILED_TARGETS, JOBS_SHOWN, REPLACED_FUNCTIONS_SHOWN};
use crate::named_list::{self, NamedLine};
use crate::present::{OutputOptions, json};
use crate::terminal::{self, escape_control, style_dim};
use crate::values::{duration, result_lines};
use crate::{
    CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, VerbResult, table, task,
};

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
    let Some(plan) = &options.plan else {
        return plans(&environment, options.all, options.shown.format, client).await;
    };
    let (module, name) = task::split_name(plan);
    let path = ["orchestrator", "v1", "plans", module, name];
    let detail: PlanDetail = client
        .get(&path, &[("environment", environment.as_str())])
        .await?;
    match options.shown.format {
        OutputFormat::Json => json(&detail),
        OutputFormat::Human => print(&detail),
    }
    Ok(EXIT_SUCCESS)
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
    if format == OutputFormat::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    if list.items.is_empty() {
        say!("No plans in environment {}.", escape_control(environment));
        return Ok(EXIT_SUCCESS);
    }
    let lines = list.items.iter().map(|plan| NamedLine {
        name: &plan.name,
        permitted: plan.permitted,
        description: plan.description.as_deref(),
        error: plan.error.as_ref(),
    });
    named_list::print(&lines.collect::<Vec<_>>());
    Ok(EXIT_SUCCESS)
}

fn print(detail: &PlanDetail) {
    let name = escape_control(&detail.name);
    let description = detail.metadata.get("description").and_then(Value::as_str);
    say!(
        "{}  {}\n",
        terminal::style_heading(&name),
        escape_control(description.unwrap_or_default())
    );
    let parameters = detail.metadata.get("parameters").and_then(Value::as_object);
    let names = parameters.into_iter().flatten();
    let needed: Vec<_> = names
        .filter(|(_, about)| is_required(about))
        .map(|(key, _)| format!(" {}=…", escape_control(key)))
        .collect();
    if detail.metadata.get("private") == Some(&Value::Bool(true)) {
        say!("  Private: only other plans run it.\n");
    } else {
        say!("  tutti plan run {name}{}\n", needed.concat());
    }
    for (key, about) in parameters.into_iter().flatten() {
        parameter(key, about);
    }
    print_replaced_functions(&detail.replaced_functions);
}

/// Prints the Ruby functions that are replaced by built-in ones.
fn print_replaced_functions(functions: &[PlanFunctionReplaced]) {
    if functions.is_empty() {
        return;
    }
    say!(
        "\n  {}",
        terminal::style_warning(
            "Plans of this environment call the built-in functions instead of these of modules, which are Ruby and not \
             those of stdlib 8.5 or 9.7:"
        )
    );
    for function in functions.iter().take(REPLACED_FUNCTIONS_SHOWN) {
        let file = format!("{}/{}", function.module, function.file);
        say!(
            "    {}  {}",
            terminal::escaped_name(&function.name),
            style_dim(escape_control(&file))
        );
    }
    if let Some(more) = functions.len().checked_sub(REPLACED_FUNCTIONS_SHOWN + 1) {
        say!("    … and {} more: --format json has all", more + 1);
    }
}

fn parameter(key: &str, about: &Value) {
    let mut notes = vec![escape_control(about["type"].as_str().unwrap_or("Any"))];
    match about.get("default_value") {
        // The source text of an expression, in a plan in the Puppet language.
        Some(Value::String(text)) => notes.push(format!("default {}", escape_control(text))),
        Some(value) => notes.push(format!("default {}", escape_control(&value.to_string()))),
        None => notes.push("required".to_owned()),
    }
    if about["sensitive"] == Value::Bool(true) {
        notes.push("sensitive".to_owned());
    }
    say!(
        "  {}  {}",
        terminal::escaped_name(key),
        style_dim(notes.join(", "))
    );
    if let Some(description) = about["description"].as_str() {
        say!("      {}", escape_control(description));
    }
}

fn is_required(about: &Value) -> bool {
    about.get("default_value").is_none()
}

pub(super) async fn jobs(options: &JobsOptions, client: &ApiClient) -> VerbResult {
    let Some(number) = &options.job else {
        return list_jobs(options.limit, options.shown.format, client).await;
    };
    let path = ["orchestrator", "v1", "plan_jobs", number.as_str()];
    let job: PlanJob = client.get(&path, &[]).await?;
    let told = events::fetch_events(client, number).await?;
    match options.shown.format {
        OutputFormat::Json => json(&object!({"plan_job": job, "events": told})),
        OutputFormat::Human => {
            events::print(&told);
            outcome(&job);
        }
    }
    Ok(match job.state.as_str() {
        "failure" => EXIT_NODES_FAILED,
        _ => EXIT_SUCCESS,
    })
}

async fn list_jobs(limit: u64, format: OutputFormat, client: &ApiClient) -> VerbResult {
    let list = fetch_newest(&limit.to_string(), client).await?;
    if format == OutputFormat::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    if list.items.is_empty() {
        say!("No plan jobs yet.");
        return Ok(EXIT_SUCCESS);
    }
    let rows = list.items.iter().map(|job| {
        vec![
            escape_control(&job.name),
            state(job),
            describe_plan(job),
            job.duration.map_or_else(String::new, duration),
            job.created_timestamp.to_string(),
            escape_control(&job.owner.login),
        ]
    });
    let heading = ["ID", "STATUS", "PLAN", "TOOK", "STARTED", "OWNER"];
    table::print(&heading, rows.collect());
    let asking: Vec<_> = list.items.iter().flat_map(questions).collect();
    if !asking.is_empty() {
        say!("");
        asking.iter().for_each(|line| say!("{line}"));
    }
    Ok(EXIT_SUCCESS)
}

/// Prints the questions that plans wait with, below another list; nothing if the user may not see plan jobs.
pub(crate) async fn print_questions(client: &ApiClient) {
    let limit = JOBS_SHOWN.to_string();
    let Ok(list) = fetch_newest(&limit, client).await else {
        return;
    };
    let asking: Vec<_> = list.items.iter().flat_map(questions).collect();
    if !asking.is_empty() {
        say!("");
        asking.iter().for_each(|line| say!("{line}"));
    }
}

async fn fetch_newest(limit: &str, client: &ApiClient) -> Result<PlanJobList, CommandFailure> {
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
        true => terminal::style_state(&job.state),
        false => terminal::style_warning("waiting"),
    }
}

/// The open questions of the plan, and the commands that answer them.
fn questions(job: &PlanJob) -> Vec<String> {
    let number = escape_control(&job.name);
    let line = |question: &PlanQuestion| {
        let (step, prompt) = (
            escape_control(&question.step),
            escape_control(&question.prompt),
        );
        format!(
            "{} {prompt}  {}",
            terminal::style_warning(format!("plan job {number} asks:")),
            style_dim(format!("tutti plan approve {number} {step} --answer TEXT"))
        )
    };
    job.questions.iter().map(line).collect()
}

/// Prints the result of a plan job.
pub(super) fn outcome(job: &PlanJob) {
    let took = job
        .duration
        .map_or_else(String::new, |took| format!(" in {}", duration(took)));
    say!(
        "\nPlan job {} {}: {}{took}",
        escape_control(&job.name),
        state(job),
        describe_plan(job)
    );
    questions(job).iter().for_each(|line| say!("{line}"));
    let result = job.result.as_ref().filter(|result| !result.is_null());
    let lines = match (job.state.as_str(), result) {
        ("failure", Some(error)) if error["msg"].is_string() => error_lines(error),
        (_, Some(result)) if preview::is_preview(job) => preview::summary(result),
        (_, result) => result.into_iter().flat_map(result_lines).collect(),
    };
    for line in lines {
        say!("    {line}");
    }
    if job.state == "failure" && !preview::is_preview(job) {
        let name = escape_control(&job.name);
        say!(
            "{}",
            style_dim(format!(
                "tutti plan steps {name} shows what it did; tutti plan resume {name} resumes it after the \
                 cause is fixed"
            ))
        );
    }
}

/// The lines of an error in Puppet's form: message, kind, details.
fn error_lines(error: &Value) -> Vec<String> {
    let msg = error["msg"].as_str().unwrap_or_default();
    let mut lines: Vec<_> = msg
        .lines()
        .map(escape_control)
        .map(terminal::style_failure)
        .collect();
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
    lines
}

/// The targets on which a step failed: name, exit code, and their standard error.
fn failed_targets(details: &Value) -> Vec<String> {
    let results = details["result_set"].as_array().into_iter().flatten();
    let failed: Vec<_> = results
        .filter(|result| result["status"] == "failure")
        .collect();
    let mut lines: Vec<_> = failed
        .iter()
        .take(FAILED_TARGETS)
        .flat_map(|result| failed_target(result))
        .collect();
    if let Some(more) = failed
        .len()
        .checked_sub(FAILED_TARGETS)
        .filter(|more| *more > 0)
    {
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
    let mut lines = vec![format!(
        "{} {}{code}",
        terminal::style_failure("✗"),
        terminal::style_name(name)
    )];
    // The program's own message is more useful than its exit code.
    let stderr = value["stderr"]
        .as_str()
        .filter(|text| !text.trim().is_empty());
    let text = stderr.or_else(|| error["msg"].as_str()).unwrap_or_default();
    let text: Vec<_> = text.trim_end().lines().collect();
    let shown = text.iter().take(FAILED_LINES);
    lines.extend(shown.map(|line| format!("    {}", terminal::error_output(escape_control(line)))));
    if text.len() > FAILED_LINES {
        lines.push(format!(
            "    … and {} more lines",
            text.len() - FAILED_LINES
        ));
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
