//! `tutti catalog diff`: compares two catalogs.

use std::path::{Path, PathBuf};

use catalogs::{CatalogDifference, compare_catalogs};
use compiler::DocumentForm;
use serde_json::{Value as Json, json};

use super::compile::print_error;
use super::node::NodeOptions;
use super::text::shown;
use cli::input::read_limited;
use cli::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, say, terminal};

/// Arguments of `tutti catalog diff`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti catalog diff web1.example.com web2.example.com --code-dir .
  tutti catalog diff web1.example.com --code-dir . --other-code-dir ../changed --facts web1.yaml
  tutti catalog diff before.json after.json

Exit codes: 0 the catalogs are equal; 1 they differ, or one cannot be compiled; 2 the command was used \
wrongly or a file cannot be read.")]
pub struct DiffOptions {
    /// Certname, or file with a catalog as JSON
    #[arg(value_name = "NODE_OR_FILE")]
    first: String,
    /// The second one; the same node by default
    #[arg(
        value_name = "NODE_OR_FILE",
        required_unless_present = "other_code_dir"
    )]
    second: Option<String>,
    /// Directory of the environment for the second catalog
    #[arg(long, value_name = "DIR")]
    other_code_dir: Option<PathBuf>,
    #[command(flatten)]
    node: NodeOptions,
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
}

pub(super) fn run(options: &DiffOptions) -> Result<u8, CommandFailure> {
    let second = options.second.as_ref().unwrap_or(&options.first);
    let other = options.other_code_dir.as_deref();
    let Some(first) = options.catalog(&options.first, None)? else {
        return Ok(EXIT_NODES_FAILED);
    };
    let Some(second) = options.catalog(second, other)? else {
        return Ok(EXIT_NODES_FAILED);
    };
    let difference = compare_catalogs(&first, &second);
    if !options.format.print_json(&document(&difference)) {
        print(&difference);
    }
    Ok(match difference.is_empty() {
        true => EXIT_SUCCESS,
        false => EXIT_NODES_FAILED,
    })
}

impl DiffOptions {
    /// The catalog in a file or of a node; `None` if it cannot be compiled.
    fn catalog(&self, name: &str, code: Option<&Path>) -> Result<Option<Json>, CommandFailure> {
        let path = Path::new(name);
        if path.is_file() {
            let text = read_limited(path)?;
            let catalog: Json =
                serde_json::from_str(&text).map_err(|error| CommandFailure::Content {
                    place: name.to_owned(),
                    what: error.to_string(),
                })?;
            if !catalog["resources"].is_array() {
                return Err(CommandFailure::Content {
                    place: name.to_owned(),
                    what: "it is no catalog: it has no list of resources".to_owned(),
                });
            }
            return Ok(Some(catalog));
        }
        let compiler = self.node.compiler(code)?;
        match compiler.compile(self.node.request(name)?) {
            Ok(compiled) => match compiled.document.to_json(DocumentForm::Rich) {
                Ok(document) => Ok(Some(document)),
                Err(error) => Err(CommandFailure::Content {
                    place: format!("the catalog of {name}"),
                    what: error.to_string(),
                }),
            },
            Err(error) => {
                print_error(&error);
                Ok(None)
            }
        }
    }
}

fn document(difference: &CatalogDifference) -> Json {
    let changed: Vec<Json> = difference
        .changed
        .iter()
        .map(|resource| {
            let attributes: Vec<Json> = resource
                .attributes
                .iter()
                .map(
                    |(name, before, after)| json!({"name": name, "before": before, "after": after}),
                )
                .collect();
            json!({"resource": resource.reference, "attributes": attributes})
        })
        .collect();
    json!({
        "added": difference.added,
        "removed": difference.removed,
        "changed": changed,
        "edges": difference.edges,
    })
}

fn print(difference: &CatalogDifference) {
    if difference.is_empty() {
        say!("The catalogs are equal.");
        return;
    }
    for reference in &difference.removed {
        let line = format!("- {}", terminal::escape_control(reference));
        say!("{}", terminal::style_failure(line));
    }
    for reference in &difference.added {
        let line = format!("+ {}", terminal::escape_control(reference));
        say!("{}", terminal::style_success(line));
    }
    for resource in &difference.changed {
        say!("~ {}", terminal::escape_control(&resource.reference));
        for (name, before, after) in &resource.attributes {
            print_attribute(name, before, after);
        }
    }
    for edge in &difference.edges {
        say!("{}", terminal::style_dim(terminal::escape_control(edge)));
    }
    say!(
        "{}",
        terminal::style_dim(format!(
            "{} added, {} removed, {} changed",
            difference.added.len(),
            difference.removed.len(),
            difference.changed.len()
        ))
    );
}

/// Prints the values of an attribute; texts of several lines as the lines that differ.
pub(super) fn print_attribute(name: &str, before: &Json, after: &Json) {
    let (Json::String(old), Json::String(new)) = (before, after) else {
        say!("    {name}: {} => {}", shown(before), shown(after));
        return;
    };
    if !(old.contains('\n') || new.contains('\n')) {
        say!("    {name}: {} => {}", shown(before), shown(after));
        return;
    }
    say!("    {name}:");
    for change in similar::TextDiff::from_lines(old, new).iter_all_changes() {
        let sign = match change.tag() {
            similar::ChangeTag::Equal => continue,
            similar::ChangeTag::Delete => '-',
            similar::ChangeTag::Insert => '+',
        };
        let line = terminal::escape_control(change.value().trim_end_matches('\n'));
        say!("      {sign} {line}");
    }
}
