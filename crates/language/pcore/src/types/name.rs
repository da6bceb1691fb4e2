//! Names of types without their parameters.

use super::{Type, TypeKind};

impl Type {
    /// The name: that of the alias or object type if it has one, otherwise that of the kind.
    #[must_use]
    pub fn name(&self) -> String {
        match self.kind() {
            TypeKind::Alias(alias) => alias.name().to_owned(),
            TypeKind::Object(object) => match object.name() {
                Some(name) => name.to_owned(),
                None => self.simple_name(),
            },
            TypeKind::TypeSet(Some(set)) => set.name().unwrap_or("TypeSet").to_owned(),
            TypeKind::TypeSet(None) => "DefaultTypeSet".to_owned(),
            _ => self.simple_name(),
        }
    }

    /// The name of the kind; for an object type, the last segment of its name.
    #[must_use]
    pub fn simple_name(&self) -> String {
        match self.kind() {
            TypeKind::Object(object) | TypeKind::ObjectExtension { base: object, .. } => {
                let label = object.label();
                label.rsplit("::").next().unwrap_or(label).to_owned()
            }
            kind => kind.word().to_owned(),
        }
    }

    /// The type of this kind without parameters.
    #[must_use]
    pub fn bare(&self) -> Self {
        match self.kind() {
            TypeKind::Object(_) => Self::object(),
            // Puppet's object types with parameters inherit the default of Any
            TypeKind::ObjectExtension { .. } => Self::any(),
            TypeKind::Unit => Self::unit(),
            kind => Self::builtin(kind.word()).unwrap_or_else(Self::any),
        }
    }
}

impl TypeKind {
    /// The keyword of the kind in a program.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Any => "Any",
            Self::Undef => "Undef",
            Self::Default => "Default",
            Self::Unit => "Unit",
            Self::Scalar => "Scalar",
            Self::ScalarData => "ScalarData",
            Self::Numeric => "Numeric",
            Self::Integer(_) => "Integer",
            Self::Float(_) => "Float",
            Self::Boolean(_) => "Boolean",
            Self::String(_) => "String",
            Self::Enum(_) => "Enum",
            Self::Pattern(_) => "Pattern",
            Self::Regexp(_) => "Regexp",
            Self::Collection(_) => "Collection",
            Self::Array { .. } => "Array",
            Self::Hash { .. } => "Hash",
            Self::Tuple(_) => "Tuple",
            Self::Struct(_) => "Struct",
            Self::Variant(_) => "Variant",
            Self::Optional(_) => "Optional",
            Self::NotUndef(_) => "NotUndef",
            Self::Type(_) => "Type",
            Self::Callable(_) => "Callable",
            Self::Iterable(_) => "Iterable",
            Self::Iterator(_) => "Iterator",
            Self::CatalogEntry => "CatalogEntry",
            Self::Resource { .. } => "Resource",
            Self::Class(_) => "Class",
            Self::Sensitive(_) => "Sensitive",
            Self::SemVer(_) => "SemVer",
            Self::SemVerRange => "SemVerRange",
            Self::Timestamp(_) => "Timestamp",
            Self::Timespan(_) => "Timespan",
            Self::Binary => "Binary",
            Self::Uri(_) => "URI",
            Self::Runtime(_) => "Runtime",
            Self::Init(_) => "Init",
            Self::Object(_) | Self::ObjectExtension { .. } => "Object",
            Self::TypeSet(_) => "TypeSet",
            Self::Alias(_) => "TypeAlias",
            Self::Reference(_) => "TypeReference",
        }
    }
}
