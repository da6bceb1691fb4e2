//! The result of an action on one target. Main type: [`TaskResult`], the language's `Result`.
//!
//! Invariant: a result is ok or has an error, and its value is always a hash.

use std::any::Any;
use std::sync::Arc;

use pcore::{Hash, ObjectInstance, PuppetObject, Type, TypeKind, Value};
use serde_json::{Value as Json, json};

use super::target::PlanTarget;
use super::unknown::UnknownResult;
use crate::error_object::{error_from_json, error_object};
use crate::{json, types};

/// The language's `Result` or `ApplyResult`.
#[derive(Debug, Clone)]
pub(crate) struct TaskResult {
    target: PlanTarget,
    action: Arc<str>,
    object: Option<Arc<str>>,
    value: Arc<Hash>,
    error: Option<Value>,
    /// Set in a preview, where the value is not known.
    unknown: Option<UnknownResult>,
    /// True if it is an `ApplyResult`.
    is_apply: bool,
}

const ERROR: &str = "_error";
const OUTPUT: &str = "_output";
const SENSITIVE: &str = "_sensitive";
const REPORT: &str = "report";

impl TaskResult {
    /// Creates a result from the JSON that the job engine returned for a node.
    pub(crate) fn from_json(
        target: PlanTarget,
        action: &str,
        object: Option<&str>,
        told: &Json,
    ) -> Self {
        let ok = told["status"] == "success";
        let mut value = match Value::from_json(&told["value"]) {
            Value::Hash(hash) => Hash::clone(&hash),
            Value::Undef => Hash::new(),
            other => [("_output", other)].into_iter().collect(),
        };
        if let Some(secret) = value.get_str(SENSITIVE).cloned() {
            value.insert(SENSITIVE, Value::sensitive(secret));
        }
        let error = (!ok).then(|| match told["value"].get(ERROR) {
            Some(error) => error_from_json(error),
            None => error_object(
                "puppetlabs.tasks/task-error",
                "the node gave no result",
                Hash::new(),
                None,
            ),
        });
        if let (Some(error), None) = (&error, value.get_str(ERROR)) {
            value.insert(ERROR, Value::from_json(&json::error_to_json(error)));
        }
        Self {
            target,
            action: action.into(),
            object: object.map(Arc::from),
            value: Arc::new(value),
            error,
            unknown: None,
            is_apply: false,
        }
    }

    /// Creates a successful result that comes from no job.
    pub(crate) fn from_hash(
        target: PlanTarget,
        action: &str,
        object: Option<&str>,
        value: Hash,
    ) -> Self {
        Self {
            target,
            action: action.into(),
            object: object.map(Arc::from),
            value: Arc::new(value),
            error: None,
            unknown: None,
            is_apply: false,
        }
    }

    /// Creates a result as `Result.new` does.
    pub(crate) fn constructed(target: PlanTarget, value: Hash) -> Self {
        let error = value.get_str(ERROR).filter(|error| !error.is_undef());
        let error = error.map(error_from_value);
        Self {
            error,
            ..Self::from_hash(target, "action", None, value)
        }
    }

    /// Replaces the action and the object.
    pub(crate) fn with_action(self, action: Option<&str>, object: Option<&str>) -> Self {
        Self {
            action: action.map_or(self.action, Arc::from),
            object: object.map(Arc::from),
            ..self
        }
    }

    /// Creates a result as `ApplyResult.new` does.
    pub(crate) fn constructed_apply(target: PlanTarget, mut value: Hash) -> Self {
        if value.get_str(REPORT).is_none() {
            value.insert(REPORT, Value::hash(Hash::new()));
        }
        if let Some(message) = value.get_str(REPORT).and_then(counts_of_report) {
            value.insert(OUTPUT, message);
        }
        Self {
            action: "apply".into(),
            is_apply: true,
            ..Self::constructed(target, value)
        }
    }

    /// Converts the result of an applied catalog, whose value has a `report`, to an `ApplyResult`.
    pub(crate) fn into_apply_result(self) -> Self {
        let mut value = Hash::clone(&self.value);
        if let Some(message) = value.get_str(REPORT).and_then(counts_of_report) {
            value.insert(OUTPUT, message);
        }
        Self {
            value: Arc::new(value),
            object: None,
            is_apply: true,
            ..self
        }
    }

    /// Creates a failed result that comes from no job.
    pub(crate) fn failed(
        target: PlanTarget,
        action: &str,
        object: Option<&str>,
        error: Value,
    ) -> Self {
        let told = Value::from_json(&json::error_to_json(&error));
        Self {
            target,
            action: action.into(),
            object: object.map(Arc::from),
            value: Arc::new([(ERROR, told)].into_iter().collect()),
            error: Some(error),
            unknown: None,
            is_apply: false,
        }
    }

    /// Creates the result of an action that a preview only shows; it is assumed to succeed.
    pub(crate) fn unknown_of(
        target: PlanTarget,
        action: &str,
        object: Option<&str>,
        unknown: &UnknownResult,
    ) -> Self {
        Self {
            unknown: Some(unknown.clone()),
            ..Self::from_hash(target, action, object, Hash::new())
        }
    }

    pub(crate) fn unknown(&self) -> Option<&UnknownResult> {
        self.unknown.as_ref()
    }

    pub(crate) fn target(&self) -> &PlanTarget {
        &self.target
    }

    /// The value as facts of the target.
    pub(crate) fn facts(&self) -> Hash {
        Hash::clone(&self.value)
    }

    pub(crate) fn error(&self) -> Option<&Value> {
        self.error.as_ref()
    }

    pub(crate) fn is_ok(&self) -> bool {
        self.error.is_none()
    }

    /// Converts to JSON, with secrets redacted.
    pub(crate) fn to_data(&self) -> Json {
        json!({
            "target": self.target.safe_name(),
            "action": self.action,
            "object": self.object,
            "status": self.status(),
            "value": json::to_display_json(&self.value()),
        })
    }

    /// Converts to a hash of the language; in a preview its value stays unknown.
    pub(crate) fn data(&self) -> Value {
        let mut data = Value::from_json(&self.to_data());
        if let (Some(unknown), Value::Hash(entries)) = (&self.unknown, &data) {
            let mut entries = Hash::clone(entries);
            entries.insert("value", Value::object(unknown.clone()));
            data = Value::hash(entries);
        }
        data
    }

    fn value(&self) -> Value {
        match &self.unknown {
            Some(unknown) => Value::object(unknown.clone()),
            None => Value::Hash(self.value.clone()),
        }
    }

    fn status(&self) -> &'static str {
        match self.is_ok() {
            true => "success",
            false => "failure",
        }
    }

    fn catalog(&self) -> Value {
        let secret = match self.value.get_str(SENSITIVE) {
            Some(Value::Sensitive(secret)) => secret.as_hash(),
            _ => None,
        };
        let catalog = secret.and_then(|secret| secret.get_str("catalog"));
        catalog.cloned().unwrap_or_default()
    }

    fn message(&self) -> Value {
        let output = self.value.get_str(OUTPUT);
        output.cloned().unwrap_or_default()
    }
}

/// The message of an `ApplyResult`: the counts of resources in the report.
fn counts_of_report(report: &Value) -> Option<String> {
    let inner = |value: &Value, key: &str| value.as_hash()?.get_str(key).cloned();
    let resources = inner(&inner(report, "metrics")?, "resources")?;
    let values = inner(&resources, "values")?;
    let count = |name: &str| {
        values
            .as_array()?
            .iter()
            .find_map(|row| match row.as_array()? {
                [Value::Str(key), _, Value::Int(count)] if **key == *name => Some(*count),
                _ => None,
            })
    };
    let (changed, failed, skipped) = (count("changed")?, count("failed")?, count("skipped")?);
    let unchanged = count("total")? - changed - failed - skipped;
    let noop = count("out_of_sync")? - changed - failed;
    Some(format!(
        "changed: {changed}, failed: {failed}, unchanged: {unchanged} skipped: {skipped}, noop: {noop}"
    ))
}

impl PuppetObject for TaskResult {
    fn object_type(&self) -> Type {
        match self.is_apply {
            true => types::apply_result(),
            false => types::result(),
        }
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        if let (Some(unknown), "message" | "sensitive") = (&self.unknown, name) {
            return Some(Value::object(unknown.clone()));
        }
        Some(match name {
            "target" => Value::object(self.target.clone()),
            "action" => Value::Str(self.action.clone()),
            "object" => self.object.clone().map_or(Value::Undef, Value::Str),
            "status" => Value::from(self.status()),
            "value" => self.value(),
            "ok" => Value::Bool(self.is_ok()),
            "error" => self.error.clone().unwrap_or_default(),
            "message" => self.message(),
            "sensitive" => self.value.get_str(SENSITIVE).cloned().unwrap_or_default(),
            "to_data" => self.data(),
            "report" if self.is_apply => self.value.get_str(REPORT).cloned().unwrap_or_default(),
            "catalog" if self.is_apply => self.catalog(),
            _ => return None,
        })
    }

    fn call(&self, method: &str, arguments: &[Value]) -> Option<Result<Value, pcore::ObjectError>> {
        match (method, arguments) {
            ("[]", [_]) if self.unknown.is_some() => Some(Ok(self.value())),
            ("[]", [key]) => Some(Ok(self.value.get(key).cloned().unwrap_or_default())),
            _ => None,
        }
    }

    fn equals(&self, other: &dyn PuppetObject) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| other.target.equals(&self.target) && other.value == self.value)
    }

    fn init_hash(&self) -> Hash {
        let mut init = Hash::new();
        init.insert("target", Value::object(self.target.clone()));
        init.insert("value", Value::Hash(self.value.clone()));
        init
    }

    fn text(&self) -> Option<String> {
        Some(self.to_data().to_string())
    }

    fn has_unknown(&self) -> bool {
        self.unknown.is_some() || self.target.unknown().is_some()
    }

    fn is_of_host(&self) -> bool {
        true
    }

    fn held_values(&self) -> Vec<&Value> {
        self.value.values().chain(&self.error).collect()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The `Error` object of the `_error` in a result's value, with exactly the attributes given there.
fn error_from_value(error: &Value) -> Value {
    match (error, Type::error().kind()) {
        (Value::Hash(given), TypeKind::Object(of)) => {
            Value::Object(Arc::new(ObjectInstance::new(of, Hash::clone(given))))
        }
        (Value::Object(_), _) => error.clone(),
        _ => error_from_json(&json::to_display_json(error)),
    }
}
