//! `tutti connection …`: nodes without an agent and how they are reached. Main type: [`ConnectionVerb`].
//!
//! Invariant: secrets come from files or standard input, and are not shown again.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use api_types::connections::Guarded;
use api_types::{
    ConnectionCreated, ConnectionItem, ConnectionList, ConnectionsQuery, CreateConnection,
    DeleteConnection, Object,
};
use reqwest::Method;
use secrecy::ExposeSecret as _;
use serde_json::Value;

use crate::access::login::first_line;
use crate::client::ApiClient;
use crate::defaults::NAMES_SHOWN;
use crate::input::read_limited;
use crate::output::{OutputOptions, json};
use crate::settings;
use crate::terminal::{self, escape_control};
use crate::{CommandFailure, EXIT_SUCCESS, OutputFormat, table, targets, values};

/// Verbs of `tutti connection`.
#[derive(Debug, clap::Subcommand)]
pub enum ConnectionVerb {
    /// List the nodes that are reached without an agent
    #[command(after_long_help = "Examples:
  tutti connection list
  tutti connection list -n switch1.example.com --format json")]
    List(ListOptions),
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
    Delete(DeleteOptions),
}

/// Arguments of `tutti connection list`.
#[derive(Debug, clap::Args)]
pub struct ListOptions {
    /// Certnames, separated by commas; or @FILE with one on each line; all when absent
    #[arg(long, short = 'n', value_name = "NODES")]
    nodes: Option<String>,
    #[command(flatten)]
    shown: OutputOptions,
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

/// Arguments of `tutti connection delete`.
#[derive(Debug, clap::Args)]
pub struct DeleteOptions {
    /// Certnames, or @FILE with one on each line (@- is stdin)
    #[arg(required = true)]
    nodes: Vec<String>,
}

pub(crate) async fn run(
    verb: ConnectionVerb,
    connection: &settings::ConnectionFlags,
) -> Result<u8, CommandFailure> {
    let client = ApiClient::with_token(connection)?;
    match verb {
        ConnectionVerb::List(options) => list(&options, &client).await,
        ConnectionVerb::Add(options) => add(&options, &client).await,
        ConnectionVerb::Delete(options) => delete(&options, &client).await,
    }
}

async fn list(options: &ListOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let query = ConnectionsQuery {
        certnames: options.nodes.as_deref().map(targets::parse).transpose()?,
        ..ConnectionsQuery::default()
    };
    let path = ["inventory", "v1", "query", "connections"];
    let list: ConnectionList = client.post(&path, &query).await?;
    if options.shown.format == OutputFormat::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    if list.items.is_empty() {
        say!("No node is reached without an agent; `tutti connection add` changes that.");
        return Ok(EXIT_SUCCESS);
    }
    let rows = list.items.iter().flat_map(rows).collect();
    table::print(&["NODE", "TYPE", "USER", "HOST", "PORT", "RUN AS"], rows);
    Ok(EXIT_SUCCESS)
}

/// One row for each node of a connection.
fn rows(item: &ConnectionItem) -> Vec<Vec<String>> {
    let parameters = item.parameters.as_ref();
    let parameter = |key: &str| match parameters.and_then(|parameters| parameters.get(key)) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => escape_control(text),
        Some(other) => escape_control(&other.to_string()),
    };
    let names = item.certnames.iter().flatten().map(|name| {
        vec![
            terminal::style_name(escape_control(name)),
            escape_control(item.kind.as_deref().unwrap_or_default()),
            parameter("user"),
            parameter("hostname"),
            parameter("port"),
            parameter("run-as"),
        ]
    });
    names.collect()
}

async fn add(options: &AddOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let certnames = names(&options.nodes)?;
    let count = certnames.len();
    let duplicates = if options.replace { "replace" } else { "error" };
    let command = CreateConnection {
        certnames,
        kind: "ssh".to_owned(),
        parameters: Guarded(Value::Object(parameters(options))),
        sensitive_parameters: Guarded(Value::Object(secrets(options)?)),
        duplicates: Some(duplicates.to_owned()),
    };
    let path = ["inventory", "v1", "command", "create-connection"];
    let created: Result<ConnectionCreated, CommandFailure> = client.post(&path, &command).await;
    let created = created.map_err(with_replace_hint)?;
    let nodes = values::format_count(count, "node");
    say!(
        "Made connection {} of {nodes}",
        escape_control(&created.connection_id)
    );
    Ok(EXIT_SUCCESS)
}

/// Adds the option of this client that solves the conflict, which the service cannot know.
fn with_replace_hint(failure: CommandFailure) -> CommandFailure {
    match failure {
        CommandFailure::Refused {
            status: status @ 409,
            kind,
            msg,
            permission,
        } => CommandFailure::Refused {
            status,
            kind,
            msg: format!("{msg}; --replace puts this one in its place"),
            permission,
        },
        other => other,
    }
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

fn secrets(options: &AddOptions) -> Result<Object, CommandFailure> {
    let line = |path: &Path| first_line(path).map(|line| line.expose_secret().to_owned());
    let given = [
        (
            "password",
            options.password_file.as_deref().map(line).transpose()?,
        ),
        (
            "private-key-content",
            options
                .private_key
                .as_deref()
                .map(read_limited)
                .transpose()?,
        ),
        (
            "sudo-password",
            options
                .sudo_password_file
                .as_deref()
                .map(line)
                .transpose()?,
        ),
    ];
    let given = given.into_iter();
    Ok(given
        .filter_map(|(key, value)| Some((key.to_owned(), value?.into())))
        .collect())
}

async fn delete(options: &DeleteOptions, client: &ApiClient) -> Result<u8, CommandFailure> {
    let certnames = names(&options.nodes)?;
    let query = ConnectionsQuery {
        certnames: Some(certnames.clone()),
        ..ConnectionsQuery::default()
    };
    let path = ["inventory", "v1", "query", "connections"];
    let list: ConnectionList = client.post(&path, &query).await?;
    let there: HashSet<&String> = list
        .items
        .iter()
        .flat_map(|item| &item.certnames)
        .flatten()
        .collect();
    let (there, unknown): (Vec<String>, Vec<String>) =
        certnames.into_iter().partition(|name| there.contains(name));
    if there.is_empty() {
        return Err(CommandFailure::Usage(format!(
            "there is no connection of {}; `tutti connection list` shows those there are",
            first_names(&unknown)
        )));
    }
    let nodes = values::format_count(there.len(), "node");
    let path = ["inventory", "v1", "command", "delete-connection"];
    let command = DeleteConnection { certnames: there };
    client
        .send_without_content(Method::POST, &path, &command)
        .await?;
    say!("Forgot the connections of {nodes}");
    if !unknown.is_empty() {
        say!("There was none of {}", first_names(&unknown));
    }
    Ok(EXIT_SUCCESS)
}

/// The first few names, with the number of others.
fn first_names(names: &[String]) -> String {
    let first: Vec<String> = names
        .iter()
        .take(NAMES_SHOWN)
        .map(|name| escape_control(name))
        .collect();
    match names.len().saturating_sub(NAMES_SHOWN) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn names(given: &[String]) -> Result<Vec<String>, CommandFailure> {
    let names: Result<Vec<_>, _> = given.iter().map(|given| targets::parse(given)).collect();
    Ok(names?.concat())
}
