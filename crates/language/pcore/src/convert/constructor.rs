//! Constructors of types (`new`): several signatures, each with its function. Main type:
//! [`Constructor`].
//!
//! Invariant: the first signature that takes the arguments is called; if none does, the
//! type's own words are used if it has some for these arguments, and the description of all signatures
//! otherwise.

use super::ConversionError;
use crate::describe::{Signature, describe_call};
use crate::types::{Alias, CallableType, IntRange, Kind, StructElement, TupleType, Type};
use crate::value::Value;

type Make = Box<dyn Fn(&[Value]) -> Result<Value, ConversionError> + Send + Sync>;

/// Makes the error for unaccepted arguments.
type Say = fn(&[Value]) -> ConversionError;

/// The ways in which values of a type are made.
pub(super) struct Constructor {
    /// As messages call it.
    name: String,
    ways: Vec<(Signature, Make)>,
    /// Errors for arguments that no signature accepts.
    refusals: Vec<(Signature, Say)>,
}

impl Constructor {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ways: Vec::new(),
            refusals: Vec::new(),
        }
    }

    pub(super) fn way(
        mut self,
        parameters: Parameters,
        make: impl Fn(&[Value]) -> Result<Value, ConversionError> + Send + Sync + 'static,
    ) -> Self {
        self.ways.push((parameters.signature(), Box::new(make)));
        self
    }

    pub(super) fn refusal(mut self, parameters: Parameters, say: Say) -> Self {
        self.refusals.push((parameters.signature(), say));
        self
    }

    pub(super) fn call(&self, arguments: &[Value]) -> Result<Value, ConversionError> {
        let fits = |signature: &Signature| {
            signature.callable.parameters.as_ref().is_some_and(|tuple| {
                Type::from(Kind::Tuple(tuple.clone()))
                    .is_instance(&Value::array(arguments.to_vec()))
            })
        };
        if let Some((_, make)) = self.ways.iter().find(|(signature, _)| fits(signature)) {
            return make(arguments);
        }
        if let Some((_, say)) = self.refusals.iter().find(|(signature, _)| fits(signature)) {
            return Err(match say(arguments) {
                said @ (ConversionError::Radix(_) | ConversionError::Mismatch(_)) => said,
                said => ConversionError::Arguments(format!("'{}' {said}", self.name)),
            });
        }
        let types: Vec<Type> = arguments.iter().map(Type::infer_detailed).collect();
        Err(ConversionError::Arguments(describe_call(
            &self.name,
            &self.signatures(),
            &types,
        )))
    }

    pub(super) fn signatures(&self) -> Vec<Signature> {
        self.ways
            .iter()
            .map(|(signature, _)| signature.clone())
            .collect()
    }
}

/// The parameters of one way.
#[derive(Default)]
pub(super) struct Parameters {
    names: Vec<std::sync::Arc<str>>,
    types: Vec<Type>,
    required: usize,
}

impl Parameters {
    pub(super) fn none() -> Self {
        Self::default()
    }

    pub(super) fn one(name: &str, ty: Type) -> Self {
        Self::default().and(name, ty)
    }

    pub(super) fn and(mut self, name: &str, ty: Type) -> Self {
        self.names.push(name.into());
        self.types.push(ty);
        self.required = self.types.len();
        self
    }

    pub(super) fn optional(mut self, name: &str, ty: Type) -> Self {
        self.names.push(name.into());
        self.types.push(ty);
        self
    }

    fn signature(self) -> Signature {
        let size = IntRange {
            from: IntRange::of_len(self.required).from,
            to: IntRange::of_len(self.types.len()).to,
        };
        let all_required = self.required == self.types.len();
        let size = (!all_required || self.types.is_empty()).then_some(size);
        Signature {
            callable: CallableType::new(Some(TupleType::new(self.types, size)), None, None),
            parameter_names: self.names,
            block_name: "block".into(),
        }
    }
}

/// A type that messages call by a name, as Puppet's constructors have them.
pub(super) fn named(name: &str, ty: &Type) -> Type {
    let alias = Alias::declare(name);
    // none of them holds itself
    let _ = alias.resolve(ty);
    alias.into()
}

/// A `Struct` of keys that must and keys that may be there.
pub(super) fn structure(required: &[(&str, Type)], optional: &[(&str, Type)]) -> Type {
    let element = |optional: bool| {
        move |(name, ty): &(&str, Type)| StructElement::new(*name, optional, ty.clone())
    };
    Type::struct_of(
        required
            .iter()
            .map(element(false))
            .chain(optional.iter().map(element(true)))
            .collect(),
    )
}

/// The value of a key in the hash of arguments.
pub(super) fn key<'a>(arguments: &'a [Value], name: &str) -> Option<&'a Value> {
    arguments.first()?.as_hash()?.get_str(name)
}

/// The general type of a value, as messages name it.
pub(super) fn general(value: &Value) -> String {
    Type::infer(value).generalize().to_string()
}
