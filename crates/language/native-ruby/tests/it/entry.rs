//! Invariant for fuzzing and property tests with arbitrary templates and functions: no panic, and no value
//! of the scope and no argument is changed.

use std::sync::Arc;

use native_ruby::{ErbTemplate, RubyCallKind, RubyFunction, RubyScope, RubyScopeError};
use pcore::{Hash, Type, Value};

/// A scope in which every variable is the same.
struct OneValue(Value);

impl RubyScope for OneValue {
    fn instance_variable(&mut self, _: &str) -> Result<Option<Value>, RubyScopeError> {
        Ok(Some(self.0.clone()))
    }

    fn variable(&mut self, _: &str) -> Result<Option<Value>, RubyScopeError> {
        Ok(Some(self.0.clone()))
    }

    fn has_variable(&mut self, _: &str) -> Result<bool, RubyScopeError> {
        Ok(true)
    }

    fn native_template(&mut self, name: &str) -> Option<Arc<ErbTemplate>> {
        ErbTemplate::parse(name).ok().map(Arc::new)
    }

    fn call_function(
        &mut self,
        _: RubyCallKind,
        _: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, RubyScopeError> {
        Ok(arguments.first().cloned())
    }
}

/// Values that variables have.
pub(crate) fn values() -> Vec<Value> {
    let hash: Hash = [("a", Value::from(1)), ("b", Value::Undef)]
        .into_iter()
        .collect();
    let list = vec!["x".into(), 2.into(), hash.clone().into(), Value::Undef];
    vec![
        Value::Undef,
        "a text".into(),
        7.into(),
        0.5.into(),
        true.into(),
        list.into(),
        hash.into(),
        Value::sensitive("secret".into()),
    ]
}

pub(crate) fn template(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    render(&text);
    render(&format!("<%= {text} %>"));
}

/// Parses and renders with each value; gives the last text.
pub(crate) fn render(text: &str) -> Option<String> {
    let template = ErbTemplate::parse(text).ok()?;
    let mut rendered = None;
    for value in values() {
        let before = value.clone();
        let mut scope = OneValue(value);
        rendered = template.render(&mut scope).ok();
        assert_eq!(scope.0, before, "a value of the scope was changed");
    }
    rendered
}

pub(crate) fn function(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    call(&text);
    call(&method(&text));
}

/// The file of a function with this body of its method.
pub(crate) fn method(body: &str) -> String {
    format!(
        "Puppet::Functions.create_function(:f) do\n  def f(a, b = 2, *c)\n{body}\n  end\n  \
         def g(a = nil)\n    a\n  end\nend\n"
    )
}

/// Reads and calls a function with each value; gives the last result.
pub(crate) fn call(text: &str) -> Option<Value> {
    let function = RubyFunction::parse(text).ok()?;
    let function = function.with_types(&mut |text| Type::parse(text)).ok()?;
    let mut result = None;
    for value in values() {
        for count in 0..4 {
            let arguments = vec![value.clone(); count];
            let before = arguments.clone();
            let mut scope = OneValue(value.clone());
            let called = function.call(&arguments, &mut scope);
            assert_eq!(arguments, before, "an argument was changed");
            assert_eq!(scope.0, value, "a value of the scope was changed");
            result = called.ok().or(result);
        }
    }
    result
}
