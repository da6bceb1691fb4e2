//! Formatted texts of values: `String(x, '%#x')` and its maps of formats by type. Main function:
//! [`format_value`].
//!
//! Invariant: the format is that of the most specific type that accepts the value, and each field
//! has at most [`crate::FORMATTED_WIDTH_MAX`] bytes.

mod container;
mod number;
mod scalar;
mod spec;
mod sprintf;

use crate::types::{Type, TypeKind};
use crate::value::Value;
use container::Indentation;
use spec::FormatMap;

pub use spec::FormatError;

/// The text of a value: in a given format (a string), in formats by type (a hash), or in the
/// default format.
pub fn format_value(value: &Value, formats: Option<&Value>) -> Result<String, FormatError> {
    let ty = Type::infer_detailed(value);
    let usual = FormatMap::default_formats();
    let map = match formats {
        None | Some(Value::Default | Value::Undef) => usual,
        Some(Value::Str(format)) => {
            let own = match ty.kind() {
                TypeKind::Array { .. } | TypeKind::Tuple(_) => {
                    FormatMap::container_format(Type::array(), format)?
                }
                TypeKind::Hash { .. } | TypeKind::Struct(_) => {
                    FormatMap::container_format(Type::hash(), format)?
                }
                _ => FormatMap::single_format(ty.clone(), format)?,
            };
            usual.merge(&own)
        }
        Some(Value::Hash(given)) => usual.merge(&FormatMap::parse(given)?),
        Some(other) => return Err(FormatError::NotFormats(Type::infer(other).name())),
    };
    convert(&ty, value, &map, Indentation::default())
}

/// The text of a value whose detailed type is known.
fn convert(
    ty: &Type,
    value: &Value,
    map: &FormatMap,
    indentation: Indentation,
) -> Result<String, FormatError> {
    match value {
        Value::Array(values) => container::array(ty, values, map, indentation),
        Value::Hash(entries) => container::hash(ty, entries, map, indentation),
        Value::Object(object) => match ty.kind() {
            TypeKind::Iterator(_) => {
                let values = Value::array(object.elements().unwrap_or_default());
                convert(&Type::infer_detailed(&values), &values, map, indentation)
            }
            // Puppet looks for the format of the type without its parameters
            TypeKind::ObjectExtension { base, .. } => {
                scalar::object(&base.clone().into(), value, map, indentation)
            }
            _ => scalar::object(ty, value, map, indentation),
        },
        Value::Uri(uri) => scalar::uri(ty, uri, value, map, indentation),
        Value::Int(number) => number::integer(*number, &map.format_for(ty)),
        Value::Float(number) => number::float(*number, &map.format_for(ty)),
        _ => scalar::convert(value, &map.format_for(ty)),
    }
}
