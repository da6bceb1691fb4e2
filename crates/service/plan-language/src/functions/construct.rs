//! `Target.new`, `Result.new`, `ResultSet.new`, `ApplyResult.new`. Main function: [`construct`].
//!
//! Invariant: the arguments are checked against the type's own attributes before an object is
//! created, and the state of a target is stored under its name.

use std::sync::Arc;

use evaluator::{EvalError, EvalResult};
use pcore::{
    CallSignature, CallableType, Hash, IntRange, StructElement, TupleType, Type, TypeKind, Value,
    describe_call,
};

use super::new_target::target_of;
use crate::host::PlanHost;
use crate::objects::{PlanResource, PlanTarget, ResultSet, TaskResult};
use crate::types;

/// Creates an object of a type; `None` if it is not a type of plans.
pub(crate) fn construct(host: &PlanHost<'_>, ty: &Type, arguments: &[Value]) -> Option<EvalResult> {
    Some(match () {
        () if *ty == types::target() => target(host, arguments),
        () if *ty == types::result() => result(arguments),
        () if *ty == types::result_set() => result_set(arguments),
        () if *ty == types::resource_instance() => resource_instance(arguments),
        () if *ty == types::apply_result() => apply_result(arguments),
        () => return None,
    })
}

/// One signature of a constructor.
struct ConstructorForm {
    signature: CallSignature,
    arguments: Type,
}

impl ConstructorForm {
    /// Creates a signature with parameters by position; the optional ones come last.
    fn new(required: &[(&str, Type)], optional: &[(&str, Type)]) -> Self {
        let all = || required.iter().chain(optional);
        let types = all().map(|(_, ty)| ty.clone()).collect();
        let count = |number: usize| i64::try_from(number).ok();
        let size = IntRange::new(count(required.len()), count(all().count()));
        let tuple = TupleType::new(types, size);
        Self {
            signature: CallSignature {
                callable: CallableType::new(Some(tuple.clone()), None, None),
                parameter_names: all().map(|(name, _)| Arc::from(*name)).collect(),
                block_name: "block".into(),
            },
            arguments: TypeKind::Tuple(tuple).into(),
        }
    }

    /// Creates a signature of one hash with these keys.
    fn of_hash(elements: Vec<StructElement>) -> Self {
        Self::new(&[("hash", Type::struct_of(elements))], &[])
    }

    fn takes(&self, arguments: &[Value]) -> bool {
        self.arguments
            .is_instance(&Value::array(arguments.to_vec()))
    }
}

/// The error of arguments that fit no signature: a mistake in the plan's code, which cannot be
/// caught.
fn refused<T>(name: &str, forms: &[&ConstructorForm], arguments: &[Value]) -> EvalResult<T> {
    let signatures: Vec<CallSignature> = forms.iter().map(|form| form.signature.clone()).collect();
    let given: Vec<Type> = arguments.iter().map(Type::infer_detailed).collect();
    Err(EvalError::without_location(describe_call(name, &signatures, &given)).into())
}

fn attributes(ty: &Type) -> Vec<StructElement> {
    match ty.kind() {
        TypeKind::Object(object) => object.init_hash_type(),
        _ => Vec::new(),
    }
}

/// The attributes of a target in the order of positional arguments.
const TARGET_ORDER: [&str; 10] = [
    "uri",
    "name",
    "safe_name",
    "target_alias",
    "config",
    "facts",
    "vars",
    "features",
    "plugin_hooks",
    "resources",
];

fn target(host: &PlanHost<'_>, arguments: &[Value]) -> EvalResult {
    let elements = attributes(&types::target());
    let by_place: Vec<(&str, Type)> = TARGET_ORDER
        .into_iter()
        .filter_map(|name| {
            let element = elements.iter().find(|element| element.name() == name)?;
            Some((name, element.value().clone()))
        })
        .collect();
    let by_hash = ConstructorForm::of_hash(elements.clone());
    let by_place = ConstructorForm::new(&[], &by_place);
    match arguments {
        [Value::Hash(hash)] if by_hash.takes(arguments) => target_of(host, hash),
        // As in Bolt, only the first argument is used.
        [uri, ..] if by_place.takes(arguments) => {
            target_of(host, &[("uri", uri.clone())].into_iter().collect())
        }
        [] => target_of(host, &Hash::new()),
        _ => refused("new_Target", &[&by_hash, &by_place], arguments),
    }
}

fn value_type() -> Type {
    Type::hash_of(Type::non_empty_string(), Type::data())
}

fn element(name: &str, is_optional: bool, ty: Type) -> StructElement {
    StructElement::new(name, is_optional, ty)
}

fn result(arguments: &[Value]) -> EvalResult {
    let text = || Type::optional_of(Type::string());
    let by_place =
        ConstructorForm::new(&[("target", types::target()), ("value", value_type())], &[]);
    let by_hash = ConstructorForm::of_hash(vec![
        element("target", false, types::target()),
        element("value", true, Type::optional_of(value_type())),
        element("error", true, error_type()),
        element("message", true, text()),
        element("action", true, text()),
        element("object", true, text()),
    ]);
    match arguments {
        [target, Value::Hash(value)] if by_place.takes(arguments) => {
            construct_result(target, |target| {
                TaskResult::constructed(target, Hash::clone(value))
            })
        }
        [Value::Hash(hash)] if by_hash.takes(arguments) => result_of_hash(hash),
        [Value::Hash(_)] => refused("new_Result", &[&by_place, &by_hash], arguments),
        _ => refused("new_Result", &[&by_place], arguments),
    }
}

/// The type of an `Error`, or of a hash of its attributes.
fn error_type() -> Type {
    let hash = Type::hash_of(Type::non_empty_string(), Type::any());
    Type::optional_of(Type::variant(vec![Type::error(), hash]))
}

fn result_of_hash(hash: &Hash) -> EvalResult {
    let text = |key: &str| hash.get_str(key).and_then(Value::as_str);
    let value = hash.get_str("value").and_then(Value::as_hash).cloned();
    let mut value = value.unwrap_or_default();
    if let Some(error) = given_error(hash) {
        value.insert("_error", error);
    }
    if let Some(message) = text("message") {
        value.insert("_output", message);
    }
    let (action, object) = (text("action"), text("object"));
    construct_result(hash.get_str("target").unwrap_or(&Value::Undef), |target| {
        TaskResult::constructed(target, value).with_action(action, object)
    })
}

/// Returns the key `error` in the form that a result's value has.
fn given_error(hash: &Hash) -> Option<Value> {
    let error = hash.get_str("error").filter(|error| !error.is_undef())?;
    Some(match error {
        Value::Object(_) => Value::from_json(&crate::json::error_to_json(error)),
        hash => hash.clone(),
    })
}

fn construct_result(target: &Value, make: impl FnOnce(PlanTarget) -> TaskResult) -> EvalResult {
    match target.downcast_object::<PlanTarget>() {
        Some(target) => Ok(Value::object(make(target.clone()))),
        // In a preview the target may be unknown, and so is the result.
        None => Ok(target.clone()),
    }
}

fn apply_result(arguments: &[Value]) -> EvalResult {
    let by_hash = ConstructorForm::of_hash(vec![
        element("target", false, types::target()),
        element("report", true, Type::optional_of(value_type())),
        element("error", true, error_type()),
        element("catalog", true, Type::optional_of(Type::hash())),
    ]);
    let by_place =
        ConstructorForm::new(&[("target", types::target()), ("value", value_type())], &[]);
    let (target, value) = match arguments {
        [Value::Hash(hash)] if by_hash.takes(arguments) => {
            let target = hash.get_str("target").unwrap_or(&Value::Undef);
            (target, value_of_apply(hash))
        }
        [target, Value::Hash(value)] if by_place.takes(arguments) => (target, Hash::clone(value)),
        _ => return refused("new_ApplyResult", &[&by_hash, &by_place], arguments),
    };
    construct_result(target, |target| {
        TaskResult::constructed_apply(target, value)
    })
}

fn resource_instance(arguments: &[Value]) -> EvalResult {
    let hash = || Type::optional_of(value_type());
    let names = Type::variant(vec![
        Type::non_empty_string(),
        Type::type_of(Type::resource()),
    ]);
    let by_hash = ConstructorForm::of_hash(vec![
        element("target", false, types::target()),
        element("type", false, names.clone()),
        element("title", false, Type::non_empty_string()),
        element("state", true, hash()),
        element("desired_state", true, hash()),
        element("events", true, Type::optional_of(Type::array())),
    ]);
    let by_place = ConstructorForm::new(
        &[
            ("target", types::target()),
            ("type", names),
            ("title", Type::non_empty_string()),
        ],
        &[("state", hash()), ("desired_state", hash())],
    );
    let given = match arguments {
        [Value::Hash(given)] if by_hash.takes(arguments) => Hash::clone(given),
        [_, _, ..] if by_place.takes(arguments) => {
            let names = ["target", "type", "title", "state", "desired_state"];
            let given = names.into_iter().zip(arguments);
            given.map(|(name, value)| (name, value.clone())).collect()
        }
        _ => return refused("new_ResourceInstance", &[&by_hash, &by_place], arguments),
    };
    let target = given.get_str("target").cloned().unwrap_or_default();
    let Some(target) = target.downcast_object::<PlanTarget>() else {
        return Ok(target);
    };
    match PlanResource::from_hash(target.clone(), &given) {
        Some(resource) => Ok(Value::object(resource)),
        None => refused("new_ResourceInstance", &[&by_hash, &by_place], arguments),
    }
}

fn value_of_apply(hash: &Hash) -> Hash {
    let mut value = Hash::new();
    if let Some(report) = hash.get_str("report").filter(|report| !report.is_undef()) {
        value.insert("report", report.clone());
    }
    if let Some(error) = given_error(hash) {
        value.insert("_error", error);
    }
    if let Some(catalog @ Value::Hash(_)) = hash.get_str("catalog") {
        let secret = [("catalog", catalog.clone())].into_iter().collect();
        value.insert("_sensitive", Value::sensitive(Value::hash(secret)));
    }
    value
}

fn result_set(arguments: &[Value]) -> EvalResult {
    let results = Type::array_of(Type::variant(vec![types::result(), types::apply_result()]));
    let by_place = ConstructorForm::new(&[("results", results.clone())], &[]);
    let by_hash = ConstructorForm::of_hash(vec![element("results", false, results)]);
    let results = match arguments {
        [Value::Array(results)] if by_place.takes(arguments) => results,
        [Value::Hash(hash)] if by_hash.takes(arguments) => match hash.get_str("results") {
            Some(Value::Array(results)) => results,
            _ => return refused("new_ResultSet", &[&by_hash], arguments),
        },
        _ => return refused("new_ResultSet", &[&by_place], arguments),
    };
    let results = results
        .iter()
        .filter_map(|value| value.downcast_object::<TaskResult>().cloned());
    Ok(Value::object(ResultSet::new(results)))
}
