//! Watching a plan job until it ends. Main function: [`follow`].
//!
//! Invariant: the first Ctrl-C asks the server to stop the plan, the second only stops watching;
//! the plan belongs to the server and its result is the same whether it is watched or not.

use api_types::{PlanEvent, PlanEvents};
use serde_json::{Value, json};
use tokio::signal::unix::Signal;

use super::question::PlanPrompt;
use super::requests::{fetch_events, fetch_page, fetch_plan_job, send_answer, stop_plan};
use super::{preview, read};
use crate::client::ApiClient;
use crate::defaults::{PLAN_POLL, RECONNECT_ATTEMPTS, RECONNECT_FIRST, RECONNECT_MAX};
use crate::follow::catch_interrupt;
use crate::terminal::{escape_control, style_dim, style_failure, style_heading, style_warning};
use crate::{
    CommandFailure, EXIT_ERROR, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, Result, VerbResult,
};

/// The error kind if another user answered first.
const NOT_ASKED: &str = "tutti/not-asked";

/// Watches plan job `number` from its start to its end and returns the exit code.
pub(crate) async fn follow(client: &ApiClient, number: &str, format: OutputFormat) -> VerbResult {
    Box::pin(follow_from(client, number, "0", format)).await
}

/// The same, starting after a given event.
pub(super) async fn follow_from(
    client: &ApiClient,
    number: &str,
    start: &str,
    format: OutputFormat,
) -> VerbResult {
    let mut watch = PlanWatch {
        client,
        number,
        human: format == OutputFormat::Human,
        start: start.to_owned(),
        question: None,
        over: false,
        interrupt: catch_interrupt()?,
        asked_to_stop: false,
    };
    if watch.poll_events().await? == PlanWatchEnd::Interrupted {
        print_note(&format!(
            "detached; plan job {0} goes on: `tutti plan events {0} --follow`",
            escape_control(number)
        ));
        return Ok(EXIT_ERROR);
    }
    let job = fetch_plan_job(client, number).await?;
    if format == OutputFormat::Json && preview::is_preview(&job) {
        // The effects are in the events.
        let events = fetch_events(client, number).await?;
        format.present(&json!({"plan_job": job, "events": events}), |_| ())?;
    } else {
        format.present(&job, read::outcome)?;
    }
    Ok(match job.state.as_str() {
        "success" => EXIT_SUCCESS,
        _ => EXIT_NODES_FAILED,
    })
}

struct PlanWatch<'a> {
    client: &'a ApiClient,
    number: &'a str,
    human: bool,
    /// Cursor of the next event.
    start: String,
    /// The unanswered question, as far as the events show.
    question: Option<PlanPrompt>,
    /// True after the last event.
    over: bool,
    interrupt: Signal,
    asked_to_stop: bool,
}

/// The reason why watching ended.
#[derive(PartialEq, Eq)]
enum PlanWatchEnd {
    /// The last event was read.
    Over,
    /// Ctrl-C was pressed twice.
    Interrupted,
}

// === impl PlanWatch ===

impl PlanWatch<'_> {
    /// Prints events up to the last one. There is no stream of plan events: they are polled.
    async fn poll_events(&mut self) -> Result<PlanWatchEnd> {
        let (client, number) = (self.client, self.number);
        loop {
            let start = self.start.clone();
            let events = tokio::select! {
                events = fetch_with_retries(client, number, &start) => events?,
                _ = self.interrupt.recv() => match self.handle_interrupt().await {
                    true => return Ok(PlanWatchEnd::Interrupted),
                    false => continue,
                },
            };
            if !events.items.is_empty() && events.next_events.event != start {
                for event in &events.items {
                    self.handle_event(event);
                }
                self.start = events.next_events.event;
                continue;
            }
            if self.over {
                return Ok(PlanWatchEnd::Over);
            }
            // No later event answered the question.
            if let Some(question) = self.question.take() {
                self.ask(question).await?;
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep(PLAN_POLL) => {}
                _ = self.interrupt.recv() => if self.handle_interrupt().await {
                    return Ok(PlanWatchEnd::Interrupted);
                },
            }
        }
    }

    /// Shows an event. A resumed plan goes on after an earlier end.
    fn handle_event(&mut self, event: &PlanEvent) {
        if self.human {
            format_event(event).iter().for_each(|line| say!("{line}"));
        }
        match event.kind.as_str() {
            "plan_finished" | "plan_failed" => self.over = true,
            "plan_resumed" => self.over = false,
            "answered" => self.question = None,
            _ => {
                if let Some(question) = PlanPrompt::from_event(event) {
                    self.question = Some(question);
                }
            }
        }
    }

    /// Asks the question on the terminal, or prints how to answer it.
    async fn ask(&mut self, question: PlanPrompt) -> Result<()> {
        if self.human {
            question.print_choices();
        }
        if !(self.human && PlanPrompt::can_be_asked()) {
            print_note(&question.hint(self.number));
            return Ok(());
        }
        let asking = question.clone();
        let asked = tokio::task::spawn_blocking(move || asking.ask()).await;
        let Ok(Ok(answer)) = asked else {
            // Ctrl-C, which arrives as a signal too.
            print_note(&question.hint(self.number));
            return Ok(());
        };
        match send_answer(self.client, self.number, &question, answer).await {
            Err(CommandFailure::Refused { kind, .. }) if kind == NOT_ASKED => {
                print_note("another user has answered");
                Ok(())
            }
            other => other,
        }
    }

    /// Asks the server to stop the plan; true if Ctrl-C was pressed again.
    async fn handle_interrupt(&mut self) -> bool {
        if self.asked_to_stop {
            return true;
        }
        self.asked_to_stop = true;
        let number = escape_control(self.number);
        print_note(&format!(
            "asking the server to stop plan job {number}; press Ctrl-C again to stop watching"
        ));
        let stopped = tokio::select! {
            stopped = stop_plan(self.client, self.number, false) => stopped,
            _ = self.interrupt.recv() => return true,
        };
        match stopped {
            Ok(_) => print_note(&format!(
                "plan job {number} takes no more steps; jobs that run go on (`tutti plan stop \
                 {number} --jobs` ends them)"
            )),
            Err(failure) => print_note(&format!("plan job {number} is not stopped: {failure}")),
        }
        false
    }
}

/// Retries while the server is unreachable: it resumes the plan after a restart.
async fn fetch_with_retries(client: &ApiClient, number: &str, start: &str) -> Result<PlanEvents> {
    let (mut pause, mut attempts) = (RECONNECT_FIRST, 0);
    loop {
        match fetch_page(client, number, start).await {
            Err(CommandFailure::Unreachable { cause, .. }) if attempts < RECONNECT_ATTEMPTS => {
                if attempts == 0 {
                    let cause = escape_control(&cause);
                    let note = format!("{cause}; waiting for the server, the plan goes on …");
                    print_note(&note);
                }
            }
            events => return events,
        }
        tokio::time::sleep(pause).await;
        attempts += 1;
        pause = (pause * 2).min(RECONNECT_MAX);
    }
}

fn print_note(text: &str) {
    anstream::eprintln!("{}", style_warning(text));
}

/// The lines for an event. The end is shown with the result.
fn format_event(event: &PlanEvent) -> Vec<String> {
    if let Some(lines) = preview::format_preview_event(event) {
        return lines;
    }
    let text = match event.message.is_empty() {
        true => event.kind.as_str(),
        false => event.message.as_str(),
    };
    let plain = text.lines().map(escape_control);
    match event.kind.as_str() {
        "plan_finished" | "plan_failed" => Vec::new(),
        "out_message" | "out_verbose" => plain.collect(),
        "log" => {
            let level = event.details.get("level").and_then(Value::as_str);
            let level = escape_control(level.unwrap_or("info"));
            let line = |line| format!("{level}: {line}");
            match level.as_str() {
                "error" | "fatal" => plain.map(line).map(style_failure).collect(),
                "warn" => plain.map(line).map(style_warning).collect(),
                _ => plain.map(line).map(style_dim).collect(),
            }
        }
        _ if PlanPrompt::from_event(event).is_some() => plain.map(style_heading).collect(),
        _ => plain.map(style_dim).collect(),
    }
}
