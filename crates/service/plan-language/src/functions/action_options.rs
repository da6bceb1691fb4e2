//! The options of action functions: a description, and a hash with keys that begin with `_`. Main
//! type: [`PlanActionOptions`].
//!
//! Invariant: an argument that is not an option is a parameter, and an unknown option is ignored,
//! as in Bolt.

use std::time::Duration;

use evaluator::EvalResult;
use evaluator::function::CallArguments;
use jobs::JobLimits;
use pcore::{Hash, Value};
use serde::de::DeserializeOwned;

use crate::failure;
use crate::host::PlanHost;

/// The arguments of a call except the targets.
#[derive(Debug, Default)]
pub(crate) struct PlanActionOptions {
    pub(crate) catch_errors: bool,
    pub(crate) noop: bool,
    pub(crate) description: String,
    pub(crate) limits: JobLimits,
    /// Environment variables, values as strings; lists and hashes as JSON.
    pub(crate) env_vars: Vec<(String, String)>,
    /// The user as whom nodes run the action: the call's, or else the plan's. `None` for the user
    /// of the agent.
    pub(crate) run_as: Option<String>,
    /// Modules whose facts `apply_prep` sends; those of all if there are none.
    pub(crate) required_modules: Vec<String>,
    /// The arguments that are not options.
    pub(crate) parameters: Hash,
}

impl PlanActionOptions {
    /// Reads the arguments from `index`: a description, a hash, both, or neither.
    pub(crate) fn of(
        host: &PlanHost<'_>,
        call: &CallArguments<'_>,
        index: usize,
    ) -> EvalResult<Self> {
        let mut options = Self {
            run_as: host.run_as.borrow().clone(),
            ..Self::default()
        };
        let mut next = index;
        if let Some(text) = call.get(next).as_str() {
            text.clone_into(&mut options.description);
            next += 1;
        }
        options.take_checked(host, call.get(next).as_hash())?;
        Ok(options)
    }

    /// Reads a hash of options alone.
    pub(crate) fn of_hash(host: &PlanHost<'_>, hash: Option<&Hash>) -> EvalResult<Self> {
        let mut options = Self {
            run_as: host.run_as.borrow().clone(),
            ..Self::default()
        };
        options.take_checked(host, hash)?;
        Ok(options)
    }

    fn take_checked(&mut self, host: &PlanHost<'_>, hash: Option<&Hash>) -> EvalResult<()> {
        if let Some(hash) = hash {
            self.take(host, hash)?;
        }
        let checked = self.limits.rollout.check();
        checked.map_err(|problem| failure::invalid_value_error(format!("_{problem}")))
    }

    fn take(&mut self, host: &PlanHost<'_>, hash: &Hash) -> EvalResult<()> {
        for (key, value) in hash.iter() {
            match key.as_str() {
                Some("_catch_errors") => self.catch_errors = value.is_truthy(),
                Some("_noop") => self.noop = value.is_truthy(),
                Some("_description") => self.description = value.to_string(),
                Some("_timeout") => self.limits.timeout = Some(parse_seconds("_timeout", value)?),
                Some("_concurrency") => self.limits.concurrency = Some(concurrency(value)?),
                Some("_batch") => self.limits.rollout.batch = parse_option("_batch", value)?,
                Some("_max_failures") => {
                    self.limits.rollout.max_failures = parse_option("_max_failures", value)?;
                }
                Some("_pause_between_batches") => {
                    self.limits.rollout.pause_between_batches =
                        parse_option("_pause_between_batches", value)?;
                }
                Some("_splay") => self.limits.rollout.splay = parse_option("_splay", value)?,
                Some(REQUIRED_MODULES) => self.required_modules = parse_modules(value)?,
                Some(RUN_AS) => self.run_as = Some(parse_user(value)?),
                Some("_env_vars") => self.env_vars = env_vars(host, value)?,
                Some(name) if name.starts_with('_') => {}
                _ => drop(self.parameters.insert(key.clone(), value.clone())),
            }
        }
        Ok(())
    }
}

/// The option that names modules.
const REQUIRED_MODULES: &str = "_required_modules";

/// Parses a list of names of modules.
fn parse_modules(value: &Value) -> EvalResult<Vec<String>> {
    let names = value.as_array().map(|names| {
        let names = names.iter();
        names.map(|name| name.as_str().map(str::to_owned)).collect()
    });
    names.flatten().ok_or_else(|| {
        failure::invalid_value_error(format!(
            "{REQUIRED_MODULES} is a list of names of modules, not {value}"
        ))
    })
}

/// The option that names a user.
pub(crate) const RUN_AS: &str = "_run_as";

/// Parses the name of a user.
pub(crate) fn parse_user(value: &Value) -> EvalResult<String> {
    let name = value.as_str().filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or_else(|| {
        failure::invalid_value_error(format!("{RUN_AS} is the name of a user, not {value}"))
    })
}

/// Parses the number of nodes at the same time.
fn concurrency(value: &Value) -> EvalResult<usize> {
    let number = match value {
        Value::Int(number) => usize::try_from(*number).ok().filter(|number| *number > 0),
        _ => None,
    };
    number.ok_or_else(|| {
        failure::invalid_value_error(format!(
            "_concurrency is a number of nodes from 1, not {value}"
        ))
    })
}

/// Parses an option of a rollout as the API does; `None` for `undef`.
fn parse_option<T: DeserializeOwned>(option: &str, value: &Value) -> EvalResult<Option<T>> {
    let wrong =
        |why: &str| failure::invalid_value_error(format!("{option} cannot be {value}: {why}"));
    let (json, _) = crate::json::to_json(value).map_err(|_| wrong("it is no data"))?;
    serde_json::from_value(json).map_err(|error| wrong(&error.to_string()))
}

/// Options of actions on nodes that `run_plan` does not accept.
pub(crate) const ROLLOUT: [&str; 5] = [
    "_batch",
    "_concurrency",
    "_max_failures",
    "_pause_between_batches",
    "_splay",
];

/// Parses a time in seconds, integer or fraction.
pub(crate) fn parse_seconds(what: &str, value: &Value) -> EvalResult<Duration> {
    let time = match value {
        Value::Int(seconds) => u64::try_from(*seconds).ok().map(Duration::from_secs),
        Value::Float(seconds) => Duration::try_from_secs_f64(*seconds).ok(),
        _ => None,
    };
    time.ok_or_else(|| {
        failure::invalid_value_error(format!("{what} is a number of seconds from 0, not {value}"))
    })
}

/// Parses environment variables. `Sensitive` values in them are sent to nodes in clear text, so
/// they count as unwrapped.
fn env_vars(host: &PlanHost<'_>, value: &Value) -> EvalResult<Vec<(String, String)>> {
    let wrong = || {
        failure::invalid_value_error(
            "Option 'env_vars' must be a hash of names of variables, of letters, digits and underscores, and \
             their values",
        )
    };
    let not_a_hash = || failure::invalid_value_error("Option 'env_vars' must be a hash");
    let vars = value.as_hash().ok_or_else(not_a_hash)?;
    let is_no_text = |key: &&Value| key.as_str().is_none();
    let bad: Vec<String> = vars
        .keys()
        .filter(is_no_text)
        .map(Value::to_string)
        .collect();
    if !bad.is_empty() {
        let bad = bad.join(", ");
        let msg = format!("Keys for option 'env_vars' must be strings: {bad}");
        return Err(failure::invalid_value_error(msg));
    }
    let mut found = Vec::with_capacity(vars.len());
    host.run.unwrapped.add_hidden(value);
    for (name, value) in vars.iter() {
        let name = name
            .as_str()
            .filter(|name| is_variable(name))
            .ok_or_else(wrong)?;
        let bare = match value {
            Value::Sensitive(inner) => inner,
            value => value,
        };
        let text = match bare {
            Value::Undef => String::new(),
            Value::Array(_) | Value::Hash(_) => {
                let (json, _) = crate::json::to_json(bare).map_err(|_| wrong())?;
                json.to_string()
            }
            value => value.to_string(),
        };
        found.push((name.to_owned(), text));
    }
    Ok(found)
}

fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next();
    first.is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
