//! `tutti connection …`: nodes without an agent and how they are reached. Main type: [`ConnectionVerb`].
//!
//! Invariant: secrets come from files or standard input, and are not shown again.

use std::collections::HashSet;
use std::path::PathBuf;

use api_types::connections::Guarded;
use api_types::{
    ConnectionCreated, ConnectionItem, ConnectionList, ConnectionsQuery, CreateConnection,
    DeleteConnection, Object,
};
use secrecy::ExposeSecret as _;
use serde_json::Value;

use crate::access::login::first_line;
use crate::client::ApiClient;
use crate::defaults::NAMES_SHOWN;
use crate::failure::usage;
use crate::input::read_limited;
use crate::present::{Column, OutputOptions};
use crate::terminal::{escape_control, escaped_name};
use crate::{CommandFailure, EXIT_SUCCESS, Result, VerbResult, present, targets, values};

/// Verbs of `tutti connection`.
#[derive(Debug, clap::Subcommand)]
pub enum ConnectionVerb {
    /// List the nodes that are reached without an agent
    #[command(after_long_help = "Examples:
  tutti connection list
  tutti connection list -n switch1.example.com --format json")]
    List {
        /// Certnames, separated by commas; or @FILE with one on each line; all when absent
        #[arg(long, short = 'n', value_name = "NODES")]
        nodes: Option<String>,
        #[command(flatten)]
        shown: OutputOptions,
    },
    /// Configure how nodes are reached over SSH, so that tasks can run there
    #[command(
        visible_alias = "create",
        after_long_help = "Examples:
  tutti connection add switch1.example.com --user admin --private-key ~/.ssh/id_ed25519
  tutti connection add @hosts.txt --user deploy --password-file /root/deploy --run-as root"
    )]
    Add(AddOptions),
    /// Delete the connections of nodes, and their secrets
    #[command(after_long_help = "Example:\n  tutti connection delete switch1.example.com")]
    Delete {
        /// Certnames, or @FILE with one on each line (@- is stdin)
        #[arg(required = true)]
        nodes: Vec<String>,
    },
}

/// Arguments of `tutti connection add`.
#[derive(Debug, clap::Args)]
pub struct AddOptions {
    /// Certnames, or @FILE with one on each line (@- is stdin)
    #[arg(required = true)]
    nodes: Vec<String>,
    /// User to log in as
    #[arg(long)]
    user: String,
    /// Address of the node, if it differs from the certname
    #[arg(long, value_name = "HOST")]
    hostname: Option<String>,
    /// SSH port [default: 22]
    #[arg(long)]
    port: Option<u16>,
    /// File whose first line is the password
    #[arg(long, value_name = "FILE", required_unless_present = "private_key")]
    password_file: Option<PathBuf>,
    /// File with the private key
    #[arg(long, value_name = "FILE")]
    private_key: Option<PathBuf>,
    /// User to run as, by sudo
    #[arg(long, value_name = "USER")]
    run_as: Option<String>,
    /// File whose first line is the password for sudo
    #[arg(long, value_name = "FILE", requires = "run_as")]
    sudo_password_file: Option<PathBuf>,
    /// Timeout for connecting, in seconds
    #[arg(long, value_name = "SECONDS")]
    connect_timeout: Option<u64>,
    /// Directory for uploaded files on the node
    #[arg(long, value_name = "DIRECTORY")]
    tmpdir: Option<String>,
    /// Request a terminal on the node
    #[arg(long)]
    tty: bool,
    /// Replace existing connections of the nodes
    #[arg(long)]
    replace: bool,
}

pub(crate) async fn run(verb: ConnectionVerb, client: &ApiClient) -> VerbResult {
    match verb {
        ConnectionVerb::List { nodes, shown } => list(nodes.as_deref(), shown, client).await,
        ConnectionVerb::Add(options) => add(&options, client).await,
        ConnectionVerb::Delete { nodes } => delete(&nodes, client).await,
    }
}

/// The connections of these nodes, or all.
async fn fetch(client: &ApiClient, certnames: Option<Vec<String>>) -> Result<ConnectionList> {
    let query = ConnectionsQuery {
        certnames,
        ..ConnectionsQuery::default()
    };
    let path = ["inventory", "v1", "query", "connections"];
    client.post(&path, &query).await
}

async fn list(nodes: Option<&str>, shown: OutputOptions, client: &ApiClient) -> VerbResult {
    let list = fetch(client, nodes.map(targets::parse).transpose()?).await?;
    let of_nodes = list.items.iter().flat_map(|item| {
        let names = item.certnames.iter().flatten();
        names.map(move |name| (name, item))
    });
    let of_nodes: Vec<_> = of_nodes.collect();
    let empty = "No node is reached without an agent; `tutti connection add` changes that.";
    let columns: [Column<'_, (&String, &ConnectionItem)>; 6] = [
        ("NODE", &|(name, _)| escaped_name(name)),
        ("TYPE", &|(_, item)| {
            escape_control(item.kind.as_deref().unwrap_or_default())
        }),
        ("USER", &|(_, item)| parameter(item, "user")),
        ("HOST", &|(_, item)| parameter(item, "hostname")),
        ("PORT", &|(_, item)| parameter(item, "port")),
        ("RUN AS", &|(_, item)| parameter(item, "run-as")),
    ];
    shown
        .format
        .present(&list, |list| match list.items.is_empty() {
            true => say!("{empty}"),
            false => present::table(&of_nodes, &columns),
        })
}

fn parameter(item: &ConnectionItem, key: &str) -> String {
    let parameters = item.parameters.as_ref();
    match parameters.and_then(|parameters| parameters.get(key)) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(value) => escape_control(&values::plain(value)),
    }
}

async fn add(options: &AddOptions, client: &ApiClient) -> VerbResult {
    let certnames = targets::parse_all(&options.nodes)?;
    let nodes = values::format_count(certnames.len(), "node");
    let duplicates = if options.replace { "replace" } else { "error" };
    let command = CreateConnection {
        certnames,
        kind: "ssh".to_owned(),
        parameters: Guarded(Value::Object(parameters(options))),
        sensitive_parameters: Guarded(Value::Object(secrets(options)?)),
        duplicates: Some(duplicates.to_owned()),
    };
    let path = ["inventory", "v1", "command", "create-connection"];
    let created: Result<ConnectionCreated> = client.post(&path, &command).await;
    let created = created.map_err(with_replace_hint)?;
    let id = escape_control(&created.connection_id);
    say!("Made connection {id} of {nodes}");
    Ok(EXIT_SUCCESS)
}

/// Adds the option of this client that solves the conflict, which the service cannot know.
fn with_replace_hint(mut failure: CommandFailure) -> CommandFailure {
    if let CommandFailure::Refused {
        status: 409, msg, ..
    } = &mut failure
    {
        msg.push_str("; --replace puts this one in its place");
    }
    failure
}

fn parameters(options: &AddOptions) -> Object {
    let text = |text: &Option<String>| text.clone().map(Value::from);
    let given = [
        ("user", Some(options.user.clone().into())),
        ("hostname", text(&options.hostname)),
        ("port", options.port.map(Value::from)),
        ("run-as", text(&options.run_as)),
        ("connect-timeout", options.connect_timeout.map(Value::from)),
        ("tmpdir", text(&options.tmpdir)),
        ("tty", options.tty.then_some(Value::Bool(true))),
    ];
    let given = given.into_iter();
    given
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect()
}

fn secrets(options: &AddOptions) -> Result<Object> {
    let line = |path: &Option<PathBuf>| {
        let line = path.as_deref().map(first_line).transpose()?;
        Ok::<_, CommandFailure>(line.map(|line| line.expose_secret().to_owned()))
    };
    let key = options.private_key.as_deref();
    let given = [
        ("password", line(&options.password_file)?),
        ("private-key-content", key.map(read_limited).transpose()?),
        ("sudo-password", line(&options.sudo_password_file)?),
    ];
    let given = given.into_iter();
    Ok(given
        .filter_map(|(key, value)| Some((key.to_owned(), value?.into())))
        .collect())
}

async fn delete(nodes: &[String], client: &ApiClient) -> VerbResult {
    let certnames = targets::parse_all(nodes)?;
    let list = fetch(client, Some(certnames.clone())).await?;
    let there: HashSet<&String> = list
        .items
        .iter()
        .flat_map(|item| &item.certnames)
        .flatten()
        .collect();
    let (there, unknown): (Vec<String>, Vec<String>) =
        certnames.into_iter().partition(|name| there.contains(name));
    if there.is_empty() {
        return usage(format!(
            "there is no connection of {}; `tutti connection list` shows those there are",
            first_names(&unknown)
        ));
    }
    let nodes = values::format_count(there.len(), "node");
    let path = ["inventory", "v1", "command", "delete-connection"];
    let command = DeleteConnection { certnames: there };
    client.command(&path, &command).await?;
    say!("Forgot the connections of {nodes}");
    if !unknown.is_empty() {
        say!("There was none of {}", first_names(&unknown));
    }
    Ok(EXIT_SUCCESS)
}

/// The first few names, with the number of others.
fn first_names(names: &[String]) -> String {
    let first = names.iter().take(NAMES_SHOWN);
    let first: Vec<_> = first.map(|name| escape_control(name)).collect();
    match names.len().saturating_sub(NAMES_SHOWN) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
