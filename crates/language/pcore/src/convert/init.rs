//! `Init[T, args..]`: the values from which a `T` can be created.
//!
//! Invariant: the types are those of the signatures of `T`'s constructor.

use super::constructor::ValueConstructor;
use super::{ConversionError, constructor_of, new_instance};
use crate::types::{InitType, IntRange, TupleType, Type, TypeKind};
use crate::value::Value;

/// Arguments from which a value of a type can be created.
pub(crate) struct AcceptedArguments {
    /// Single values of these types.
    pub(crate) single: Vec<Type>,
    /// Lists of arguments.
    pub(crate) several: Vec<Type>,
    /// True if a list of several arguments is accepted as well.
    pub(crate) several_may_be_one: bool,
}

/// Arguments accepted by an `Init` type with a parameter.
pub(crate) fn init_types(init: &InitType) -> Result<AcceptedArguments, ConversionError> {
    let Some(ty) = &init.ty else {
        return Ok(AcceptedArguments {
            single: vec![Type::rich_data()],
            several: Vec::new(),
            several_may_be_one: false,
        });
    };
    let tuples: Vec<TupleType> = constructor(ty)?
        .signatures()
        .into_iter()
        .filter_map(|signature| signature.callable.parameters)
        .collect();
    let mut single = vec![ty.clone()];
    if !init.arguments.is_empty() {
        let firsts = firsts_before(&tuples, &init.arguments);
        if firsts.is_empty() {
            let shown = Type::from(TypeKind::Init(init.clone()));
            return Err(ConversionError::Init(format!(
                "The type '{shown}' does not represent a valid set of parameters for {}.new()",
                ty.generalize().name()
            )));
        }
        single.extend(firsts);
        return Ok(AcceptedArguments {
            single,
            several: Vec::new(),
            several_may_be_one: false,
        });
    }
    let (ones, others): (Vec<TupleType>, Vec<TupleType>) = tuples
        .into_iter()
        .partition(|tuple| tuple.size_range() == IntRange::exactly(1));
    single.extend(ones.iter().filter_map(|tuple| tuple.types.first().cloned()));
    let several_may_be_one = others
        .iter()
        .any(|tuple| tuple.size_range().from == Some(1));
    Ok(AcceptedArguments {
        single,
        several: others
            .into_iter()
            .map(|tuple| TypeKind::Tuple(tuple).into())
            .collect(),
        several_may_be_one,
    })
}

fn constructor(ty: &Type) -> Result<ValueConstructor, ConversionError> {
    match ty.kind() {
        TypeKind::Init(_) | TypeKind::Optional(_) | TypeKind::NotUndef(_) => {
            Err(ConversionError::unsupported(ty))
        }
        _ => constructor_of(ty),
    }
}

/// The type of the first parameter in each signature whose other parameters accept the given
/// arguments.
fn firsts_before(tuples: &[TupleType], arguments: &[Value]) -> Vec<Type> {
    let given: Vec<Type> = arguments.iter().map(Type::infer_detailed).collect();
    tuples
        .iter()
        .filter(|tuple| {
            let fits = tuple.size_range().contains_len(given.len() + 1);
            fits && given.iter().enumerate().all(|(index, given)| {
                tuple
                    .type_at(index + 1)
                    .is_some_and(|wanted| wanted.is_assignable(given))
            })
        })
        .filter_map(|tuple| tuple.types.first().cloned())
        .collect()
}

/// `Init[T].new(value)`: creates a `T`; a list is used as several arguments if needed.
pub(super) fn construct(init: &InitType, arguments: &[Value]) -> Result<Value, ConversionError> {
    let accepted = init_types(init)?;
    let ty = init.ty.clone().unwrap_or_else(Type::any);
    let [value] = arguments else {
        let count = IntRange::of_len(arguments.len());
        let words = if count == IntRange::EMPTY {
            "none".to_owned()
        } else {
            arguments.len().to_string()
        };
        return Err(ConversionError::Arguments(format!(
            "'new_Init' expects 1 argument, got {words}"
        )));
    };
    if !init.arguments.is_empty() {
        let mut all = vec![value.clone()];
        all.extend(init.arguments.iter().cloned());
        return new_instance(&ty, &all);
    }
    let Value::Array(values) = value else {
        return new_instance(&ty, arguments);
    };
    let is_one = accepted.single.iter().any(|ty| ty.is_instance(value));
    let in_several = |value: &Value| accepted.several.iter().any(|ty| ty.is_instance(value));
    let alone = Value::array(vec![value.clone()]);
    if is_one || (!in_several(value) && accepted.several_may_be_one && in_several(&alone)) {
        new_instance(&ty, arguments)
    } else {
        new_instance(&ty, values)
    }
}
