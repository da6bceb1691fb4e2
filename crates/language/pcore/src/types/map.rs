//! Types made from other types: [`Type::without_sensitive`], [`Type::without_values`].
//!
//! Invariant: a recursive alias is never expanded, so each function ends.

use super::visit::visit;
use super::{StructElement, Type, TypeKind};

impl Type {
    /// True if this type is or contains `Sensitive`, aliases included.
    #[must_use]
    pub fn has_sensitive(&self) -> bool {
        let mut found = false;
        visit(self, &mut |one| {
            found |= matches!(one.kind(), TypeKind::Sensitive(_));
            !found
        });
        found
    }

    /// The type with every `Sensitive[T]` replaced by `T`, for values that are not wrapped because
    /// they come from JSON. A recursive alias stays as it is.
    #[must_use]
    pub fn without_sensitive(&self) -> Self {
        match self.has_sensitive() {
            true => self.map(&|one| match one.kind() {
                TypeKind::Sensitive(inner) => Some(inner.without_sensitive()),
                TypeKind::Alias(alias) if !alias.is_recursive() => {
                    alias.resolved().map(Self::without_sensitive)
                }
                _ => None,
            }),
            false => self.clone(),
        }
    }

    /// The type of a value without the value itself, for messages that must not show it: of a
    /// string, number or boolean only the kind remains. Keys of hashes remain.
    #[must_use]
    pub fn without_values(&self) -> Self {
        self.map(&|one| match one.kind() {
            TypeKind::String(_) => Some(Self::string()),
            TypeKind::Integer(_) => Some(Self::integer()),
            TypeKind::Float(_) => Some(Self::float()),
            TypeKind::Boolean(_) => Some(Self::boolean()),
            _ => None,
        })
    }

    /// Replaces each part for which `replace` returns a type, and descends into the others.
    fn map(&self, replace: &dyn Fn(&Self) -> Option<Self>) -> Self {
        if let Some(replaced) = replace(self) {
            return replaced;
        }
        let all = |types: &[Self]| types.iter().map(|one| one.map(replace)).collect();
        match self.kind() {
            TypeKind::Optional(Some(inner)) => Self::optional_of(inner.map(replace)),
            TypeKind::NotUndef(Some(inner)) => Self::not_undef_of(inner.map(replace)),
            TypeKind::Variant(types) => Self::variant_of(all(types)),
            TypeKind::Array { element, size } => Self::array_sized(element.map(replace), *size),
            TypeKind::Hash { key, value, size } => {
                Self::hash_sized(key.map(replace), value.map(replace), *size)
            }
            TypeKind::Tuple(tuple) => Self::tuple_of(all(&tuple.types), tuple.size),
            TypeKind::Struct(elements) => {
                let mapped =
                    |element: &StructElement| element.with_value(element.value().map(replace));
                Self::struct_of(elements.iter().map(mapped).collect())
            }
            _ => self.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Hash, Value};

    #[test]
    fn sensitive_is_found_and_removed_at_any_depth() {
        for (text, plain) in [
            ("Sensitive[String]", "String"),
            ("Sensitive", "Any"),
            // As in Puppet, Sensitive accepts any value of the general type.
            ("Optional[Sensitive[String[1]]]", "Optional[String]"),
            ("NotUndef[Sensitive[Integer]]", "NotUndef[Integer]"),
            ("Array[Sensitive[String], 1, 3]", "Array[String, 1, 3]"),
            ("Hash[String, Sensitive[Integer]]", "Hash[String, Integer]"),
            (
                "Variant[Integer, Sensitive[String]]",
                "Variant[Integer, String]",
            ),
            (
                "Tuple[Sensitive[String], Integer]",
                "Tuple[String, Integer]",
            ),
            (
                "Struct[{Optional['a'] => Sensitive[String]}]",
                "Struct[{Optional['a'] => String}]",
            ),
        ] {
            let ty = Type::parse(text).unwrap();
            assert!(ty.has_sensitive(), "{text}");
            assert_eq!(
                ty.without_sensitive(),
                Type::parse(plain).unwrap(),
                "{text}"
            );
        }
        assert!(!Type::parse("Array[String]").unwrap().has_sensitive());
    }

    #[test]
    fn types_of_values_lose_the_values() {
        let hash: Hash = [("k", Value::array(vec!["CANARY".into(), Value::Int(7)]))]
            .into_iter()
            .collect();
        let ty = Type::infer_detailed(&Value::hash(hash)).without_values();
        assert_eq!(ty.to_string(), "Struct[{'k' => Tuple[String, Integer]}]");
    }
}
