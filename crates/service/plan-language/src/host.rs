//! The connection of an evaluation with the branch that it runs in. Main type: [`PlanHost`].
//!
//! Invariant: whatever has an effect or comes from outside goes through [`PlanHost::step`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use evaluator::function::{CallArguments, NativeFunction};
use evaluator::{
    ApplyBlock, Block, CodeSource, Eval, EvaluationLimits, Evaluator, Host, LogLevel,
    SourceLocation, UnknownValues,
};
use pcore::{Timestamp, Type, Value};
use plans::{Branch, Outcome, StepRequest, Told, Work};
use serde_json::{Map, Value as Json, json};

use crate::code::PinnedCode;
use crate::data::PinnedData;
use crate::defaults::MESSAGE_BYTES;
use crate::objects::Steps;
use crate::preview::{self, Effect, Preview};
use crate::run::Run;
use crate::{failure, functions, types};

/// The host of one branch.
pub(crate) struct PlanHost<'b> {
    pub(crate) branch: &'b Branch<'b>,
    pub(crate) run: &'b Rc<Run>,
    pub(crate) code: PinnedCode<'b>,
    /// The number of the plan whose code runs: one that is run by another is another.
    pub(crate) plan: Cell<u64>,
    /// If the plan is only looked at.
    pub(crate) preview: Option<Preview>,
    /// The step of a YAML plan that is carried out.
    pub(crate) step_place: RefCell<Option<SourceLocation>>,
    /// The user as whom nodes run what the plan does there; their agents' own otherwise.
    pub(crate) run_as: RefCell<Option<String>>,
}

impl<'b> PlanHost<'b> {
    pub(crate) fn new(branch: &'b Branch<'b>, run: &'b Rc<Run>, plan: u64) -> Self {
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
        .looking(Steps::new())
    }

    /// The host of a branch that begins where so much was decided.
    pub(crate) fn looking(mut self, decided: Steps) -> Self {
        let kind = self.run.launch.preview;
        self.preview = kind.map(|kind| Preview::new(kind, decided));
        self
    }

    /// Returns true if there was a node group of this name when the plan was started.
    pub(crate) fn is_node_group(&self, name: &str) -> bool {
        self.run.launch.node_groups.contains(name)
    }

    /// For a branch of a plan that runs as this user.
    pub(crate) fn running_as(self, user: Option<String>) -> Self {
        self.run_as.replace(user);
        self
    }

    fn data(&self) -> PinnedData<'_> {
        PinnedData::new(&self.code, self.run)
    }

    /// The resources that evaluations on this branch's stack may use.
    pub(crate) fn limits(&self) -> EvaluationLimits {
        EvaluationLimits {
            shared: Some(Arc::clone(&self.run.world.shared_bytes)),
            ..EvaluationLimits::for_stack(self.branch.stack_bytes())
        }
    }

    /// Takes a step. Values that the plan unwrapped go no further than the sealed part of it.
    pub(crate) fn step(
        &self,
        kind: &'static str,
        place: &SourceLocation,
        mut arguments: Json,
        mut work: Work,
    ) -> Eval<Outcome> {
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

    /// Says something in the events of the plan job.
    pub(crate) fn tell(
        &self,
        kind: &'static str,
        place: &SourceLocation,
        message: &str,
        mut details: Map<String, Json>,
    ) -> Eval<()> {
        let message = self.run.unwrapped.redacted(message);
        let message = shortened(&message);
        details.insert("message".to_owned(), Json::from(message));
        let told = Told {
            kind: kind.to_owned(),
            details,
            message: message.to_owned(),
        };
        self.step(kind, place, json!(message), Work::Tell(told))?;
        Ok(())
    }

    /// Lets time pass.
    pub(crate) fn sleep(&self, place: &SourceLocation, time: Duration) -> Eval<()> {
        if let Some(preview) = &self.preview {
            let effect = Effect {
                function: "ctrl::sleep",
                object: &format!("{} s", time.as_secs_f64()),
                ..Effect::default()
            };
            return preview.show(self, place, &effect, false).map(drop);
        }
        let arguments = json!({"ms": time.as_millis().to_string()});
        self.step("sleep", place, arguments, Work::Sleep(time))?;
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

impl Host for PlanHost<'_> {
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

    fn calls(&self, name: &str, place: &dyn Fn() -> SourceLocation) -> Eval<()> {
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
    ) -> Eval {
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
        block: Option<&Block>,
    ) -> Option<Eval> {
        let own = functions::method(self, evaluator, receiver, name, arguments, block);
        own.or_else(|| {
            let data = self.data();
            let called = (receiver, name);
            data.lookup()
                .method(&data, evaluator, called, arguments, block)
        })
    }

    fn construct(&self, ty: &Type, arguments: &[Value]) -> Option<Eval> {
        functions::construct(self, ty, arguments)
    }

    fn breathe(&self) -> Eval<()> {
        self.branch.breathe().map_err(failure::unwind)
    }

    fn named_type(&self, name: &str) -> Option<Type> {
        types::named(name)
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
        // If the plan is stopped here, its next step says so.
        let _ = functions::log(self, level, message, place);
    }

    fn unwrapped(&self, value: &Value) {
        self.run.unwrapped.add(value);
    }

    fn now(&self) -> Eval<Timestamp> {
        let nanoseconds = || {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            Outcome::ok(Json::from(now.unwrap_or_default().as_nanos().to_string()))
        };
        let noted = self.branch.note("time", "", Json::Null, nanoseconds);
        let noted = noted.map_err(failure::unwind)?;
        let nanoseconds = noted.value.as_str().and_then(|text| text.parse().ok());
        let now = Timestamp::from_nanos(nanoseconds.unwrap_or_default());
        now.ok_or_else(|| failure::plain("tutti/clock", "the clock is far from any time"))
    }

    fn lookup(&self, evaluator: &mut Evaluator<'_>, call: &mut CallArguments<'_>) -> Eval {
        let data = self.data();
        data.lookup().call(&data, evaluator, call)
    }

    fn random(&self) -> Eval<[u8; 16]> {
        let drawn = || Outcome::ok(Json::from(rand::random::<u128>().to_string()));
        let noted = self.branch.note("random", "", Json::Null, drawn);
        let noted = noted.map_err(failure::unwind)?;
        let number: Option<u128> = noted.value.as_str().and_then(|text| text.parse().ok());
        Ok(number.unwrap_or_default().to_be_bytes())
    }

    fn unknowns(&self) -> Option<&dyn UnknownValues> {
        self.preview.is_some().then_some(self)
    }

    fn apply(&self, _: &mut Evaluator<'_>, _: ApplyBlock<'_>) -> Eval {
        Err(failure::plain(
            "tutti/not-supported",
            "apply: this server compiles no catalogs yet; put the resources into a class and run Puppet \
             on the targets instead",
        ))
    }
}
