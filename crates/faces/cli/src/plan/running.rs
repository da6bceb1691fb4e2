//! `tutti plan stop`, `plan resume` and `plan approve`.

use api_types::{PlanResumeCommand, PlanResumed, PlanStep, PlanSteps};
use serde_json::Value;

use super::follow;
use super::question::PlanPrompt;
use super::requests::{fetch_end_cursor, send_answer, stop_plan};
use crate::client::ApiClient;
use crate::failure::usage;
use crate::present::OutputOptions;
use crate::terminal::escape_control;
use crate::values::or_empty;
use crate::{EXIT_SUCCESS, OutputFormat, Result, VerbResult};

/// Arguments of `tutti plan resume`.
#[derive(Debug, clap::Args)]
pub struct ResumeOptions {
    /// Number of the plan job
    job: String,
    /// Resume at this step, as named by `tutti plan steps` [default: the one that failed last]
    #[arg(long, value_name = "STEP")]
    from_step: Option<String>,
    /// Do not wait for the plan
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    shown: OutputOptions,
}

/// Arguments of `tutti plan approve`.
#[derive(Debug, clap::Args)]
pub struct ApproveOptions {
    /// Number of the plan job
    job: String,
    /// Step that waits; the only waiting one when absent
    step: Option<String>,
    /// Answer, if the plan asks for a text; - reads a line of standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    answer: Option<String>,
    /// Deny instead of approving
    #[arg(long, conflicts_with = "answer")]
    deny: bool,
}

pub(super) async fn stop(number: &str, jobs: bool, client: &ApiClient) -> VerbResult {
    let stopped = stop_plan(client, number, jobs).await?;
    let jobs = if jobs { " and its jobs" } else { "" };
    say!("Stopping plan job {}{jobs}", escape_control(&stopped.name));
    Ok(EXIT_SUCCESS)
}

pub(super) async fn resume(options: ResumeOptions, client: &ApiClient) -> VerbResult {
    // Earlier events are not shown again.
    let start = fetch_end_cursor(client, &options.job).await?;
    let command = PlanResumeCommand {
        plan_job: options.job,
        from_step: options.from_step,
    };
    let path = ["orchestrator", "v1", "command", "plan_resume"];
    let resumed: PlanResumed = client.post(&path, &command).await?;
    let format = options.shown.format;
    if options.no_wait || format == OutputFormat::Human {
        let name = escape_control(&resumed.name);
        match &resumed.step {
            Some(step) => say!("Plan job {name} goes on at step {}", escape_control(step)),
            None => say!("Plan job {name} goes on"),
        }
    }
    if options.no_wait {
        return Ok(EXIT_SUCCESS);
    }
    follow::follow_from(client, &resumed.name, &start, format).await
}

pub(super) async fn approve(options: ApproveOptions, client: &ApiClient) -> VerbResult {
    let question = fetch_question(client, &options.job, options.step.as_deref()).await?;
    let answer = match &options.answer {
        Some(text) => question.parse_answer(text)?,
        None if question.approval => Value::Bool(!options.deny),
        None if options.deny => {
            return usage("it asks for a text, not for approval; answer with --answer TEXT");
        }
        None if PlanPrompt::can_be_asked() => {
            question.print_choices();
            question.ask()?
        }
        None => {
            let text = &question.text;
            return usage(format!(
                "it asks for a text: \"{text}\"; answer with --answer TEXT"
            ));
        }
    };
    send_answer(client, &options.job, &question, answer).await?;
    let (job, step) = (escape_control(&options.job), escape_control(&question.step));
    say!("Answered step {step} of plan job {job}");
    Ok(EXIT_SUCCESS)
}

/// The question of this step, or of the only waiting one.
async fn fetch_question(
    client: &ApiClient,
    number: &str,
    step: Option<&str>,
) -> Result<PlanPrompt> {
    let path = ["orchestrator", "v1", "plan_jobs", number, "steps"];
    let waiting: PlanSteps = client.get(&path, &[("state", "waiting")]).await?;
    let is_wanted = |one: &&PlanStep| step.is_none_or(|step| step == one.step);
    let mut found: Vec<_> = waiting.items.iter().filter(is_wanted).collect();
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(PlanPrompt::from_step(only)),
        (Some(_), false) => {
            let names: Vec<_> = waiting.items.iter().map(|one| one.step.as_str()).collect();
            let names = names.join(", ");
            usage(format!("several steps wait: {names}; say which"))
        }
        (None, _) => {
            let step = or_empty(step.map(|step| format!("step {step} of ")));
            usage(format!("{step}plan job {number} waits for no answer"))
        }
    }
}
