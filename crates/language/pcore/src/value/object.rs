//! Behaviour of objects. Main type: [`PuppetObject`].
//!
//! Native objects (a target, a set of results) implement it in Rust; instances of `Object` types
//! that are written in Puppet are [`crate::ObjectInstance`]s.
//!
//! Invariant: an object has a value for every attribute that its type names, and values that
//! `equals` compares never change.

use std::any::Any;
use std::fmt;

use super::{Hash, Value};
use crate::types::Type;

/// An object: it has a type, attributes and methods.
pub trait PuppetObject: Any + fmt::Debug + Send + Sync {
    /// The type, used by [`Type::is_instance`]. That of an iterator is `Iterator[T]`.
    fn object_type(&self) -> Type;

    /// The value of an attribute; `None` if there is no attribute with that name.
    fn attribute(&self, name: &str) -> Option<Value>;

    /// Calls a method that needs only its arguments; `None` if there is no method with that name.
    fn call(&self, method: &str, arguments: &[Value]) -> Option<Result<Value, ObjectError>> {
        let _ = (method, arguments);
        None
    }

    /// Equality for `==` and for the keys of a hash.
    fn equals(&self, other: &dyn PuppetObject) -> bool;

    /// The hash code; equal objects must have equal codes. The default is the same code for all
    /// objects, which is slow but correct.
    fn hash_code(&self) -> u64 {
        0
    }

    /// The attributes from which an equal object can be created, as rich data and `%p` show them.
    fn init_hash(&self) -> Hash;

    /// The text in an interpolation. `None` results in the type's name with the attributes.
    fn text(&self) -> Option<String> {
        None
    }

    /// The elements for iteration; `None` if the object cannot be iterated.
    fn elements(&self) -> Option<Vec<Value>> {
        None
    }

    /// Values that it holds and that a program gave it, so that their nesting can be measured.
    fn held_values(&self) -> Vec<&Value> {
        Vec::new()
    }

    /// True if it represents an unknown value, which is an instance of every type.
    fn is_unknown(&self) -> bool {
        false
    }

    /// True if it is or contains an unknown value.
    fn has_unknown(&self) -> bool {
        self.is_unknown()
    }

    /// True if the host created the object with all of its content, so that its memory is not
    /// charged to the program.
    fn is_of_host(&self) -> bool {
        false
    }

    /// Access for [`Value::downcast_object`].
    fn as_any(&self) -> &dyn Any;
}

/// The error of a method of an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ObjectError(pub String);
