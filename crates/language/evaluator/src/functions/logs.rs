//! `notice` and the other log levels: the host gets the text.

use pcore::Value;

use crate::Evaluator;
use crate::defaults::WARNED_ONCE_MAX;
use crate::error::{Eval, Place};
use crate::function::{Call, Form, Function, any};
use crate::host::Level;
use crate::ruby;

macro_rules! level {
    ($name:literal, $run:ident, $level:expr) => {
        fn $run(evaluator: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
            log(evaluator, &call, $level)
        }
    };
}

level!("debug", debug, Level::Debug);
level!("info", info, Level::Info);
level!("notice", notice, Level::Notice);
level!("warning", warning, Level::Warning);
level!("err", err, Level::Err);
level!("alert", alert, Level::Alert);
level!("emerg", emerg, Level::Emerg);
level!("crit", crit, Level::Crit);

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new(
        "debug",
        &[Form::new(&[any("Any", "values")], debug).returning("Undef")],
    ),
    Function::new(
        "info",
        &[Form::new(&[any("Any", "values")], info).returning("Undef")],
    ),
    Function::new(
        "notice",
        &[Form::new(&[any("Any", "values")], notice).returning("Undef")],
    ),
    Function::new(
        "warning",
        &[Form::new(&[any("Any", "values")], warning).returning("Undef")],
    ),
    Function::new(
        "err",
        &[Form::new(&[any("Any", "values")], err).returning("Undef")],
    ),
    Function::new(
        "alert",
        &[Form::new(&[any("Any", "values")], alert).returning("Undef")],
    ),
    Function::new(
        "emerg",
        &[Form::new(&[any("Any", "values")], emerg).returning("Undef")],
    ),
    Function::new(
        "crit",
        &[Form::new(&[any("Any", "values")], crit).returning("Undef")],
    ),
];

impl Evaluator<'_> {
    /// Warns, if nothing was warned of under this key before in this evaluation. As in Puppet, the first
    /// hundred keys count.
    pub fn warn_once(&self, key: &str, message: &str, place: &Place) {
        let first = {
            let mut said = self.shared.said_once.borrow_mut();
            said.len() < WARNED_ONCE_MAX && said.insert(key.to_owned())
        };
        if first {
            self.host().log(Level::Warning, message, place);
        }
    }
}

fn log(evaluator: &mut Evaluator<'_>, call: &Call<'_>, level: Level) -> Eval {
    let mut words = Vec::with_capacity(call.len());
    for value in &call.arguments {
        words.push(match value {
            Value::Array(_) | Value::Hash(_) => evaluator.text(value)?,
            other => ruby::to_s(other),
        });
    }
    let message = words.join(" ");
    evaluator.charge_bytes(message.len())?;
    let host = evaluator.host();
    host.log(level, &message, &call.place());
    Ok(Value::Undef)
}
