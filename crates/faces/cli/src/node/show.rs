//! `tutti node show NODE`: connection, agent, groups, facts and last jobs of a node. Main type: [`ConfigFileKeys`].
//!
//! Invariant: parts that the user may not see are left out, and the others are shown.

use api_types::classifier::{Classified, ClassifyNode};
use api_types::{InventoryItem, Job, NodeAbsence};
use serde_json::{Map, Value, json};

use crate::client::ApiClient;
use crate::defaults::NODE_JOBS;
use crate::job::list::{self, JobFilter};
use crate::node_group::find;
use crate::output::{OutputOptions, json};
use crate::terminal::{self, escape_control};
use crate::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, table, targets};

/// Arguments of `tutti node show`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Certname of the node, or its first label
    node: String,
    /// Show all facts, not only the most important
    #[arg(long)]
    facts: bool,
    #[command(flatten)]
    shown: OutputOptions,
}

/// Groups and environment from the classifier.
struct ClassificationSummary {
    environment: String,
    groups: Vec<String>,
}

/// The most important facts: heading, and path of the fact.
const WANTED: [(&str, &[&str]); 7] = [
    ("os", &["os", "name"]),
    ("os release", &["os", "release", "full"]),
    ("kernel", &["kernelrelease"]),
    ("address", &["networking", "ip"]),
    ("memory", &["memory", "system", "total"]),
    ("uptime", &["system_uptime", "uptime"]),
    ("puppet", &["puppetversion"]),
];

pub(crate) async fn run(options: &Options, client: &ApiClient) -> Result<u8, CommandFailure> {
    let name = targets::resolve_one_node(client, &options.node).await?;
    let item: InventoryItem = client
        .get(&["orchestrator", "v1", "inventory", &name], &[])
        .await?;
    let classification = allow_missing(classification(client, &name).await)?;
    let facts = allow_missing(facts(client, &name).await)?;
    let filter = JobFilter {
        node: Some(name),
        ..JobFilter::default()
    };
    let jobs =
        allow_missing(list::fetch_newest(client, NODE_JOBS, &filter).await)?.map(|list| list.items);
    match options.shown.format {
        OutputFormat::Json => json(&document(&item, classification, facts, jobs)),
        OutputFormat::Human => {
            print(&item, classification.as_ref());
            print_facts(facts.unwrap_or_default(), options.facts);
            print_jobs(&jobs.unwrap_or_default());
        }
    }
    Ok(if item.connected {
        EXIT_SUCCESS
    } else {
        EXIT_NODES_FAILED
    })
}

/// `None` for a part that this user may not see, or that this server does not have.
fn allow_missing<T>(part: Result<T, CommandFailure>) -> Result<Option<T>, CommandFailure> {
    match part {
        Ok(part) => Ok(Some(part)),
        Err(CommandFailure::Refused {
            status: 400 | 403 | 404 | 503,
            ..
        }) => Ok(None),
        Err(failure) => Err(failure),
    }
}

async fn classification(
    client: &ApiClient,
    node: &str,
) -> Result<ClassificationSummary, CommandFailure> {
    let groups = find::fetch_groups(client).await?;
    let path = ["classifier-api", "v1", "classified", "nodes", node];
    let told: Classified = client.post(&path, &ClassifyNode::default()).await?;
    let name = |id: &String| {
        let group = groups.iter().find(|group| group.id == *id);
        group.map_or_else(|| id.clone(), |group| group.name.clone())
    };
    Ok(ClassificationSummary {
        groups: told.groups.iter().map(name).collect(),
        environment: told.environment,
    })
}

async fn facts(client: &ApiClient, node: &str) -> Result<Map<String, Value>, CommandFailure> {
    let query = json!([
        "from",
        "facts",
        ["extract", ["name", "value"], ["=", "certname", node]]
    ]);
    let rows: Vec<Value> = client
        .post(&["pdb", "query", "v4"], &json!({"query": query}))
        .await?;
    let fact = |row: Value| Some((row["name"].as_str()?.to_owned(), row["value"].clone()));
    Ok(rows.into_iter().filter_map(fact).collect())
}

fn print(item: &InventoryItem, classification: Option<&ClassificationSummary>) {
    let connected = match item.connected {
        true => terminal::style_success("yes"),
        false => terminal::style_failure("no"),
    };
    let mut fields = vec![
        ("node", terminal::style_name(escape_control(&item.name))),
        ("connected", connected),
    ];
    fields.extend(item.timestamp.map(|time| ("since", time.to_string())));
    fields.extend(
        item.broker
            .as_ref()
            .map(|broker| ("broker", escape_control(broker))),
    );
    match (&item.agent_version, item.connected) {
        (Some(version), _) => {
            fields.push(("agent", format!("tutti-agent {}", escape_control(version))))
        }
        (None, true) => fields.push(("agent", "pxp-agent".to_owned())),
        (None, false) => {}
    }
    fields.extend(item.absence.map(|absence| {
        (
            "why not",
            describe_absence(absence, &escape_control(&item.name)),
        )
    }));
    if let Some(classification) = classification {
        fields.push(("environment", escape_control(&classification.environment)));
        fields.push(("groups", escape_control(&classification.groups.join(", "))));
    }
    table::fields(&fields);
}

/// The cause of a missing connection, and the next step.
fn describe_absence(absence: NodeAbsence, node: &str) -> String {
    match absence {
        NodeAbsence::Returning => {
            "it was connected before the server restarted and is expected back within two minutes"
                .to_owned()
        }
        NodeAbsence::Away => {
            "its agent was connected before and is away; on the node: systemctl status tutti-agent \
            (or pxp-agent)"
                .to_owned()
        }
        NodeAbsence::OverSsh => {
            "it is reached over SSH and needs no agent (tutti connection list)".to_owned()
        }
        NodeAbsence::NeverConnected => format!(
            "no agent of this name ever connected here; is its certificate signed (tutti ca list), and does \
             the agent on {node} name this server?"
        ),
    }
}

fn print_facts(facts: Map<String, Value>, all: bool) {
    if facts.is_empty() {
        return;
    }
    say!("\n{}", terminal::style_heading("Facts"));
    if all {
        for (name, value) in &facts {
            say!(
                "  {}  {}",
                terminal::style_name(escape_control(name)),
                escape_control(&text(value))
            );
        }
        return;
    }
    for (title, path) in WANTED {
        let value = path[1..]
            .iter()
            .try_fold(facts.get(path[0]), |value, key| Some(value?.get(*key)));
        if let Some(Some(value)) = value {
            say!(
                "  {}  {}",
                terminal::style_name(title),
                escape_control(&text(value))
            );
        }
    }
    say!(
        "  {}",
        terminal::style_dim(format!("{} in all: --facts", facts.len()))
    );
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn print_jobs(jobs: &[Job]) {
    if jobs.is_empty() {
        return;
    }
    say!("\n{}", terminal::style_heading("Last jobs"));
    let row = |job: &Job| {
        let created = job
            .created_timestamp
            .map_or_else(String::new, |time| time.to_string());
        vec![
            escape_control(&job.name),
            terminal::style_state(&job.state),
            list::describe_work(job),
            created,
            escape_control(&job.owner.login),
        ]
    };
    table::print(
        &["ID", "STATUS", "WHAT", "STARTED", "OWNER"],
        jobs.iter().map(row).collect(),
    );
}

/// The server's item, with the other parts as additional keys.
fn document(
    item: &InventoryItem,
    classification: Option<ClassificationSummary>,
    facts: Option<Map<String, Value>>,
    jobs: Option<Vec<Job>>,
) -> Value {
    let mut document = json!(item);
    if let Some(ClassificationSummary {
        environment,
        groups,
    }) = classification
    {
        document["environment"] = Value::from(environment);
        document["groups"] = json!(groups);
    }
    if let Some(facts) = facts {
        document["facts"] = Value::Object(facts);
    }
    if let Some(jobs) = jobs {
        document["jobs"] = json!(jobs);
    }
    document
}
