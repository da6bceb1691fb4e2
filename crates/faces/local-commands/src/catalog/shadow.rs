//! `tutti catalog shadow`: compares catalogs with those of a puppetserver.

use std::ops::ControlFlow;
use std::path::PathBuf;

use catalogs::defaults::NO_ANSWERS_MAX;
use catalogs::{CatalogQuestion, CauseGroups, NodeOutcome, PuppetserverCatalogs, compare_nodes};
use compiler::trusted_data;
use pcore::Value;
use reqwest::Url;
use tokio::runtime::Runtime;

use self::report::{document, print};
use super::node::{LocalCompiler, NodeOptions};
use super::node_facts::{FactsDirectory, compared_nodes, worker_number};
use cli::{CommandFailure, EXIT_ERROR, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat};

mod report;

/// Arguments of `tutti catalog shadow`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti catalog shadow web1.example.com --against https://puppet.example.com:8140 --facts web1.yaml
  tutti catalog shadow --against https://puppet.example.com:8140 --facts-dir facts --environment test
  tutti catalog shadow --against https://puppet.example.com:8140 --facts-dir facts --cert shadow.pem \
--key shadow.key --cacert ca.pem --format json

The puppetserver must have the same code as this machine. Its auth.conf allows a certificate only its own \
catalog, unless a rule for ^/puppet/v3/catalog/ names the certificate. $trusted is that of the \
certificate in both catalogs. The puppetserver handles each request as that of an agent: with PuppetDB, \
it stores the facts and the catalog.

Exit codes: 0 all catalogs are equal; 1 some differ; 2 the command was used wrongly, a file cannot be \
read, or the puppetserver did not answer for a node.")]
pub struct ShadowOptions {
    /// Certnames; all nodes of --facts-dir by default
    #[arg(value_name = "NODE")]
    certnames: Vec<String>,
    /// Address of the puppetserver
    #[arg(long, value_name = "URL")]
    against: Url,
    /// The puppetserver has allow-header-cert-info and learns its clients from headers, as behind Tutti
    #[arg(long)]
    client_from_headers: bool,
    /// Directory with the facts of each node in NODE.json or NODE.yaml
    #[arg(long, value_name = "DIR", conflicts_with = "facts")]
    facts_dir: Option<PathBuf>,
    #[command(flatten)]
    node: NodeOptions,
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
}

pub(super) fn run(options: &ShadowOptions) -> Result<u8, CommandFailure> {
    let certnames = compared_nodes(&options.certnames, options.facts_dir.as_deref())?;
    let shadow = Shadow::new(options)?;
    let mut groups = CauseGroups::default();
    let compare = |certname: &str| shadow.compare(certname);
    compare_nodes(&certnames, worker_number(), compare, |index, outcome| {
        groups.add(index, &certnames[index], &outcome);
        match groups.without_answer < NO_ANSWERS_MAX {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })?;
    if !options
        .format
        .print_json(&document(&groups, certnames.len()))
    {
        print(&groups, certnames.len(), &options.against);
    }
    Ok(match (groups.without_answer, groups.different) {
        (0, 0) => EXIT_SUCCESS,
        (0, _) => EXIT_NODES_FAILED,
        _ => EXIT_ERROR,
    })
}

/// The two compilers.
struct Shadow<'o> {
    options: &'o ShadowOptions,
    server: PuppetserverCatalogs,
    compiler: LocalCompiler,
    runtime: Runtime,
}

impl<'o> Shadow<'o> {
    fn new(options: &'o ShadowOptions) -> Result<Self, CommandFailure> {
        if options.against.scheme() != "https" {
            return Err(CommandFailure::Usage(format!(
                "--against {} is no https:// address",
                options.against
            )));
        }
        let usage = |error: &dyn std::error::Error| CommandFailure::Usage(error.to_string());
        let connect = match options.client_from_headers {
            true => PuppetserverCatalogs::behind,
            false => PuppetserverCatalogs::new,
        };
        let files = options.node.certificate.tls_files()?;
        let server = connect(options.against.clone(), &files).map_err(|error| usage(&error))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| usage(&error))?;
        Ok(Self {
            options,
            server,
            compiler: options.node.compiler(None)?,
            runtime,
        })
    }

    /// Compares the catalog of the puppetserver, which is the first, with that compiled here.
    fn compare(&self, certname: &str) -> Result<NodeOutcome, CommandFailure> {
        let directory = self.options.facts_dir.as_deref();
        let file = directory.map(|directory| FactsDirectory(directory).file(certname));
        let file = file.transpose()?;
        let node = &self.options.node;
        let mut request = node.request_with_facts(certname, file.as_deref())?;
        let facts = Value::hash(request.facts.clone()).to_json();
        let question = CatalogQuestion {
            certname: certname.to_owned(),
            environment: self.compiler.environment().to_owned(),
            facts: facts.map_err(|error| CommandFailure::Content {
                place: format!("the facts of {certname}"),
                what: error.to_string(),
            })?,
        };
        let theirs = match self.runtime.block_on(self.server.catalog(&question)) {
            Ok(theirs) => theirs,
            Err(error) => return Ok(NodeOutcome::NoAnswer(error.to_string())),
        };
        request.trusted = trusted_data(self.server.certname(), "remote", None);
        let ours = self.compiler.outcome(request);
        Ok(NodeOutcome::of(&theirs, &ours))
    }
}
