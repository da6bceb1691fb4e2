//! A resource of a target, as a plan knows it. Main type: [`PlanResource`], the language's
//! `ResourceInstance`.
//!
//! Invariant: type and title identify the resource on its target.

use std::any::Any;
use std::sync::Arc;

use pcore::{Hash, PuppetObject, Type, TypeKind, Value};

use super::PlanTarget;
use crate::types;

/// A resource: its identity, and its states as far as the plan set them.
#[derive(Debug, Clone)]
pub(crate) struct PlanResource {
    target: PlanTarget,
    type_name: Arc<str>,
    title: Arc<str>,
    state: Value,
    desired_state: Value,
    events: Value,
}

impl PlanResource {
    /// Creates a resource from the keys that Bolt documents. `None` without type or title.
    pub(crate) fn from_hash(target: PlanTarget, given: &Hash) -> Option<Self> {
        let any = |names: [&str; 2]| names.into_iter().find_map(|name| given.get_str(name));
        let hash = |value: Option<&Value>| match value {
            Some(value @ Value::Hash(_)) => value.clone(),
            _ => Value::hash(Hash::new()),
        };
        let events = given.get_str("events").filter(|it| it.as_array().is_some());
        Some(Self {
            target,
            type_name: type_name_of(any(["type", "resource_type"])?)?,
            title: given.get_str("title")?.as_str()?.into(),
            state: hash(any(["state", "parameters"])),
            desired_state: hash(given.get_str("desired_state")),
            events: events.cloned().unwrap_or_else(|| Value::array(Vec::new())),
        })
    }

    pub(crate) fn target(&self) -> &PlanTarget {
        &self.target
    }

    /// The resource as `Type[title]`.
    pub(crate) fn reference(&self) -> String {
        format!("{}[{}]", self.type_name, self.title)
    }

    /// All attributes, for results of plans.
    pub(crate) fn data(&self) -> Hash {
        let mut data = self.init_hash();
        data.insert("target", self.target.safe_name());
        data
    }
}

/// The name of a resource type, each part with a capital letter; `None` if the value names none.
pub(crate) fn type_name_of(value: &Value) -> Option<Arc<str>> {
    let name = match value {
        Value::Str(name) => Arc::clone(name),
        Value::Type(ty) => match ty.kind() {
            TypeKind::Resource {
                type_name: Some(name),
                ..
            } => name.as_ref().into(),
            _ => return None,
        },
        _ => return None,
    };
    let capital = |part: &str| -> Option<String> {
        let mut letters = part.chars();
        let first = letters.next().filter(char::is_ascii_alphabetic)?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let rest = letters.as_str();
        rest.chars().all(is_plain).then(|| {
            let rest = rest.to_ascii_lowercase();
            format!("{}{rest}", first.to_ascii_uppercase())
        })
    };
    let parts: Option<Vec<String>> = name.split("::").map(capital).collect();
    Some(parts?.join("::").into())
}

impl PuppetObject for PlanResource {
    fn object_type(&self) -> Type {
        types::resource_instance()
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        Some(match name {
            "target" => Value::object(self.target.clone()),
            "type" => Value::Str(Arc::clone(&self.type_name)),
            "title" => Value::Str(Arc::clone(&self.title)),
            "state" => self.state.clone(),
            "desired_state" => self.desired_state.clone(),
            "events" => self.events.clone(),
            "reference" => Value::from(self.reference().as_str()),
            _ => return None,
        })
    }

    fn call(&self, method: &str, arguments: &[Value]) -> Option<Result<Value, pcore::ObjectError>> {
        match (method, arguments) {
            ("[]", [key]) => {
                let state = self.state.as_hash();
                let value = state.and_then(|state| state.get(key));
                Some(Ok(value.cloned().unwrap_or_default()))
            }
            _ => None,
        }
    }

    fn equals(&self, other: &dyn PuppetObject) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| {
            other.target.equals(&self.target)
                && other.type_name == self.type_name
                && other.title == self.title
        })
    }

    fn init_hash(&self) -> Hash {
        let mut init = Hash::new();
        init.insert("target", Value::object(self.target.clone()));
        init.insert("type", Value::Str(Arc::clone(&self.type_name)));
        init.insert("title", Value::Str(Arc::clone(&self.title)));
        init.insert("state", self.state.clone());
        init.insert("desired_state", self.desired_state.clone());
        init.insert("events", self.events.clone());
        init
    }

    fn text(&self) -> Option<String> {
        Some(self.reference())
    }

    fn is_of_host(&self) -> bool {
        true
    }

    fn held_values(&self) -> Vec<&Value> {
        vec![&self.state, &self.desired_state, &self.events]
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_are_capitalized_and_checked() {
        let name = |text: &str| type_name_of(&Value::from(text));
        assert_eq!(name("file").as_deref(), Some("File"));
        assert_eq!(name("Foo::bar_baz").as_deref(), Some("Foo::Bar_baz"));
        for bad in ["", "not a type", "a::", "1a", "a[b]"] {
            assert_eq!(name(bad), None, "{bad}");
        }
        assert_eq!(type_name_of(&Value::Int(1)), None);
    }
}
