//! `tutti node show NODE`: connection, agent, groups, last Puppet run, facts and last jobs of a node. Main type: [`NodeDocument`].
//!
//! Invariant: parts that the user may not see are left out, and the others are shown.

use api_types::classifier::{Classified, ClassifyNode};
use api_types::{CertificateStatus, InventoryItem, Job, NodeAbsence, RunReportItem};
use serde_json::{Map, Value, json};

use crate::client::ApiClient;
use crate::defaults::NODE_JOBS;
use crate::job::list::{self, JobFilter};
use crate::node_group::find;
use crate::present::{Fields, OutputOptions};
use crate::report::list as reports;
use crate::terminal::{
    escape_control, escaped_name, style_dim, style_failure, style_heading, style_name, style_state,
    style_success,
};
use crate::values::{or_empty, plain};
use crate::{
    CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, Result, VerbResult, present, targets,
};

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
#[derive(serde::Serialize)]
struct ClassificationSummary {
    environment: String,
    groups: Vec<String>,
}

/// The server's item, with the other parts as additional keys.
#[derive(serde::Serialize)]
struct NodeDocument {
    #[serde(flatten)]
    item: InventoryItem,
    #[serde(flatten)]
    classification: Option<ClassificationSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs: Option<Vec<Job>>,
    /// The last Puppet run whose report this server has.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run: Option<RunReportItem>,
    /// Absent if the user may not see certificates, or the server is no certificate authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<CertificateSummary>,
}

/// State of the certificate.
#[derive(serde::Serialize)]
struct CertificateSummary {
    state: String,
    /// End of the validity, in puppetserver's format; absent for a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_after: Option<String>,
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

pub(crate) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let name = targets::resolve_one_node(client, &options.node).await?;
    let path = ["orchestrator", "v1", "inventory", &name];
    let item: InventoryItem = client.get(&path, &[]).await?;
    let classification = allow_missing(classification(client, &name).await)?;
    let facts = allow_missing(facts(client, &name).await)?;
    let last_run = allow_missing(reports::fetch_of_node(client, &name, 1).await)?;
    let certificate = allow_missing(certificate(client, &name).await)?;
    let filter = JobFilter {
        node: Some(name),
        ..JobFilter::default()
    };
    let jobs = allow_missing(list::fetch_newest(client, NODE_JOBS, &filter).await)?;
    let node = NodeDocument {
        item,
        classification,
        facts,
        jobs: jobs.map(|list| list.items),
        last_run: last_run.and_then(|list| list.items.into_iter().next()),
        certificate,
    };
    options.shown.format.present(&node, |node| {
        print(node);
        node.last_run.as_ref().map(print_last_run);
        print_facts(node.facts.as_ref(), options.facts);
        print_jobs(node.jobs.as_deref().unwrap_or_default());
    })?;
    Ok(match node.item.connected || node.has_only_puppet() {
        true => EXIT_SUCCESS,
        false => EXIT_NODES_FAILED,
    })
}

/// `None` for a part that this user may not see, or that this server does not have.
fn allow_missing<T>(part: Result<T>) -> Result<Option<T>> {
    match part {
        Ok(part) => Ok(Some(part)),
        Err(CommandFailure::Refused {
            status: 400 | 403 | 404 | 503,
            ..
        }) => Ok(None),
        Err(failure) => Err(failure),
    }
}

async fn classification(client: &ApiClient, node: &str) -> Result<ClassificationSummary> {
    let groups = find::fetch_groups(client).await?;
    let path = ["classifier-api", "v1", "classified", "nodes", node];
    let told: Classified = client.post(&path, &ClassifyNode::default()).await?;
    let name = |id: &String| find::name_of(&groups, id).to_owned();
    Ok(ClassificationSummary {
        groups: told.groups.iter().map(name).collect(),
        environment: told.environment,
    })
}

async fn certificate(client: &ApiClient, node: &str) -> Result<CertificateSummary> {
    let path = ["puppet-ca", "v1", "certificate_status", node];
    let status: CertificateStatus = client.get(&path, &[]).await?;
    Ok(CertificateSummary {
        state: status.state,
        not_after: status.not_after,
    })
}

async fn facts(client: &ApiClient, node: &str) -> Result<Map<String, Value>> {
    let query = json!([
        "from",
        "facts",
        ["extract", ["name", "value"], ["=", "certname", node]]
    ]);
    let query = json!({ "query": query });
    let rows: Vec<Value> = client.post(&["pdb", "query", "v4"], &query).await?;
    let fact = |row: Value| Some((row["name"].as_str()?.to_owned(), row["value"].clone()));
    Ok(rows.into_iter().filter_map(fact).collect())
}

impl NodeDocument {
    /// True if Puppet runs on the node, and no agent of Tutti or PXP ever connected.
    fn has_only_puppet(&self) -> bool {
        self.item.absence == Some(NodeAbsence::NeverConnected) && self.last_run.is_some()
    }
}

fn print(node: &NodeDocument) {
    let (item, classification) = (&node.item, node.classification.as_ref());
    let has_only_puppet = node.has_only_puppet();
    let connected = match item.connected {
        _ if has_only_puppet => None,
        true => Some(style_success("yes")),
        false => Some(style_failure("no")),
    };
    let agent = match (&item.agent_version, item.connected) {
        (Some(version), _) => Some(format!("tutti-agent {}", escape_control(version))),
        (None, true) => Some("pxp-agent".to_owned()),
        (None, false) if has_only_puppet => {
            Some("none; Puppet runs here and reports by itself".to_owned())
        }
        (None, false) => None,
    };
    let absence = item.absence.filter(|_| !has_only_puppet);
    let why = |absence| describe_absence(absence, &escape_control(&item.name));
    let groups = classification.map(|of| of.groups.join(", "));
    Fields::default()
        .value("node", escaped_name(&item.name))
        .optional("connected", connected)
        .optional("since", item.timestamp)
        .optional_text("broker", item.broker.as_deref())
        .optional("agent", agent)
        .optional("why not", absence.map(why))
        .optional_text(
            "environment",
            classification.map(|of| of.environment.as_str()),
        )
        .optional_text("groups", groups.as_deref())
        .optional(
            "certificate",
            node.certificate.as_ref().map(describe_certificate),
        )
        .print();
}

fn describe_certificate(certificate: &CertificateSummary) -> String {
    let state = escape_control(&certificate.state);
    let until = certificate.not_after.as_deref().map(escape_control);
    match (certificate.state.as_str(), until) {
        ("signed", Some(until)) => format!("valid until {until}"),
        (_, Some(until)) => format!("{}, to {until}", style_failure(state)),
        (_, None) => state,
    }
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

fn print_last_run(run: &RunReportItem) {
    say!("\n{}", style_heading("Last Puppet run"));
    let took = reports::run_time(run).map(|took| format!(" in {took}"));
    say!(
        "  {}{}, {}",
        reports::describe_status(run),
        took.unwrap_or_default(),
        or_empty(reports::start(run))
    );
    for (name, value) in [
        ("catalog", &run.catalog_uuid),
        ("code id", &run.code_id),
        ("version", &run.configuration_version),
    ] {
        if let Some(value) = value {
            say!("  {name}  {}", escape_control(value));
        }
    }
    let more = format!("tutti report show {}", reports::short_id(&run.id));
    say!("  {}", style_dim(more));
}

fn print_facts(facts: Option<&Map<String, Value>>, all: bool) {
    let Some(facts) = facts.filter(|facts| !facts.is_empty()) else {
        return;
    };
    say!("\n{}", style_heading("Facts"));
    if all {
        for (name, value) in facts {
            say!(
                "  {}  {}",
                escaped_name(name),
                escape_control(&plain(value))
            );
        }
        return;
    }
    for (title, path) in WANTED {
        let value = path[1..]
            .iter()
            .try_fold(facts.get(path[0]), |value, key| Some(value?.get(*key)));
        if let Some(Some(value)) = value {
            say!("  {}  {}", style_name(title), escape_control(&plain(value)));
        }
    }
    let count = format!("{} in all: --facts", facts.len());
    say!("  {}", style_dim(count));
}

fn print_jobs(jobs: &[Job]) {
    if jobs.is_empty() {
        return;
    }
    say!("\n{}", style_heading("Last jobs"));
    present::table(
        jobs,
        &[
            ("ID", &|job| escape_control(&job.name)),
            ("STATUS", &|job| style_state(&job.state)),
            ("WHAT", &list::describe_work),
            ("STARTED", &|job| or_empty(job.created_timestamp)),
            ("OWNER", &|job| escape_control(&job.owner.login)),
        ],
    );
}
