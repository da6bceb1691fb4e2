//! `tutti catalog show`, `history` and `why`: catalogs that agents got from a server. Main type:
//! [`NodeCatalogVerb`].

use api_types::{CatalogCompilationItem, CatalogHistory, CompileCauseItem, NodeCatalogDocument};

use crate::client::ApiClient;
use crate::present::{Fields, OutputOptions};
use crate::terminal::{escape_control, escaped_name, style_dim, style_heading};
use crate::values::{duration, or_empty};
use crate::{CommandFailure, ConnectionFlags, EXIT_SUCCESS, Result, VerbResult, targets};

/// Verbs of `tutti catalog` that ask a server about the catalogs of its agents.
#[derive(Debug, clap::Subcommand)]
pub enum NodeCatalogVerb {
    /// Show the newest catalog that a server compiled for a node, and what its code read
    #[command(after_long_help = "Examples:
  tutti catalog show web1.example.com")]
    Show(NodeCatalogOptions),
    /// List the last compilations of a node
    #[command(after_long_help = "Examples:
  tutti catalog history web1.example.com")]
    History(NodeCatalogOptions),
    /// Show why the catalog of a node was compiled, the last time first
    #[command(after_long_help = "Examples:
  tutti catalog why web1.example.com")]
    Why(NodeCatalogOptions),
}

/// Arguments of these verbs.
#[derive(Debug, clap::Args)]
pub struct NodeCatalogOptions {
    /// Certname of the node, or its first label
    node: String,
    #[command(flatten)]
    shown: OutputOptions,
    #[command(flatten)]
    connection: ConnectionFlags,
}

/// Runs a verb with a client of its own.
///
/// # Errors
/// The server cannot be reached, or knows no compilation of the node.
pub fn run_node_catalog(verb: &NodeCatalogVerb) -> VerbResult {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| CommandFailure::Usage(error.to_string()))?;
    let (NodeCatalogVerb::Show(options)
    | NodeCatalogVerb::History(options)
    | NodeCatalogVerb::Why(options)) = verb;
    let client = ApiClient::with_token(&options.connection)?;
    runtime.block_on(run(verb, &client))
}

/// Runs a verb.
pub(crate) async fn run(verb: &NodeCatalogVerb, client: &ApiClient) -> VerbResult {
    match verb {
        NodeCatalogVerb::Show(options) => {
            let node = targets::resolve_one_node(client, &options.node).await?;
            let path = ["tutti", "v1", "catalogs", &node];
            let document: NodeCatalogDocument = client.get(&path, &[]).await?;
            options.shown.format.present(&document, print_catalog)
        }
        NodeCatalogVerb::History(options) => {
            let history = fetch_history(options, client).await?;
            options.shown.format.list(
                &history,
                &history.items,
                "",
                &[
                    ("TIME", &|it| api_types::Timestamp(it.time.0).to_string()),
                    ("CATALOG", &|it| short(&it.catalog_uuid)),
                    ("ENVIRONMENT", &|it| escape_control(&it.environment)),
                    ("VERSION", &|it| {
                        or_empty(it.code_id.as_deref().map(version))
                    }),
                    ("TOOK", &took),
                    ("KB", &|it| it.bytes.div_ceil(1_000).to_string()),
                    ("WHY", &|it| {
                        let kinds: Vec<&str> =
                            it.causes.iter().map(|cause| cause.kind.as_str()).collect();
                        escape_control(&kinds.join(", "))
                    }),
                ],
            )
        }
        NodeCatalogVerb::Why(options) => {
            let history = fetch_history(options, client).await?;
            options.shown.format.present(&history, |history| {
                history.items.iter().for_each(print_why);
            })
        }
    }?;
    Ok(EXIT_SUCCESS)
}

async fn fetch_history(options: &NodeCatalogOptions, client: &ApiClient) -> Result<CatalogHistory> {
    let node = targets::resolve_one_node(client, &options.node).await?;
    let path = ["tutti", "v1", "catalogs", &node, "history"];
    client.get(&path, &[]).await
}

fn print_catalog(document: &NodeCatalogDocument) {
    let compilation = &document.compilation;
    let kept = document.kept.as_ref();
    Fields::default()
        .value("node", escaped_name(&document.node))
        .text("catalog", &compilation.catalog_uuid)
        .text("environment", &compilation.environment)
        .optional_text("code id", compilation.code_id.as_deref())
        .value("compiled", api_types::Timestamp(compilation.time.0))
        .value("took", took(compilation))
        .value("bytes", compilation.bytes)
        .optional("compressed", kept.map(|it| it.compressed_bytes))
        .optional("contents", kept.map(|it| it.contents))
        .optional(
            "given",
            kept.map(|it| match it.used {
                Some(used) => api_types::Timestamp(used.0).to_string(),
                None => "not yet".to_owned(),
            }),
        )
        .optional(
            "each time",
            compilation.volatile.as_deref().map(escape_control),
        )
        .print();
    print_list(
        "Why it was compiled",
        compilation.causes.iter().map(describe),
    );
    let Some(kept) = kept else {
        return;
    };
    let names = |names: &[String]| {
        names
            .iter()
            .map(|it| escape_control(it))
            .collect::<Vec<_>>()
    };
    print_list("Facts that the code read", names(&kept.facts));
    print_list("Hiera keys with values", names(&kept.hiera_keys));
    print_list("Queries", names(&kept.queries));
    match &kept.outside_files {
        Some(files) => print_list("Files outside of the version", names(files)),
        None => print_list(
            "Files outside of the version",
            ["they cannot be compared, so the catalog is compiled for each request".to_owned()],
        ),
    }
}

fn print_list(heading: &'static str, lines: impl IntoIterator<Item = String>) {
    let mut lines = lines.into_iter().peekable();
    if lines.peek().is_none() {
        return;
    }
    say!("\n{}", style_heading(heading));
    for line in lines {
        say!("  {line}");
    }
}

fn print_why(compilation: &CatalogCompilationItem) {
    let time = api_types::Timestamp(compilation.time.0);
    let version = or_empty(compilation.code_id.as_deref().map(version));
    let took = took(compilation);
    let ahead = match compilation.ahead {
        true => "  in advance",
        false => "",
    };
    say!(
        "{time}  {}  {}",
        style_heading(escape_control(&compilation.environment)),
        style_dim(format!("{version}  {took}{ahead}"))
    );
    for cause in &compilation.causes {
        say!("  {}", describe(cause));
    }
}

/// The cause with the names that differ.
fn describe(cause: &CompileCauseItem) -> String {
    let mut text = escape_control(&cause.text);
    if !cause.names.is_empty() {
        text.push_str(": ");
        text.push_str(&escape_control(&cause.names.join(", ")));
    }
    if cause.further > 0 {
        let further = format!(" and {} more", cause.further);
        text.push_str(&further);
    }
    text
}

fn took(compilation: &CatalogCompilationItem) -> String {
    let milliseconds = u32::try_from(compilation.milliseconds).unwrap_or(u32::MAX);
    duration(f64::from(milliseconds) / 1_000.0)
}

/// The first digits of the version that a code id names.
fn version(code_id: &str) -> String {
    let signature = code_id.strip_prefix("urn:puppet:code-id:1:");
    let signature = signature.and_then(|rest| rest.split(';').next());
    short(signature.unwrap_or(code_id))
}

fn short(id: &str) -> String {
    const SHOWN: usize = 12;
    escape_control(&id.chars().take(SHOWN).collect::<String>())
}
