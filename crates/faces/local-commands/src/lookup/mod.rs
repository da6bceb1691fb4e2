//! `tutti lookup`: looks up a key with Hiera, in the files of this machine. Main type:
//! [`LookupOptions`].
//!
//! It needs neither a server nor Puppet.
//!
//! Invariant: options and output are those of `puppet lookup`; additional information (the reason
//! for which nothing was found) goes to stderr.

mod host;
mod render;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use evaluator::{EvalUnwind, EvaluationLimits, Evaluator, ParseCache, VariableScope};
use lookup::{DataFileCache, LookupExplainer, LookupRequest, LookupTrail};
use pcore::{Hash, Type, Value};

use crate::environment::{EnvironmentLocation, facts};
use cli::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, say, terminal};

/// Arguments of `tutti lookup`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti lookup ntp::servers --node web1.example.com --facts web1.yaml
  tutti lookup profile::users --merge deep --knock-out-prefix=-- --explain
  tutti lookup web.port --environmentpath ~/control --environment test --render-as json
  tutti lookup --explain-options

Exit codes: 0 a value was found, or it was explained; 1 none was found, or the data are wrong; 2 the \
command was used wrongly or a file cannot be read.")]
pub struct LookupOptions {
    /// Keys to look up; the first that has a value is used
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    #[command(flatten)]
    place: EnvironmentLocation,
    /// Node to look up for; it becomes `trusted.certname`
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// JSON or YAML file with the facts of the node
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
    /// Merge strategy for values of several levels; overrides `lookup_options` of the data
    #[arg(long, value_parser = ["first", "unique", "hash", "deep"])]
    merge: Option<String>,
    /// With `--merge deep`: prefix of values to remove
    #[arg(long, value_name = "PREFIX", allow_hyphen_values = true)]
    knock_out_prefix: Option<String>,
    /// With `--merge deep`: sort merged arrays
    #[arg(long)]
    sort_merged_arrays: bool,
    /// With `--merge deep`: merge hashes in arrays by their position
    #[arg(long)]
    merge_hash_arrays: bool,
    /// Value to use if none is found
    #[arg(long = "default", value_name = "VALUE", allow_hyphen_values = true)]
    default_value: Option<String>,
    /// Type that the value must have
    #[arg(long = "type", value_name = "TYPE")]
    value_type: Option<String>,
    /// Explain which levels were searched and what was found there
    #[arg(long)]
    explain: bool,
    /// Explain the origin of the `lookup_options` of the key
    #[arg(long)]
    explain_options: bool,
    /// Output format; yaml for values and s for explanations by default
    #[arg(long, value_enum, value_name = "FORMAT")]
    render_as: Option<render::RenderFormat>,
}

/// The key that Puppet's explanations use for data of no module.
const ANY_KEY: &str = "__global__";

/// Runs the command and returns its exit code.
///
/// # Errors
/// The arguments are wrong, or a file cannot be read.
pub fn run(options: &LookupOptions) -> Result<u8, CommandFailure> {
    let keys = options.lookup_keys()?;
    let merge = options.merge()?;
    let environment = options.place.find()?;
    let facts = facts::of(options.facts.as_deref())?;
    let host = host::LocalHost::new(environment, Arc::new(DataFileCache::default()));
    let mut evaluator = Evaluator::new(&host, EvaluationLimits::default(), ParseCache::new());
    for (name, value) in facts::variables(&facts, options.node.as_deref(), host.environment()) {
        evaluator.set_global(&name, value);
    }
    let value_type = options.value_type(&mut evaluator)?;
    let only_options = options.explain_options && !options.explain;
    let trail = Rc::new(match options.is_explained() {
        true => LookupTrail::with_explainer(LookupExplainer::new(only_options)),
        false => LookupTrail::new(),
    });
    let request = LookupRequest {
        names: &keys,
        merge,
        ..LookupRequest::default()
    };
    let found = host.find(&mut evaluator, &VariableScope::default(), &request, &trail);
    let found = match found.map_err(|unwind| message(*unwind)) {
        Ok(None) => options.default().ok_or_else(|| request.not_found()),
        Ok(Some(value)) => Ok(("Found value", value)),
        Err(fault) => Err(fault),
    };
    let found = match found {
        Ok((subject, value)) => Ok(check_type(subject, value_type.as_ref(), value)?),
        Err(fault) => Err(fault),
    };
    Ok(options.show(found, &trail))
}

/// Checks the type; a mismatch is an error even with `--explain`.
fn check_type(
    subject: &str,
    expected: Option<&Type>,
    value: Value,
) -> Result<Value, CommandFailure> {
    let fits = expected.map_or(Ok(()), |ty| pcore::assert_instance(subject, ty, &value));
    match fits {
        Ok(()) => Ok(value),
        Err(mismatch) => Err(CommandFailure::Usage(mismatch.to_string())),
    }
}

fn message(unwind: EvalUnwind) -> String {
    match unwind.into_error() {
        Ok(error) => error.message,
        Err(_) => "the lookup was interrupted".to_owned(),
    }
}

// === impl LookupOptions ===

impl LookupOptions {
    fn is_explained(&self) -> bool {
        self.explain || self.explain_options
    }

    fn lookup_keys(&self) -> Result<Vec<String>, CommandFailure> {
        if !self.keys.is_empty() {
            return Ok(self.keys.clone());
        }
        if self.explain_options && !self.explain {
            return Ok(vec![ANY_KEY.to_owned()]);
        }
        Err(CommandFailure::Usage(
            "No keys were given to lookup.".to_owned(),
        ))
    }

    fn merge(&self) -> Result<Value, CommandFailure> {
        let is_deep = self.merge.as_deref() == Some("deep");
        let only_deep =
            self.sort_merged_arrays || self.merge_hash_arrays || self.knock_out_prefix.is_some();
        if only_deep && !is_deep {
            return Err(CommandFailure::Usage(
                "The options --knock-out-prefix, --sort-merged-arrays, and --merge-hash-arrays are \
                 only available with '--merge deep'"
                    .to_owned(),
            ));
        }
        let Some(strategy) = &self.merge else {
            return Ok(Value::Undef);
        };
        let mut merge = Hash::new();
        merge.insert("strategy", strategy.as_str());
        if is_deep {
            merge.insert("sort_merged_arrays", self.sort_merged_arrays);
            merge.insert("merge_hash_arrays", self.merge_hash_arrays);
            if let Some(prefix) = &self.knock_out_prefix {
                merge.insert("knockout_prefix", prefix.as_str());
            }
        }
        Ok(Value::hash(merge))
    }

    fn default(&self) -> Option<(&'static str, Value)> {
        let value = self.default_value.as_deref()?;
        Some(("Default value", Value::from(value)))
    }

    fn value_type(&self, evaluator: &mut Evaluator<'_>) -> Result<Option<Type>, CommandFailure> {
        let Some(text) = &self.value_type else {
            return Ok(None);
        };
        let ty = evaluator.parse_type(text, &[]);
        ty.map(Some).map_err(|unwind| CommandFailure::Content {
            place: "--type".to_owned(),
            what: message(*unwind),
        })
    }

    /// Prints the result.
    fn show(&self, found: Result<Value, String>, trail: &LookupTrail) -> u8 {
        if self.is_explained() {
            if let Err(fault) = &found {
                trail.record_text(fault);
            }
            let format = self.render_as.unwrap_or(render::RenderFormat::S);
            say!("{}", render::explanation(format, trail));
            return EXIT_SUCCESS;
        }
        match found {
            Ok(value) => {
                let format = self.render_as.unwrap_or(render::RenderFormat::Yaml);
                say!("{}", render::value(format, &value));
                EXIT_SUCCESS
            }
            Err(fault) => {
                let fault = terminal::escape_control(&fault);
                anstream::eprintln!("{} {fault}", terminal::style_failure("error:"));
                EXIT_NODES_FAILED
            }
        }
    }
}
