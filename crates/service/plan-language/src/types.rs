//! The types of plans: `Target`, `Result`, `ResultSet`, …, and Bolt's aliases. Main function:
//! [`type_by_name`].
//!
//! Invariant: each type is created once per process and shared.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use pcore::{Hash, NamedTypeAlias, ObjectTypeDefinition, Type, TypeKind, Value};

/// Returns the type of a name, in any case; `None` if plans have no such type.
pub(crate) fn type_by_name(name: &str) -> Option<Type> {
    let name = name.to_lowercase();
    Some(match name.as_str() {
        "target" => target(),
        "result" => result(),
        "resultset" => result_set(),
        "future" => future(),
        "applyresult" => apply_result(),
        "resourceinstance" | "containerresult" => OBJECTS.get(&name),
        "boltlib::targetspec" => TARGET_SPEC.clone(),
        "boltlib::planresult" => PLAN_RESULT.clone(),
        "targetspec" => SHORT_TARGET_SPEC.clone(),
        "planresult" => SHORT_PLAN_RESULT.clone(),
        _ => return None,
    })
}

pub(crate) fn target() -> Type {
    OBJECTS.get("target")
}

pub(crate) fn result() -> Type {
    OBJECTS.get("result")
}

pub(crate) fn result_set() -> Type {
    OBJECTS.get("resultset")
}

pub(crate) fn future() -> Type {
    OBJECTS.get("future")
}

pub(crate) fn apply_result() -> Type {
    OBJECTS.get("applyresult")
}

pub(crate) fn resource_instance() -> Type {
    OBJECTS.get("resourceinstance")
}

static OBJECTS: LazyLock<PlanObjects> = LazyLock::new(PlanObjects::new);

/// The object types of plans by lower-case name. The types refer to each other, so all are declared
/// before the first is defined.
struct PlanObjects(HashMap<String, Type>);

impl PlanObjects {
    fn new() -> Self {
        let declared: HashMap<String, Arc<ObjectTypeDefinition>> = SPECS
            .iter()
            .map(|spec| {
                let object = ObjectTypeDefinition::declare(Some(spec.name.into()));
                (spec.name.to_lowercase(), object)
            })
            .collect();
        let lookup = |name: &str| {
            let object = declared.get(&name.to_lowercase())?;
            Some(TypeKind::Object(Arc::clone(object)).into())
        };
        for spec in SPECS {
            if let Some(object) = declared.get(&spec.name.to_lowercase()) {
                // The definitions are the constants below, and a test defines each of them.
                let _ = object.define(&spec.init_hash(&lookup));
            }
        }
        let types = declared.into_iter();
        Self(
            types
                .map(|(name, object)| (name, TypeKind::Object(object).into()))
                .collect(),
        )
    }

    fn get(&self, name: &str) -> Type {
        self.0.get(name).cloned().unwrap_or_else(Type::any)
    }
}

/// The members of an object type, as in Bolt. Messages about wrong arguments show them.
struct ObjectSpec {
    name: &'static str,
    attributes: &'static [(&'static str, &'static str)],
    /// True if all attributes are optional when an object is created.
    is_derived: bool,
    functions: &'static [(&'static str, &'static str)],
}

impl ObjectSpec {
    fn init_hash(&self, lookup: pcore::TypeLookup<'_>) -> Hash {
        let parse = |text: &str| {
            Value::Type(Type::parse_with(text, lookup).unwrap_or_else(|_| Type::any()))
        };
        let attribute = |text: &str| match self.is_derived {
            false => parse(text),
            true => {
                let features = [
                    ("type", parse(text)),
                    ("kind", Value::from("given_or_derived")),
                ];
                Value::hash(features.into_iter().collect())
            }
        };
        let attributes: Hash = self
            .attributes
            .iter()
            .map(|(name, text)| (*name, attribute(text)))
            .collect();
        let functions: Hash = self
            .functions
            .iter()
            .map(|(name, text)| (*name, parse(text)))
            .collect();
        let mut init = Hash::new();
        if !attributes.is_empty() {
            init.insert("attributes", Value::hash(attributes));
        }
        if !functions.is_empty() {
            init.insert("functions", Value::hash(functions));
        }
        init
    }
}

const SPECS: &[ObjectSpec] = &[
    ObjectSpec {
        name: "Target",
        attributes: &[
            ("uri", "Optional[String[1]]"),
            ("name", "Optional[String[1]]"),
            ("safe_name", "Optional[String[1]]"),
            (
                "target_alias",
                "Optional[Variant[String[1], Array[String[1]]]]",
            ),
            ("config", "Optional[Hash[String[1], Data]]"),
            ("vars", "Optional[Hash[String[1], Data]]"),
            ("facts", "Optional[Hash[String[1], Data]]"),
            ("features", "Optional[Array[String[1]]]"),
            ("plugin_hooks", "Optional[Hash[String[1], Data]]"),
            ("resources", "Optional[Hash[String[1], ResourceInstance]]"),
        ],
        is_derived: true,
        functions: &[
            ("host", "Callable[[], Optional[String]]"),
            ("password", "Callable[[], Optional[String[1]]]"),
            ("port", "Callable[[], Optional[Integer]]"),
            ("protocol", "Callable[[], Optional[String[1]]]"),
            ("transport", "Callable[[], String[1]]"),
            ("transport_config", "Callable[[], Hash[String[1], Data]]"),
            ("user", "Callable[[], Optional[String[1]]]"),
        ],
    },
    ObjectSpec {
        name: "Result",
        attributes: &[("value", "Hash[String[1], Data]"), ("target", "Target")],
        is_derived: false,
        functions: &[
            ("error", "Callable[[], Optional[Error]]"),
            ("message", "Callable[[], Optional[String]]"),
            ("sensitive", "Callable[[], Optional[Sensitive[Data]]]"),
            ("action", "Callable[[], String]"),
            ("status", "Callable[[], String]"),
            ("to_data", "Callable[[], Hash]"),
            ("ok", "Callable[[], Boolean]"),
            (
                "[]",
                "Callable[[String[1]], Variant[Data, Sensitive[Data]]]",
            ),
        ],
    },
    ObjectSpec {
        name: "ResultSet",
        attributes: &[("results", "Array[Variant[Result, ApplyResult]]")],
        is_derived: false,
        functions: &[
            ("count", "Callable[[], Integer]"),
            ("empty", "Callable[[], Boolean]"),
            ("error_set", "Callable[[], ResultSet]"),
            ("filter_set", "Callable[[Callable], ResultSet]"),
            (
                "find",
                "Callable[[String[1]], Optional[Variant[Result, ApplyResult]]]",
            ),
            (
                "first",
                "Callable[[], Optional[Variant[Result, ApplyResult]]]",
            ),
            ("names", "Callable[[], Array[String[1]]]"),
            ("ok", "Callable[[], Boolean]"),
            ("ok_set", "Callable[[], ResultSet]"),
            ("targets", "Callable[[], Array[Target]]"),
            ("to_data", "Callable[[], Array[Hash]]"),
            ("[]", "Callable[[Integer, Integer, 1, 2], Any]"),
        ],
    },
    ObjectSpec {
        name: "ApplyResult",
        attributes: &[
            ("report", "Hash[String[1], Data]"),
            ("target", "Target"),
            ("error", "Optional[Error]"),
            ("catalog", "Optional[Hash]"),
        ],
        is_derived: false,
        functions: &[
            ("ok", "Callable[[], Boolean]"),
            ("message", "Callable[[], Optional[String]]"),
            ("action", "Callable[[], String]"),
            ("to_data", "Callable[[], Hash]"),
            ("value", "Callable[[], Hash]"),
        ],
    },
    ObjectSpec {
        name: "Future",
        attributes: &[],
        is_derived: false,
        functions: &[("state", "Callable[[], Enum['running', 'done', 'error']]")],
    },
    ObjectSpec {
        name: "ResourceInstance",
        attributes: &[
            ("target", "Target"),
            ("type", "Variant[String[1], Type[Resource]]"),
            ("title", "String[1]"),
            ("state", "Optional[Hash[String[1], Data]]"),
            ("desired_state", "Optional[Hash[String[1], Data]]"),
            ("events", "Optional[Array[Hash[String[1], Data]]]"),
        ],
        is_derived: false,
        functions: &[
            ("reference", "Callable[[], String]"),
            ("[]", "Callable[[String[1]], Data]"),
        ],
    },
    ObjectSpec {
        name: "ContainerResult",
        attributes: &[("value", "Hash[String[1], Data]")],
        is_derived: false,
        functions: &[
            ("[]", "Callable[[String[1]], Data]"),
            ("error", "Callable[[], Optional[Error]]"),
            ("ok", "Callable[[], Boolean]"),
            ("status", "Callable[[], String]"),
            ("stdout", "Callable[[], String]"),
            ("stderr", "Callable[[], String]"),
            ("to_data", "Callable[[], Hash]"),
        ],
    },
];

/// `Variant[String[1], Target, Array[TargetSpec]]`.
static TARGET_SPEC: LazyLock<Type> = LazyLock::new(|| {
    recursive("Boltlib::TargetSpec", |itself| {
        Type::variant(vec![
            Type::non_empty_string(),
            target(),
            Type::array_of(itself),
        ])
    })
});

/// Every type that a plan may return.
static PLAN_RESULT: LazyLock<Type> = LazyLock::new(|| {
    recursive("Boltlib::PlanResult", |itself| {
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
            apply_result(),
            OBJECTS.get("resourceinstance"),
            OBJECTS.get("containerresult"),
            Type::array_of(itself.clone()),
            Type::hash_of(Type::string(), itself),
        ])
    })
});

fn recursive(name: &str, of: impl FnOnce(Type) -> Type) -> Type {
    let alias = NamedTypeAlias::declare(name);
    let ty = of(Type::from(Arc::clone(&alias)));
    // Resolving cannot fail: each of these aliases contains types that are not aliases.
    let _ = alias.resolve(&ty);
    Type::from(alias)
}

static SHORT_TARGET_SPEC: LazyLock<Type> =
    LazyLock::new(|| recursive("TargetSpec", |_| TARGET_SPEC.clone()));
static SHORT_PLAN_RESULT: LazyLock<Type> =
    LazyLock::new(|| recursive("PlanResult", |_| PLAN_RESULT.clone()));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{PlanTarget, ResultSet};

    #[test]
    fn a_target_spec_is_a_name_a_target_or_a_list_of_them() {
        let spec = type_by_name("Boltlib::TargetSpec").unwrap();
        let target = Value::object(PlanTarget::new("a"));
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
        let given = type_by_name("PlanResult").unwrap();
        let set = Value::object(ResultSet::default());
        let hash: Hash = [("a", set)].into_iter().collect();
        assert!(given.is_instance(&Value::hash(hash)));
        assert!(!given.is_instance(&Value::Type(Type::any())));
    }

    #[test]
    fn every_type_has_what_it_is_made_of() {
        for name in SPECS.iter().map(|spec| spec.name) {
            let ty = type_by_name(name).unwrap();
            let TypeKind::Object(object) = ty.kind() else {
                panic!("{name}");
            };
            let body = object.body().expect(name);
            let spec = SPECS.iter().find(|spec| spec.name == name).unwrap();
            let hash = object.init_hash(false);
            let members = |key: &str| {
                hash.get_str(key)
                    .and_then(Value::as_hash)
                    .map_or(0, Hash::len)
            };
            assert_eq!(
                members("attributes"),
                spec.attributes.len(),
                "{name}: {body:?}"
            );
            assert_eq!(
                members("functions"),
                spec.functions.len(),
                "{name}: {body:?}"
            );
            assert!(
                !hash.values().any(|it| it.to_string().contains("=> Any")),
                "{name}"
            );
            assert!(ty.is_same(&type_by_name(name).unwrap()) || ty == type_by_name(name).unwrap());
        }
    }
}
