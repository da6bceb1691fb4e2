//! `tutti catalog shadow`: compares catalogs with those of a puppetserver.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use catalogs::defaults::NO_ANSWERS_MAX;
use catalogs::{CatalogQuestion, CauseGroups, NodeOutcome, PuppetserverCatalogs, compare_nodes};
use pcore::Value;
use pki::TlsFiles;
use reqwest::Url;
use tokio::runtime::Runtime;

use self::report::{document, print};
use super::node::{LocalCompiler, NodeOptions};
use super::node_facts::{FactsDirectory, compared_nodes, worker_number};
use crate::environment::facts;
use cli::{CommandFailure, EXIT_ERROR, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat};

mod report;

/// Directories with the certificates of Puppet on this machine; the first that has one is used.
const SSL_DIRECTORIES: [&str; 3] = [
    "/etc/puppetlabs/puppet/ssl",
    "/var/lib/puppet/ssl",
    "/etc/puppet/ssl",
];

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
    /// Directory with the facts of each node in NODE.json or NODE.yaml
    #[arg(long, value_name = "DIR", conflicts_with = "facts")]
    facts_dir: Option<PathBuf>,
    /// Client certificate; that of Puppet on this machine by default
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Private key of the client certificate
    #[arg(long, value_name = "FILE", requires = "cacert")]
    key: Option<PathBuf>,
    /// Certificate of the CA of the puppetserver
    #[arg(long, value_name = "FILE", requires = "cert")]
    cacert: Option<PathBuf>,
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
        let server = PuppetserverCatalogs::new(options.against.clone(), &options.tls_files()?)
            .map_err(|error| usage(&error))?;
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
        request.trusted = facts::trusted(self.server.certname());
        request
            .trusted
            .insert("authenticated", Value::from("remote"));
        let ours = self.compiler.outcome(&request);
        Ok(NodeOutcome::of(&theirs, &ours))
    }
}

impl ShadowOptions {
    fn tls_files(&self) -> Result<TlsFiles, CommandFailure> {
        if let (Some(cert), Some(key), Some(ca)) = (&self.cert, &self.key, &self.cacert) {
            return Ok(TlsFiles {
                cert: cert.clone(),
                key: key.clone(),
                ca: ca.clone(),
                crl: None,
            });
        }
        let mut found = SSL_DIRECTORIES
            .iter()
            .filter_map(|it| puppet_certificate(Path::new(it)));
        found.next().ok_or_else(|| {
            CommandFailure::Usage(format!(
                "none of {} has one certificate with its key; name them with --cert, --key and --cacert",
                SSL_DIRECTORIES.join(", ")
            ))
        })
    }
}

/// The certificate in a directory of Puppet; `None` if there is none or more than one.
fn puppet_certificate(directory: &Path) -> Option<TlsFiles> {
    let entries = std::fs::read_dir(directory.join("private_keys")).ok()?;
    let mut keys = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let (Some(key), None) = (keys.next(), keys.next()) else {
        return None;
    };
    let files = TlsFiles {
        cert: directory.join("certs").join(key.file_name()?),
        key,
        ca: directory.join("certs/ca.pem"),
        crl: None,
    };
    (files.cert.is_file() && files.ca.is_file()).then_some(files)
}
