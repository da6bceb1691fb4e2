//! Documentation of built-in functions: a sentence and an example for each, and signatures printed
//! from the dispatches. Main type: [`FunctionDoc`]; [`function_docs!`](crate::function_docs) writes
//! a table of them.
//!
//! Invariant: every example is evaluated by a test ([`documentation_faults`]) or says why not.

use std::collections::HashSet;
use std::fmt;

use super::{
    BlockParameter, DispatchBody, DispatchParameter, FunctionDispatch, FunctionSpec, ParameterCount,
};

/// Documentation of a function.
#[derive(Debug, Clone, Copy)]
pub struct FunctionDoc {
    /// All names of the function, the preferred one first.
    pub names: &'static [&'static str],
    /// Description of the value and of the effects.
    pub sentence: &'static str,
    /// A program in the Puppet language that calls the function.
    pub example: &'static str,
    pub outcome: ExampleOutcome,
}

/// Outcome of an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExampleOutcome {
    /// The value, as a literal of the Puppet language.
    Value(&'static str),
    /// The message of the error that the example raises.
    Error(&'static str),
    /// The reason why no test evaluates the example.
    NotRun(&'static str),
}

/// Table of [`FunctionDoc`]s. An entry is `"name": "Sentence.", "example" => "value";`, with `fails`
/// and a message or `not_run` and a reason in place of `=>` and a value. Further names of the same
/// function follow after `|`.
#[macro_export]
macro_rules! function_docs {
    (@outcome => $value:literal) => { $crate::function::ExampleOutcome::Value($value) };
    (@outcome fails $message:literal) => { $crate::function::ExampleOutcome::Error($message) };
    (@outcome not_run $reason:literal) => { $crate::function::ExampleOutcome::NotRun($reason) };
    ($($($name:literal)|+: $sentence:literal, $example:literal $how:tt $outcome:literal;)+) => {
        &[$($crate::function::FunctionDoc {
            names: &[$($name),+],
            sentence: $sentence,
            example: $example,
            outcome: $crate::function_docs!(@outcome $how $outcome),
        }),+]
    };
}

/// Beginning of the message of an error in a function.
const CALL_ERROR: &str = "Evaluation Error: Error while evaluating a Function Call, ";

/// Faults of a table: functions without documentation, documentation without a function, and
/// examples whose outcome differs. `run` evaluates an example and returns its value as a literal.
pub fn documentation_faults(
    functions: impl IntoIterator<Item = &'static FunctionSpec>,
    docs: &[FunctionDoc],
    mut run: impl FnMut(&str) -> Result<String, String>,
) -> Vec<String> {
    let functions: HashSet<&str> = functions.into_iter().map(|it| it.name).collect();
    let mut undocumented = functions.clone();
    let mut faults = Vec::new();
    for doc in docs {
        let title = doc.names.join(", ");
        for name in doc.names {
            if !undocumented.remove(name) {
                faults.push(format!("{name}: documented twice, or not a function"));
            }
        }
        if !doc.sentence.ends_with('.') {
            faults.push(format!("{title}: the sentence has no full stop"));
        }
        if !doc.names.iter().any(|name| doc.example.contains(name)) {
            faults.push(format!("{title}: the example does not call the function"));
        }
        let expected = match doc.outcome {
            ExampleOutcome::Value(value) => Ok(value),
            ExampleOutcome::Error(message) => Err(message),
            ExampleOutcome::NotRun(_) => continue,
        };
        let outcome = run(doc.example).map_err(|message| match message.strip_prefix(CALL_ERROR) {
            Some(rest) => rest.to_owned(),
            None => message,
        });
        if outcome.as_deref().map_err(String::as_str) != expected {
            faults.push(format!("{title}: `{}` gave {outcome:?}", doc.example));
        }
    }
    let missing = undocumented
        .iter()
        .map(|it| format!("{it}: no documentation"));
    faults.extend(missing);
    faults.sort();
    faults
}

impl FunctionSpec {
    /// The signatures of the function, one for each dispatch. Square brackets enclose what a call may
    /// leave out, `*` precedes a parameter that takes any number of arguments, `+` one or more.
    pub fn signatures(&self) -> impl Iterator<Item = String> {
        let forms = self.forms.iter();
        let forms = forms.filter(|form| !matches!(form.run, DispatchBody::Mismatch(_)));
        forms.map(|form| format!("{}{form}", self.name))
    }
}

impl fmt::Display for FunctionDispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parameters: Vec<String> = self.parameters.iter().map(ToString::to_string).collect();
        match self.block {
            BlockParameter::None => {}
            BlockParameter::Optional(ty) => parameters.push(format!("[{}]", block_text(ty))),
            BlockParameter::Required(ty) => parameters.push(block_text(ty)),
        }
        write!(f, "({})", parameters.join(", "))?;
        self.returns.map_or(Ok(()), |ty| write!(f, " >> {ty}"))
    }
}

impl fmt::Display for DispatchParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ty, name, count } = self;
        match count {
            ParameterCount::One => write!(f, "{ty} ${name}"),
            ParameterCount::AtMostOne => write!(f, "[{ty} ${name}]"),
            ParameterCount::Any => write!(f, "{ty} *${name}"),
            ParameterCount::AtLeastOne => write!(f, "{ty} +${name}"),
        }
    }
}

fn block_text(ty: &str) -> String {
    let ty = if ty.is_empty() { "Callable" } else { ty };
    format!("{ty} &$block")
}
