//! The connection of an evaluation with the branch in which it runs. Main type: [`PlanHost`].
//!
//! Invariant: every effect and every input from outside is a step of the branch.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use environments::{EnvironmentName, EnvironmentNameError};
use evaluator::function::{CallArguments, NativeFunction};
use evaluator::{
    ApplyBlock, CodeBlock, CodeSource, EvalResult, EvaluationHost, EvaluationLimits, Evaluator,
    LogLevel, SourceLocation, UnknownValues,
};
use pcore::{PuppetTimestamp, Type, Value};
use plans::{PlanBranch, PlanEventMessage, StepOutcome, StepRequest, StepWork};
use serde_json::{Map, Value as Json, json};

use crate::code::PinnedCode;
use crate::data::PinnedData;
use crate::defaults::MESSAGE_BYTES;
use crate::objects::PreviewStepNumbers;
use crate::preview::{self, PreviewBranch, PreviewedEffect};
use crate::run::PlanEvaluation;
use crate::{failure, functions, types};

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

    fn data(&self) -> PinnedData<'_> {
        PinnedData::new(&self.code, self.run)
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

    /// Pauses the branch.
    pub(crate) fn sleep(&self, place: &SourceLocation, time: Duration) -> EvalResult<()> {
        if let Some(preview) = &self.preview {
            let effect = PreviewedEffect {
                function: "ctrl::sleep",
                object: &format!("{} s", time.as_secs_f64()),
                ..PreviewedEffect::default()
            };
            return preview.show_effect(self, place, &effect, false).map(drop);
        }
        let arguments = json!({"ms": time.as_millis().to_string()});
        self.step("sleep", place, arguments, StepWork::Sleep(time))?;
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

impl EvaluationHost for PlanHost<'_> {
    fn code(&self) -> &dyn CodeSource {
        &self.code
    }

    fn function(&self, name: &str) -> Option<&'static NativeFunction> {
        let own = functions::find(name).map(|found| &found.native);
        own.or_else(|| stdlib::function(name))
    }

    fn stands_in_for(&self, name: &str) -> bool {
        name.contains("::") && stdlib::function(name).is_some()
    }

    fn calls(&self, name: &str, place: &dyn Fn() -> SourceLocation) -> EvalResult<()> {
        let Some(words) = self.run.launch.replaced_functions.get(name) else {
            return Ok(());
        };
        match self.run.told_replaced.borrow_mut().insert(name.to_owned()) {
            true => functions::log(self, "warn", words, &place()),
            false => Ok(()),
        }
    }

    fn run(
        &self,
        name: &'static str,
        evaluator: &mut Evaluator<'_>,
        call: CallArguments<'_>,
    ) -> EvalResult {
        match functions::find(name) {
            Some(found) => match &self.preview {
                Some(preview) => preview::call(self, preview, found.run, evaluator, call),
                None => (found.run)(self, evaluator, call),
            },
            None => evaluator::raise(format!("Unknown function: '{name}'.")),
        }
    }

    fn function_names(&self) -> Vec<&'static str> {
        functions::names().chain(stdlib::function_names()).collect()
    }

    fn method(
        &self,
        evaluator: &mut Evaluator<'_>,
        receiver: &Value,
        name: &str,
        arguments: &[Value],
        block: Option<&CodeBlock>,
    ) -> Option<EvalResult> {
        let own = functions::method(self, evaluator, receiver, name, arguments, block);
        own.or_else(|| {
            let data = self.data();
            let called = (receiver, name);
            data.lookup()
                .method(&data, evaluator, called, arguments, block)
        })
    }

    fn construct(&self, ty: &Type, arguments: &[Value]) -> Option<EvalResult> {
        functions::construct(self, ty, arguments)
    }

    fn breathe(&self) -> EvalResult<()> {
        self.branch.yield_turn().map_err(failure::unwind)
    }

    fn named_type(&self, name: &str) -> Option<Type> {
        types::type_by_name(name)
            .or_else(|| stdlib::named_type(name))
            .or_else(|| lookup::context_type(name))
    }

    fn log(&self, level: LogLevel, message: &str, place: &SourceLocation) {
        let level = match level {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Notice => "notice",
            LogLevel::Warning => "warn",
            LogLevel::Err => "error",
            LogLevel::Alert | LogLevel::Emerg | LogLevel::Crit => "fatal",
        };
        // If the plan was stopped meanwhile, its next step returns the error.
        let _ = functions::log(self, level, message, place);
    }

    fn unwrapped(&self, value: &Value) {
        self.run.unwrapped.add(value);
    }

    fn now(&self) -> EvalResult<PuppetTimestamp> {
        let nanoseconds = || {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            StepOutcome::ok(Json::from(now.unwrap_or_default().as_nanos().to_string()))
        };
        let noted = self.branch.note("time", "", Json::Null, nanoseconds);
        let noted = noted.map_err(failure::unwind)?;
        let nanoseconds = noted.value.as_str().and_then(|text| text.parse().ok());
        let now = PuppetTimestamp::from_nanos(nanoseconds.unwrap_or_default());
        now.ok_or_else(|| failure::plain_error("tutti/clock", "the clock is far from any time"))
    }

    fn lookup(&self, evaluator: &mut Evaluator<'_>, call: &mut CallArguments<'_>) -> EvalResult {
        let data = self.data();
        data.lookup().call(&data, evaluator, call)
    }

    fn random(&self) -> EvalResult<[u8; 16]> {
        let drawn = || StepOutcome::ok(Json::from(rand::random::<u128>().to_string()));
        let noted = self.branch.note("random", "", Json::Null, drawn);
        let noted = noted.map_err(failure::unwind)?;
        let number: Option<u128> = noted.value.as_str().and_then(|text| text.parse().ok());
        Ok(number.unwrap_or_default().to_be_bytes())
    }

    fn unknowns(&self) -> Option<&dyn UnknownValues> {
        self.preview.is_some().then_some(self)
    }

    fn apply(&self, _: &mut Evaluator<'_>, _: ApplyBlock<'_>) -> EvalResult {
        Err(failure::plain_error(
            "tutti/not-supported",
            "apply: this server compiles no catalogs yet; put the resources into a class and run Puppet \
             on the targets instead",
        ))
    }
}
