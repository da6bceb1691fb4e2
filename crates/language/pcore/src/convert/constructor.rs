//! Constructors of types (`new`): several signatures, each with its function. Main type:
//! [`ValueConstructor`].
//!
//! Invariant: the first signature that accepts the arguments is called. If none does, the error is
//! the type's own refusal of these arguments if it has one, and otherwise the description of all
//! signatures.

use super::ConversionError;
use crate::describe::{CallSignature, describe_call};
use crate::types::{
    CallableType, IntRange, NamedTypeAlias, StructElement, TupleType, Type, TypeKind,
};
use crate::value::Value;

type ConstructValue = Box<dyn Fn(&[Value]) -> Result<Value, ConversionError> + Send + Sync>;

/// Makes the error for unaccepted arguments.
type RefusalMessage = fn(&[Value]) -> ConversionError;

/// The signatures of a type's constructor, each with its function.
pub(super) struct ValueConstructor {
    /// The name in messages.
    name: String,
    overloads: Vec<(CallSignature, ConstructValue)>,
    /// Errors for arguments that no signature accepts.
    refusals: Vec<(CallSignature, RefusalMessage)>,
}

impl ValueConstructor {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            overloads: Vec::new(),
            refusals: Vec::new(),
        }
    }

    pub(super) fn with_signature(
        mut self,
        parameters: ConstructorParameters,
        make: impl Fn(&[Value]) -> Result<Value, ConversionError> + Send + Sync + 'static,
    ) -> Self {
        self.overloads
            .push((parameters.signature(), Box::new(make)));
        self
    }

    pub(super) fn with_refusal(
        mut self,
        parameters: ConstructorParameters,
        say: RefusalMessage,
    ) -> Self {
        self.refusals.push((parameters.signature(), say));
        self
    }

    pub(super) fn call(&self, arguments: &[Value]) -> Result<Value, ConversionError> {
        let fits = |signature: &CallSignature| {
            signature.callable.parameters.as_ref().is_some_and(|tuple| {
                Type::from(TypeKind::Tuple(tuple.clone()))
                    .is_instance(&Value::array(arguments.to_vec()))
            })
        };
        if let Some((_, make)) = self.overloads.iter().find(|(signature, _)| fits(signature)) {
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

    pub(super) fn signatures(&self) -> Vec<CallSignature> {
        self.overloads
            .iter()
            .map(|(signature, _)| signature.clone())
            .collect()
    }
}

/// The parameters of one signature.
#[derive(Default)]
pub(super) struct ConstructorParameters {
    names: Vec<std::sync::Arc<str>>,
    types: Vec<Type>,
    required: usize,
}

impl ConstructorParameters {
    pub(super) fn none() -> Self {
        Self::default()
    }

    pub(super) fn one(name: &str, ty: Type) -> Self {
        Self::default().with_required(name, ty)
    }

    pub(super) fn with_required(mut self, name: &str, ty: Type) -> Self {
        self.names.push(name.into());
        self.types.push(ty);
        self.required = self.types.len();
        self
    }

    pub(super) fn with_optional(mut self, name: &str, ty: Type) -> Self {
        self.names.push(name.into());
        self.types.push(ty);
        self
    }

    fn signature(self) -> CallSignature {
        let size = IntRange {
            from: IntRange::of_len(self.required).from,
            to: IntRange::of_len(self.types.len()).to,
        };
        let all_required = self.required == self.types.len();
        let size = (!all_required || self.types.is_empty()).then_some(size);
        CallSignature {
            callable: CallableType::new(Some(TupleType::new(self.types, size)), None, None),
            parameter_names: self.names,
            block_name: "block".into(),
        }
    }
}

/// A type under a name that messages show, as in Puppet's constructors.
pub(super) fn named(name: &str, ty: &Type) -> Type {
    let alias = NamedTypeAlias::declare(name);
    // none of these types contains itself
    let _ = alias.resolve(ty);
    alias.into()
}

/// A `Struct` with required and optional keys.
pub(super) fn struct_type(required: &[(&str, Type)], optional: &[(&str, Type)]) -> Type {
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
pub(super) fn hash_argument<'a>(arguments: &'a [Value], name: &str) -> Option<&'a Value> {
    arguments.first()?.as_hash()?.get_str(name)
}

/// The general type of a value, in the form of Puppet's messages.
pub(super) fn general_refusal(value: &Value) -> String {
    Type::infer(value).generalize().to_string()
}
