//! Requests completion names from the server. Main function: [`request_names`].
//!
//! Invariant: one request with few rows; names that the user may not see are not proposed, and
//! nothing is printed.

use serde_json::{Value, json};

use super::cursor::CompletionCursor;
use super::kind::NameKind;
use crate::client::ApiClient;
use crate::defaults::COMPLETION_ROWS;
use crate::schedule::SCHEDULED;
use crate::webhook::WEBHOOKS;
use crate::{Result, task};

/// A name to propose, with a short description.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct CompletionName {
    pub(super) value: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) about: String,
}

/// The environment of the command line.
pub(super) fn environment(cursor: &CompletionCursor<'_>, client: &ApiClient) -> String {
    let typed = cursor.value_of("environment");
    let named = typed.or(client.environment.as_deref());
    named.unwrap_or("production").to_owned()
}

/// Requests the names of a kind that start with `typed`.
pub(super) async fn request_names(
    kind: NameKind,
    cursor: &CompletionCursor<'_>,
    typed: &str,
    client: &ApiClient,
) -> Result<Vec<CompletionName>> {
    let environment = environment(cursor, client);
    let in_environment = ("environment", environment.as_str());
    let rows = COMPLETION_ROWS.to_string();
    let newest = ("limit", rows.as_str());
    let (path, query): (&[&str], _) = match kind {
        NameKind::Tasks => (&["orchestrator", "v1", "tasks"], Some(in_environment)),
        NameKind::Plans => (&["orchestrator", "v1", "plans"], Some(in_environment)),
        NameKind::Environments => (&["orchestrator", "v1", "environments"], None),
        NameKind::NodeGroups => (&["classifier-api", "v1", "groups"], None),
        NameKind::Jobs => (&["orchestrator", "v1", "jobs"], Some(newest)),
        NameKind::PlanJobs => (&["orchestrator", "v1", "plan_jobs"], Some(newest)),
        NameKind::Schedules => (&SCHEDULED, Some(newest)),
        NameKind::Webhooks => (&WEBHOOKS, None),
        NameKind::Nodes => return nodes(typed, client).await,
        NameKind::TaskParameters => {
            return parameters(cursor.value_of("task"), "tasks", &environment, client).await;
        }
        NameKind::PlanParameters => {
            return parameters(cursor.value_of("plan"), "plans", &environment, client).await;
        }
    };
    let found: Value = client.get(path, query.as_slice()).await?;
    let list = found.get("items").unwrap_or(&found);
    Ok(match kind {
        NameKind::Tasks | NameKind::Plans => list_runnable(list),
        NameKind::Environments => items(list, |item| text(&item["name"]), |_| String::new()),
        NameKind::Jobs => items(list, |job| text(&job["name"]), describe_job),
        NameKind::PlanJobs => items(list, |job| text(&job["name"]), describe_plan_job),
        NameKind::Webhooks => items(list, last_segment, |hook| text(&hook["description"])),
        _ => items(
            list,
            |item| text(&item["name"]),
            |item| text(&item["description"]),
        ),
    })
}

/// Nodes whose certname starts with the typed text, of all that the server knows.
async fn nodes(typed: &str, client: &ApiClient) -> Result<Vec<CompletionName>> {
    let begins = format!("^{}", escape_regex(typed));
    let query = json!({
        "query": ["from", "nodes", ["extract", ["certname"], ["~", "certname", begins]],
            ["order_by", ["certname"]], ["limit", COMPLETION_ROWS]],
    });
    let found: Value = client.post(&["pdb", "query", "v4"], &query).await?;
    Ok(items(
        &found,
        |node| text(&node["certname"]),
        |_| String::new(),
    ))
}

/// Escapes a text for use in a regular expression.
fn escape_regex(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if !c.is_alphanumeric() && !matches!(c, '-' | '_') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// `name=` of each parameter; if its type has fixed values or is a target, those are completed
/// after it.
async fn parameters(
    name: Option<&str>,
    kind: &str,
    environment: &str,
    client: &ApiClient,
) -> Result<Vec<CompletionName>> {
    let Some(name) = name else {
        return Ok(Vec::new());
    };
    let (module, name) = task::requests::split_name(name);
    let path = ["orchestrator", "v1", kind, module, name];
    let found: Value = client.get(&path, &[("environment", environment)]).await?;
    let parameters = found["metadata"]["parameters"].as_object();
    let parameters = parameters.into_iter().flatten();
    Ok(parameters
        .take(COMPLETION_ROWS)
        .map(|(name, about)| CompletionName {
            value: name.clone(),
            about: text(&about["type"]),
        })
        .collect())
}

/// Tasks and plans that the user may run and that have no error.
fn list_runnable(list: &Value) -> Vec<CompletionName> {
    let mut list = list.clone();
    if let Some(items) = list.as_array_mut() {
        items.retain(|item| item["permitted"] == true && item["error"].is_null());
    }
    items(
        &list,
        |item| text(&item["name"]),
        |item| text(&item["description"]),
    )
}

fn items(
    list: &Value,
    value: impl Fn(&Value) -> String,
    about: impl Fn(&Value) -> String,
) -> Vec<CompletionName> {
    let items = list.as_array().into_iter().flatten();
    let name = |item| CompletionName {
        value: value(item),
        about: about(item),
    };
    items.map(name).collect()
}

fn describe_plan_job(job: &Value) -> String {
    let name = text(&job["options"]["plan_name"]);
    format!("{name} {}", text(&job["state"]))
}

fn describe_job(job: &Value) -> String {
    let task = text(&job["options"]["task"]);
    let what = match task.is_empty() {
        true => text(&job["command"]),
        false => task,
    };
    format!("{what} {}", text(&job["state"]))
}

/// The id at the end of a URL, or the id itself.
fn last_segment(item: &Value) -> String {
    let id = text(&item["id"]);
    id.rsplit('/').next().unwrap_or_default().to_owned()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
