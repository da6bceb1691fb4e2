//! Properties of all types and values.

use pcore::{Type, TypeKind, Value, format_value};
use proptest::prelude::*;

use super::generated::{type_text, value_text};
use super::{ty, value};

/// Puppet leaves `Undef` out of common supertypes.
fn holds_undef(text: &str) -> bool {
    ["Undef", "Optional", "Variant"]
        .iter()
        .any(|name| text.contains(name))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, max_global_rejects: 50_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_type_reads_back_from_its_text(text in type_text()) {
        // Sensitive generalizes once: that of an Enum is a sized String, that of an empty list
        // contains Unit, which has no name
        let twice = text.contains("0, 0") || text.contains("Enum");
        prop_assume!(!(text.contains("Sensitive") && twice));
        let one = ty(&text);
        prop_assert_eq!(ty(&one.to_string()), one);
    }

    #[test]
    fn a_type_takes_itself(text in type_text()) {
        let one = ty(&text);
        // an empty Variant accepts any Variant, but a NotUndef of an empty type accepts nothing
        prop_assume!(!text.contains("NotUndef"));
        prop_assert!(one.is_assignable(&one), "{}", one);
    }

    #[test]
    fn what_two_types_have_in_common_takes_both(a in type_text(), b in type_text()) {
        prop_assume!(!holds_undef(&a) && !holds_undef(&b));
        prop_assume!(!a.contains("NotUndef") && !b.contains("NotUndef"));
        // Puppet forgets that one of two Enums ignores case
        prop_assume!(!a.contains("true]") && !b.contains("true]"));
        let (a, b) = (ty(&a), ty(&b));
        let common = a.common(&b);
        prop_assert!(common.is_assignable(&a), "{} takes {}", common, a);
        prop_assert!(common.is_assignable(&b), "{} takes {}", common, b);
    }

    #[test]
    fn a_value_belongs_to_its_types(text in value_text()) {
        let one = value(&text);
        let (wide, detailed) = (Type::infer(&one), Type::infer_detailed(&one));
        prop_assert!(detailed.is_instance(&one), "{} is a {}", text, detailed);
        prop_assert!(detailed.generalize().is_instance(&one) || text.contains("[]") || text.contains("{}"),
            "{} is a {}", text, detailed.generalize());
        let is_container = matches!(wide.kind(), TypeKind::Array { .. } | TypeKind::Hash { .. });
        prop_assert!(is_container || wide == detailed, "{} is not {}", wide, detailed);
    }

    #[test]
    fn what_takes_a_type_takes_its_values(text in value_text(), other in type_text()) {
        // a Struct accepts hashes without a check of their keys, an Iterable all integers
        prop_assume!(!other.contains("Struct") && !other.contains("Iterable"));
        let one = value(&text);
        let other = ty(&other);
        if other.is_assignable(&Type::infer_detailed(&one)) && other.is_iterable() {
            prop_assert!(other.is_instance(&one), "{} is a {}", text, other);
        }
    }

    #[test]
    fn normalizing_does_not_change_what_a_type_holds(ty_text in type_text(), text in value_text()) {
        // Puppet drops the sizes of a Collection and of an Array[Any]
        let sized = ty_text.contains("Collection") || ty_text.contains("Array[Any,");
        // and converts an Optional[NotUndef[Any]] to an Optional of nothing
        let undone = ty_text.contains("Optional") && ty_text.contains("NotUndef");
        prop_assume!(!sized && !undone && !ty_text.contains("Optional,"));
        let one = ty(&ty_text);
        let value = value(&text);
        prop_assert_eq!(one.is_instance(&value), one.normalize().is_instance(&value), "{}", one);
    }

    #[test]
    fn rich_data_reads_back(text in value_text()) {
        let one = value(&text);
        let json = one.to_rich_json().unwrap();
        prop_assert_eq!(Value::from_rich_json(&json, &|_| None).unwrap(), one);
    }

    #[test]
    fn types_read_back_from_rich_data(text in type_text()) {
        let one = Value::Type(ty(&text));
        let json = one.to_rich_json().unwrap();
        prop_assert_eq!(Value::from_rich_json(&json, &|_| None).unwrap(), one);
    }

    #[test]
    fn programs_read_values_back(text in value_text()) {
        let one = value(&text);
        prop_assert_eq!(value(&one.to_program_string()), one);
    }

    #[test]
    fn formats_of_any_kind_never_panic(text in value_text(), format in "%[-+ #0<(\\[{|]{0,3}[0-9]{0,2}(\\.[0-9]{1,2})?[a-zA-Z]") {
        let _ = format_value(&value(&text), Some(&Value::from(format)));
    }

    #[test]
    fn types_of_any_text_never_panic(text in ".{0,40}") {
        let _ = Type::parse(&text);
    }

    #[test]
    fn conversions_of_any_text_never_panic(text in ".{0,20}", name in type_text()) {
        let _ = pcore::new_instance(&ty(&name), &[Value::from(text)]);
    }
}
