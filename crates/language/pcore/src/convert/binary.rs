//! Bytes from texts in several encodings, and from lists of numbers.

use super::ConversionError;
use super::constructor::{
    ConstructorParameters, ValueConstructor, hash_argument, named, struct_type,
};
use crate::text::base64;
use crate::types::{IntRange, StructElement, Type};
use crate::value::{Binary, Value};

pub(super) fn constructor() -> ValueConstructor {
    let byte = Type::integer_in(IntRange {
        from: Some(0),
        to: Some(255),
    });
    let bytes = Type::array_of(named("ByteInteger", &byte));
    let format = Type::enumeration(["%b", "%u", "%B", "%s", "%r"]);
    let format = named("Base64Format", &format);
    let of_text = Type::struct_of(vec![
        StructElement::new("value", false, Type::string()),
        StructElement::new("format", true, Type::optional_of(format.clone())),
    ]);
    let of_bytes = struct_type(&[("value", bytes.clone())], &[]);
    let of_text = named("StringHash", &of_text);
    let of_bytes = named("ArrayHash", &of_bytes);
    let hash = named("BinaryArgsHash", &Type::variant_of(vec![of_text, of_bytes]));
    ValueConstructor::new("new_Binary")
        .with_signature(
            ConstructorParameters::one("str", Type::string()).with_optional("format", format),
            |arguments| make(arguments.first(), arguments.get(1)),
        )
        .with_signature(
            ConstructorParameters::one("byte_array", bytes),
            |arguments| make(arguments.first(), None),
        )
        .with_signature(ConstructorParameters::one("hash_args", hash), |arguments| {
            make(
                hash_argument(arguments, "value"),
                hash_argument(arguments, "format"),
            )
        })
}

fn make(value: Option<&Value>, format: Option<&Value>) -> Result<Value, ConversionError> {
    let bytes = match value {
        Some(Value::Array(values)) => values
            .iter()
            .filter_map(|value| u8::try_from(value.as_int()?).ok())
            .collect(),
        Some(Value::Str(text)) => match format.and_then(Value::as_str).unwrap_or("%B") {
            "%b" => base64::decode_lenient(text),
            "%u" => base64::decode_for_urls(text).ok_or(ConversionError::Base64)?,
            "%B" => base64::decode_strict(text).ok_or(ConversionError::Base64)?,
            _ => text.as_bytes().to_vec(),
        },
        _ => Vec::new(),
    };
    Ok(Value::Binary(Binary::new(bytes)))
}
