//! Watching a plan job until it ends. Main function: [`follow`].
//!
//! Invariant: the first Ctrl-C asks the server to stop the plan, the second only stops watching;
//! the plan belongs to the server and its result is the same whether it is watched or not.

use api_types::{PlanAnswerCommand, PlanEvent, PlanEvents, PlanJob, PlanName, StopPlanCommand};
use serde_json::{Value, json as object};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::question::Question;
use super::{preview, read};
use crate::client::Client;
use crate::defaults::{PLAN_POLL, RECONNECT_ATTEMPTS, RECONNECT_FIRST, RECONNECT_MAX};
use crate::output::json;
use crate::terminal::{self, dim, harmless};
use crate::{EXIT_ERROR, EXIT_NODES_FAILED, EXIT_SUCCESS, Failure, Format};

/// The error kind if another user answered first.
const NOT_ASKED: &str = "tutti/not-asked";

/// Watches plan job `number` from its start to its end and returns the exit code.
pub(super) async fn follow(client: &Client, number: &str, format: Format) -> Result<u8, Failure> {
    Box::pin(follow_from(client, number, "0", format)).await
}

/// The same, starting after a given event.
pub(super) async fn follow_from(
    client: &Client,
    number: &str,
    start: &str,
    format: Format,
) -> Result<u8, Failure> {
    let interrupt = signal(SignalKind::interrupt());
    let mut watch = PlanWatch {
        client,
        number,
        human: format == Format::Human,
        start: start.to_owned(),
        question: None,
        over: false,
        interrupt: interrupt
            .map_err(|error| Failure::Usage(format!("cannot catch Ctrl-C: {error}")))?,
        asked_to_stop: false,
    };
    if watch.events().await? == WatchEnd::Left {
        note(&format!(
            "detached; plan job {0} goes on: `tutti plan events {0} --follow`",
            harmless(number)
        ));
        return Ok(EXIT_ERROR);
    }
    let path = ["orchestrator", "v1", "plan_jobs", number];
    let job: PlanJob = client.get(&path, &[]).await?;
    match format {
        // The effects are in the events.
        Format::Json if preview::is_preview(&job) => {
            let events = super::events::all(client, number).await?;
            json(&object!({"plan_job": job, "events": events}));
        }
        Format::Json => json(&job),
        Format::Human => read::outcome(&job),
    }
    Ok(match job.state.as_str() {
        "success" => EXIT_SUCCESS,
        _ => EXIT_NODES_FAILED,
    })
}

struct PlanWatch<'a> {
    client: &'a Client,
    number: &'a str,
    human: bool,
    /// Cursor of the next event.
    start: String,
    /// The unanswered question, as far as the events show.
    question: Option<Question>,
    /// True after the last event.
    over: bool,
    interrupt: Signal,
    asked_to_stop: bool,
}

/// The reason why watching ended.
#[derive(PartialEq, Eq)]
enum WatchEnd {
    /// The last event was read.
    Over,
    /// Ctrl-C was pressed twice.
    Left,
}

// === impl Watch ===

impl PlanWatch<'_> {
    /// Prints events up to the last one. There is no stream of plan events: they are polled.
    async fn events(&mut self) -> Result<WatchEnd, Failure> {
        let (client, number) = (self.client, self.number);
        loop {
            let start = self.start.clone();
            let events = tokio::select! {
                events = fetch_with_retries(client, number, &start) => events?,
                _ = self.interrupt.recv() => match self.interrupted().await {
                    true => return Ok(WatchEnd::Left),
                    false => continue,
                },
            };
            if !events.items.is_empty() && events.next_events.event != start {
                events.items.iter().for_each(|event| self.take(event));
                self.start = events.next_events.event;
                continue;
            }
            if self.over {
                return Ok(WatchEnd::Over);
            }
            // No later event answered the question.
            if let Some(question) = self.question.take() {
                self.ask(question).await?;
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep(PLAN_POLL) => {}
                _ = self.interrupt.recv() => if self.interrupted().await {
                    return Ok(WatchEnd::Left);
                },
            }
        }
    }

    /// Shows an event. A resumed plan goes on after an earlier end.
    fn take(&mut self, event: &PlanEvent) {
        if self.human {
            for line in lines(event) {
                say!("{line}");
            }
        }
        match event.kind.as_str() {
            "plan_finished" | "plan_failed" => self.over = true,
            "plan_resumed" => self.over = false,
            "answered" => self.question = None,
            _ => {
                if let Some(question) = Question::of_event(event) {
                    self.question = Some(question);
                }
            }
        }
    }

    /// Asks the question on the terminal, or prints how to answer it.
    async fn ask(&mut self, question: Question) -> Result<(), Failure> {
        if self.human {
            for line in question.lines() {
                say!("{line}");
            }
        }
        if !(self.human && Question::can_be_asked()) {
            note(&question.hint(self.number));
            return Ok(());
        }
        let asking = question.clone();
        let asked = tokio::task::spawn_blocking(move || asking.ask()).await;
        let Ok(Ok(answer)) = asked else {
            // Ctrl-C, which arrives as a signal too.
            note(&question.hint(self.number));
            return Ok(());
        };
        match answer_to(self.client, self.number, &question, answer).await {
            Err(Failure::Refused { kind, .. }) if kind == NOT_ASKED => {
                note("another user has answered");
                Ok(())
            }
            other => other,
        }
    }

    /// Asks the server to stop the plan; true if Ctrl-C was pressed again.
    async fn interrupted(&mut self) -> bool {
        if self.asked_to_stop {
            return true;
        }
        self.asked_to_stop = true;
        let number = harmless(self.number);
        note(&format!(
            "asking the server to stop plan job {number}; press Ctrl-C again to stop watching"
        ));
        let stopped = tokio::select! {
            stopped = stop(self.client, self.number, false) => stopped,
            _ = self.interrupt.recv() => return true,
        };
        match stopped {
            Ok(_) => note(&format!(
                "plan job {number} takes no more steps; jobs that run go on (`tutti plan stop \
                 {number} --jobs` ends them)"
            )),
            Err(failure) => note(&format!("plan job {number} is not stopped: {failure}")),
        }
        false
    }
}

/// Retries while the server is unreachable: it resumes the plan after a restart.
async fn fetch_with_retries(
    client: &Client,
    number: &str,
    start: &str,
) -> Result<PlanEvents, Failure> {
    let (mut pause, mut attempts) = (RECONNECT_FIRST, 0);
    loop {
        let path = ["orchestrator", "v1", "plan_jobs", number, "events"];
        match client.get(&path, &[("start", start)]).await {
            Err(Failure::Unreachable { cause, .. }) if attempts < RECONNECT_ATTEMPTS => {
                if attempts == 0 {
                    let cause = harmless(&cause);
                    note(&format!(
                        "{cause}; waiting for the server, the plan goes on …"
                    ));
                }
            }
            events => return events,
        }
        tokio::time::sleep(pause).await;
        attempts += 1;
        pause = (pause * 2).min(RECONNECT_MAX);
    }
}

/// Sends an answer to the plan.
pub(super) async fn answer_to(
    client: &Client,
    number: &str,
    question: &Question,
    answer: Value,
) -> Result<(), Failure> {
    let command = PlanAnswerCommand {
        plan_job: number.to_owned(),
        step: question.step.clone(),
        answer,
        sensitive: question.sensitive,
    };
    let path = ["orchestrator", "v1", "command", "plan_answer"];
    let _: PlanName = client.post(&path, &command).await?;
    Ok(())
}

pub(super) async fn stop(client: &Client, number: &str, jobs: bool) -> Result<PlanName, Failure> {
    let command = StopPlanCommand {
        plan_job: number.to_owned(),
        jobs,
    };
    let path = ["orchestrator", "v1", "command", "stop_plan"];
    client.post(&path, &command).await
}

fn note(text: &str) {
    anstream::eprintln!("{}", terminal::warn(text));
}

/// The lines for an event. The end is shown with the result.
fn lines(event: &PlanEvent) -> Vec<String> {
    if let Some(lines) = preview::lines(event) {
        return lines;
    }
    let text = match event.message.is_empty() {
        true => event.kind.as_str(),
        false => event.message.as_str(),
    };
    let plain = text.lines().map(harmless);
    match event.kind.as_str() {
        "plan_finished" | "plan_failed" => Vec::new(),
        "out_message" | "out_verbose" => plain.collect(),
        "log" => {
            let level = event.details.get("level").and_then(Value::as_str);
            let level = harmless(level.unwrap_or("info"));
            let line = |line| format!("{level}: {line}");
            match level.as_str() {
                "error" | "fatal" => plain.map(line).map(terminal::bad).collect(),
                "warn" => plain.map(line).map(terminal::warn).collect(),
                _ => plain.map(line).map(dim).collect(),
            }
        }
        _ if Question::of_event(event).is_some() => plain.map(terminal::heading).collect(),
        _ => plain.map(dim).collect(),
    }
}
