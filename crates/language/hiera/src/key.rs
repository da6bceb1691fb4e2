//! Keys: `profile::web.vhosts.0."a.b"`. Main type: [`LookupKey`].

use std::sync::Arc;

use pcore::{Hash, Value};

use crate::explain::ExplainStep;
use crate::lookup_run::LookupRun;
use crate::{Error, explain};

/// A key, split into its root and segments.
#[derive(Debug, Clone)]
pub(crate) struct LookupKey {
    pub(crate) text: String,
    pub(crate) root: String,
    /// The part of the root before the first `::`.
    pub(crate) module: Option<String>,
    /// The segments after the root: texts and integers.
    pub(crate) segments: Vec<Value>,
}

impl LookupKey {
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let mut segments = split(text)
            .ok_or_else(|| Error::lookup(format!("Syntax error in key: '{text}'")))?
            .into_iter();
        let root = match segments.next() {
            Some(Value::Str(root)) => root.to_string(),
            Some(Value::Int(root)) => root.to_string(),
            _ => return Err(Error::lookup(format!("Syntax error in key: '{text}'"))),
        };
        Ok(Self {
            text: text.to_owned(),
            module: root.find("::").map(|at| root[..at].to_owned()),
            root,
            segments: segments.collect(),
        })
    }

    /// Resolves the segments in a value.
    pub(crate) fn dig(
        &self,
        run: &mut LookupRun<'_>,
        value: Value,
    ) -> Result<Option<Value>, Error> {
        dig(run, &self.text, &self.segments, value)
    }
}

/// Splits a key into segments; `None` if its syntax is invalid.
pub(crate) fn split(key: &str) -> Option<Vec<Value>> {
    if !key.contains(['\'', '"', '.']) {
        return Some(vec![Value::from(key)]);
    }
    let mut segments = Vec::new();
    let mut rest = key;
    loop {
        let trimmed = rest.trim_start();
        let quote = trimmed.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let (segment, after) = match quote {
            Some(quote) => {
                let inner = &trimmed[1..];
                let end = inner.find(quote).filter(|end| *end > 0)?;
                (Value::from(&inner[..end]), inner[end + 1..].trim_start())
            }
            None => {
                let end = rest.find(['\'', '"', '.']).unwrap_or(rest.len());
                if end == 0 {
                    return None;
                }
                (plain_segment(rest[..end].trim()), &rest[end..])
            }
        };
        segments.push(segment);
        if after.is_empty() {
            return Some(segments);
        }
        rest = after.strip_prefix('.')?;
    }
}

fn plain_segment(text: &str) -> Value {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<i64>() {
        Ok(index) if whole => Value::Int(index),
        _ => Value::from(text),
    }
}

/// Resolves segments in a value; `None` if there is no such element.
pub(crate) fn dig(
    run: &mut LookupRun<'_>,
    key: &str,
    segments: &[Value],
    value: Value,
) -> Result<Option<Value>, Error> {
    if segments.is_empty() {
        return Ok(Some(value));
    }
    let joined: Vec<String> = segments.iter().map(explain::plain_text).collect();
    run.explain_within(
        || ExplainStep::SubLookup(joined.join(".")),
        |run| {
            let mut value = value;
            for segment in segments {
                let found = run.explain_within(
                    || ExplainStep::Segment,
                    |run| {
                        let name = explain::plain_text(segment);
                        let found = dig_one(key, segment, &value)?;
                        match &found {
                            Some(found) => run.record_found(&name, found),
                            None => run.record_not_found(&name),
                        }
                        Ok(found)
                    },
                )?;
                match found {
                    Some(found) => value = found,
                    None => return Ok(None),
                }
            }
            Ok(Some(value))
        },
    )
}

fn dig_one(key: &str, segment: &Value, value: &Value) -> Result<Option<Value>, Error> {
    match (value, segment) {
        (Value::Undef, _) => Ok(None),
        (Value::Array(items), Value::Int(index)) => {
            let index = usize::try_from(*index).ok();
            Ok(index.and_then(|index| items.get(index)).cloned())
        }
        (Value::Hash(hash), segment) => Ok(hash.get(segment).cloned()),
        (other, segment) => Err(Error::lookup(format!(
            "Data Provider type mismatch: Got {} when a hash-like object was expected to access \
             value using '{}' from key '{key}'",
            pcore::ruby_class(other),
            explain::plain_text(segment)
        ))),
    }
}

/// Wraps a value in the hashes and lists that the segments describe.
pub(crate) fn wrap_in_segments(segments: &[Value], value: Value) -> Value {
    segments
        .iter()
        .rev()
        .fold(value, |inner, segment| match segment {
            Value::Int(index) => {
                let mut items = vec![Value::Undef; usize::try_from(*index).unwrap_or(0).min(1000)];
                items.push(inner);
                Value::array(items)
            }
            name => {
                let hash: Hash = [(name.clone(), inner)].into_iter().collect();
                Value::Hash(Arc::new(hash))
            }
        })
}
