//! `tutti catalog compile`: prints the catalog of a node.

use std::time::Instant;

use compiler::{CompileError, CompileLog, DocumentForm, RubyCalls};
use evaluator::LogLevel;

use super::node::NodeOptions;
use super::text;
use cli::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, say, terminal};

/// Arguments of `tutti catalog compile`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti catalog compile web1.example.com --code-dir . --facts web1.yaml
  tutti catalog compile web1.example.com --environment test --why
  tutti catalog compile web1.example.com --code-dir ~/control --format json | jq '.resources | length'

Exit codes: 0 the catalog was compiled; 1 it cannot be compiled; 2 the command was used wrongly or a \
file cannot be read.")]
pub struct CompileOptions {
    /// Certname of the node
    #[arg(value_name = "NODE")]
    certname: String,
    #[command(flatten)]
    node: NodeOptions,
    /// Also print the calls of Ruby code, with their number and time
    #[arg(long)]
    why: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
}

pub(super) fn run(options: &CompileOptions) -> Result<u8, CommandFailure> {
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
    let document = compiled.document.to_json(DocumentForm::Rich);
    let document = document.map_err(|error| CommandFailure::Content {
        place: format!("the catalog of {}", options.certname),
        what: error.to_string(),
    })?;
    if options.format.print_json(&document) {
        if options.why {
            print_calls(&compiled.ruby_calls);
        }
        return Ok(EXIT_SUCCESS);
    }
    for line in text::resources(&document) {
        say!("{line}");
    }
    say!(
        "{}",
        terminal::style_dim(format!(
            "{} resources of {} in {}, compiled in {} ms",
            compiled.document.resource_count(),
            options.certname,
            compiler.environment(),
            took.as_millis()
        ))
    );
    if options.why {
        print_calls(&compiled.ruby_calls);
    }
    Ok(EXIT_SUCCESS)
}

/// Prints an error with its suggestions to stderr.
pub(super) fn print_error(error: &CompileError) {
    anstream::eprintln!("{} {error}", terminal::style_failure("error:"));
    for hint in &error.hints {
        anstream::eprintln!("  {}", terminal::escape_control(hint));
    }
    for other in &error.others {
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

fn print_calls(calls: &RubyCalls) {
    if calls.by_name.is_empty() {
        anstream::eprintln!("Nothing was run in Ruby.");
        return;
    }
    anstream::eprintln!("Run in Ruby:");
    for (name, (count, time)) in &calls.by_name {
        anstream::eprintln!(
            "  {name}: {count} calls, {:.1} ms",
            time.as_secs_f64() * 1_000.0
        );
    }
}
