//! Watching a job until it ends. Main function: [`follow`].
//!
//! Invariant: the first Ctrl-C asks the server to stop the job, the second only stops watching; the
//! job belongs to the server and its result is the same whether it is watched or not.

pub(crate) mod code;
mod last_line;
mod lines;
mod progress;
pub(crate) mod puppet;
mod puppet_output;

use api_types::events::ends_job;
use api_types::{Event, Job, JobNode, JobNodes, LiveOutput, StopCommand, StopReply};
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::client::ApiClient;
use crate::job::requests::{fetch_job, nodes_in};
use crate::stream::{EventStream, StreamItem};
use crate::terminal::{
    escape_control, escaped_name, style_failure, style_heading, style_state, style_success,
    style_warning,
};
use crate::values::{duration, first_line, result_lines};
use crate::{
    CommandFailure, EXIT_ERROR, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, ProgramName, Result,
    VerbResult, present,
};

use code::CodeVersionCounts;
use lines::LiveLines;
use progress::JobProgress;
use puppet::NodeRun;

/// Failed nodes listed again at the end; `job show` lists all.
const FAILED_SHOWN: usize = 20;

/// With fewer nodes, the failures are still on the screen.
const NODES_FOR_A_LIST: u64 = 10;

/// A job that a verb created.
pub(crate) struct JobStart<'a> {
    pub(crate) number: &'a str,
    /// The kind in the line under the names of Puppet Enterprise's tools.
    pub(crate) kind: &'a str,
    /// The work and the targets, for the announcement.
    pub(crate) what: &'a str,
    /// True if only the number is to be printed.
    pub(crate) no_wait: bool,
    pub(crate) format: OutputFormat,
}

impl JobStart<'_> {
    /// Announces the job and watches it to its end.
    pub(crate) async fn follow(self, client: &ApiClient) -> VerbResult {
        let (number, what) = (self.number, self.what);
        if self.no_wait {
            say!("{number}");
            return Ok(EXIT_SUCCESS);
        }
        if self.format == OutputFormat::Human {
            match client.name {
                ProgramName::Puppet => say!("Starting {} ...", self.kind),
                ProgramName::Tutti => say!("Job {}: {what}\n", style_heading(number)),
            }
        }
        follow(client, number, self.format).await
    }
}

/// Watches job `number` to its end, prints the result and returns the exit code.
pub(crate) async fn follow(client: &ApiClient, number: &str, format: OutputFormat) -> VerbResult {
    let job = fetch_job(client, number).await?;
    let mut view = JobView::new(&job, format, client.name);
    if view.human && client.name == ProgramName::Puppet {
        let lines = puppet_output::job_created_lines(&job);
        lines.iter().for_each(|line| say!("{line}"));
    }
    match follow_until_end(client, number, &mut view).await? {
        JobWatchEnd::Detached => Ok(EXIT_ERROR),
        JobWatchEnd::Over => summary(client, number, format, &view.code).await,
    }
}

/// Watches job `number` to its end without printing results, and returns the exit code.
pub(crate) async fn watch(client: &ApiClient, number: &str) -> VerbResult {
    let job = fetch_job(client, number).await?;
    let mut view = JobView::new(&job, OutputFormat::Json, client.name);
    match follow_until_end(client, number, &mut view).await? {
        JobWatchEnd::Detached => Ok(EXIT_ERROR),
        JobWatchEnd::Over => Ok(exit_code(&fetch_job(client, number).await?)),
    }
}

/// The reason why watching ended.
enum JobWatchEnd {
    /// The job is over.
    Over,
    /// The user stopped watching; the job goes on.
    Detached,
}

async fn follow_until_end(
    client: &ApiClient,
    number: &str,
    view: &mut JobView,
) -> Result<JobWatchEnd> {
    let mut stream = EventStream::new(client, number);
    // One for the whole time: a Ctrl-C between two waits is not lost.
    let mut interrupt = catch_interrupt()?;
    let mut asked = false;
    loop {
        let item = tokio::select! {
            item = stream.next() => match item {
                Ok(item) => item,
                Err(failure) => {
                    view.finish();
                    return Err(with_running_job_hint(failure, number));
                }
            },
            _ = interrupt.recv() => {
                let leave = asked || stop(client, number, view, &mut interrupt).await;
                if leave {
                    view.print_note(&format!("detached; job {number} goes on: `tutti job show {number}`"));
                    return Ok(JobWatchEnd::Detached);
                }
                asked = true;
                continue;
            }
        };
        match item {
            StreamItem::Output(output) => view.output(&output),
            StreamItem::Lost(cause) => {
                view.print_note(&format!(
                    "{cause}; waiting for the server, the job goes on …"
                ));
            }
            StreamItem::Event(event) if ends_job(&event.kind) => break,
            StreamItem::Event(event) => view.event(&event),
        }
    }
    view.finish();
    Ok(JobWatchEnd::Over)
}

/// The signal of Ctrl-C.
pub(crate) fn catch_interrupt() -> Result<Signal> {
    signal(SignalKind::interrupt())
        .map_err(|error| CommandFailure::Usage(format!("cannot catch Ctrl-C: {error}")))
}

/// Adds to a failure to watch that the job goes on.
fn with_running_job_hint(failure: CommandFailure, number: &str) -> CommandFailure {
    match failure {
        lost @ CommandFailure::StreamLost { .. } => lost,
        other => CommandFailure::StreamLost {
            job: number.to_owned(),
            cause: other.to_string(),
        },
    }
}

/// Asks the server to stop the job; true if Ctrl-C came again before the response.
async fn stop(client: &ApiClient, number: &str, view: &JobView, interrupt: &mut Signal) -> bool {
    view.print_note(&format!(
        "asking the server to stop job {number}; press Ctrl-C again to stop watching"
    ));
    let command = StopCommand {
        job: number.to_owned(),
        force: false,
    };
    let path = ["orchestrator", "v1", "command", "stop"];
    let reply: Result<StopReply> = tokio::select! {
        reply = client.post(&path, &command) => reply,
        _ = interrupt.recv() => return true,
    };
    match reply {
        Ok(reply) => view.print_note(&format!(
            "stopping job {number}: nothing new starts, {} running nodes finish (`tutti job stop \
             {number} --force` ends them)",
            reply.job.nodes.running
        )),
        Err(failure) => view.print_note(&format!("job {number} is not stopped: {failure}")),
    }
    false
}

/// The screen while the job runs.
struct JobView {
    human: bool,
    /// The name under which the program was called.
    name: ProgramName,
    /// True for Puppet runs, which have their own lines.
    puppet: bool,
    lines: LiveLines,
    progress: JobProgress,
    /// Code versions of the runs that have ended.
    code: CodeVersionCounts,
}

// === impl JobView ===

impl JobView {
    fn new(job: &Job, format: OutputFormat, name: ProgramName) -> Self {
        let human = format == OutputFormat::Human;
        Self {
            human,
            name,
            puppet: is_puppet(job),
            lines: LiveLines::default(),
            code: CodeVersionCounts::default(),
            progress: JobProgress::new(job.node_count, human),
        }
    }

    fn print_note(&self, text: &str) {
        self.progress
            .print_above(|| anstream::eprintln!("{}", style_warning(text)));
    }

    fn print(&self, text: &str) {
        self.progress.print_above(|| say!("{text}"));
    }

    fn output(&mut self, output: &LiveOutput) {
        if !self.human {
            return;
        }
        let lines = self.lines.push(output);
        if self.name == ProgramName::Puppet && !self.puppet {
            // Puppet's own client prints output when the node has ended.
            return;
        }
        lines.iter().for_each(|line| self.print(line));
    }

    fn event(&mut self, event: &Event) {
        let node = event.details.get("node").and_then(Value::as_str);
        let node = node.unwrap_or_default();
        match event.kind.as_str() {
            "node_running" => {
                self.progress.count_started();
                if self.human && self.puppet {
                    self.print(&puppet::start_line(node));
                } else if self.human && self.name == ProgramName::Puppet {
                    self.print(&puppet_output::node_started_line(node));
                }
            }
            "node_finished" | "node_failed" | "node_errored" | "node_skipped" => {
                let succeeded = event.kind == "node_finished";
                self.progress.count_ended(succeeded);
                if self.human && self.puppet {
                    let rest = self.lines.finish(node);
                    let ran = NodeRun::from_event(node, event).without_seen_messages(rest.errors);
                    self.code.count_run(ran.result());
                    self.print(&[rest.lines, ran.lines()].concat().join("\n"));
                } else if self.human {
                    self.handle_node_end(node, event, succeeded);
                }
            }
            // Puppet Enterprise's client has no such lines; a node that is not held is news all the same.
            "leases_taken" if self.name == ProgramName::Puppet && holds_all_nodes(event) => {}
            "leases_awaited" | "leases_taken" | "nodes_quarantined" | "batch_started"
            | "batch_finished" | "rollout_halted"
                if self.human =>
            {
                let text = escape_control(&event.message);
                let text = match event.kind.as_str() {
                    "rollout_halted" | "nodes_quarantined" => style_failure(text),
                    _ => style_heading(text),
                };
                self.print(&text);
            }
            _ => {}
        }
    }

    fn handle_node_end(&mut self, node: &str, event: &Event, succeeded: bool) {
        let rest = self.lines.finish(node);
        let result = event.details.get("result").unwrap_or(&Value::Null);
        if self.name == ProgramName::Puppet {
            let state = event.kind.strip_prefix("node_").unwrap_or(&event.kind);
            let lines = puppet_output::node_ended_lines(node, state, result, &event.message);
            return self.print(&lines.join("\n"));
        }
        let (mark, word) = match event.kind.as_str() {
            "node_finished" => (style_success("✓"), style_success("finished")),
            "node_failed" => (style_failure("✗"), style_failure("failed")),
            "node_errored" => (style_failure("✗"), style_failure("errored")),
            _ => (style_warning("-"), style_warning("skipped")),
        };
        let mut shown = rest.lines.clone();
        shown.push(format!("{mark} {} {word}", escaped_name(node)));
        let result = rest.without_seen_output(result);
        if !result.is_null() {
            let lines = result_lines(&result).into_iter();
            shown.extend(lines.map(|line| format!("    {line}")));
        } else if !succeeded {
            shown.push(format!("    {}", escape_control(&event.message)));
        }
        self.print(&shown.join("\n"));
    }

    fn finish(&self) {
        self.progress.finish();
    }
}

/// True if the job runs Puppet.
pub(crate) fn is_puppet(job: &Job) -> bool {
    job.command == "deploy"
}

/// Prints how the job ended, in the requested format.
async fn summary(
    client: &ApiClient,
    number: &str,
    format: OutputFormat,
    code: &CodeVersionCounts,
) -> VerbResult {
    let job = fetch_job(client, number).await?;
    if format == OutputFormat::Json {
        let items = nodes_in(client, number, None).await?;
        present::json(&json!({"job": job, "items": items}));
    } else {
        print_human_summary(client, &job).await?;
        code.warning().iter().for_each(|line| say!("{line}"));
    }
    Ok(exit_code(&job))
}

fn exit_code(job: &Job) -> u8 {
    match job.state == "finished" {
        true => EXIT_SUCCESS,
        false => EXIT_NODES_FAILED,
    }
}

async fn print_human_summary(client: &ApiClient, job: &Job) -> Result<()> {
    if client.name == ProgramName::Puppet {
        say!("");
        let lines = puppet_output::job_completed_lines(job);
        lines.iter().for_each(|line| say!("{line}"));
        return Ok(());
    }
    let states = job.node_states.clone().unwrap_or_default();
    let good = states.get("finished").copied().unwrap_or(0);
    let word = style_state(&job.state);
    let took = duration(job.duration.unwrap_or(0.0));
    let (name, all) = (escape_control(&job.name), job.node_count);
    say!("\nJob {name} {word}: {good} of {all} nodes succeeded in {took}");
    let other = states.iter().filter(|(state, _)| *state != "finished");
    let other: Vec<_> = other.collect();
    if other.is_empty() {
        return Ok(());
    }
    let counts = other
        .iter()
        .map(|(state, count)| format!("{count} {}", style_state(state)));
    say!("{}", counts.collect::<Vec<_>>().join(", "));
    if job.node_count > NODES_FOR_A_LIST {
        print_failed_nodes(client, job, &other).await?;
    }
    Ok(())
}

async fn print_failed_nodes(
    client: &ApiClient,
    job: &Job,
    states: &[(&String, &u64)],
) -> Result<()> {
    let mut room = FAILED_SHOWN;
    for (state, _) in states {
        if room == 0 {
            break;
        }
        let limit = room.to_string();
        let query = [("state", state.as_str()), ("limit", limit.as_str())];
        let path = ["orchestrator", "v1", "jobs", job.name.as_str(), "nodes"];
        let nodes: JobNodes = client.get(&path, &query).await?;
        room = room.saturating_sub(nodes.items.len());
        for node in nodes.items {
            say!("  {}  {}", escaped_name(&node.name), failure_reason(&node));
        }
    }
    if room == 0 {
        say!(
            "  … all of them: tutti job show {}",
            escape_control(&job.name)
        );
    }
    Ok(())
}

/// The cause of a node's failure in one line.
fn failure_reason(node: &JobNode) -> String {
    let result = node.result.as_ref();
    let error = result.and_then(|result| result["_error"]["msg"].as_str());
    let message = error.or_else(|| node.details.get("message").and_then(Value::as_str));
    escape_control(first_line(message.unwrap_or_default()))
}

/// True if an event `leases_taken` names no node on which other runs may start.
fn holds_all_nodes(event: &Event) -> bool {
    event.details.get("not_held").and_then(Value::as_u64) == Some(0)
}
