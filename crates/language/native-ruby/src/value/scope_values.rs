//! Changes of values that a template read from the scope: [`ScopeValues`].
//!
//! In Ruby such a change reaches everything that shares the value. Invariant: a value is changed only if no
//! other collection was read from the scope, and none is read afterwards.

use std::cell::Cell;
use std::rc::Rc;

use pcore::Value;

use super::{Eval, RubyArray, RubyValue, refuse};

/// The collections that the code of one call read from the scope.
#[derive(Debug, Default)]
pub(crate) struct ScopeValues {
    collections: Cell<usize>,
    is_changed: Cell<bool>,
}

impl ScopeValues {
    /// A value of the scope, which the code cannot change.
    pub(crate) fn read(&self, value: &Value) -> Eval {
        self.count(value)?;
        Ok(RubyValue::of_scope(value))
    }

    fn count(&self, value: &Value) -> Eval<()> {
        let is_scalar = matches!(
            value,
            Value::Undef
                | Value::Default
                | Value::Bool(_)
                | Value::Int(_)
                | Value::Float(_)
                | Value::Str(_)
        );
        if is_scalar {
            return Ok(());
        }
        if self.is_changed.get() {
            return refuse("a value of the scope behind a change of another one");
        }
        self.collections.set(self.collections.get() + 1);
        Ok(())
    }

    /// Called before a change of a collection of the scope.
    pub(super) fn begin_change(&self) -> Eval<()> {
        if self.collections.get() > 1 {
            return refuse("a change of one of several collections of the scope");
        }
        self.is_changed.set(true);
        Ok(())
    }
}

impl RubyValue {
    /// The value of a variable `@name`, whose array the code may change for itself.
    pub(crate) fn of_variable(value: &Value, values: &Rc<ScopeValues>) -> Eval {
        values.count(value)?;
        Ok(match value {
            Value::Array(elements) => {
                Self::Array(RubyArray::of_variable(elements.clone(), values.clone()))
            }
            other => Self::of_scope(other),
        })
    }
}
