//! Requests completion names from the server. Main function: [`ask`].
//!
//! Invariant: one request with few rows; names that the user may not see are not proposed, and
//! nothing is printed.

use serde_json::{Value, json};

use super::cursor::CompletionCursor;
use super::kind::NameKind;
use crate::client::ApiClient;
use crate::defaults::COMPLETION_ROWS;
use crate::{CommandFailure, task};

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
) -> Result<Vec<CompletionName>, CommandFailure> {
    let environment = environment(cursor, client);
    let in_environment = [("environment", environment.as_str())];
    let rows = COMPLETION_ROWS.to_string();
    let newest = [("limit", rows.as_str())];
    let list = async |path: &[&str], query: &[(&str, &str)]| -> Result<Value, CommandFailure> {
        client.get(path, query).await
    };
    Ok(match kind {
        NameKind::Tasks => {
            list_runnable(&list(&["orchestrator", "v1", "tasks"], &in_environment).await?)
        }
        NameKind::Plans => {
            list_runnable(&list(&["orchestrator", "v1", "plans"], &in_environment).await?)
        }
        NameKind::Environments => {
            let found = list(&["orchestrator", "v1", "environments"], &[]).await?;
            items(
                &found["items"],
                |item| text(&item["name"]),
                |_| String::new(),
            )
        }
        NameKind::Nodes => nodes(typed, client).await?,
        NameKind::NodeGroups => {
            let found = list(&["classifier-api", "v1", "groups"], &[]).await?;
            items(
                &found,
                |group| text(&group["name"]),
                |group| text(&group["description"]),
            )
        }
        NameKind::Jobs => {
            let found = list(&["orchestrator", "v1", "jobs"], &newest).await?;
            items(&found["items"], |job| text(&job["name"]), describe_job)
        }
        NameKind::PlanJobs => {
            let found = list(&["orchestrator", "v1", "plan_jobs"], &newest).await?;
            items(
                &found["items"],
                |job| text(&job["name"]),
                |job| {
                    format!(
                        "{} {}",
                        text(&job["options"]["plan_name"]),
                        text(&job["state"])
                    )
                },
            )
        }
        NameKind::Schedules => {
            let found = list(
                &["orchestrator", "v1", "scheduled_jobs", "environment_jobs"],
                &newest,
            )
            .await?;
            items(
                &found["items"],
                |job| text(&job["name"]),
                |job| text(&job["description"]),
            )
        }
        NameKind::Webhooks => {
            let found = list(&["tutti", "v1", "webhooks"], &[]).await?;
            items(&found["items"], last_segment, |hook| {
                text(&hook["description"])
            })
        }
        NameKind::TaskParameters => {
            parameters(cursor.value_of("task"), "tasks", &environment, client).await?
        }
        NameKind::PlanParameters => {
            parameters(cursor.value_of("plan"), "plans", &environment, client).await?
        }
    })
}

/// Nodes whose certname starts with the typed text, of all that the server knows.
async fn nodes(typed: &str, client: &ApiClient) -> Result<Vec<CompletionName>, CommandFailure> {
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
) -> Result<Vec<CompletionName>, CommandFailure> {
    let Some(name) = name else {
        return Ok(Vec::new());
    };
    let (module, name) = task::split_name(name);
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
    let items = list["items"].as_array().into_iter().flatten();
    let may_run = items.filter(|item| item["permitted"] == true && item["error"].is_null());
    may_run
        .map(|item| CompletionName {
            value: text(&item["name"]),
            about: text(&item["description"]),
        })
        .collect()
}

fn items(
    list: &Value,
    value: impl Fn(&Value) -> String,
    about: impl Fn(&Value) -> String,
) -> Vec<CompletionName> {
    let items = list.as_array().into_iter().flatten();
    items
        .map(|item| CompletionName {
            value: value(item),
            about: about(item),
        })
        .collect()
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
