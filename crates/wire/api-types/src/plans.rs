//! `GET plans`, `GET plans/:module/:plan`, and the commands about plans.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::defaults::{ENVIRONMENT, PLAN_NAME_CHARS, SENSITIVE_NAMES};
use crate::{ApiError, EnvironmentCode, ErrorBody, Object, PlanNoop, limits, plan_noop, strict};

/// `POST command/plan_run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRunCommand {
    /// `module` or `module::plan`.
    pub plan_name: String,
    /// The plan's parameters.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub params: Object,
    /// The environment whose code has the plan.
    #[serde(default = "production")]
    #[schema(default = "production")]
    pub environment: String,
    /// Free text.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
    /// Free keys and values, given back with the plan job.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Object)]
    pub userdata: Object,
    /// How long the plan may take, in seconds; 0 or absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// `true`: what the plan would do is shown and not done; `"run"`: but tasks that support it run in noop
    /// mode.
    #[serde(
        default,
        deserialize_with = "strict::null_is_default",
        skip_serializing_if = "PlanNoop::is_off"
    )]
    #[schema(schema_with = plan_noop::schema)]
    pub noop: PlanNoop,
    /// Which version of the code the plan reads: the one that is live at its start, or at each moment the
    /// one that is live then; absent: as the server is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<PlanCode>,
    /// Questions of the plan are answered by their defaults, and one without a default fails, since no person is there
    /// to answer; absent: as the server is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unattended: Option<bool>,
}

/// `POST command/environment_plan_run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentPlanRunCommand {
    /// `module` or `module::plan`.
    pub plan_name: String,
    /// The plan's parameters.
    pub params: BTreeMap<String, PlanParam>,
    /// The environment whose code has the plan.
    #[serde(default = "production")]
    #[schema(default = "production")]
    pub environment: String,
    /// Free text.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
    /// Free keys and values, given back with the plan job.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Object)]
    pub userdata: Object,
    /// How long the plan may take, in seconds; 0 or absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// `true`: what the plan would do is shown and not done; `"run"`: but tasks that support it run in noop
    /// mode.
    #[serde(
        default,
        deserialize_with = "strict::null_is_default",
        skip_serializing_if = "PlanNoop::is_off"
    )]
    #[schema(schema_with = plan_noop::schema)]
    pub noop: PlanNoop,
    /// As in `plan_run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<PlanCode>,
    /// As in `plan_run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unattended: Option<bool>,
}

/// Which version of the code a plan reads, if its environment has versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlanCode {
    /// The one that is live when it starts, throughout: functions, other plans, tasks, files.
    #[default]
    Pinned,
    /// The same, and nothing else becomes live in the environment until it is over: deployments wait.
    Lock,
    /// Each time that it reads something, the one that is live then.
    Latest,
}

/// A parameter that is a value, or stands for nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanParam {
    /// The value, the query, or the group's UUID.
    #[schema(value_type = Object)]
    pub value: Value,
    /// What the value stands for; absent: for itself.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<PlanParamKind>,
}

/// Nodes that a parameter stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanParamKind {
    /// Those that a query finds.
    Query,
    /// Those in a node group.
    NodeGroup,
}

/// `POST command/plan_start`: a plan runs in Bolt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanStartCommand {
    /// `module` or `module::plan`.
    pub plan_name: String,
    /// The plan's parameters; those that are sensitive are not kept.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Object)]
    pub params: Object,
    /// Names of sensitive parameters.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<Vec<String>>)]
    pub sensitive: Vec<String>,
    /// Free text.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
}

/// `POST command/plan_finish`: a plan ended in Bolt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanFinishCommand {
    /// The plan job's number, as text.
    #[schema(example = "1234")]
    pub plan_job: String,
    /// What the plan returned.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub result: Value,
    /// How it ended.
    pub status: PlanStatus,
}

/// How a plan ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlanStatus {
    /// It returned.
    Success,
    /// It broke off.
    Failure,
}

/// `POST command/stop_plan`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StopPlanCommand {
    /// The plan job's number, as text.
    #[schema(example = "1234")]
    pub plan_job: String,
    /// Also end the jobs that it began.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub jobs: bool,
}

/// `POST command/plan_resume`: a plan that failed goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanResumeCommand {
    /// The plan job's number, as text.
    #[schema(example = "1234")]
    pub plan_job: String,
    /// The step that is begun again, with all that followed it; absent: the one that failed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "2.1")]
    pub from_step: Option<String>,
}

/// The reply of `POST command/plan_resume`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanResumed {
    /// The plan job's number, as text.
    #[schema(example = "1234")]
    pub name: String,
    /// The step that is begun again; null: none had failed, and the plan goes on at its end.
    #[serde(default)]
    pub step: Option<String>,
}

/// `POST command/plan_answer`: somebody answers a step that waits for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanAnswerCommand {
    /// The plan job's number, as text.
    #[schema(example = "1234")]
    pub plan_job: String,
    /// The step, as its event names it.
    #[schema(example = "2.1")]
    pub step: String,
    /// The answer; true or false where approval is asked for.
    #[schema(value_type = Object)]
    pub answer: Value,
    /// Whether it is kept sealed; so it is in any case where the plan asks for a secret.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub sensitive: bool,
}

/// The reply of the commands about plan jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanName {
    /// The plan job's number, as text.
    #[schema(example = "1234")]
    pub name: String,
}

/// The plans of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanList {
    /// Which environment.
    pub environment: EnvironmentCode,
    /// The plans, by name.
    pub items: Vec<PlanListItem>,
}

/// One plan of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanListItem {
    /// The plan's absolute URL, `…/plans/<module>/<plan or init>`.
    pub id: String,
    /// `module` or `module::plan`.
    pub name: String,
    /// Whether the user may run it.
    #[serde(default)]
    pub permitted: bool,
    /// `@summary` or the text of its comment, or `description` of a YAML plan; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The reason why the plan cannot be run as it is; absent: it can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// One plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanDetail {
    /// The plan's absolute URL.
    pub id: String,
    /// `module` or `module::plan`.
    pub name: String,
    /// Which environment.
    pub environment: EnvironmentCode,
    /// Its description and parameters.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Object,
    /// Whether the user may run it.
    #[serde(default)]
    pub permitted: bool,
    /// Functions in Ruby of the environment's modules that plans do not call: the built-in ones of the same names are
    /// called instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced_functions: Vec<PlanFunctionReplaced>,
}

/// A function in Ruby of a module, in whose place plans call a built-in one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanFunctionReplaced {
    /// `merge`, `stdlib::ensure`.
    pub name: String,
    /// The module that has it.
    pub module: String,
    /// Its file, relative to the module.
    pub file: String,
}

impl PlanRunCommand {
    /// What the types alone do not say.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn check(&self) -> Result<(), ApiError> {
        check_plan_name("plan_name", &self.plan_name)?;
        limits::check(None, self.timeout)?;
        limits::check_texts(&self.description, &self.userdata)
    }
}

impl EnvironmentPlanRunCommand {
    /// What the types alone do not say.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn check(&self) -> Result<(), ApiError> {
        check_plan_name("plan_name", &self.plan_name)?;
        for (name, param) in &self.params {
            let fits = match param.kind {
                None => true,
                Some(PlanParamKind::Query) => param.value.is_string() || param.value.is_array(),
                Some(PlanParamKind::NodeGroup) => param.value.is_string(),
            };
            if !fits {
                let what = "does not fit its type: a query is a PQL string or an AST array, and a \
                            node_group is a UUID";
                return Err(ApiError::invalid(&format!("params.{name}.value"), what));
            }
        }
        limits::check(None, self.timeout)?;
        limits::check_texts(&self.description, &self.userdata)
    }
}

impl PlanStartCommand {
    /// What the types alone do not say.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn check(&self) -> Result<(), ApiError> {
        check_plan_name("plan_name", &self.plan_name)?;
        if self.sensitive.len() > SENSITIVE_NAMES {
            let what = format!("must have at most {SENSITIVE_NAMES} names");
            return Err(ApiError::invalid("sensitive", what));
        }
        limits::check_texts(&self.description, &Object::new())
    }
}

/// Words of lower-case letters, digits and underscores, joined by `::`; each begins with a letter.
///
/// # Errors
/// A validation error at `place`.
pub fn check_plan_name(place: &str, name: &str) -> Result<(), ApiError> {
    let rest = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let word = |word: &str| {
        word.bytes()
            .next()
            .is_some_and(|first| first.is_ascii_lowercase())
            && word.bytes().all(rest)
    };
    if name.len() <= PLAN_NAME_CHARS && name.split("::").all(word) {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    let what = format!(
        "{shown:?} is not a plan's name: expected module or module::plan, in lower-case letters, \
         digits and _"
    );
    Err(ApiError::invalid(place, what))
}

fn production() -> String {
    ENVIRONMENT.to_owned()
}
