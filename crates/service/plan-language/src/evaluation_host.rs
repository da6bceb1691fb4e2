//! The plan functions, code and data that the evaluator of a plan uses: [`EvaluationHost`] of
//! [`PlanHost`].

use evaluator::function::{CallArguments, NativeFunction};
use evaluator::{
    ApplyBlock, CodeBlock, CodeSource, EvalResult, EvaluationHost, Evaluator, LogLevel,
    SourceLocation, UnknownValues,
};
use pcore::{PuppetTimestamp, Type, Value};
use plans::StepOutcome;
use serde_json::Value as Json;

use crate::data::PinnedData;
use crate::host::PlanHost;
use crate::{failure, functions, preview, types};

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

    fn apply(&self, evaluator: &mut Evaluator<'_>, block: ApplyBlock<'_>) -> EvalResult {
        functions::apply(self, evaluator, &block)
    }
}

impl PlanHost<'_> {
    fn data(&self) -> PinnedData<'_> {
        PinnedData::new(&self.code, self.run)
    }
}
