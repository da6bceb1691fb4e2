//! Schemas of transports: [`read_ruby_transport`].
//!
//! A file is read if it calls `Puppet::ResourceApi.register_transport` with literals, and otherwise only
//! requires other files. It is never run.

use std::ops::Range;

use serde_json::{Map, Number, Value as Json};

use super::lexer::RubyFault;
use super::structure::RubyFile;
use super::token::{Keyword, RubyTokenKind};
use crate::defaults::MAX_TRANSPORT_DEPTH;

/// A file whose transport is not certain without running it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct UnreadTransport {
    /// Line, counted from 1.
    pub line: u32,
    /// The code that is no plain schema.
    pub reason: String,
}

/// Reads the schema of a transport, in the form in which puppetserver lists it: its keys are those of the file,
/// and `connection_info_order` if the file has none.
///
/// # Errors
/// The file is no plain schema.
pub fn read_ruby_transport(source: &str) -> Result<Map<String, Json>, UnreadTransport> {
    read(source).map_err(|RubyFault { line, reason }| UnreadTransport { line, reason })
}

fn read(source: &str) -> Result<Map<String, Json>, RubyFault> {
    let file = RubyFile::parse(source)?;
    let mut schema = None;
    for statement in file.statements(file.all()) {
        if file.is_identifier(statement.start, "require") {
            continue;
        }
        let Some(arguments) = registration(&file, &statement) else {
            return file.fault(statement.start, "code other than `register_transport`");
        };
        if schema.is_some() {
            return file.fault(statement.start, "a second transport");
        }
        let mut pairs = arguments.clone();
        if let [only] = &*file.items(arguments)
            && file.is_operator(only.start, "{")
            && file.end_of(only.start) + 1 == only.end
        {
            pairs = file.inside(only.start);
        }
        schema = Some(check(&file, &statement, read_pairs(&file, pairs, 0)?)?);
    }
    schema.map_or_else(|| file.fault(0, "no call of `register_transport`"), Ok)
}

/// The arguments of `Puppet::ResourceApi.register_transport(…)`.
fn registration(file: &RubyFile<'_>, statement: &Range<usize>) -> Option<Range<usize>> {
    let at = statement.start;
    let is_call = file.is_constant(at, "Puppet")
        && file.is_operator(at + 1, "::")
        && file.is_constant(at + 2, "ResourceApi")
        && file.is_operator(at + 3, ".")
        && file.is_identifier(at + 4, "register_transport");
    if !is_call {
        return None;
    }
    let open = at + 5;
    match file.is_operator(open, "(") {
        true => (file.end_of(open) + 1 == statement.end).then(|| file.inside(open)),
        false => Some(open..statement.end),
    }
}

/// The checks that Puppet makes, and the order of the connection's parameters.
fn check(
    file: &RubyFile<'_>,
    statement: &Range<usize>,
    mut schema: Map<String, Json>,
) -> Result<Map<String, Json>, RubyFault> {
    for key in ["name", "desc", "connection_info"] {
        if !schema.contains_key(key) {
            return file.fault(statement.start, &format!("requires `:{key}`"));
        }
    }
    let Some(Json::Object(parameters)) = schema.get("connection_info") else {
        return file.fault(statement.start, "`:connection_info` must be a hash");
    };
    let is_typed = |parameter: &Json| parameter.get("type").is_some();
    if let Some((name, _)) = parameters.iter().find(|(_, it)| !is_typed(it)) {
        return file.fault(statement.start, &format!("`{name}` has no type"));
    }
    if schema
        .get("connection_info_order")
        .is_none_or(Json::is_null)
    {
        let order = parameters.keys().cloned().map(Json::String).collect();
        schema.insert("connection_info_order".to_owned(), Json::Array(order));
    }
    Ok(schema)
}

fn read_pairs(
    file: &RubyFile<'_>,
    range: Range<usize>,
    depth: usize,
) -> Result<Map<String, Json>, RubyFault> {
    let mut pairs = Map::new();
    for item in file.items(range) {
        let start = item.start;
        let (key, value) = match file.kind(start) {
            Some(RubyTokenKind::Label(Some(key))) => (key, start + 1),
            Some(RubyTokenKind::Symbol(Some(key)) | RubyTokenKind::Text(Some(key)))
                if file.is_operator(start + 1, "=>") =>
            {
                (key, start + 2)
            }
            _ => return file.fault(start, "a key that is no plain name"),
        };
        let mut value = value..item.end;
        while file.kind(value.start) == Some(&RubyTokenKind::Newline) && !value.is_empty() {
            value.start += 1;
        }
        if pairs
            .insert(key.clone(), read_value(file, &value, depth + 1)?)
            .is_some()
        {
            return file.fault(start, "a key that stands twice");
        }
    }
    Ok(pairs)
}

fn read_value(file: &RubyFile<'_>, range: &Range<usize>, depth: usize) -> Result<Json, RubyFault> {
    let start = range.start;
    if depth > MAX_TRANSPORT_DEPTH {
        return file.fault(start, "values that are nested too deeply");
    }
    let is_enclosed = |open| file.is_operator(start, open) && file.end_of(start) + 1 == range.end;
    if is_enclosed("{") {
        return read_pairs(file, file.inside(start), depth).map(Json::Object);
    }
    if is_enclosed("[") {
        let items = file.items(file.inside(start)).into_iter();
        let items = items.map(|item| read_value(file, &item, depth + 1));
        return items.collect::<Result<_, _>>().map(Json::Array);
    }
    if range.len() == 2 && file.is_operator(start, "-") {
        return number(&format!("-{}", file.text(start + 1)))
            .map_or_else(|| file.fault(start, "a number that is not plain"), Ok);
    }
    if range.len() == 1 {
        match file.kind(start) {
            Some(RubyTokenKind::Text(Some(text)) | RubyTokenKind::Symbol(Some(text))) => {
                return Ok(Json::String(text.clone()));
            }
            Some(RubyTokenKind::Words(Some(words))) => {
                return Ok(words.iter().cloned().map(Json::String).collect());
            }
            Some(RubyTokenKind::Keyword(Keyword::True)) => return Ok(Json::Bool(true)),
            Some(RubyTokenKind::Keyword(Keyword::False)) => return Ok(Json::Bool(false)),
            Some(RubyTokenKind::Keyword(Keyword::Nil)) => return Ok(Json::Null),
            Some(RubyTokenKind::Number) => {
                if let Some(number) = number(file.text(start)) {
                    return Ok(number);
                }
            }
            _ => {}
        }
    }
    file.fault(start, "a value that is no literal")
}

/// A decimal number; `None` for other notations.
fn number(text: &str) -> Option<Json> {
    let text = text.replace('_', "");
    let digits = text.trim_start_matches('-');
    if digits.starts_with('0') && digits.len() > 1 && !digits.starts_with("0.") {
        return None;
    }
    if let Ok(integer) = text.parse::<i64>() {
        return Some(integer.into());
    }
    let has_fraction =
        digits.contains('.') && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let float = text.parse().ok().filter(|_| has_fraction)?;
    Number::from_f64(float).map(Json::Number)
}
