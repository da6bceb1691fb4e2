//! Plans: `GET plans`, `GET plans/:module/:plan`, and the commands about plans.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::defaults::{ENVIRONMENT, PLAN_NAME_CHARS, SENSITIVE_NAMES};
use crate::{ApiError, EnvironmentCode, ErrorBody, Object, PlanNoop, limits, plan_noop, strict};

/// Body of `POST command/plan_run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRunCommand {
    /// Name of the plan: `module` or `module::plan`.
    pub plan_name: String,
    /// Parameters of the plan, by name.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub params: Object,
    /// Environment whose code contains the plan; `production` by default.
    #[serde(default = "production")]
    #[schema(default = "production")]
    pub environment: String,
    /// Free text shown in lists and logs; may be empty.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
    /// Arbitrary keys and values, returned unchanged with the plan job.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Object)]
    pub userdata: Object,
    /// Timeout of the plan, in seconds; 0 or absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// `true`: the plan only shows its effects; `"run"`: the same, but tasks that support noop run
    /// in noop mode. Absent or `false`: the plan runs normally.
    #[serde(
        default,
        deserialize_with = "strict::null_is_default",
        skip_serializing_if = "PlanNoop::is_off"
    )]
    #[schema(schema_with = plan_noop::schema)]
    pub noop: PlanNoop,
    /// Code version that the plan reads; absent: the server's setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<PlanCode>,
    /// Answer the plan's questions with their defaults, and fail if a question has none, since no
    /// user is there to answer; absent: the server's setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unattended: Option<bool>,
}

/// Body of `POST command/environment_plan_run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentPlanRunCommand {
    /// Name of the plan: `module` or `module::plan`.
    pub plan_name: String,
    /// Parameters of the plan, by name.
    pub params: BTreeMap<String, PlanParam>,
    /// Environment whose code contains the plan; `production` by default.
    #[serde(default = "production")]
    #[schema(default = "production")]
    pub environment: String,
    /// Free text shown in lists and logs; may be empty.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
    /// Arbitrary keys and values, returned unchanged with the plan job.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Object)]
    pub userdata: Object,
    /// Timeout of the plan, in seconds; 0 or absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// `true`: the plan only shows its effects; `"run"`: the same, but tasks that support noop run
    /// in noop mode. Absent or `false`: the plan runs normally.
    #[serde(
        default,
        deserialize_with = "strict::null_is_default",
        skip_serializing_if = "PlanNoop::is_off"
    )]
    #[schema(schema_with = plan_noop::schema)]
    pub noop: PlanNoop,
    /// Same meaning as in the body of `plan_run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<PlanCode>,
    /// Same meaning as in the body of `plan_run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unattended: Option<bool>,
}

/// Code version that a plan reads, if its environment is versioned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlanCode {
    /// The version that is live when the plan starts, for functions, other plans, tasks and files
    /// alike.
    #[default]
    Pinned,
    /// The same, and no other version becomes live in the environment until the plan has ended:
    /// deployments wait.
    Lock,
    /// The version that is live at the moment of each read.
    Latest,
}

/// Parameter that is a plain value, a query or a node group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanParam {
    /// The value, the query, or the group's UUID.
    #[schema(value_type = Object)]
    pub value: Value,
    /// Meaning of the value: a query or a node group; absent: a plain value.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<PlanParamKind>,
}

/// Set of nodes that the value of a parameter stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanParamKind {
    /// Nodes that a query returns.
    Query,
    /// Nodes of a node group.
    NodeGroup,
}

/// Body of `POST command/plan_start`: register a plan that runs in Bolt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanStartCommand {
    /// Name of the plan: `module` or `module::plan`.
    pub plan_name: String,
    /// Parameters of the plan; sensitive ones are not stored.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Object)]
    pub params: Object,
    /// Names of the sensitive parameters.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<Vec<String>>)]
    pub sensitive: Vec<String>,
    /// Free text shown in lists and logs; may be empty.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
}

/// Body of `POST command/plan_finish`: record the end of a plan that ran in Bolt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanFinishCommand {
    /// The plan job's number, as text.
    #[schema(example = "1234")]
    pub plan_job: String,
    /// Return value of the plan.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub result: Value,
    /// Success or failure of the plan.
    pub status: PlanStatus,
}

/// Final status of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlanStatus {
    /// The plan returned a value.
    Success,
    /// The plan failed with an error.
    Failure,
}

/// Body of `POST command/stop_plan`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StopPlanCommand {
    /// The plan job's number, as text.
    #[schema(example = "1234")]
    pub plan_job: String,
    /// Also stop the jobs that the plan started.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub jobs: bool,
}

/// Body of `POST command/plan_resume`: resume a failed plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanResumeCommand {
    /// The plan job's number, as text.
    #[schema(example = "1234")]
    pub plan_job: String,
    /// Step to repeat, together with all later steps; absent: the step that failed last.
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
    /// Step that is repeated; null if no step had failed, so that the plan resumes at its end.
    #[serde(default)]
    pub step: Option<String>,
}

/// Body of `POST command/plan_answer`: answer a question of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanAnswerCommand {
    /// The plan job's number, as text.
    #[schema(example = "1234")]
    pub plan_job: String,
    /// Number of the step, as in its event.
    #[schema(example = "2.1")]
    pub step: String,
    /// The answer; true or false if the question is for an approval.
    #[schema(value_type = Object)]
    pub answer: Value,
    /// True to store the answer encrypted. If the plan asks for a secret, it is always stored so.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub sensitive: bool,
}

/// Reply to the commands about plan jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanName {
    /// The plan job's number, as text.
    #[schema(example = "1234")]
    pub name: String,
}

/// The plans of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanList {
    /// Environment of the list, with its code version.
    pub environment: EnvironmentCode,
    /// Plans of the environment, sorted by name; private ones are left out.
    pub items: Vec<PlanListItem>,
}

/// A plan in the list of plans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanListItem {
    /// The plan's absolute URL, `…/plans/<module>/<plan or init>`.
    pub id: String,
    /// Name of the plan: `module` or `module::plan`.
    pub name: String,
    /// True if the user has the permission to run it.
    #[serde(default)]
    pub permitted: bool,
    /// Text of `@summary` or of the plan's comment, or `description` of a YAML plan; absent if
    /// there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Reason for which the plan cannot be run; absent if it can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// A plan with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanDetail {
    /// The plan's absolute URL.
    pub id: String,
    /// Name of the plan: `module` or `module::plan`.
    pub name: String,
    /// Environment of the plan, with its code version.
    pub environment: EnvironmentCode,
    /// Description and parameters of the plan.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Object,
    /// True if the user has the permission to run it.
    #[serde(default)]
    pub permitted: bool,
    /// Ruby functions of the environment's modules that plans do not call: built-in functions of
    /// the same names are called instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced_functions: Vec<PlanFunctionReplaced>,
}

/// A module's Ruby function that a built-in function replaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanFunctionReplaced {
    /// Name of the function, for example `merge` or `stdlib::ensure`.
    pub name: String,
    /// Module that contains the function.
    pub module: String,
    /// Path of the function's file, relative to the module.
    pub file: String,
}

impl PlanRunCommand {
    /// Checks the limits that the types do not express.
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
    /// Checks the limits that the types do not express.
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
    /// Checks the limits that the types do not express.
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

/// Checks the name of a plan: segments of lower-case letters, digits and underscores, joined by
/// `::`, each of which begins with a letter.
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
