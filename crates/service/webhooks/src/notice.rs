//! An event as text for people: [`ChatNotice`], which every chat template shows in its own form.
//!
//! Invariant: texts are plain, bounded and of one line; each template escapes the markup and
//! mentions of its chat tool.

use serde_json::Value;

use crate::defaults::{NOTICE_NAME_CHARS, NOTICE_TEXT_CHARS};
use crate::event::{WebhookEvent, WebhookEventSource};
use crate::subject::EventSubject;

/// A title, and further information by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChatNotice {
    pub(crate) title: String,
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) tone: NoticeTone,
}

/// The rating of an event, good, bad or neutral.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoticeTone {
    Good,
    Bad,
    Neutral,
}

// === impl ChatNotice ===

impl ChatNotice {
    /// The text for an event of any type.
    pub(crate) fn for_event(event: &WebhookEvent, subject: &EventSubject) -> Self {
        let details: Value = serde_json::from_str(&event.details).unwrap_or_default();
        let state = details["state"].as_str().unwrap_or_default();
        let what = describe_job(subject);
        let (title, tone) = match (&*event.kind, event.certname.as_deref()) {
            ("prompt", _) => (format!("{what} waits for an answer"), NoticeTone::Neutral),
            ("plan_finished", _) => (format!("{what} succeeded"), NoticeTone::Good),
            ("plan_failed", _) => (format!("{what} failed"), NoticeTone::Bad),
            ("job_finished" | "job_aborted", _) => (
                format!(
                    "{what} {}{}",
                    describe_state(state),
                    describe_success(subject)
                ),
                match state {
                    "finished" => NoticeTone::Good,
                    _ => NoticeTone::Bad,
                },
            ),
            ("puppet_run_failed", Some(_)) => (event.message.clone(), NoticeTone::Bad),
            ("puppet_run_changed" | "puppet_run_unchanged", Some(_)) => {
                (event.message.clone(), NoticeTone::Good)
            }
            (kind, Some(node)) => {
                let how = kind.strip_prefix("node_").unwrap_or(kind);
                let tone = match how {
                    "finished" => NoticeTone::Good,
                    "failed" | "errored" => NoticeTone::Bad,
                    _ => NoticeTone::Neutral,
                };
                (format!("{what} on {node}: {}", to_words(how)), tone)
            }
            (kind, None) => (format!("{what}: {}", to_words(kind)), NoticeTone::Neutral),
        };
        let mut facts = Vec::new();
        if let WebhookEventSource::Job(job) = event.source {
            facts.push(("Job", job.to_string()));
        }
        let plan = subject.plan.as_deref().zip(subject.plan_job.as_deref());
        facts.extend(plan.map(|(plan, number)| ("Plan", format!("{plan} (plan job {number})"))));
        facts.extend(subject.owner.clone().map(|owner| ("Owner", owner)));
        for (name, text) in [
            ("Environment", &subject.environment),
            ("Description", &subject.description),
        ] {
            facts.extend((!text.is_empty()).then(|| (name, text.clone())));
        }
        facts.extend(describe_counts(subject).map(|text| ("Nodes", text)));
        facts.extend(event.certname.clone().map(|node| ("Node", node)));
        let facts = facts
            .into_iter()
            .map(|(name, text)| (name, single_line(&text, NOTICE_NAME_CHARS)));
        let message = ("Message", single_line(&event.message, NOTICE_TEXT_CHARS));
        Self {
            title: single_line(&title, NOTICE_NAME_CHARS),
            facts: facts.chain([message]).collect(),
            tone,
        }
    }

    /// The text of a test message.
    pub(crate) fn test() -> Self {
        let message = "Nothing happened: this webhook is being tested";
        Self {
            title: "Tutti: a test of this webhook".to_owned(),
            facts: vec![("Message", message.to_owned())],
            tone: NoticeTone::Neutral,
        }
    }
}

/// Description of the job or plan job.
fn describe_job(subject: &EventSubject) -> String {
    match (subject.command.as_deref(), subject.task.as_deref()) {
        (Some("deploy"), _) => "Puppet run".to_owned(),
        (Some("command"), _) => "Command".to_owned(),
        (Some("script"), _) => "Script".to_owned(),
        (Some("upload"), _) => "Upload of a file".to_owned(),
        (Some("download"), _) => "Download of a file".to_owned(),
        (_, Some(task)) => format!("Task {task}"),
        (Some("plan"), None) => match subject.plan.as_deref() {
            Some(plan) => format!("Plan {plan}"),
            None => "Plan".to_owned(),
        },
        _ => "Job".to_owned(),
    }
}

fn describe_state(state: &str) -> &str {
    match state {
        "finished" => "succeeded",
        "" => "is over",
        other => other,
    }
}

fn describe_success(subject: &EventSubject) -> String {
    let nodes = subject
        .nodes
        .and_then(|nodes| Some((nodes.total, nodes.ended?)));
    match nodes {
        Some((total, ended)) => {
            format!(": {} of {total} nodes succeeded", ended.succeeded)
        }
        None => String::new(),
    }
}

fn describe_counts(subject: &EventSubject) -> Option<String> {
    let nodes = subject.nodes?;
    let mut text = nodes.total.to_string();
    if let Some(ended) = nodes.ended {
        let named = [
            (ended.succeeded, "succeeded"),
            (ended.failed, "failed"),
            (ended.errored, "errored"),
            (ended.skipped, "skipped"),
        ];
        let named = named.into_iter().filter(|(count, _)| *count > 0);
        let named: Vec<String> = named.map(|(count, how)| format!("{count} {how}")).collect();
        if !named.is_empty() {
            text = format!("{text}: {}", named.join(", "));
        }
    }
    Some(text)
}

/// The name of an event type or state as words: `job_finished` becomes `job finished`.
fn to_words(kind: &str) -> String {
    kind.replace('_', " ")
}

/// One line of at most `chars` characters, without control characters and without those that
/// change the direction of text.
fn single_line(text: &str, chars: usize) -> String {
    let is_direction = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let plain = text.chars().filter(|c| !is_direction(*c));
    let plain = plain.map(|c| {
        if c.is_control() || c == '\u{2028}' || c == '\u{2029}' {
            ' '
        } else {
            c
        }
    });
    let mut kept: String = plain.clone().take(chars).collect();
    if plain.count() > chars {
        kept.pop();
        kept.push('…');
    }
    kept.trim().to_owned()
}
