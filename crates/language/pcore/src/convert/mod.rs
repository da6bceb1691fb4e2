//! Creation of values of a type: `T.new(..)`, `T(..)` and `convert_to`. Main function:
//! [`new_instance`].
//!
//! Invariant: the result is an instance of the type, or there is an error in Puppet's wording; and
//! no argument can make memory grow without a bound.

mod binary;
mod collection;
mod constructor;
mod error;
mod init;
mod number;
mod object;
mod scalar;
mod string;
mod time;
mod version;

pub use error::ConversionError;
pub(crate) use init::init_types;
pub(crate) use time::{timespan_from_value, timestamp_from_value};

use crate::describe::assert_instance;
use crate::types::{Type, TypeKind};
use crate::value::Value;
use constructor::ValueConstructor;

/// Creates a value of the type from arguments.
pub fn new_instance(ty: &Type, arguments: &[Value]) -> Result<Value, ConversionError> {
    if let [only] = arguments
        && !matches!(ty.kind(), TypeKind::Init(_))
        && ty.is_instance(only)
    {
        return Ok(only.clone());
    }
    let value = construct(ty, arguments)?;
    assert_instance(&format!("Converted value from {ty}.new()"), ty, &value)?;
    Ok(value)
}

fn construct(ty: &Type, arguments: &[Value]) -> Result<Value, ConversionError> {
    match ty.kind() {
        TypeKind::Init(init) if init.ty.is_some() => init::construct(init, arguments),
        _ => constructor_of(ty)?.call(arguments),
    }
}

/// The constructor of a type.
fn constructor_of(ty: &Type) -> Result<ValueConstructor, ConversionError> {
    Ok(match ty.kind() {
        TypeKind::Integer(_) => number::integer(),
        TypeKind::Float(_) => number::float(),
        TypeKind::Numeric => number::numeric(),
        TypeKind::Boolean(_) => scalar::boolean(),
        TypeKind::String(_) => string::constructor(),
        TypeKind::Array { .. } | TypeKind::Tuple(_) => collection::array(),
        TypeKind::Hash { .. } | TypeKind::Struct(_) => collection::hash(),
        TypeKind::Timestamp(_) => time::timestamp(),
        TypeKind::Timespan(_) => time::timespan(),
        TypeKind::SemVer(_) => version::semver(),
        TypeKind::SemVerRange => version::semver_range(),
        TypeKind::Binary => binary::constructor(),
        TypeKind::Regexp(_) => scalar::regexp(),
        TypeKind::Uri(_) => scalar::uri(),
        TypeKind::Sensitive(_) => scalar::sensitive(),
        TypeKind::Unit | TypeKind::NotUndef(None) => scalar::identity(),
        TypeKind::Type(_) => scalar::type_from_text(),
        TypeKind::Optional(Some(inner)) | TypeKind::NotUndef(Some(inner)) => constructor_of(inner)?,
        TypeKind::Object(object) if !object.is_root() => object::constructor(object),
        TypeKind::ObjectExtension { base, .. } => object::constructor(base),
        TypeKind::Alias(alias) => match alias.resolved() {
            Some(resolved) => constructor_of(resolved)?,
            None => return Err(ConversionError::unsupported(ty)),
        },
        _ => return Err(ConversionError::unsupported(ty)),
    })
}
