//! The methods of `Puppet::LookupContext`.
//!
//! `not_found` ends the function that calls it; nothing in the language catches that, only the
//! lookup.

use std::path::PathBuf;
use std::sync::Arc;

use evaluator::{Block, Eval, Evaluator, Interrupt, SourceLocation, Unwind, raise};
use pcore::{Hash, Value};

use crate::Files;
use crate::context::{Asking, Context};
use crate::lookup::Lookup;
use crate::world::World;

/// The payload with which `not_found` unwinds the evaluation.
pub(crate) struct NotFound;

/// A call of a method.
struct Method<'m> {
    name: &'m str,
    arguments: &'m [Value],
    block: Option<&'m Block>,
}

impl Lookup {
    /// Calls a method of the context that a backend receives; `None` if the receiver is another
    /// object. For `Host::method`.
    pub fn method(
        &self,
        files: &dyn Files,
        evaluator: &mut Evaluator<'_>,
        (receiver, name): (&Value, &str),
        arguments: &[Value],
        block: Option<&Block>,
    ) -> Option<Eval> {
        let context = receiver.downcast_object::<Context>()?;
        let method = Method {
            name,
            arguments,
            block,
        };
        let done = match (name, arguments) {
            ("not_found", []) => Err(Unwind::Interrupted(Interrupt(Box::new(NotFound))).into()),
            ("explain", []) => self.explain(evaluator, &method),
            ("interpolate", [value]) => self.interpolate(files, evaluator, value),
            ("cached_file_data", [Value::Str(path)]) => {
                self.file_data(files, evaluator, path, &method)
            }
            _ => return self.kept_method(evaluator, &context.asking, &method),
        };
        Some(done)
    }

    /// Calls a method on the values that a function caches between its calls.
    fn kept_method(
        &self,
        evaluator: &mut Evaluator<'_>,
        asking: &Arc<Asking>,
        method: &Method<'_>,
    ) -> Option<Eval> {
        let done = match (method.name, method.arguments) {
            ("cache", [key, value]) => {
                self.keep(asking, |kept| kept.insert(key.clone(), value.clone()));
                value.clone()
            }
            ("cache_all", [Value::Hash(all)]) => {
                self.keep(asking, |kept| {
                    let entries = all.iter();
                    kept.extend(entries.map(|(key, value)| (key.clone(), value.clone())));
                });
                Value::Undef
            }
            ("cache_has_key", [key]) => {
                Value::Bool(self.keep(asking, |kept| kept.contains_key(key)))
            }
            ("cached_value", [key]) => {
                let kept = self.keep(asking, |kept| kept.get(key).cloned());
                kept.unwrap_or_default()
            }
            ("cached_entries", []) => {
                let kept = self.keep(asking, |kept| kept.clone());
                return Some(entries(evaluator, &kept, method.block));
            }
            _ => return None,
        };
        Some(Ok(done))
    }

    fn explain(&self, evaluator: &mut Evaluator<'_>, method: &Method<'_>) -> Eval {
        let lookup = self.active.on(evaluator);
        if let (Some(lookup), Some(block)) = (lookup, method.block)
            && lookup.trail.is_explained()
        {
            let text = evaluator.call_block_with(block, Vec::new())?;
            lookup.trail.tell(text.to_string());
        }
        Ok(Value::Undef)
    }

    fn interpolate(&self, files: &dyn Files, evaluator: &mut Evaluator<'_>, value: &Value) -> Eval {
        let Some(lookup) = self.active.on(evaluator) else {
            return raise("the lookup that this Puppet::LookupContext was made for is over");
        };
        let mut world = World::new(self, files, evaluator, &lookup.scope);
        let layers = (&lookup.overrides, &lookup.defaults);
        let filled = self
            .session
            .fill_in(&mut world, value, layers, &lookup.trail);
        world.done(filled, &SourceLocation::default())
    }

    fn file_data(
        &self,
        files: &dyn Files,
        evaluator: &mut Evaluator<'_>,
        path: &str,
        method: &Method<'_>,
    ) -> Eval {
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
fn entries(evaluator: &mut Evaluator<'_>, kept: &Hash, block: Option<&Block>) -> Eval {
    let pair = |(key, value): (&Value, &Value)| vec![key.clone(), value.clone()];
    let Some(block) = block else {
        let pairs = kept.iter().map(pair).map(Value::array);
        return Ok(Value::array(pairs.collect()));
    };
    for pair in kept.iter().map(pair) {
        let arguments = match block.takes(2) {
            true => pair,
            false => vec![Value::array(pair)],
        };
        evaluator.call_block_with(block, arguments)?;
    }
    Ok(Value::Undef)
}
