//! `tutti catalog compile`: prints the catalog of a node.

mod on_server;

use std::time::Instant;

use compiler::defaults::ERRORS_MAX;
use compiler::{
    CatalogDocument, CompileError, CompileLog, DocumentForm, PlainConversion, RichValueError,
};
use evaluator::LogLevel;
use serde_json::Value as Json;

use super::node::NodeOptions;
use super::text;
use cli::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, say, terminal};

/// Arguments of `tutti catalog compile`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti catalog compile web1.example.com --code-dir . --facts web1.yaml
  tutti catalog compile web1.example.com --environment test --why
  tutti catalog compile web1.example.com --on-server --version 3f2a9c
  tutti catalog compile web1.example.com --code-dir ~/control --format json | jq '.resources | length'

Exit codes: 0 the catalog was compiled; 1 it cannot be compiled; 2 the command was used wrongly or a \
file cannot be read.")]
pub struct CompileOptions {
    /// Certname of the node
    #[arg(value_name = "NODE")]
    certname: String,
    #[command(flatten)]
    node: NodeOptions,
    /// Let the server compile, with its code, its facts and its node groups, instead of this machine
    #[arg(long, conflicts_with_all = ["code_dir", "codedir", "environmentpath", "modulepath", "hiera_config", "classes", "no_ruby", "puppetdb"])]
    on_server: bool,
    /// First digits of the code version on the server [default: the live one]
    #[arg(long, value_name = "VERSION", requires = "on_server")]
    version: Option<String>,
    /// Keep the exported resources of the catalog on the server, so that other nodes collect them
    #[arg(long, requires = "on_server")]
    keep_exports: bool,
    /// Write the catalog as a server with `rich_data = false`: a value that would become a text is an error
    #[arg(long, conflicts_with = "on_server")]
    no_rich_data: bool,
    /// Also print the calls of Ruby code, with their number and time
    #[arg(long)]
    why: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
}

pub(super) fn run(options: &CompileOptions) -> Result<u8, CommandFailure> {
    if options.on_server {
        return on_server::run(options);
    }
    let compiler = options.node.compiler(None)?;
    let request = options.node.request(&options.certname)?;
    let since = Instant::now();
    let compiled = match compiler.compile(request) {
        Ok(compiled) => compiled,
        Err(error) => {
            print_error(&error);
            return Ok(EXIT_NODES_FAILED);
        }
    };
    let took = since.elapsed();
    print_logs(&compiled.logs);
    let Some(document) = document_of(options, &compiled.document)? else {
        return Ok(EXIT_NODES_FAILED);
    };
    let summary = format!(
        "{} resources of {} in {}, compiled in {} ms",
        compiled.document.resource_count(),
        options.certname,
        compiler.environment(),
        took.as_millis()
    );
    print_catalog(options, &document, &summary);
    if options.why {
        let calls = compiled.ruby_calls.by_name.iter();
        print_calls(calls.map(|(name, (count, time))| {
            let milliseconds = time.as_secs_f64() * 1_000.0;
            (name.as_str(), *count, milliseconds)
        }));
    }
    Ok(EXIT_SUCCESS)
}

/// The document as JSON; `None` if it needs rich data and may have none, which is printed.
fn document_of(
    options: &CompileOptions,
    catalog: &CatalogDocument,
) -> Result<Option<Json>, CommandFailure> {
    let unwritable = |error: RichValueError| CommandFailure::Content {
        place: format!("the catalog of {}", options.certname),
        what: error.to_string(),
    };
    if !options.no_rich_data {
        return Ok(Some(
            catalog.to_json(DocumentForm::Rich).map_err(unwritable)?,
        ));
    }
    let plain = catalog.to_plain_json().map_err(unwritable)?;
    let mut errors = plain.conversions.iter().map(PlainConversion::as_error);
    let Some(first) = errors.next() else {
        return Ok(Some(plain.document));
    };
    let others: Vec<String> = errors.take(ERRORS_MAX).collect();
    print_failure(&first, &[], &others);
    Ok(None)
}

/// Prints a catalog as JSON, or its resources and a summary.
fn print_catalog(options: &CompileOptions, document: &Json, summary: &str) {
    if options.format.print_json(document) {
        return;
    }
    for line in text::resources(document) {
        say!("{line}");
    }
    say!("{}", terminal::style_dim(summary));
}

/// Prints an error with its suggestions to stderr.
pub(super) fn print_error(error: &CompileError) {
    print_failure(&error.to_string(), &error.hints, &error.others);
}

fn print_failure(message: &str, hints: &[String], others: &[String]) {
    let message = terminal::escape_control(message);
    anstream::eprintln!("{} {message}", terminal::style_failure("error:"));
    for hint in hints {
        anstream::eprintln!("  {}", terminal::escape_control(hint));
    }
    for other in others {
        let other = terminal::escape_control(other);
        anstream::eprintln!("{} {other}", terminal::style_failure("also:"));
    }
}

/// Prints warnings and errors that the manifests logged to stderr.
pub(super) fn print_logs(logs: &[CompileLog]) {
    for log in logs {
        let level = match log.level {
            LogLevel::Debug | LogLevel::Info => continue,
            LogLevel::Notice => "notice:",
            LogLevel::Warning => "warning:",
            LogLevel::Err | LogLevel::Alert | LogLevel::Emerg | LogLevel::Crit => "error:",
        };
        let message = terminal::escape_control(&log.message);
        anstream::eprintln!(
            "{} {message} {}",
            terminal::style_warning(level),
            log.location
        );
    }
}

/// Prints calls of Ruby code: name, number and milliseconds.
fn print_calls<'c>(calls: impl Iterator<Item = (&'c str, u64, f64)>) {
    let mut calls = calls.peekable();
    if calls.peek().is_none() {
        anstream::eprintln!("Nothing was run in Ruby.");
        return;
    }
    anstream::eprintln!("Run in Ruby:");
    for (name, count, milliseconds) in calls {
        let name = terminal::escape_control(name);
        anstream::eprintln!("  {name}: {count} calls, {milliseconds:.1} ms");
    }
}
