//! Interpolation of `%{…}` in data and configurations.

pub(crate) use super::method_use::MethodUse;
use std::sync::Arc;

use pcore::{Hash, Value};

use crate::defaults::MAX_INTERPOLATED_BYTES;
use crate::explain::{ExplainStep, plain_text};
use crate::hierarchy_input::FACTS;
use crate::key;
use crate::lookup_run::LookupRun;
use crate::{Error, LookupSession};

/// The content of an interpolated expression.
enum InterpolatedExpression<'e> {
    Variable(&'e str),
    Key(&'e str),
    Alias(&'e str),
    Literal(&'e str),
}

impl LookupSession {
    /// Interpolates all expressions in the texts and keys of a value.
    pub(crate) fn interpolate(
        &self,
        run: &mut LookupRun<'_>,
        value: &Value,
        methods: MethodUse,
    ) -> Result<Value, Error> {
        match value {
            Value::Str(text) if text.contains("%{") => self.interpolate_text(run, text, methods),
            Value::Array(items) => {
                let items: Result<Vec<Value>, Error> = items
                    .iter()
                    .map(|item| self.interpolate(run, item, methods))
                    .collect();
                Ok(Value::array(items?))
            }
            Value::Hash(hash) => {
                let mut filled = Hash::with_capacity(hash.len());
                for (key, value) in hash.iter() {
                    let key = self.interpolate(run, key, methods)?;
                    filled.insert(key, self.interpolate(run, value, methods)?);
                }
                Ok(Value::Hash(Arc::new(filled)))
            }
            other => Ok(other.clone()),
        }
    }

    /// Interpolates a text of a configuration.
    pub(crate) fn interpolate_config(
        &self,
        run: &mut LookupRun<'_>,
        text: &str,
    ) -> Result<String, Error> {
        let value = self.interpolate(run, &Value::from(text), MethodUse::Forbidden)?;
        Ok(plain_text(&value))
    }

    fn interpolate_text(
        &self,
        run: &mut LookupRun<'_>,
        text: &str,
        methods: MethodUse,
    ) -> Result<Value, Error> {
        run.explain_within(
            || ExplainStep::Interpolate(text.to_owned()),
            |run| {
                let mut out = String::new();
                let mut rest = text;
                while let Some(start) = rest.find("%{") {
                    let inner = &rest[start + 2..];
                    let Some(end) = inner.find('}') else { break };
                    out.push_str(&rest[..start]);
                    let whole = start == 0 && out.is_empty() && inner[end + 1..].is_empty();
                    let is_whole = whole && rest.len() == text.len();
                    rest = &inner[end + 1..];
                    match self.expression(run, inner[..end].trim(), is_whole, methods)? {
                        InterpolatedValue::Alias(value) => return Ok(value),
                        InterpolatedValue::Text(filled) => out.push_str(&filled),
                    }
                    if out.len() > MAX_INTERPOLATED_BYTES {
                        return Err(Error::data(format!(
                            "interpolation makes a text of more than {MAX_INTERPOLATED_BYTES} bytes"
                        )));
                    }
                }
                out.push_str(rest);
                Ok(Value::from(out))
            },
        )
    }

    fn expression(
        &self,
        run: &mut LookupRun<'_>,
        expression: &str,
        is_whole: bool,
        methods: MethodUse,
    ) -> Result<InterpolatedValue, Error> {
        if matches!(expression, "" | "::" | "\"\"" | "''" | "\"::\"" | "'::'") {
            return Ok(InterpolatedValue::Text(String::new()));
        }
        let (name, value) = match parse_expression(expression, methods)? {
            InterpolatedExpression::Variable(name) => {
                let value = self.scope_value(run, name, expression)?;
                (format!("scope:{name}"), value)
            }
            InterpolatedExpression::Literal(text) => (text.to_owned(), Value::from(text)),
            InterpolatedExpression::Key(key) => (key.to_owned(), self.sub_lookup(run, key)?),
            InterpolatedExpression::Alias(_) if !is_whole => {
                return Err(Error::Expression(
                    "'alias' interpolation is only permitted if the expression is equal to the \
                     entire string",
                ));
            }
            InterpolatedExpression::Alias(key) => {
                return Ok(InterpolatedValue::Alias(self.sub_lookup(run, key)?));
            }
        };
        let filled = run.check(&name, |run| self.interpolate(run, &value, methods))?;
        Ok(InterpolatedValue::Text(plain_text(&filled)))
    }

    /// The lookup of `%{lookup('…')}`; a missing value is empty.
    fn sub_lookup(&self, run: &mut LookupRun<'_>, key: &str) -> Result<Value, Error> {
        if let Some(value) = run.overrides.get_str(key) {
            return Ok(value.clone());
        }
        if let Some(value) = self.search(run, key, &Value::Undef)? {
            return Ok(value);
        }
        let default = run.defaults.get_str(key).cloned();
        Ok(default.unwrap_or_else(|| Value::from("")))
    }

    /// A variable, with its segments resolved; undefined if there is none.
    pub(crate) fn scope_value(
        &self,
        run: &mut LookupRun<'_>,
        name: &str,
        subject: &str,
    ) -> Result<Value, Error> {
        let segments = key::split(name)
            .ok_or_else(|| Error::data(format!("Syntax error in string: {subject}")))?;
        let (root, below) = segments
            .split_first()
            .ok_or_else(|| Error::data(format!("Syntax error in string: {subject}")))?;
        let root = plain_text(root);
        if let Some(value) = fact_value(run, &root, below) {
            return Ok(value);
        }
        let value = run.explain_within(
            || ExplainStep::Scope("Global Scope".to_owned()),
            |run| {
                if let Some(value) = run.overrides.get_str(&root) {
                    run.explain(|it| it.record_found(&root, value, " in overrides"));
                    return Ok(value.clone());
                }
                if let Some(value) = run.variable(&root)? {
                    run.record_found(&root, &value);
                    return Ok(value);
                }
                if run.depends_on.is_none() && run.host.strict_variables() {
                    return Err(Error::Undefined(root.clone()));
                }
                match run.defaults.get_str(&root) {
                    Some(value) => {
                        run.explain(|it| it.record_found(&root, value, " in defaults"));
                        Ok(value.clone())
                    }
                    None => Ok(Value::Undef),
                }
            },
        )?;
        if value == Value::Undef || below.is_empty() {
            return Ok(value);
        }
        Ok(key::dig(run, name, below, value)?.unwrap_or_default())
    }
}

/// The value of `facts.a.b`, of which only that part is read; `None` for another variable, and for a path
/// that is not one of names in hashes.
fn fact_value(run: &mut LookupRun<'_>, root: &str, below: &[Value]) -> Option<Value> {
    if root.trim_start_matches("::") != FACTS || run.overrides.get_str(root).is_some() {
        return None;
    }
    let names = below.iter().map(|segment| match segment {
        Value::Str(name) => Some(Arc::clone(name)),
        _ => None,
    });
    let names: Vec<Arc<str>> = names.collect::<Option<_>>()?;
    let (value, walked) = run.fact_at(&names)?;
    (walked == names.len()).then_some(value)
}

enum InterpolatedValue {
    Text(String),
    Alias(Value),
}

/// Parses `name`, or a method as in `lookup('key')`.
fn parse_expression(
    expression: &str,
    methods: MethodUse,
) -> Result<InterpolatedExpression<'_>, Error> {
    let Some((method, key)) = method_call(expression) else {
        return Ok(InterpolatedExpression::Variable(expression));
    };
    if methods == MethodUse::Forbidden {
        return Err(Error::Expression(
            "Interpolation using method syntax is not allowed in this context",
        ));
    }
    match method {
        "lookup" | "hiera" => Ok(InterpolatedExpression::Key(key)),
        "alias" => Ok(InterpolatedExpression::Alias(key)),
        "scope" => Ok(InterpolatedExpression::Variable(key)),
        "literal" => Ok(InterpolatedExpression::Literal(key)),
        _ => Err(Error::Method(method.to_owned())),
    }
}

fn method_call(expression: &str) -> Option<(&str, &str)> {
    let (method, rest) = expression.split_once('(')?;
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if method.is_empty() || !method.chars().all(word) {
        return None;
    }
    let quoted = rest.strip_suffix(')')?;
    let quote = quoted.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let key = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
    (!key.is_empty() && !key.contains(quote)).then_some((method, key))
}
