//! Behaviour of objects. Main type: [`PuppetObject`].
//!
//! A native object (a target, a set of results) implements it in Rust; instances of `PuppetObject` types
//! written in Puppet are [`crate::ObjectInstance`]s. Invariant: an object answers for every
//! attribute that its type names, and never changes its answers for what `equals` compares.

use std::any::Any;
use std::fmt;

use super::{Hash, Value};
use crate::types::Type;

/// An object: it has a type, attributes and methods.
pub trait PuppetObject: Any + fmt::Debug + Send + Sync {
    /// Its type, which [`Type::is_instance`] asks. An iterator's is `Iterator[T]`.
    fn object_type(&self) -> Type;

    /// The value of an attribute; `None` if it has none of that name.
    fn attribute(&self, name: &str) -> Option<Value>;

    /// Calls a method that needs nothing but the arguments; `None` if it has none of that name.
    fn call(&self, method: &str, arguments: &[Value]) -> Option<Result<Value, ObjectError>> {
        let _ = (method, arguments);
        None
    }

    /// Equality for `==` and for keys of a hash.
    fn equals(&self, other: &dyn PuppetObject) -> bool;

    /// Equal objects have equal codes. That all have the same is slow and not wrong.
    fn hash_code(&self) -> u64 {
        0
    }

    /// The attributes that a new equal object is made from: what rich data and `%p` show.
    fn init_hash(&self) -> Hash;

    /// Its text in an interpolation. `None`: the type's name with the attributes.
    fn text(&self) -> Option<String> {
        None
    }

    /// Elements for iteration; `None` if it cannot be iterated.
    fn elements(&self) -> Option<Vec<Value>> {
        None
    }

    /// True if it represents an unknown value, which is an instance of every type.
    fn is_unknown(&self) -> bool {
        false
    }

    /// True if it is or contains an unknown value.
    fn has_unknown(&self) -> bool {
        self.is_unknown()
    }

    /// True if the host created it with all of its content, so its memory is not charged to the program.
    fn is_of_host(&self) -> bool {
        false
    }

    /// For [`Value::downcast_object`].
    fn as_any(&self) -> &dyn Any;
}

/// A method of an object refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ObjectError(pub String);
