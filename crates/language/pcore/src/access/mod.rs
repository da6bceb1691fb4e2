//! Types from their arguments: `Integer[1, 2]`. Main function: [`Type::parameterize`].
//!
//! Invariant: errors have Puppet's issue code and wording, and identify the wrong argument.

mod arguments;
mod catalog;
mod composed;
mod error;
mod objects;
mod sized;

use crate::types::{Type, TypeKind};
use crate::value::Value;
use arguments::flatten;
pub use arguments::ruby_class;
pub use error::AccessError;
use error::{type_label, type_label_uc};
use syntax::ast::labels::with_article;

impl Type {
    /// The type with arguments: `Integer` with 1 and 2 is `Integer[1, 2]`. For resources and
    /// classes with several titles it is a list of types.
    pub fn parameterize(&self, arguments: &[Value]) -> Result<Value, AccessError> {
        let flat = flatten(arguments);
        let flat = flat.as_slice();
        let ty = match self.kind() {
            TypeKind::Resource { .. } | TypeKind::Class(_) => {
                return catalog::parameterize_catalog(self, arguments);
            }
            TypeKind::Callable(_) => composed::callable(self, arguments)?,
            TypeKind::Struct(_) => composed::structure(self, arguments)?,
            TypeKind::Init(_) => composed::init(arguments)?,
            TypeKind::Integer(_)
            | TypeKind::Float(_)
            | TypeKind::String(_)
            | TypeKind::Collection(_)
            | TypeKind::Array { .. }
            | TypeKind::Hash { .. }
            | TypeKind::Timestamp(_)
            | TypeKind::Timespan(_) => sized::parameterize_sized(self, flat)?,
            TypeKind::Boolean(_)
            | TypeKind::Enum(_)
            | TypeKind::Pattern(_)
            | TypeKind::Regexp(_)
            | TypeKind::SemVer(_)
            | TypeKind::Runtime(_)
            | TypeKind::Uri(_)
            | TypeKind::Variant(_)
            | TypeKind::Tuple(_)
            | TypeKind::Optional(_)
            | TypeKind::NotUndef(_)
            | TypeKind::Type(_)
            | TypeKind::Sensitive(_)
            | TypeKind::Iterable(_)
            | TypeKind::Iterator(_)
            | TypeKind::Object(_)
            | TypeKind::TypeSet(_) => composed::parameterize_composed(self, flat)?,
            TypeKind::Reference(text) => {
                return Err(AccessError::new(
                    "UNKNOWN_RESOURCE_TYPE",
                    None,
                    format!("Resource type not found: {text}"),
                ));
            }
            _ => {
                let label = with_article(&type_label(self));
                return Err(AccessError::new(
                    "OPERATOR_NOT_APPLICABLE",
                    None,
                    format!("Operator '[]' is not applicable to {label}."),
                ));
            }
        };
        Ok(Value::Type(ty))
    }
}
