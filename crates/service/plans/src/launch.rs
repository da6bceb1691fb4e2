//! The input of a plan run, from its start or once more: [`PlanLaunch`], and [`PlanProgramSource`], which makes a
//! program of it.
//!
//! Invariant: a launch is kept sealed, since parameters may be secret; the parts shown hold no secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pki::seal::SealKey;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{NewPlanJob, SlotKey};

use crate::program::{PlanFault, PlanProgram};

/// A plan to be run.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct PlanLaunch {
    /// Name of the plan, as `module::plan`.
    pub plan: String,
    /// The environment whose code is run.
    pub environment: String,
    /// The code version that the plan stays with; `None`: the version that is live at each moment.
    #[serde(default)]
    pub code_id: Option<String>,
    /// The origin of the code version, for users: `pinned`, `lock` or `latest`.
    #[serde(default)]
    pub code: Option<String>,
    /// Parameters by name; may hold secrets.
    pub params: Map<String, Value>,
    /// Names of parameters whose values are not shown.
    pub sensitive: Vec<String>,
    /// Free text for users.
    pub description: String,
    /// Free keys and values, echoed with the plan job.
    pub userdata: Map<String, Value>,
    /// The time limit, from the start and again from each resumption; `None`: unlimited.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// The mode of the preview; `None` if the plan is run.
    #[serde(default)]
    pub preview: Option<PlanPreviewMode>,
    /// The names of the node groups that the owner may view, which the plan takes for their nodes. Kept, so that
    /// the plan takes the same names for groups when it is evaluated again.
    #[serde(default)]
    pub node_groups: BTreeSet<String>,
    /// Functions of the environment that the plan does not call, with what is said of them when it calls the built-in
    /// ones of their names. Kept for the same reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replaced_functions: BTreeMap<String, String>,
    /// Questions are answered by their defaults, and fail without one: no person is there to answer.
    #[serde(default)]
    pub is_unattended: bool,
    /// The slot of a schedule that started the plan; a slot has one plan job at most. Written beside the sealed row.
    #[serde(skip)]
    pub slot: Option<SlotKey>,
    /// Login of the user who started the plan.
    pub owner: String,
    /// Id of that user.
    pub owner_id: String,
}

/// The mode of a preview: a plan that is looked at and not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanPreviewMode {
    /// Every effect is shown, and none is made.
    Show,
    /// Tasks that can be run in noop mode are run so, all else is shown.
    RunNoop,
}

/// The source of plan programs.
pub trait PlanProgramSource: Send + Sync + 'static {
    /// The program of a plan; the same whenever it is asked for. May block.
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

// === impl Preview ===

impl PlanPreviewMode {
    /// The mode as requests and answers hold it: `true`, or `"run"`.
    pub fn as_json(self) -> Value {
        match self {
            Self::Show => Value::Bool(true),
            Self::RunNoop => Value::from("run"),
        }
    }
}

// === impl Launch ===

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

    /// Its row, without secrets.
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

/// Never the values of parameters.
impl fmt::Debug for PlanLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("plan", &self.plan)
            .field("environment", &self.environment)
            .field("params", &self.params.keys().collect::<Vec<_>>())
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}
