//! Iterators as values: results of `reverse_each` and `step` without a block. Main type:
//! [`LazyIterator`].

use std::any::Any;

use pcore::{Hash, PuppetObject, Type, Value};

use crate::iteration::ElementIteration;

/// A lazy sequence of elements.
#[derive(Debug)]
pub(crate) struct LazyIterator {
    iteration: ElementIteration,
    /// Type of the elements.
    element: Type,
}

impl LazyIterator {
    pub(crate) fn value(iteration: ElementIteration, element: Type) -> Value {
        Value::object(Self { iteration, element })
    }

    pub(crate) fn iteration(&self) -> &ElementIteration {
        &self.iteration
    }
}

impl PuppetObject for LazyIterator {
    fn object_type(&self) -> Type {
        Type::iterator_of(self.element.clone())
    }

    fn attribute(&self, _name: &str) -> Option<Value> {
        None
    }

    fn equals(&self, other: &dyn PuppetObject) -> bool {
        other
            .as_any()
            .downcast_ref::<Self>()
            .is_some_and(|other| std::ptr::eq(self, other))
    }

    fn init_hash(&self) -> Hash {
        Hash::new()
    }

    fn text(&self) -> Option<String> {
        let element = self.element.generalize();
        Some(format!("Iterator[{element}]-Value"))
    }

    fn elements(&self) -> Option<Vec<Value>> {
        Some(self.iteration.clone().collect())
    }

    fn held_values(&self) -> Vec<&Value> {
        self.iteration.held_values()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
