//! A job that is over, with all that is told of it. Main type: [`Ran`].

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cli::Said;
use crate::site::Site;

/// What the API says.
#[derive(Debug)]
pub struct Ran {
    /// Its number.
    pub number: u64,
    /// `GET jobs/:id`.
    pub job: Value,
    /// `GET jobs/:id/nodes` by certname.
    pub nodes: BTreeMap<String, Value>,
    /// `GET jobs/:id/events`.
    pub events: Vec<Value>,
    /// `tutti job show N --follow`.
    pub said: Said,
}

/// The four answers to "how did it go on this node".
const ENDS: [&str; 4] = [
    "node_finished",
    "node_failed",
    "node_errored",
    "node_skipped",
];

// === impl Ran ===

impl Ran {
    /// Waits for the job's end.
    pub async fn of(site: &Site, number: u64) -> Self {
        let text = number.to_string();
        let said = site.cli(&["job", "show", &text, "--follow"]).await;
        let job = site.client.wait(number).await.expect("the job ends");
        let nodes = site.client.nodes(number).await.expect("a job has nodes");
        let by_name = |node: Value| (node["name"].as_str().unwrap_or_default().to_owned(), node);
        let path = format!("/orchestrator/v1/jobs/{number}/events");
        let events = site.client.get(&path).await.expect("a job has events");
        Self {
            number,
            job,
            nodes: nodes.into_iter().map(by_name).collect(),
            events: events["items"].as_array().cloned().unwrap_or_default(),
            said,
        }
    }

    /// `finished`, `failed` …
    pub fn state(&self, node: &str) -> &str {
        self.nodes[node]["state"].as_str().unwrap_or_default()
    }

    /// What is stored as the node's result.
    pub fn result(&self, node: &str) -> &Value {
        &self.nodes[node]["result"]
    }

    /// The `_error` of a run that was none.
    pub fn error(&self, node: &str) -> &Value {
        &self.result(node)["_error"]
    }

    /// How the node's end was told.
    ///
    /// # Panics
    /// Unless it was told exactly once.
    pub fn end(&self, node: &str) -> &Value {
        let ends: Vec<_> = self
            .events
            .iter()
            .filter(|event| is_end(event, node))
            .collect();
        assert_eq!(ends.len(), 1, "{node}: {:#?}", self.events);
        ends[0]
    }

    /// Asserts state and event type of a node's end, which belong together; answers the result.
    pub fn ended(&self, node: &str, state: &str) -> &Value {
        assert_eq!(self.state(node), state, "{:#}", self.nodes[node]);
        let event = self.end(node);
        assert_eq!(event["type"], format!("node_{state}"), "{event:#}");
        let last = self.events.last().expect("there are events");
        assert_eq!(last["type"], "job_finished", "{last:#}");
        self.result(node)
    }
}

fn is_end(event: &Value, node: &str) -> bool {
    let kind = event["type"].as_str().unwrap_or_default();
    ENDS.contains(&kind) && event["details"]["node"] == node
}
