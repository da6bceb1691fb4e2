//! Making values of a type: `T.new(..)`, `T(..)` and `convert_to`. Main function: [`new_instance`].
//!
//! The rule that must hold: what comes out belongs to the type, or there is an error in Puppet's words;
//! and nothing that an argument asks for makes memory grow without a bound.

mod constructor;
mod error;
mod init;
mod number;

pub use error::ConversionError;
pub(crate) use init::init_types;

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

/// How values of the type are made.
fn constructor_of(ty: &Type) -> Result<Constructor, ConversionError> {
    Ok(match ty.kind() {
        Kind::Integer(_) => number::integer(),
        Kind::Float(_) => number::float(),
        Kind::Numeric => number::numeric(),
        Kind::Optional(Some(inner)) | Kind::NotUndef(Some(inner)) => constructor_of(inner)?,
        Kind::Alias(alias) => match alias.resolved() {
            Some(resolved) => constructor_of(resolved)?,
            None => return Err(ConversionError::unsupported(ty)),
        },
        _ => return Err(ConversionError::unsupported(ty)),
    })
}
