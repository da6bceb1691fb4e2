//! The types of plans: `Target`, `Result`, `ResultSet`, …, and Bolt's aliases. Main function: [`named`].
//!
//! The rule that must hold: each type is made once in the process, since types are compared by what they
//! are.

use std::sync::{Arc, LazyLock};

use pcore::{Alias, Hash, Kind, ObjectType, Type, Value};

/// A type that plans have.
pub(crate) fn named(name: &str) -> Option<Type> {
    let name = name.to_lowercase();
    Some(match name.as_str() {
        "target" => target(),
        "result" => result(),
        "resultset" => result_set(),
        "future" => future(),
        "applyresult" => apply_result(),
        "resourceinstance" => RESOURCE_INSTANCE.clone(),
        "containerresult" => CONTAINER_RESULT.clone(),
        "targetspec" | "boltlib::targetspec" => TARGET_SPEC.clone(),
        "planresult" | "boltlib::planresult" => PLAN_RESULT.clone(),
        _ => return None,
    })
}

pub(crate) fn target() -> Type {
    static TYPE: LazyLock<Type> = LazyLock::new(|| {
        let text = Type::string();
        object("Target", &[("name", &text), ("uri", &text)])
    });
    TYPE.clone()
}

pub(crate) fn result() -> Type {
    static TYPE: LazyLock<Type> = LazyLock::new(|| {
        let value = Type::hash_of(Type::non_empty_string(), Type::any());
        object("Result", &[("target", &target()), ("value", &value)])
    });
    TYPE.clone()
}

pub(crate) fn result_set() -> Type {
    static TYPE: LazyLock<Type> =
        LazyLock::new(|| object("ResultSet", &[("results", &Type::array())]));
    TYPE.clone()
}

pub(crate) fn future() -> Type {
    static TYPE: LazyLock<Type> = LazyLock::new(|| {
        let text = Type::string();
        object("Future", &[("id", &text), ("name", &text)])
    });
    TYPE.clone()
}

pub(crate) fn apply_result() -> Type {
    APPLY_RESULT.clone()
}

static APPLY_RESULT: LazyLock<Type> =
    LazyLock::new(|| object("ApplyResult", &[("target", &target())]));
static RESOURCE_INSTANCE: LazyLock<Type> =
    LazyLock::new(|| object("ResourceInstance", &[("target", &target())]));
static CONTAINER_RESULT: LazyLock<Type> =
    LazyLock::new(|| object("ContainerResult", &[("value", &Type::any())]));

/// `Variant[String[1], Target, Array[TargetSpec]]`.
static TARGET_SPEC: LazyLock<Type> = LazyLock::new(|| {
    recursive("TargetSpec", |itself| {
        Type::variant(vec![
            Type::non_empty_string(),
            target(),
            Type::array_of(itself),
        ])
    })
});

/// Everything that a plan may give.
static PLAN_RESULT: LazyLock<Type> = LazyLock::new(|| {
    recursive("PlanResult", |itself| {
        Type::variant(vec![
            Type::boolean(),
            Type::numeric(),
            Type::string(),
            Type::undef(),
            Type::error(),
            result(),
            result_set(),
            target(),
            future(),
            APPLY_RESULT.clone(),
            RESOURCE_INSTANCE.clone(),
            CONTAINER_RESULT.clone(),
            Type::array_of(itself.clone()),
            Type::hash_of(Type::string(), itself),
        ])
    })
});

fn recursive(name: &str, of: impl FnOnce(Type) -> Type) -> Type {
    let alias = Alias::declare(name);
    let ty = of(Type::from(Arc::clone(&alias)));
    // Each of these has types in it that are no aliases.
    let _ = alias.resolve(&ty);
    Type::from(alias)
}

fn object(name: &str, attributes: &[(&str, &Type)]) -> Type {
    let object = ObjectType::declare(Some(name.into()));
    let attributes: Hash = attributes
        .iter()
        .map(|(name, ty)| (*name, Value::Type((*ty).clone())))
        .collect();
    let init: Hash = [("attributes", Value::hash(attributes))]
        .into_iter()
        .collect();
    // The attributes are this file's own, and right.
    let _ = object.define(&init);
    Kind::Object(object).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{ResultSet, Target};

    #[test]
    fn a_target_spec_is_a_name_a_target_or_a_list_of_them() {
        let spec = named("Boltlib::TargetSpec").unwrap();
        let target = Value::object(Target::new("a"));
        let list = Value::array(vec![target.clone(), Value::array(vec![Value::from("b")])]);
        for good in [Value::from("a"), target, list] {
            assert!(spec.is_instance(&good), "{good}");
        }
        for bad in [Value::Undef, Value::from(""), Value::Int(1)] {
            assert!(!spec.is_instance(&bad), "{bad}");
        }
    }

    #[test]
    fn what_a_plan_may_give() {
        let given = named("PlanResult").unwrap();
        let set = Value::object(ResultSet::default());
        let hash: Hash = [("a", set)].into_iter().collect();
        assert!(given.is_instance(&Value::hash(hash)));
        assert!(!given.is_instance(&Value::Type(Type::any())));
    }

    #[test]
    fn every_type_has_what_it_is_made_of() {
        for name in ["Target", "Result", "ResultSet", "Future", "ApplyResult"] {
            let ty = named(name).unwrap();
            let Kind::Object(object) = ty.kind() else {
                panic!("{name}");
            };
            assert!(object.body().is_some(), "{name}");
            assert!(ty.is_same(&named(name).unwrap()) || ty == named(name).unwrap());
        }
    }
}
