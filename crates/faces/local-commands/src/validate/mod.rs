//! `tutti validate`: checks sources of the Puppet language. Main type: [`ValidateOptions`].
//!
//! It needs neither a server nor Puppet.
//!
//! Invariant: every mistake in every file is reported; the exit code is 0 without mistakes, 1 with
//! mistakes, 2 if a file could not be read.

mod checked_source;
mod files;
mod findings;
mod json;
mod module;
mod position;
mod ruby_function;
mod task_metadata;
mod yaml_plan;

use checked_source::{CheckedLanguage, CheckedSource};
use std::path::PathBuf;
use std::sync::Arc;

use syntax::{DiagnosticSeverity, ModuleLocation, SourceText};

use cli::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, say, terminal};

/// Arguments of `tutti validate`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti validate site.pp
  tutti validate modules/ --modulepath modules
  git show HEAD:manifests/init.pp | tutti validate -
  tutti validate . --format json | jq '.files[] | select(.errors > 0) | .file'

Exit codes: 0 nothing is wrong; 1 something is; 2 a file cannot be read.")]
pub struct ValidateOptions {
    /// Files; directories, in which all .pp and .epp files, YAML plans, task metadata and Ruby
    /// functions are checked; or - for standard input
    #[arg(required = true, value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// Treat `plan` and `apply` as keywords; auto: in files of plans
    #[arg(long, value_enum, default_value = "auto")]
    tasks: PlanSyntaxMode,
    /// Directories of modules, separated by colons: files in them may define only the name that
    /// their path implies
    #[arg(long, value_name = "DIR:DIR", value_delimiter = ':')]
    modulepath: Vec<PathBuf>,
    /// Treat standard input as a template
    #[arg(long, conflicts_with = "yaml")]
    epp: bool,
    /// Treat standard input as a YAML plan
    #[arg(long)]
    yaml: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
}

/// Condition under which a source may contain plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PlanSyntaxMode {
    Auto,
    Always,
    Never,
}

/// Runs the command and returns its exit code.
///
/// # Errors
/// The arguments are wrong, or a file cannot be read.
pub fn run(options: &ValidateOptions) -> Result<u8, CommandFailure> {
    let inputs = files::read_inputs(options)?;
    let mut all = Vec::with_capacity(inputs.len());
    for input in inputs {
        let checked = check(options, &input);
        if options.format == OutputFormat::Human {
            findings::print_findings(&checked);
        }
        all.push(checked);
    }
    let errors: usize = all
        .iter()
        .map(|one| one.count(DiagnosticSeverity::Error))
        .sum();
    match options.format {
        OutputFormat::Human => say!("{}", summary(&all, errors)),
        OutputFormat::Json => say!("{}", json::document(&all, errors)),
    }
    Ok(if errors == 0 {
        EXIT_SUCCESS
    } else {
        EXIT_NODES_FAILED
    })
}

fn check(options: &ValidateOptions, input: &files::SourceInput) -> CheckedSource {
    let (source, fault) = SourceText::decode(Some(&input.name), &input.bytes);
    let source = Arc::new(source);
    let found = match fault {
        Some(fault) => vec![fault],
        None if input.ruby_function.is_some() => ruby_function::find_mistakes(input),
        None if input.language == CheckedLanguage::YamlPlan => {
            yaml_plan::find_mistakes(source.text())
        }
        None if input.language == CheckedLanguage::TaskMetadata => {
            task_metadata::find_mistakes(source.text())
        }
        None => {
            let tasks = match options.tasks {
                PlanSyntaxMode::Auto => input.in_plans,
                PlanSyntaxMode::Always => true,
                PlanSyntaxMode::Never => false,
            };
            let language = syntax::SyntaxOptions {
                epp: input.epp,
                tasks,
                applications: !tasks && !input.epp && has_applications(input),
            };
            let location = location(options, input);
            syntax::parse_at(&source, language, location.as_ref()).diagnostics
        }
    };
    CheckedSource {
        source,
        name: input.name.clone(),
        diagnostics: found,
    }
}

/// True if the file belongs to an environment with applications: the nearest `environment.conf` in a
/// directory above it says so.
fn has_applications(input: &files::SourceInput) -> bool {
    let directories = input.path.iter().flat_map(|path| path.ancestors().skip(1));
    let mut environments = directories.filter(|it| it.join("environment.conf").is_file());
    environments
        .next()
        .is_some_and(catalogs::enables_applications)
}

/// The location of a file in a module: below a directory of modules, or in the module found above
/// it.
fn location(options: &ValidateOptions, input: &files::SourceInput) -> Option<ModuleLocation> {
    let path = input.path.as_deref()?;
    let mut directories = options.modulepath.iter();
    directories
        .find_map(|modules| ModuleLocation::of(path, modules))
        .or_else(|| {
            let (module, below) = input.module.as_ref()?;
            ModuleLocation::in_module(path, &module.name, below)
        })
}

fn summary(all: &[CheckedSource], errors: usize) -> String {
    if all.is_empty() {
        return "0 files: nothing to check; directories are searched for .pp, .epp, YAML plans in `plans` and metadata \
                in `tasks`"
            .to_owned();
    }
    let found: usize = all.iter().map(|one| one.diagnostics.len()).sum();
    let warnings = found - errors;
    let count = |number: usize, what: &str| {
        let plural = if number == 1 { "" } else { "s" };
        format!("{number} {what}{plural}")
    };
    let files = count(all.len(), "file");
    let faults = match (errors, warnings) {
        (0, 0) => terminal::style_success("nothing is wrong"),
        (0, _) => terminal::style_warning(count(warnings, "warning")),
        (_, 0) => terminal::style_failure(count(errors, "error")),
        _ => format!(
            "{}, {}",
            terminal::style_failure(count(errors, "error")),
            terminal::style_warning(count(warnings, "warning"))
        ),
    };
    format!("{files}: {faults}")
}
