//! Making values of a type: `T.new(..)`, `T(..)` and `convert_to`. Main function: [`new_instance`].
//!
//! Invariant: what comes out belongs to the type, or there is an error in Puppet's words;
//! and nothing that an argument asks for makes memory grow without a bound.

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
pub(crate) use time::{timespan_of, timestamp_of};

use crate::describe::assert_instance;
use crate::types::{Kind, Type};
use crate::value::Value;
use constructor::Constructor;

/// A value of the type, made from arguments.
pub fn new_instance(ty: &Type, arguments: &[Value]) -> Result<Value, ConversionError> {
    if let [only] = arguments
        && !matches!(ty.kind(), Kind::Init(_))
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
        Kind::Init(init) if init.ty.is_some() => init::construct(init, arguments),
        _ => constructor_of(ty)?.call(arguments),
    }
}

/// Constructor of a type.
fn constructor_of(ty: &Type) -> Result<Constructor, ConversionError> {
    Ok(match ty.kind() {
        Kind::Integer(_) => number::integer(),
        Kind::Float(_) => number::float(),
        Kind::Numeric => number::numeric(),
        Kind::Boolean(_) => scalar::boolean(),
        Kind::String(_) => string::constructor(),
        Kind::Array { .. } | Kind::Tuple(_) => collection::array(),
        Kind::Hash { .. } | Kind::Struct(_) => collection::hash(),
        Kind::Timestamp(_) => time::timestamp(),
        Kind::Timespan(_) => time::timespan(),
        Kind::SemVer(_) => version::semver(),
        Kind::SemVerRange => version::semver_range(),
        Kind::Binary => binary::constructor(),
        Kind::Regexp(_) => scalar::regexp(),
        Kind::Uri(_) => scalar::uri(),
        Kind::Sensitive(_) => scalar::sensitive(),
        Kind::Unit | Kind::NotUndef(None) => scalar::unchanged(),
        Kind::Type(_) => scalar::type_from_text(),
        Kind::Optional(Some(inner)) | Kind::NotUndef(Some(inner)) => constructor_of(inner)?,
        Kind::Object(object) if !object.is_root() => object::constructor(object),
        Kind::ObjectExtension { base, .. } => object::constructor(base),
        Kind::Alias(alias) => match alias.resolved() {
            Some(resolved) => constructor_of(resolved)?,
            None => return Err(ConversionError::unsupported(ty)),
        },
        _ => return Err(ConversionError::unsupported(ty)),
    })
}
