//! Answers to the questions of Ruby code.

use pcore::{Hash, Value};
use serde_json::{Value as Json, json};

use super::{RubySession, from_rich};
use crate::callbacks::{RubyCallbacks, RubyVariable};
use crate::error::{RubyAbort, RubyCallbackError};
use crate::protocol::Question;

type Answer = Result<Json, RubyCallbackError>;

impl RubySession {
    /// The message with the answer, and the reason if the call is ended.
    pub(super) fn answer(
        &self,
        question: Question,
        callbacks: &mut dyn RubyCallbacks,
    ) -> (Json, Option<RubyAbort>) {
        match self.ask_compiler(question, callbacks) {
            Ok(value) => (json!({ "ok": value }), None),
            Err(RubyCallbackError::Raise(message)) => (json!({ "raise": message }), None),
            Err(RubyCallbackError::Abort(abort)) => (json!({ "abort": true }), Some(abort)),
        }
    }

    fn ask_compiler(&self, question: Question, callbacks: &mut dyn RubyCallbacks) -> Answer {
        match question {
            Question::Variable { name } => match callbacks.variable(&name)? {
                RubyVariable::Value(value) => Ok(Json::Array(vec![rich(&value)?])),
                RubyVariable::Unknown => Ok(Json::Array(Vec::new())),
            },
            Question::Variables { names } => rich(&callbacks.variables(names.as_deref())?.into()),
            Question::HasFunction { name } => Ok(callbacks.has_function(&name).into()),
            Question::Call { name, args, block } => {
                let arguments = list(&args, callbacks)?;
                let result = callbacks.call_function(self, &name, &arguments, block.as_ref())?;
                rich(&result)
            }
            Question::Yield { id, args } => {
                let arguments = list(&args, callbacks)?;
                rich(&callbacks.call_block(self, id, &arguments)?)
            }
            Question::Declare {
                ty,
                title,
                parameters,
            } => declare(&ty, &title, &parameters, callbacks),
            Question::Tags => Ok(callbacks.tags()?.into()),
            Question::Classes => Ok(callbacks.classes()?.into()),
            Question::Interpolate { value } => {
                let value = read(&value, callbacks)?;
                rich(&callbacks.interpolate(&value)?)
            }
            Question::Explain { text } => {
                callbacks.explain(&text);
                Ok(Json::Null)
            }
        }
    }
}

fn declare(ty: &str, title: &Json, parameters: &Json, callbacks: &mut dyn RubyCallbacks) -> Answer {
    let title = read(title, callbacks)?;
    let parameters = read(parameters, callbacks)?;
    let none = Hash::new();
    let parameters = parameters.as_hash().unwrap_or(&none);
    callbacks.declare_resource(ty, &title, parameters)?;
    Ok(Json::Null)
}

fn rich(value: &Value) -> Answer {
    let json = value.to_rich_json();
    json.map_err(|error| RubyCallbackError::Raise(error.to_string()))
}

fn read(json: &Json, callbacks: &mut dyn RubyCallbacks) -> Result<Value, RubyCallbackError> {
    let value = from_rich(json, callbacks);
    value.map_err(|error| RubyCallbackError::Raise(error.to_string()))
}

fn list(json: &Json, callbacks: &mut dyn RubyCallbacks) -> Result<Vec<Value>, RubyCallbackError> {
    let value = read(json, callbacks)?;
    Ok(value.as_array().map(<[Value]>::to_vec).unwrap_or_default())
}
