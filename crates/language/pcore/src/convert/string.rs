//! Texts of values: `String(x, '%#x')`.

use super::constructor::{ConstructorParameters, ValueConstructor, named, struct_type};
use crate::format::format_value;
use crate::types::Type;
use crate::value::{Regexp, Value};

const FORMAT: &str = r"^%([\s\[+#0{<(|-]*)([1-9][0-9]*)?(?:\.([0-9]+))?([a-zA-Z])$";

pub(super) fn constructor() -> ValueConstructor {
    let format = named("Format", &Type::pattern(vec![Regexp::new(FORMAT)]));
    let container = struct_type(
        &[],
        &[
            ("format", format.clone()),
            ("separator", Type::string()),
            ("separator2", Type::string()),
            (
                "string_formats",
                Type::hash_of(Type::type_type(), format.clone()),
            ),
        ],
    );
    let container = named("ContainerFormat", &container);
    let map = Type::hash_of(Type::type_type(), Type::variant_of(vec![format, container]));
    let map = named("TypeMap", &map);
    let formats = Type::variant_of(vec![Type::default_type(), Type::non_empty_string(), map]);
    let formats = named("Formats", &formats);
    let from = named("Convertible", &Type::any());
    ValueConstructor::new("new_string").with_signature(
        ConstructorParameters::one("from", from).with_optional("string_formats", formats),
        |arguments| {
            let value = arguments.first().unwrap_or(&Value::Undef);
            Ok(Value::from(format_value(value, arguments.get(1))?))
        },
    )
}
