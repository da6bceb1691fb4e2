//! A catalog that the server compiles.

use api_types::{
    CatalogCompileCommand, CatalogCompilerChoice, CompileMessage, CompiledCatalogReply,
};
use cli::catalogs::{ServerCatalog, compile_on_server};
use cli::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, terminal};

use super::{CompileOptions, print_calls, print_catalog, print_failure};

pub(super) fn run(options: &CompileOptions) -> Result<u8, CommandFailure> {
    let command = CatalogCompileCommand {
        node: options.certname.clone(),
        environment: options.node.environment_name(),
        version: options.version.clone(),
        facts: options.node.facts_as_json()?,
        keep_exports: options.keep_exports,
    };
    let compiled = match compile_on_server(&command)? {
        ServerCatalog::Compiled(compiled) => compiled,
        ServerCatalog::Failed(failure) => {
            print_failure(&failure.message, &failure.hints, &failure.others);
            return Ok(EXIT_NODES_FAILED);
        }
    };
    compiled.messages.iter().for_each(print_message);
    let summary = summary(&compiled);
    print_catalog(options, &compiled.catalog, &summary);
    if options.why {
        let calls = compiled.ruby_calls.iter();
        print_calls(calls.map(|call| (call.name.as_str(), call.calls, call.total_ms)));
    }
    Ok(EXIT_SUCCESS)
}

fn summary(compiled: &CompiledCatalogReply) -> String {
    let resources = compiled.catalog["resources"].as_array().map_or(0, Vec::len);
    let version = compiled.code_id.as_deref();
    let version = version.map_or_else(String::new, |id| format!(" from {id}"));
    let CatalogCompilerChoice { name, reason } = &compiled.compiler;
    let chosen = match reason.is_empty() {
        true => String::new(),
        false => format!(" by {name} ({reason})"),
    };
    format!(
        "{resources} resources of {} in {}{version}, compiled in {} ms{chosen}",
        compiled.node, compiled.environment, compiled.compiled_ms
    )
}

fn print_message(message: &CompileMessage) {
    let level = match message.level.as_str() {
        "debug" | "info" => return,
        "err" | "alert" | "emerg" | "crit" => "error:",
        "warning" => "warning:",
        _ => "notice:",
    };
    let text = terminal::escape_control(&message.message);
    let place = terminal::escape_control(&message.place);
    anstream::eprintln!("{} {text} {place}", terminal::style_warning(level));
}
