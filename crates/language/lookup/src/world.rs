//! The evaluator and the files as the host of a lookup: [`World`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use evaluator::{
    BUDGET_EXHAUSTED, Eval, EvalError, Evaluator, LogLevel, RUNTIME_ERROR, SourceLocation, Unwind,
    VariableScope, raise,
};
use hiera::{DirectoryEntry, FileIdentity, FunctionCall, Host, HostError};
use pcore::{Hash, Value};

use crate::Files;
use crate::context::{Asking, Context};
use crate::lookup::Lookup;
use crate::methods::NotFound;

pub(crate) struct World<'w, 'h> {
    lookup: &'w Lookup,
    files: &'w dyn Files,
    evaluator: &'w mut Evaluator<'h>,
    scope: &'w VariableScope,
    /// An event that ends the evaluation, whatever the result of the lookup.
    ended: Option<Box<Unwind>>,
}

impl<'w, 'h> World<'w, 'h> {
    pub(crate) fn new(
        lookup: &'w Lookup,
        files: &'w dyn Files,
        evaluator: &'w mut Evaluator<'h>,
        scope: &'w VariableScope,
    ) -> Self {
        Self {
            lookup,
            files,
            evaluator,
            scope,
            ended: None,
        }
    }

    /// Converts the result of a lookup for the evaluator. `place` is the position of the call.
    pub(crate) fn done<T>(self, found: Result<T, hiera::Error>, place: &SourceLocation) -> Eval<T> {
        match (self.ended, found) {
            (Some(unwind), _) => Err(unwind),
            (None, Ok(found)) => Ok(found),
            (None, Err(error)) if error.is_settled() => Err(settled(error.to_string(), place)),
            (None, Err(error)) => raise(error.to_string()),
        }
    }

    /// Converts an unwinding to an error of the lookup.
    fn failed(&mut self, unwind: Unwind) -> HostError {
        match unwind {
            Unwind::Interrupted(interrupt) => {
                self.ended = Some(Unwind::Interrupted(interrupt).into());
                HostError::text("the evaluation was interrupted")
            }
            other => match other.into_error() {
                Ok(error) if error.code == BUDGET_EXHAUSTED => {
                    let text = error.to_string();
                    self.ended = Some(error.into());
                    HostError::text(text)
                }
                Ok(error) if error.place.is_none() => HostError::wrong_call(error.message),
                Ok(error) => HostError::text(error.to_string()),
                Err(interrupt) => {
                    self.ended = Some(Unwind::Interrupted(interrupt).into());
                    HostError::text("the evaluation was interrupted")
                }
            },
        }
    }

    /// True if the function exists.
    fn has(&mut self, name: &str) -> Result<bool, HostError> {
        let known = self.evaluator.has_function(name);
        known.map_err(|unwind| self.failed(*unwind))
    }

    /// Calls a function for `what`, or for all its data; the first answer is cached.
    fn ask(
        &mut self,
        call: &FunctionCall<'_>,
        what: Option<Value>,
    ) -> Result<Option<Value>, HostError> {
        let asking = Arc::new(Asking::of(call));
        let key = what.clone().unwrap_or_default();
        if let Some(known) = self.lookup.answer(&asking, &key) {
            return Ok(Some(known));
        }
        let context = Context {
            asking: Arc::clone(&asking),
            environment: Arc::clone(&self.lookup.environment),
        };
        let mut arguments: Vec<Value> = what.into_iter().collect();
        arguments.push(Value::from(call.options.clone()));
        arguments.push(Value::object(context));
        let answer = self.evaluator.call_function(call.function, arguments, None);
        match answer.map_err(|unwind| *unwind) {
            Ok(value) => {
                self.lookup.answered(&asking, key, value.clone());
                Ok(Some(value))
            }
            Err(Unwind::Interrupted(interrupt)) if interrupt.0.is::<NotFound>() => Ok(None),
            Err(unwind) => Err(self.failed(unwind)),
        }
    }
}

/// An error to which no prefix is added, like Puppet's lookup errors.
pub(crate) fn settled(text: String, place: &SourceLocation) -> Box<Unwind> {
    EvalError::preformatted(RUNTIME_ERROR, text, place.clone()).into()
}

impl Host for World<'_, '_> {
    fn variable(&mut self, name: &str) -> Result<Option<Value>, HostError> {
        let value = self.evaluator.variable_in(self.scope, name).transpose();
        if let (Ok(Some(value)), Some(unknowns)) = (&value, self.evaluator.host().unknowns()) {
            unknowns.depends_on(std::slice::from_ref(value));
        }
        value.map_err(|unwind| self.failed(*unwind))
    }

    fn strict_variables(&self) -> bool {
        self.lookup.strict_variables
    }

    fn module_root(&mut self, module: &str) -> Option<PathBuf> {
        self.files.module_root(module)
    }

    fn identity(&mut self, path: &Path) -> Option<FileIdentity> {
        self.files.identity(path)
    }

    fn read(&mut self, path: &Path) -> Result<String, HostError> {
        self.files.read(path)
    }

    fn entries(&mut self, directory: &Path) -> Vec<DirectoryEntry> {
        self.files.entries(directory)
    }

    fn named_globally(&mut self, path: &Path) {
        self.files.named_globally(path);
    }

    fn warn(&mut self, message: &str) {
        let host = self.evaluator.host();
        host.log(LogLevel::Warning, message, &SourceLocation::default());
    }

    fn data_hash(&mut self, call: &FunctionCall<'_>) -> Option<Result<Value, HostError>> {
        match self.has(call.function) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(error)),
        }
        let data = self.ask(call, None);
        Some(data.map(|data| data.unwrap_or_else(|| Value::from(Hash::new()))))
    }

    fn lookup_key(
        &mut self,
        call: &FunctionCall<'_>,
        key: &str,
    ) -> Option<Result<Option<Value>, HostError>> {
        match self.has(call.function) {
            Ok(true) => Some(self.ask(call, Some(Value::from(key)))),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }

    fn data_dig(
        &mut self,
        call: &FunctionCall<'_>,
        segments: &[Value],
    ) -> Option<Result<Option<Value>, HostError>> {
        match self.has(call.function) {
            Ok(true) => Some(self.ask(call, Some(Value::array(segments.to_vec())))),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }

    fn decrypt(&mut self, text: &str, options: &Hash) -> Result<String, HostError> {
        self.lookup.keys.clear(self.files, text, options)
    }

    fn type_of(&mut self, text: &str) -> Result<Value, HostError> {
        match self.evaluator.parse_type(text, &[]) {
            Ok(ty) => Ok(Value::Type(ty)),
            // The position of a mistake in so short a text is no information about the data.
            Err(unwind) => match *unwind {
                Unwind::Error(error) => Err(HostError::text(error.message)),
                other => Err(self.failed(other)),
            },
        }
    }

    fn convert(&mut self, value: Value, convert_to: &[Value]) -> Result<Value, HostError> {
        let (ty, rest) = match convert_to {
            [ty, rest @ ..] => (ty.clone(), rest),
            [] => (Value::Undef, convert_to),
        };
        let mut arguments = vec![ty, value];
        arguments.extend_from_slice(rest);
        let made = self.evaluator.call_function("new", arguments, None);
        made.map_err(|unwind| self.failed(*unwind))
    }
}
