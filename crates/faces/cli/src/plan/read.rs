//! `tutti plan show`, `plan list` and `plan jobs`.

use api_types::{PlanDetail, PlanFunctionReplaced, PlanJob, PlanJobList, PlanList, PlanQuestion};
use serde_json::{Value, json as object};

use super::{events, preview};
use crate::client::Client;
use crate::defaults::{FAILED_LINES, FAILED_TARGETS, JOBS_SHOWN, REPLACED_FUNCTIONS_SHOWN};
use crate::named_list::{self, NamedLine};
use crate::output::{OutputOptions, json};
use crate::terminal::{self, dim, harmless};
use crate::values::{duration, result_lines};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, Failure, Format, table, task};

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

pub(super) async fn show(options: &ShowOptions, client: &Client) -> Result<u8, Failure> {
    let environment = options.environment.of(client);
    let Some(plan) = &options.plan else {
        return plans(&environment, options.all, options.shown.format, client).await;
    };
    let (module, name) = task::segments(plan);
    let path = ["orchestrator", "v1", "plans", module, name];
    let detail: PlanDetail = client
        .get(&path, &[("environment", environment.as_str())])
        .await?;
    match options.shown.format {
        Format::Json => json(&detail),
        Format::Human => print(&detail),
    }
    Ok(EXIT_SUCCESS)
}

pub(super) async fn list(options: &ListOptions, client: &Client) -> Result<u8, Failure> {
    let environment = options.environment.of(client);
    plans(&environment, options.all, options.shown.format, client).await
}

/// Prints the plans that the user may run, or all.
async fn plans(
    environment: &str,
    all: bool,
    format: Format,
    client: &Client,
) -> Result<u8, Failure> {
    let query = [("environment", environment)];
    let mut list: PlanList = client.get(&["orchestrator", "v1", "plans"], &query).await?;
    list.items.retain(|plan| all || plan.permitted);
    if format == Format::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    if list.items.is_empty() {
        say!("No plans in environment {}.", harmless(environment));
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
    let name = harmless(&detail.name);
    let description = detail.metadata.get("description").and_then(Value::as_str);
    say!(
        "{}  {}\n",
        terminal::heading(&name),
        harmless(description.unwrap_or_default())
    );
    let parameters = detail.metadata.get("parameters").and_then(Value::as_object);
    let names = parameters.into_iter().flatten();
    let needed: Vec<_> = names
        .filter(|(_, about)| is_needed(about))
        .map(|(key, _)| format!(" {}=…", harmless(key)))
        .collect();
    if detail.metadata.get("private") == Some(&Value::Bool(true)) {
        say!("  Private: only other plans run it.\n");
    } else {
        say!("  tutti plan run {name}{}\n", needed.concat());
    }
    for (key, about) in parameters.into_iter().flatten() {
        parameter(key, about);
    }
    replaced_functions(&detail.replaced_functions);
}

/// Prints the Ruby functions that are replaced by built-in ones.
fn replaced_functions(functions: &[PlanFunctionReplaced]) {
    if functions.is_empty() {
        return;
    }
    say!(
        "\n  {}",
        terminal::warn(
            "Plans of this environment call the built-in functions instead of these of modules, which are Ruby and not \
             those of stdlib 8.5 or 9.7:"
        )
    );
    for function in functions.iter().take(REPLACED_FUNCTIONS_SHOWN) {
        let file = format!("{}/{}", function.module, function.file);
        say!(
            "    {}  {}",
            terminal::name(harmless(&function.name)),
            dim(harmless(&file))
        );
    }
    if let Some(more) = functions.len().checked_sub(REPLACED_FUNCTIONS_SHOWN + 1) {
        say!("    … and {} more: --format json has all", more + 1);
    }
}

fn parameter(key: &str, about: &Value) {
    let mut notes = vec![harmless(about["type"].as_str().unwrap_or("Any"))];
    match about.get("default_value") {
        // The source text of an expression, in a plan in the Puppet language.
        Some(Value::String(text)) => notes.push(format!("default {}", harmless(text))),
        Some(value) => notes.push(format!("default {}", harmless(&value.to_string()))),
        None => notes.push("required".to_owned()),
    }
    if about["sensitive"] == Value::Bool(true) {
        notes.push("sensitive".to_owned());
    }
    say!(
        "  {}  {}",
        terminal::name(harmless(key)),
        dim(notes.join(", "))
    );
    if let Some(description) = about["description"].as_str() {
        say!("      {}", harmless(description));
    }
}

fn is_needed(about: &Value) -> bool {
    about.get("default_value").is_none()
}

pub(super) async fn jobs(options: &JobsOptions, client: &Client) -> Result<u8, Failure> {
    let Some(number) = &options.job else {
        return listed(options.limit, options.shown.format, client).await;
    };
    let path = ["orchestrator", "v1", "plan_jobs", number.as_str()];
    let job: PlanJob = client.get(&path, &[]).await?;
    let told = events::all(client, number).await?;
    match options.shown.format {
        Format::Json => json(&object!({"plan_job": job, "events": told})),
        Format::Human => {
            events::print(&told);
            outcome(&job);
        }
    }
    Ok(match job.state.as_str() {
        "failure" => EXIT_NODES_FAILED,
        _ => EXIT_SUCCESS,
    })
}

async fn listed(limit: u64, format: Format, client: &Client) -> Result<u8, Failure> {
    let list = newest(&limit.to_string(), client).await?;
    if format == Format::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    if list.items.is_empty() {
        say!("No plan jobs yet.");
        return Ok(EXIT_SUCCESS);
    }
    let rows = list.items.iter().map(|job| {
        vec![
            harmless(&job.name),
            state(job),
            plan(job),
            job.duration.map_or_else(String::new, duration),
            job.created_timestamp.to_string(),
            harmless(&job.owner.login),
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
pub(crate) async fn print_questions(client: &Client) {
    let limit = JOBS_SHOWN.to_string();
    let Ok(list) = newest(&limit, client).await else {
        return;
    };
    let asking: Vec<_> = list.items.iter().flat_map(questions).collect();
    if !asking.is_empty() {
        say!("");
        asking.iter().for_each(|line| say!("{line}"));
    }
}

async fn newest(limit: &str, client: &Client) -> Result<PlanJobList, Failure> {
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
        true => terminal::state(&job.state),
        false => terminal::warn("waiting"),
    }
}

/// The open questions of the plan, and the commands that answer them.
fn questions(job: &PlanJob) -> Vec<String> {
    let number = harmless(&job.name);
    let line = |question: &PlanQuestion| {
        let (step, prompt) = (harmless(&question.step), harmless(&question.prompt));
        format!(
            "{} {prompt}  {}",
            terminal::warn(format!("plan job {number} asks:")),
            dim(format!("tutti plan approve {number} {step} --answer TEXT"))
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
        harmless(&job.name),
        state(job),
        plan(job)
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
        let name = harmless(&job.name);
        say!(
            "{}",
            dim(format!(
                "tutti plan steps {name} shows what it did; tutti plan resume {name} resumes it after the \
                 cause is fixed"
            ))
        );
    }
}

/// The lines of an error in Puppet's form: message, kind, details.
fn error_lines(error: &Value) -> Vec<String> {
    let msg = error["msg"].as_str().unwrap_or_default();
    let mut lines: Vec<_> = msg.lines().map(harmless).map(terminal::bad).collect();
    if let Some(kind) = error["kind"].as_str() {
        lines.push(dim(format!("({})", harmless(kind))));
    }
    let details = &error["details"];
    if let Some(file) = details["file"].as_str() {
        let line = details["line"].as_u64();
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        lines.push(dim(format!("{}{line}", harmless(file))));
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
    let name = harmless(result["target"].as_str().unwrap_or_default());
    let mut lines = vec![format!(
        "{} {}{code}",
        terminal::bad("✗"),
        terminal::name(name)
    )];
    // The program's own message is more useful than its exit code.
    let stderr = value["stderr"]
        .as_str()
        .filter(|text| !text.trim().is_empty());
    let text = stderr.or_else(|| error["msg"].as_str()).unwrap_or_default();
    let text: Vec<_> = text.trim_end().lines().collect();
    let shown = text.iter().take(FAILED_LINES);
    lines.extend(shown.map(|line| format!("    {}", terminal::error_output(harmless(line)))));
    if text.len() > FAILED_LINES {
        lines.push(format!(
            "    … and {} more lines",
            text.len() - FAILED_LINES
        ));
    }
    lines
}

fn plan(job: &PlanJob) -> String {
    let name = job.options.get("plan_name").and_then(Value::as_str);
    let name = harmless(name.unwrap_or_default());
    match preview::is_preview(job) {
        true => format!("{name} (preview)"),
        false => name,
    }
}
