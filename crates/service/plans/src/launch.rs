//! The input of a plan run: [`PlanLaunch`], and [`PlanProgramSource`], which creates the plan's
//! program.
//!
//! Invariant: a launch is stored sealed, since parameters may be secret; the parts shown contain no
//! secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pki::seal::SealKey;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{NewPlanJob, SlotKey};

use crate::program::{PlanFault, PlanProgram};

/// The request to run a plan.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct PlanLaunch {
    /// Name of the plan, as `module::plan`.
    pub plan: String,
    /// The environment whose code is run.
    pub environment: String,
    /// Code version that the plan is pinned to; `None` for the version that is live at each moment.
    #[serde(default)]
    pub code_id: Option<String>,
    /// The origin of the code version, for users: `pinned`, `lock` or `latest`.
    #[serde(default)]
    pub code: Option<String>,
    /// Parameters by name; may hold secrets.
    pub params: Map<String, Value>,
    /// Names of parameters whose values are secret.
    pub sensitive: Vec<String>,
    /// Free text for users.
    pub description: String,
    /// Free keys and values, returned with the plan job.
    pub userdata: Map<String, Value>,
    /// The time limit, counted from the start and anew from each resumption; `None` for no limit.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// The mode of the preview; `None` if the plan is run.
    #[serde(default)]
    pub preview: Option<PlanPreviewMode>,
    /// Names of the node groups that the owner may view; the plan accepts them as targets. Stored,
    /// so that the plan accepts the same names when it is evaluated again.
    #[serde(default)]
    pub node_groups: BTreeSet<String>,
    /// Functions of the environment that cannot be called, each with the warning given when the
    /// plan calls the built-in function of the same name instead. Stored for the same reason as
    /// `node_groups`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replaced_functions: BTreeMap<String, String>,
    /// Input of a program of the server itself, in whose place `plan` is only the shown name; `None` for the code of an
    /// environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_in: Option<Value>,
    /// True if no user can answer: prompts take their defaults, and fail without one.
    #[serde(default)]
    pub is_unattended: bool,
    /// The slot of a schedule that started the plan; a slot has at most one plan job. Stored beside
    /// the sealed launch.
    #[serde(skip)]
    pub slot: Option<SlotKey>,
    /// Login of the user who started the plan.
    pub owner: String,
    /// Id of that user.
    pub owner_id: String,
}

/// The mode of a preview, which shows a plan's effects instead of performing them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanPreviewMode {
    /// Every effect is shown, and none is performed.
    Show,
    /// Tasks that support noop mode are run in it; everything else is shown.
    RunNoop,
}

/// The source of plan programs.
pub trait PlanProgramSource: Send + Sync + 'static {
    /// Returns the program of a plan, the same at each call. May block.
    fn program(&self, launch: &PlanLaunch) -> Result<Arc<dyn PlanProgram>, PlanFault>;
}

impl<F> PlanProgramSource for F
where
    F: Fn(&PlanLaunch) -> Result<Arc<dyn PlanProgram>, PlanFault> + Send + Sync + 'static,
{
    fn program(&self, launch: &PlanLaunch) -> Result<Arc<dyn PlanProgram>, PlanFault> {
        self(launch)
    }
}

// === impl PlanPreviewMode ===

impl PlanPreviewMode {
    /// The mode as in requests and responses: `true`, or `"run"`.
    pub fn as_json(self) -> Value {
        match self {
            Self::Show => Value::Bool(true),
            Self::RunNoop => Value::from("run"),
        }
    }
}

// === impl PlanLaunch ===

impl PlanLaunch {
    pub(crate) fn seal(&self, key: &SealKey) -> Vec<u8> {
        let plain = serde_json::to_vec(self).expect("JSON and texts always serialise");
        key.seal(&plain)
    }

    pub(crate) fn unseal(sealed: &[u8], key: &SealKey) -> Option<Self> {
        let plain = key.open(sealed).ok()?;
        serde_json::from_slice(&plain).ok()
    }

    pub(crate) fn timeout_ms(&self) -> Option<i64> {
        let ms = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        self.timeout.map(ms)
    }

    /// Returns the row of the plan job, without secrets.
    pub(crate) fn to_plan_job_row(&self, now_ms: i64) -> NewPlanJob {
        let start = jobs::PlanStart {
            plan: self.plan.clone(),
            environment: self.environment.clone(),
            code_id: self.code_id.clone(),
            code: self.code.clone(),
            params: self.params.clone(),
            sensitive: self.sensitive.clone(),
            description: self.description.clone(),
            userdata: self.userdata.clone(),
            noop: self.preview.map(PlanPreviewMode::as_json),
            is_unattended: self.is_unattended,
            schedule: self.slot.map(|slot| slot.schedule),
            owner: self.owner.clone(),
            owner_id: self.owner_id.clone(),
        };
        start.into_row(now_ms)
    }
}

/// Omits the values of parameters.
impl fmt::Debug for PlanLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanLaunch")
            .field("plan", &self.plan)
            .field("environment", &self.environment)
            .field("params", &self.params.keys().collect::<Vec<_>>())
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}
