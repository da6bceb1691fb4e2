//! Output for a node on which Puppet ran. Main type: [`NodeRun`].
//!
//! Invariant: all text of a report comes from a node, and is escaped before it is shown.

use api_types::{Event, JobNode};
use serde_json::Value;

use super::code::RunVersion;
use crate::terminal::{
    error_output, escape_control, escaped_name, style_dim, style_failure, style_name, style_noop,
    style_success, style_warning,
};

/// Resources shown of one node while a job runs; `job show` shows all.
const RESOURCES_LIVE: usize = 10;
/// Error messages shown of a run.
const ERRORS: usize = 5;

/// A node that ended, from an event or from the list of a job's nodes.
#[derive(Debug)]
pub(crate) struct NodeRun<'a> {
    node: &'a str,
    state: &'a str,
    /// The result, or the event's text in its place.
    result: &'a Value,
    report_url: Option<&'a str>,
    message: Option<String>,
    /// Error messages that were on the screen before, and are not repeated.
    seen: Vec<String>,
    resources: usize,
}

/// The line for a node that starts.
pub(crate) fn start_line(node: &str) -> String {
    format!("Started puppet run on {} ...", escaped_name(node))
}

// === impl NodeRun ===

impl<'a> NodeRun<'a> {
    pub(crate) fn from_event(node: &'a str, event: &'a Event) -> Self {
        let detail = event.details.get("detail").unwrap_or(&Value::Null);
        let message = ["message", "reason"]
            .iter()
            .find_map(|key| detail[key].as_str());
        Self {
            node,
            state: event.kind.strip_prefix("node_").unwrap_or(&event.kind),
            result: event.details.get("result").unwrap_or(detail),
            report_url: detail["report-url"].as_str(),
            message: message
                .or(Some(event.message.as_str()))
                .filter(|text| !text.is_empty())
                .map(str::to_owned),
            seen: Vec::new(),
            resources: RESOURCES_LIVE,
        }
    }

    /// Leaves out the error messages that were printed while the node was watched.
    pub(crate) fn without_seen_messages(mut self, seen: Vec<String>) -> Self {
        let mut message = self.message.take().unwrap_or_default();
        for complaint in seen.iter().filter(|complaint| !complaint.is_empty()) {
            // A run without a report is described by the first line of its output.
            let first = complaint.lines().next().unwrap_or_default();
            for text in [complaint, first] {
                if message == text {
                    message.clear();
                }
                message = message.replacen(&format!(": {text}"), "", 1);
            }
        }
        self.message = Some(message).filter(|text| !text.is_empty());
        self.seen = seen;
        self
    }

    pub(crate) fn from_node(node: &'a JobNode) -> Self {
        let detail = |key| node.details.get(key).and_then(Value::as_str);
        Self {
            node: &node.name,
            state: &node.state,
            result: node.result.as_ref().unwrap_or(&Value::Null),
            report_url: detail("report-url"),
            message: detail("message").map(str::to_owned),
            seen: Vec::new(),
            resources: usize::MAX,
        }
    }

    /// The result, or the event's text in its place.
    pub(crate) fn result(&self) -> &'a Value {
        self.result
    }

    /// The headline with the result, and the details below it.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.headline()];
        lines.extend(self.details().into_iter().map(|line| format!("    {line}")));
        lines
    }

    fn headline(&self) -> String {
        let node = escaped_name(self.node);
        let why = match &self.message {
            Some(message) => format!(": {}", escape_control(message)),
            None => String::new(),
        };
        match self.state {
            "finished" => format!(
                "{} Finished node {node} - {} ({})",
                style_success("✓"),
                style_success("SUCCESS!"),
                escape_control(self.result["status"].as_str().unwrap_or("no status")),
            ),
            "failed" => format!(
                "{} Finished node {node} - {}{why}",
                style_failure("✗"),
                style_failure("FAILURE!")
            ),
            "errored" => format!("{} Error running puppet on {node}{why}", style_failure("✗")),
            _ => format!("{} Skipped node {node}{why}", style_warning("-")),
        }
    }

    /// The lines below the headline.
    pub(crate) fn details(&self) -> Vec<String> {
        let mut lines = Vec::new();
        lines.extend(self.identity());
        lines.extend(self.counts());
        lines.extend(
            self.report_url
                .map(|url| format!("Report: {}", escape_control(url))),
        );
        lines.extend(self.errors());
        lines.extend(self.resources());
        lines
    }

    fn identity(&self) -> Option<String> {
        let text = |key: &str| match &self.result[key] {
            // A catalog that did not compile has no version.
            Value::String(text) if !text.is_empty() => Some(escape_control(text)),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        // Where Tutti compiles, the version is the code id, of which `Code` is the short form.
        let is_code_id = self.result["configuration_version"] == self.result["code_id"];
        let version = text("configuration_version").filter(|_| !is_code_id);
        let known = [
            ("Environment", text("environment")),
            (
                "Code",
                RunVersion::from_result(self.result).map(|it| it.short()),
            ),
            ("Configuration version", version),
            ("Transaction UUID", text("transaction_uuid")),
        ];
        let known = known.into_iter();
        let known: Vec<_> = known
            .filter_map(|(name, text)| Some(format!("{name}: {}", text?)))
            .collect();
        (!known.is_empty()).then(|| known.join("  "))
    }

    fn counts(&self) -> Option<String> {
        let metrics = self.result["metrics"]
            .as_object()
            .filter(|metrics| !metrics.is_empty())?;
        let count = |key: &str| metrics.get(key).and_then(Value::as_u64).unwrap_or(0);
        let (total, failed) = (count("total"), count("failed"));
        let (changed, skipped) = (count("changed"), count("skipped"));
        let noop = self.result["noop"]["noop"].as_u64().unwrap_or(0);
        let other = [failed, changed, skipped, noop]
            .iter()
            .fold(0, |sum: u64, n| sum.saturating_add(*n));
        let kinds = [
            ("failed", failed),
            ("changed", changed),
            ("unchanged", total.saturating_sub(other)),
            ("skipped", skipped),
            (WOULD_CHANGE, noop),
        ];
        let told: Vec<_> = kinds
            .iter()
            .map(|(kind, count)| format_kind_count(kind, *count))
            .collect();
        Some(format!("Resource events: {}", told.join("  ")))
    }

    /// Puppet's error messages, without those on the screen and in the headline.
    fn errors(&self) -> Vec<String> {
        let of_run = &self.result["errors"];
        let of_error = &self.result["_error"]["details"]["errors"];
        let errors = of_run.as_array().or_else(|| of_error.as_array());
        let texts = errors.into_iter().flatten().filter_map(Value::as_str);
        let told = self.message.as_deref().unwrap_or_default();
        let first = |text: &str| text.lines().next().unwrap_or_default().trim().to_owned();
        let was_seen = |text: &str| self.seen.iter().any(|seen| first(seen) == first(text));
        let new = texts.filter(|text| !told.contains(text) && !was_seen(text));
        new.take(ERRORS)
            .flat_map(str::lines)
            .map(|line| error_output(escape_control(line)))
            .collect()
    }

    fn resources(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let all = self.result["resources"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        for resource in all.iter().take(self.resources) {
            let text = |key: &str| escape_control(resource[key].as_str().unwrap_or_default());
            let status = text("status");
            lines.push(format!(
                "{}  {}[{}]{}",
                colour_of_status(&status, &format!("{status:<7}")),
                text("type"),
                text("title"),
                style_dim(source_location(resource)),
            ));
            let messages = resource["messages"].as_array().into_iter().flatten();
            for line in messages.filter_map(Value::as_str).flat_map(str::lines) {
                lines.push(format!("           {}", escape_control(line)));
            }
        }
        let omitted = self.result["resources_omitted"].as_object();
        let omitted = omitted
            .into_iter()
            .flatten()
            .filter_map(|(_, count)| count.as_u64());
        let rest = omitted.sum::<u64>() + all.len().saturating_sub(self.resources) as u64;
        if rest > 0 {
            lines.push(style_dim(format!("… and {rest} more resources")));
        }
        lines
    }
}

/// File and line in which a resource is declared.
fn source_location(resource: &Value) -> String {
    match (resource["file"].as_str(), resource["line"].as_u64()) {
        (Some(file), Some(line)) => format!("  {}:{line}", escape_control(file)),
        (Some(file), None) => format!("  {}", escape_control(file)),
        _ => String::new(),
    }
}

/// Label of resources that are out of sync and that noop left unchanged.
const WOULD_CHANGE: &str = "would change";

fn format_kind_count(kind: &str, count: u64) -> String {
    let text = format!("{count} {kind}");
    if count == 0 {
        style_dim(text)
    } else {
        colour_of_status(kind, &text)
    }
}

/// The colour for a status of resource events.
fn colour_of_status(kind: &str, text: &str) -> String {
    match kind {
        "failed" => style_failure(text),
        "changed" => style_name(text),
        "unchanged" => style_success(text),
        "skipped" => style_warning(text),
        "noop" | WOULD_CHANGE => style_noop(text),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
