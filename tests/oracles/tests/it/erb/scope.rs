//! A scope of variables in JSON, with functions that give texts.

use std::sync::Arc;

use native_ruby::{ErbTemplate, RubyCallKind, RubyScope, RubyScopeError};
use pcore::Value;
use serde_json::{Map, Value as Json};

pub(super) struct TableScope<'a> {
    variables: &'a Map<String, Json>,
}

// === impl TableScope ===

impl<'a> TableScope<'a> {
    pub(super) fn new(variables: &'a Json) -> Self {
        Self {
            variables: variables.as_object().expect("an object"),
        }
    }

    fn find(&self, name: &str) -> Option<Value> {
        let name = name.strip_prefix("::").unwrap_or(name);
        self.variables.get(name).map(Value::from_json)
    }
}

impl RubyScope for TableScope<'_> {
    fn instance_variable(&mut self, name: &str) -> Result<Option<Value>, RubyScopeError> {
        Ok(self.find(name))
    }

    fn variable(&mut self, name: &str) -> Result<Option<Value>, RubyScopeError> {
        Ok(self.find(name))
    }

    fn has_variable(&mut self, name: &str) -> Result<bool, RubyScopeError> {
        Ok(self.find(name).is_some_and(|value| !value.is_undef()))
    }

    /// A template whose name is its text.
    fn native_template(&mut self, name: &str) -> Option<Arc<ErbTemplate>> {
        ErbTemplate::parse(name).ok().map(Arc::new)
    }

    fn call_function(
        &mut self,
        _: RubyCallKind,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, RubyScopeError> {
        if name != "versioncmp" {
            return Ok(Some(format!("{name}:{}", arguments.len()).into()));
        }
        let [Value::Str(a), Value::Str(b)] = arguments else {
            return Ok(None);
        };
        Ok(Some(Value::Int(a.as_bytes().cmp(b.as_bytes()) as i64)))
    }
}
