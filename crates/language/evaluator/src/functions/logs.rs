//! `notice` and the other log levels, which pass the text to the host.

use pcore::Value;

use crate::Evaluator;
use crate::defaults::WARNED_ONCE_MAX;
use crate::error::{EvalResult, SourceLocation};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, any};
use crate::host::LogLevel;
use crate::ruby;

macro_rules! level {
    ($name:literal, $run:ident, $level:expr) => {
        fn $run(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
            log(evaluator, &call, $level)
        }
    };
}

level!("debug", debug, LogLevel::Debug);
level!("info", info, LogLevel::Info);
level!("notice", notice, LogLevel::Notice);
level!("warning", warning, LogLevel::Warning);
level!("err", err, LogLevel::Err);
level!("alert", alert, LogLevel::Alert);
level!("emerg", emerg, LogLevel::Emerg);
level!("crit", crit, LogLevel::Crit);

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "debug",
        &[FunctionDispatch::new(&[any("Any", "values")], debug).returning("Undef")],
    ),
    FunctionSpec::new(
        "info",
        &[FunctionDispatch::new(&[any("Any", "values")], info).returning("Undef")],
    ),
    FunctionSpec::new(
        "notice",
        &[FunctionDispatch::new(&[any("Any", "values")], notice).returning("Undef")],
    ),
    FunctionSpec::new(
        "warning",
        &[FunctionDispatch::new(&[any("Any", "values")], warning).returning("Undef")],
    ),
    FunctionSpec::new(
        "err",
        &[FunctionDispatch::new(&[any("Any", "values")], err).returning("Undef")],
    ),
    FunctionSpec::new(
        "alert",
        &[FunctionDispatch::new(&[any("Any", "values")], alert).returning("Undef")],
    ),
    FunctionSpec::new(
        "emerg",
        &[FunctionDispatch::new(&[any("Any", "values")], emerg).returning("Undef")],
    ),
    FunctionSpec::new(
        "crit",
        &[FunctionDispatch::new(&[any("Any", "values")], crit).returning("Undef")],
    ),
];

impl Evaluator<'_> {
    /// Logs a warning, unless one with this key was logged before in this evaluation. As in Puppet,
    /// only the first hundred keys are logged.
    pub fn warn_once(&self, key: &str, message: &str, place: &SourceLocation) {
        let first = {
            let mut said = self.shared.said_once.borrow_mut();
            said.len() < WARNED_ONCE_MAX && said.insert(key.to_owned())
        };
        if first {
            self.host().log(LogLevel::Warning, message, place);
        }
    }
}

fn log(evaluator: &mut Evaluator<'_>, call: &CallArguments<'_>, level: LogLevel) -> EvalResult {
    let mut words = Vec::with_capacity(call.len());
    for value in &call.arguments {
        words.push(match value {
            Value::Array(_) | Value::Hash(_) => evaluator.to_text(value)?,
            other => ruby::to_s(other),
        });
    }
    let message = words.join(" ");
    evaluator.charge_bytes(message.len())?;
    let host = evaluator.host();
    host.log(level, &message, &call.location());
    Ok(Value::Undef)
}
