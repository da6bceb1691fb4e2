//! The evaluator and the files as the host of a lookup: [`EvaluatorLookupHost`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use evaluator::{
    BUDGET_EXHAUSTED, EvalError, EvalResult, EvalUnwind, Evaluator, ForeignDataCall, LogLevel,
    SourceLocation, VariableScope, raise,
};
use hiera::{DirectoryEntry, FileIdentity, FunctionCall, HostError, LookupHost};
use pcore::{Hash, Value};

use crate::LookupFiles;
use crate::context::{FunctionCallSite, LookupContext};
use crate::lookup::Lookup;
use crate::methods::NotFound;

pub(crate) struct EvaluatorLookupHost<'w, 'h> {
    lookup: &'w Lookup,
    files: &'w dyn LookupFiles,
    evaluator: &'w mut Evaluator<'h>,
    scope: &'w VariableScope,
    /// An event that ends the evaluation, whatever the result of the lookup.
    interrupt: Option<Box<EvalUnwind>>,
}

impl<'w, 'h> EvaluatorLookupHost<'w, 'h> {
    pub(crate) fn new(
        lookup: &'w Lookup,
        files: &'w dyn LookupFiles,
        evaluator: &'w mut Evaluator<'h>,
        scope: &'w VariableScope,
    ) -> Self {
        Self {
            lookup,
            files,
            evaluator,
            scope,
            interrupt: None,
        }
    }

    /// Converts the result of a lookup for the evaluator. `place` is the position of the call.
    pub(crate) fn finish<T>(
        self,
        found: Result<T, hiera::Error>,
        place: &SourceLocation,
    ) -> EvalResult<T> {
        match (self.interrupt, found) {
            (Some(unwind), _) => Err(unwind),
            (None, Ok(found)) => Ok(found),
            (None, Err(error)) if error.is_settled() => {
                Err(settled_error(error.to_string(), place))
            }
            (None, Err(error)) => raise(error.to_string()),
        }
    }

    /// Converts an unwinding to an error of the lookup.
    fn keep_interrupt(&mut self, unwind: EvalUnwind) -> HostError {
        match unwind {
            EvalUnwind::Interrupted(interrupt) => {
                self.interrupt = Some(EvalUnwind::Interrupted(interrupt).into());
                HostError::text("the evaluation was interrupted")
            }
            other => match other.into_error() {
                Ok(error) if error.code == BUDGET_EXHAUSTED => {
                    let text = error.to_string();
                    self.interrupt = Some(error.into());
                    HostError::text(text)
                }
                Ok(error) if error.code == LOOKUP_ERROR => HostError::text(error.message),
                Ok(error) if error.location.is_none() => HostError::wrong_call(error.message),
                Ok(error) => HostError::text(error.to_string()),
                Err(interrupt) => {
                    self.interrupt = Some(EvalUnwind::Interrupted(interrupt).into());
                    HostError::text("the evaluation was interrupted")
                }
            },
        }
    }

    /// True if the function exists.
    fn has(&mut self, name: &str) -> Result<bool, HostError> {
        let known = self.evaluator.has_function(name);
        known.map_err(|unwind| self.keep_interrupt(*unwind))
    }

    /// Calls a function for `what`, or for all its data; the first answer is cached. `None` if there is
    /// no such function.
    fn call_data_function(
        &mut self,
        call: &FunctionCall<'_>,
        what: Option<Value>,
    ) -> Option<Result<Option<Value>, HostError>> {
        let is_known = match self.has(call.function) {
            Ok(is_known) => is_known,
            Err(error) => return Some(Err(error)),
        };
        let asking = Arc::new(FunctionCallSite::of(call));
        let key = what.clone().unwrap_or_default();
        if let Some(known) = self.lookup.cached_answer(&asking, &key) {
            return Some(Ok(Some(known)));
        }
        let context = Value::object(LookupContext {
            call_site: Arc::clone(&asking),
            environment: Arc::clone(&self.lookup.environment),
        });
        let mut arguments: Vec<Value> = what.into_iter().collect();
        arguments.push(Value::from(call.options.clone()));
        let answer = match is_known {
            true => {
                arguments.push(context);
                let answer = self.evaluator.call_function(call.function, arguments, None);
                answer.map(Some)
            }
            false => {
                let foreign = ForeignDataCall {
                    function: call.function,
                    arguments: &arguments,
                    context: &context,
                    module: call.module,
                    entry: &asking.text(),
                    scope: self.scope,
                };
                let host = self.evaluator.host();
                host.foreign_data_function(self.evaluator, &foreign)?
            }
        };
        Some(match answer.map_err(|unwind| *unwind) {
            Ok(Some(value)) => {
                self.lookup.store_answer(&asking, key, value.clone());
                Ok(Some(value))
            }
            Ok(None) => Ok(None),
            Err(EvalUnwind::Interrupted(interrupt)) if interrupt.0.is::<NotFound>() => Ok(None),
            Err(unwind) => Err(self.keep_interrupt(unwind)),
        })
    }
}

/// The function of Puppet Enterprise that gives Hiera the configuration data of the node's groups.
const CLASSIFIER_DATA: &str = "classifier_data";

/// Code of errors that Puppet raises as `Puppet::DataBinding::LookupError`: no prefix is added to them.
pub const LOOKUP_ERROR: &str = "LOOKUP_ERROR";

/// An error to which no prefix is added, like Puppet's lookup errors.
pub(crate) fn settled_error(text: String, place: &SourceLocation) -> Box<EvalUnwind> {
    EvalError::preformatted(LOOKUP_ERROR, text, place.clone()).into()
}

impl LookupHost for EvaluatorLookupHost<'_, '_> {
    fn variable(&mut self, name: &str) -> Result<Option<Value>, HostError> {
        let value = self.evaluator.variable_in(self.scope, name).transpose();
        if let (Ok(Some(value)), Some(unknowns)) = (&value, self.evaluator.host().unknowns()) {
            unknowns.depends_on(std::slice::from_ref(value));
        }
        value.map_err(|unwind| self.keep_interrupt(*unwind))
    }

    fn fact_at(&mut self, path: &[Arc<str>]) -> Option<(Value, usize)> {
        // a preview has facts that are not known yet, and follows them as a whole
        match self.evaluator.host().unknowns() {
            Some(_) => None,
            None => self.evaluator.fact_at(path),
        }
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

    fn note_global_path(&mut self, path: &Path) {
        self.files.note_global_path(path);
    }

    fn warn(&mut self, message: &str) {
        let host = self.evaluator.host();
        host.log(LogLevel::Warning, message, &SourceLocation::default());
    }

    fn data_hash(&mut self, call: &FunctionCall<'_>) -> Option<Result<Value, HostError>> {
        if call.function == CLASSIFIER_DATA {
            return Some(Ok(Value::Hash(self.evaluator.host().classifier_data())));
        }
        let data = self.call_data_function(call, None)?;
        Some(data.map(|data| data.unwrap_or_else(|| Value::from(Hash::new()))))
    }

    fn lookup_key(
        &mut self,
        call: &FunctionCall<'_>,
        key: &str,
    ) -> Option<Result<Option<Value>, HostError>> {
        self.call_data_function(call, Some(Value::from(key)))
    }

    fn data_dig(
        &mut self,
        call: &FunctionCall<'_>,
        segments: &[Value],
    ) -> Option<Result<Option<Value>, HostError>> {
        self.call_data_function(call, Some(Value::array(segments.to_vec())))
    }

    fn decrypt(&mut self, text: &str, options: &Hash) -> Result<String, HostError> {
        self.lookup.keys.decrypt(self.files, text, options)
    }

    fn type_of(&mut self, text: &str) -> Result<Value, HostError> {
        match self.evaluator.parse_type(text, &[]) {
            Ok(ty) => Ok(Value::Type(ty)),
            // The position of a mistake in so short a text is no information about the data.
            Err(unwind) => match *unwind {
                EvalUnwind::Error(error) => Err(HostError::text(error.message)),
                other => Err(self.keep_interrupt(other)),
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
        made.map_err(|unwind| self.keep_interrupt(*unwind))
    }
}
