//! The methods of `Puppet::LookupContext`.
//!
//! `not_found` ends the function that calls it; nothing in the language catches that, only the
//! lookup.

use std::path::PathBuf;
use std::sync::Arc;

use evaluator::{
    CodeBlock, EvalResult, EvalUnwind, Evaluator, HostInterrupt, SourceLocation, raise,
};
use pcore::{Hash, Value};

use crate::LookupFiles;
use crate::context::{FunctionCallSite, LookupContext};
use crate::evaluator_host::EvaluatorLookupHost;
use crate::lookup::Lookup;

/// The payload with which `not_found` unwinds the evaluation.
pub(crate) struct NotFound;

/// A call of a method.
struct ContextMethodCall<'m> {
    name: &'m str,
    arguments: &'m [Value],
    block: Option<&'m CodeBlock>,
}

impl Lookup {
    /// Calls a method of the context that a backend receives; `None` if the receiver is another
    /// object. For `EvaluationHost::method`.
    pub fn method(
        &self,
        files: &dyn LookupFiles,
        evaluator: &mut Evaluator<'_>,
        (receiver, name): (&Value, &str),
        arguments: &[Value],
        block: Option<&CodeBlock>,
    ) -> Option<EvalResult> {
        let context = receiver.downcast_object::<LookupContext>()?;
        let method = ContextMethodCall {
            name,
            arguments,
            block,
        };
        let done = match (name, arguments) {
            ("not_found", []) => {
                Err(EvalUnwind::Interrupted(HostInterrupt(Box::new(NotFound))).into())
            }
            ("explain", []) => self.explain(evaluator, &method),
            ("interpolate", [value]) => self.interpolate(files, evaluator, value),
            ("cached_file_data", [Value::Str(path)]) => {
                self.file_data(files, evaluator, path, &method)
            }
            _ => return self.call_cache_method(evaluator, &context.call_site, &method),
        };
        Some(done)
    }

    /// Calls a method on the values that a function caches between its calls.
    fn call_cache_method(
        &self,
        evaluator: &mut Evaluator<'_>,
        asking: &Arc<FunctionCallSite>,
        method: &ContextMethodCall<'_>,
    ) -> Option<EvalResult> {
        let done = match (method.name, method.arguments) {
            ("cache", [key, value]) => {
                self.change_cache(asking, |kept| kept.insert(key.clone(), value.clone()));
                value.clone()
            }
            ("cache_all", [Value::Hash(all)]) => {
                self.change_cache(asking, |kept| {
                    let entries = all.iter();
                    kept.extend(entries.map(|(key, value)| (key.clone(), value.clone())));
                });
                Value::Undef
            }
            ("cache_has_key", [key]) => {
                Value::Bool(self.change_cache(asking, |kept| kept.contains_key(key)))
            }
            ("cached_value", [key]) => {
                let kept = self.change_cache(asking, |kept| kept.get(key).cloned());
                kept.unwrap_or_default()
            }
            ("cached_entries", []) => {
                let kept = self.change_cache(asking, |kept| kept.clone());
                return Some(entries(evaluator, &kept, method.block));
            }
            _ => return None,
        };
        Some(Ok(done))
    }

    /// Takes a text for the explanation of the running lookup, from a function in another language.
    pub fn explain_text(&self, evaluator: &Evaluator<'_>, text: &str) {
        if let Some(lookup) = self.active.current(evaluator)
            && lookup.trail.is_explained()
        {
            lookup.trail.record_text(text.to_owned());
        }
    }

    fn explain(&self, evaluator: &mut Evaluator<'_>, method: &ContextMethodCall<'_>) -> EvalResult {
        let lookup = self.active.current(evaluator);
        if let (Some(lookup), Some(block)) = (lookup, method.block)
            && lookup.trail.is_explained()
        {
            let text = evaluator.call_block_with(block, Vec::new())?;
            lookup.trail.record_text(text.to_string());
        }
        Ok(Value::Undef)
    }

    fn interpolate(
        &self,
        files: &dyn LookupFiles,
        evaluator: &mut Evaluator<'_>,
        value: &Value,
    ) -> EvalResult {
        let Some(lookup) = self.active.current(evaluator) else {
            return raise("the lookup that this Puppet::LookupContext was made for is over");
        };
        let mut world = EvaluatorLookupHost::new(self, files, evaluator, &lookup.scope);
        let layers = (&lookup.overrides, &lookup.defaults);
        let filled = self
            .session
            .interpolate_value(&mut world, value, layers, &lookup.trail);
        world.finish(filled, &SourceLocation::default())
    }

    fn file_data(
        &self,
        files: &dyn LookupFiles,
        evaluator: &mut Evaluator<'_>,
        path: &str,
        method: &ContextMethodCall<'_>,
    ) -> EvalResult {
        let path = PathBuf::from(path);
        let identity = files.identity(&path);
        if let Some((known, data)) = self.file_data.borrow().get(&path)
            && Some(*known) == identity
        {
            return Ok(data.clone());
        }
        let text = match files.read(&path) {
            Ok(text) => Value::from(text),
            Err(error) => return raise(error.to_string()),
        };
        let data = match method.block {
            Some(block) => evaluator.call_block_with(block, vec![text])?,
            None => text,
        };
        if let Some(identity) = identity {
            let mut kept = self.file_data.borrow_mut();
            kept.insert(path, (identity, data.clone()));
        }
        Ok(data)
    }
}

/// All cached values: passed to the block one by one, or returned as a list of pairs.
fn entries(evaluator: &mut Evaluator<'_>, kept: &Hash, block: Option<&CodeBlock>) -> EvalResult {
    let pair = |(key, value): (&Value, &Value)| vec![key.clone(), value.clone()];
    let Some(block) = block else {
        let pairs = kept.iter().map(pair).map(Value::array);
        return Ok(Value::array(pairs.collect()));
    };
    for pair in kept.iter().map(pair) {
        let arguments = match block.accepts_arity(2) {
            true => pair,
            false => vec![Value::array(pair)],
        };
        evaluator.call_block_with(block, arguments)?;
    }
    Ok(Value::Undef)
}
