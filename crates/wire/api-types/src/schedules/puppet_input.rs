//! `input` of scheduled Puppet runs. Main type: [`PuppetRunMode`].
//!
//! Invariant: the keys are those of `POST command/deploy`, and two more that choose the command which each slot runs.

use serde_json::{Value, json};

use super::ScheduledInput;
use super::input::from_object;
use crate::{
    ApiError, ConvergeCommand, ConvergenceLimits, DeployCommand, MultiPassCommand, Object,
};

const UNTIL_CONVERGED: &str = "until_converged";
const MULTI_PASS: &str = "multi_pass";

/// The way in which a scheduled job runs Puppet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PuppetRunMode {
    /// Once on each node, as `POST command/deploy` does.
    Once,
    /// In waves, as `POST command/converge` does.
    UntilConverged(ConvergenceLimits),
    /// In passes, as `POST command/multi_pass` does.
    MultiPass,
}

// === impl PuppetRunMode ===

impl PuppetRunMode {
    /// Takes the keys of the mode out of an `input`, so that those of `POST command/deploy` are left.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn take(input: &mut Object) -> Result<Self, ApiError> {
        let limits = match input.remove(UNTIL_CONVERGED) {
            None | Some(Value::Null | Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(ConvergenceLimits::default()),
            Some(Value::Object(limits)) => Some(from_object("input.until_converged", limits)?),
            Some(_) => {
                let what = "must be true, or an object of limits";
                return Err(ApiError::invalid("input.until_converged", what));
            }
        };
        let is_multi_pass = match input.remove(MULTI_PASS) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(value)) => value,
            Some(_) => {
                let what = "must be true or false";
                return Err(ApiError::invalid("input.multi_pass", what));
            }
        };
        match (limits, is_multi_pass) {
            (None, false) => Ok(Self::Once),
            (Some(limits), false) => Ok(Self::UntilConverged(limits)),
            (None, true) => Ok(Self::MultiPass),
            (Some(_), true) => {
                let what = "contradicts until_converged: a pass runs each node once; leave one out";
                Err(ApiError::invalid("input.multi_pass", what))
            }
        }
    }

    /// Adds the keys of the mode to an `input`.
    pub fn put(&self, input: &mut Object) {
        match self {
            Self::Once => None,
            Self::UntilConverged(limits) => input.insert(UNTIL_CONVERGED.to_owned(), json!(limits)),
            Self::MultiPass => input.insert(MULTI_PASS.to_owned(), json!(true)),
        };
    }
}

pub(super) fn read(
    mut input: Object,
    environment: &str,
    description: &str,
    userdata: &Object,
) -> Result<ScheduledInput, ApiError> {
    let mode = PuppetRunMode::take(&mut input)?;
    let deploy = deploy(input, environment, description, userdata)?;
    Ok(match mode {
        PuppetRunMode::Once => {
            deploy.check()?;
            ScheduledInput::Deploy(Box::new(deploy))
        }
        PuppetRunMode::UntilConverged(limits) => {
            let command = ConvergeCommand { deploy, limits };
            command.check_at("input", "input.until_converged")?;
            ScheduledInput::Converge(Box::new(command))
        }
        PuppetRunMode::MultiPass => {
            let command = MultiPassCommand { deploy };
            command.check_at("input")?;
            ScheduledInput::MultiPass(Box::new(command))
        }
    })
}

fn deploy(
    mut input: Object,
    environment: &str,
    description: &str,
    userdata: &Object,
) -> Result<DeployCommand, ApiError> {
    if !input.contains_key("scope") {
        return Err(ApiError::invalid("input.scope", "is missing"));
    }
    for key in ["environment", "description", "userdata"] {
        if input.contains_key(key) {
            let what = "stands beside input, not in it";
            return Err(ApiError::invalid(&format!("input.{key}"), what));
        }
    }
    if environment.is_empty() && !input.contains_key("enforce_environment") {
        input.insert("enforce_environment".to_owned(), json!(false));
    }
    input.insert("environment".to_owned(), json!(environment));
    input.insert("description".to_owned(), json!(description));
    input.insert("userdata".to_owned(), json!(userdata));
    from_object("input", input)
}
