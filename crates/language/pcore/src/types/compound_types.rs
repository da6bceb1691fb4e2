//! Parameters of string, enum, tuple, struct and callable types.
//!
//! Invariant: sizes are not negative, and the texts of an enum are sorted and unique.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{IntRange, Type};
use crate::value::{Regexp, SemVer, Value};

/// Parameter of a `String` type: a size range or an exact value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StringType {
    Any,
    /// Strings with a length in this range, in characters.
    Size(IntRange),
    /// Exactly this text: the type that is inferred for a string.
    Value(Arc<str>),
}

/// One of some texts. The texts are sorted and unique.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnumType {
    pub(crate) values: Arc<[Arc<str>]>,
    pub(crate) ignore_case: bool,
}

impl EnumType {
    pub fn new(values: impl IntoIterator<Item = Arc<str>>, ignore_case: bool) -> Self {
        let mut values: Vec<Arc<str>> = values.into_iter().collect();
        values.sort();
        values.dedup();
        Self {
            values: values.into(),
            ignore_case,
        }
    }

    #[must_use]
    pub fn values(&self) -> &[Arc<str>] {
        &self.values
    }

    #[must_use]
    pub fn ignores_case(&self) -> bool {
        self.ignore_case
    }

    #[must_use]
    pub fn contains(&self, text: &str) -> bool {
        self.values.iter().any(|value| {
            if self.ignore_case {
                value.eq_ignore_ascii_case(text)
            } else {
                **value == *text
            }
        })
    }
}

/// A list with a type for each position; the last type repeats up to the size.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TupleType {
    pub(crate) types: Vec<Type>,
    pub(crate) size: Option<IntRange>,
}

impl TupleType {
    #[must_use]
    pub fn new(types: Vec<Type>, size: Option<IntRange>) -> Self {
        Self {
            types,
            size: size.map(IntRange::to_size),
        }
    }

    #[must_use]
    pub fn types(&self) -> &[Type] {
        &self.types
    }

    #[must_use]
    pub fn size(&self) -> Option<IntRange> {
        self.size
    }

    /// Allowed number of elements.
    #[must_use]
    pub fn size_range(&self) -> IntRange {
        match self.size {
            Some(size) => size,
            None if self.types.is_empty() => IntRange::ANY_SIZE,
            None => IntRange::of_len(self.types.len()),
        }
    }

    /// The type at a position; the last one repeats.
    #[must_use]
    pub fn type_at(&self, index: usize) -> Option<&Type> {
        self.types.get(index).or_else(|| self.types.last())
    }
}

/// One key of a `Struct`. The key is a `String` of one value, or an `Optional` of one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StructElement {
    pub(crate) name: Arc<str>,
    pub(crate) optional: bool,
    pub(crate) value: Type,
}

impl StructElement {
    pub fn new(name: impl Into<Arc<str>>, optional: bool, value: Type) -> Self {
        Self {
            name: name.into(),
            optional,
            value,
        }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if the key may be missing.
    #[must_use]
    pub fn is_optional(&self) -> bool {
        self.optional
    }

    #[must_use]
    pub fn value(&self) -> &Type {
        &self.value
    }

    /// The same key with another type of value.
    #[must_use]
    pub fn with_value(&self, value: Type) -> Self {
        Self::new(Arc::clone(&self.name), self.optional, value)
    }
}

/// Parameter, block and return types of a function or a block.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallableType {
    /// `None` accepts any arguments.
    pub(crate) parameters: Option<TupleType>,
    /// The type of the block; an `Optional` if the block may be missing.
    pub(crate) block: Option<Type>,
    /// The return type; `None` if it is not declared.
    pub(crate) returns: Option<Type>,
}

impl CallableType {
    #[must_use]
    pub fn new(parameters: Option<TupleType>, block: Option<Type>, returns: Option<Type>) -> Self {
        Self {
            parameters,
            block,
            returns: returns.filter(|ty| !matches!(ty.kind(), super::TypeKind::Any)),
        }
    }

    #[must_use]
    pub fn parameters(&self) -> Option<&TupleType> {
        self.parameters.as_ref()
    }

    #[must_use]
    pub fn block(&self) -> Option<&Type> {
        self.block.as_ref()
    }

    #[must_use]
    pub fn returns(&self) -> Option<&Type> {
        self.returns.as_ref()
    }
}

/// A type of the underlying runtime: `Runtime['ruby', 'Symbol']`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RuntimeType {
    pub(crate) runtime: Option<Arc<str>>,
    pub(crate) name: Option<RuntimeName>,
}

/// The name of a runtime type, or a pattern for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RuntimeName {
    Name(Arc<str>),
    Pattern(Regexp, Arc<str>),
}

/// `Init[T, args..]`: the values from which a `T` can be created.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InitType {
    pub(crate) ty: Option<Type>,
    pub(crate) arguments: Vec<Value>,
}

/// A set of types with a common version.
#[derive(Debug, Clone)]
pub struct TypeSetType {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) version: Option<SemVer>,
    pub(crate) types: IndexMap<Arc<str>, Type>,
    /// The value that it was created from.
    pub(crate) init: Value,
}

impl TypeSetType {
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// A type of the set by its name in the set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Type> {
        self.types.get(name)
    }
}
