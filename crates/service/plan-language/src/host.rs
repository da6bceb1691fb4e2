//! The connection of an evaluation with the branch in which it runs. Main type: [`PlanHost`].
//!
//! Invariant: every effect and every input from outside is a step of the branch.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use environments::{EnvironmentName, EnvironmentNameError};
use evaluator::{EvalResult, EvaluationLimits, SourceLocation};
use plans::{PlanBranch, PlanEventMessage, StepOutcome, StepRequest, StepWork};
use serde_json::{Map, Value as Json, json};

use crate::code::PinnedCode;
use crate::defaults::MESSAGE_BYTES;
use crate::failure;
use crate::objects::PreviewStepNumbers;
use crate::preview::PreviewBranch;
use crate::run::PlanEvaluation;

/// The evaluator's host for one branch of a plan.
pub(crate) struct PlanHost<'b> {
    pub(crate) branch: &'b PlanBranch<'b>,
    pub(crate) run: &'b Rc<PlanEvaluation>,
    pub(crate) code: PinnedCode<'b>,
    /// Number of the plan whose code is evaluated, from [`PlanEvaluation::begin_plan`]. A plan
    /// called by `run_plan` has its own number.
    pub(crate) plan: Cell<u64>,
    /// State of the preview; `None` if the plan is really run.
    pub(crate) preview: Option<PreviewBranch>,
    /// Location of the YAML plan's step that is being run; `None` in plans in Puppet.
    pub(crate) step_place: RefCell<Option<SourceLocation>>,
    /// The user as whom nodes run actions of the plan; `None` for the user of the agent.
    pub(crate) run_as: RefCell<Option<String>>,
}

impl<'b> PlanHost<'b> {
    pub(crate) fn new(branch: &'b PlanBranch<'b>, run: &'b Rc<PlanEvaluation>, plan: u64) -> Self {
        let code = PinnedCode::new(branch, run);
        Self {
            branch,
            run,
            code,
            plan: Cell::new(plan),
            preview: None,
            step_place: RefCell::default(),
            run_as: RefCell::default(),
        }
        .with_deciding_results(PreviewStepNumbers::new())
    }

    /// Sets the results on which the branch depends from its start, if the plan is a preview.
    pub(crate) fn with_deciding_results(mut self, decided: PreviewStepNumbers) -> Self {
        let kind = self.run.launch.preview;
        self.preview = kind.map(|kind| PreviewBranch::new(kind, decided));
        self
    }

    /// Returns true if a node group of this name existed when the plan was started.
    pub(crate) fn is_node_group(&self, name: &str) -> bool {
        self.run.launch.node_groups.contains(name)
    }

    /// Sets the user as whom nodes run actions of this branch.
    pub(crate) fn with_user(self, user: Option<String>) -> Self {
        self.run_as.replace(user);
        self
    }

    /// The environment of the plan, or the error of a step that needs it.
    pub(crate) fn environment_name(&self) -> Result<EnvironmentName, Json> {
        let text = &self.run.launch.environment;
        text.parse().map_err(|error: EnvironmentNameError| {
            let msg = format!("`{text}` is not an environment's name: {error}");
            json!({"kind": "puppetlabs.orchestrator/validation-error", "msg": msg, "details": {}})
        })
    }

    /// The budget of evaluations that run on this branch's stack.
    pub(crate) fn limits(&self) -> EvaluationLimits {
        EvaluationLimits {
            shared: Some(Arc::clone(&self.run.world.shared_bytes)),
            ..EvaluationLimits::for_stack(self.branch.stack_bytes())
        }
    }

    /// Performs a step. Values that the plan unwrapped from `Sensitive` stay only in the sealed
    /// parameters of the step.
    pub(crate) fn step(
        &self,
        kind: &'static str,
        place: &SourceLocation,
        mut arguments: Json,
        mut work: StepWork,
    ) -> EvalResult<StepOutcome> {
        self.run.unwrapped.redact(&mut arguments);
        self.run.unwrapped.redact_work(&mut work);
        let request = StepRequest {
            kind: kind.into(),
            site: place.to_string(),
            arguments,
            work,
        };
        self.branch.step(request).map_err(failure::unwind)
    }

    /// Records an event of the plan job.
    pub(crate) fn record_event(
        &self,
        kind: &'static str,
        place: &SourceLocation,
        message: &str,
        mut details: Map<String, Json>,
    ) -> EvalResult<()> {
        let message = self.run.unwrapped.to_redacted_text(message);
        let message = shortened(&message);
        details.insert("message".to_owned(), Json::from(message));
        let told = PlanEventMessage {
            kind: kind.to_owned(),
            details,
            message: message.to_owned(),
        };
        self.step(kind, place, json!(message), StepWork::RecordEvent(told))?;
        Ok(())
    }
}

fn shortened(text: &str) -> &str {
    let mut end = text.len().min(MESSAGE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
