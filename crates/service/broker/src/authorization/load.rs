//! Reads a policy from HOCON strictly: a rule that could never work is refused, and the error
//! names its position.
//!
//! Invariant: an existing policy either keeps its meaning here or does not load.

use std::path::Path;

use regex::Regex;
use serde_json::{Map, Value};

use super::Policy;
use super::name::{Entry, pattern};
use super::rule::{Parameter, PathPattern, Rule};

/// The reason a policy does not load. Positions are written `authorization.rules[3].allow`.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read or is not HOCON.
    #[error("cannot read the authorization rules")]
    File(#[from] hocon::FileError),
    /// The text is not HOCON.
    #[error("the authorization rules are not HOCON")]
    Hocon(#[from] hocon::Error),
    /// A key is missing, unknown or has an invalid value.
    #[error("{place}: {problem}")]
    Form {
        /// The position in the document.
        place: String,
        /// The error and the expected value.
        problem: String,
    },
}

pub(super) fn file(path: &Path) -> Result<Policy, PolicyError> {
    policy(&hocon::read_file(path)?)
}

pub(super) fn text(text: &str) -> Result<Policy, PolicyError> {
    policy(&hocon::parse(text)?)
}

fn policy(document: &Value) -> Result<Policy, PolicyError> {
    let root = Place {
        path: "authorization".to_owned(),
    };
    let section = document
        .get("authorization")
        .ok_or_else(|| root.wrong("missing; a policy is {version: 1, rules: [...]}"))?;
    let section = root.object(section, &["version", "rules", "allow-header-cert-info"])?;
    match section.get("version") {
        Some(version) if version.as_i64() == Some(1) => {}
        _ => return Err(root.key("version").wrong("only version 1 is known")),
    }
    if section
        .get("allow-header-cert-info")
        .is_some_and(|value| value.as_bool() != Some(false))
    {
        let problem = "identity comes from the TLS certificate only; remove it or set it to false";
        return Err(root.key("allow-header-cert-info").wrong(problem));
    }
    let place = root.key("rules");
    let rules = section.get("rules").ok_or_else(|| place.wrong("missing"))?;
    let rules = rules
        .as_array()
        .ok_or_else(|| place.wrong("a list of rules is expected"))?;
    let mut rules: Vec<Rule> = rules
        .iter()
        .enumerate()
        .map(|(index, value)| rule(&place.index(index), value))
        .collect::<Result<_, _>>()?;
    rules.sort_by(|a, b| (a.sort_order, &a.name).cmp(&(b.sort_order, &b.name)));
    if let Some(twice) = rules.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(place.wrong(&format!("two rules are named {:?}", twice[0].name)));
    }
    Ok(Policy { rules })
}

const RULE_KEYS: &[&str] = &[
    "name",
    "sort-order",
    "match-request",
    "allow",
    "deny",
    "allow-unauthenticated",
];

fn rule(place: &Place, value: &Value) -> Result<Rule, PolicyError> {
    let rule = place.object(value, RULE_KEYS)?;
    let name = place.key("name");
    let name = name.text(rule.get("name"))?;
    let sort = place.key("sort-order");
    let sort_order = rule.get("sort-order").and_then(Value::as_u64);
    let sort_order = sort_order
        .and_then(|order| u16::try_from(order).ok())
        .filter(|order| (1..=999).contains(order))
        .ok_or_else(|| sort.wrong("a number from 1 to 999 is expected"))?;
    let matching = place.key("match-request");
    let request = rule
        .get("match-request")
        .ok_or_else(|| matching.wrong("missing"))?;
    let request = matching.object(request, &["type", "path", "method", "query-params"])?;
    let allow_unauthenticated = match rule.get("allow-unauthenticated") {
        None => false,
        Some(value) => value.as_bool().ok_or_else(|| {
            place
                .key("allow-unauthenticated")
                .wrong("true or false is expected")
        })?,
    };
    let allow = entries(&place.key("allow"), rule.get("allow"))?;
    let deny = entries(&place.key("deny"), rule.get("deny"))?;
    if !allow_unauthenticated && rule.get("allow").is_none() && rule.get("deny").is_none() {
        return Err(place.wrong("allow, deny or allow-unauthenticated is expected"));
    }
    Ok(Rule {
        name,
        sort_order,
        path: path_pattern(&matching, request)?,
        methods: methods(&matching.key("method"), request.get("method"))?,
        parameters: parameters(&matching.key("query-params"), request.get("query-params"))?,
        allow,
        deny,
        allow_unauthenticated,
    })
}

fn path_pattern(place: &Place, request: &Map<String, Value>) -> Result<PathPattern, PolicyError> {
    let path = place.key("path").text(request.get("path"))?;
    match request.get("type").and_then(Value::as_str) {
        Some("path") => Ok(PathPattern::Prefix(path)),
        Some("regex") => Regex::new(&path)
            .map(PathPattern::Regex)
            .map_err(|error| place.key("path").bad_regex(&error)),
        _ => Err(place.key("type").wrong("path or regex is expected")),
    }
}

fn methods(place: &Place, value: Option<&Value>) -> Result<Vec<String>, PolicyError> {
    let methods = match value {
        None => return Ok(Vec::new()),
        Some(value) => place.texts(value)?,
    };
    Ok(methods.iter().map(|method| method.to_lowercase()).collect())
}

fn parameters(
    place: &Place,
    value: Option<&Value>,
) -> Result<Vec<(Parameter, Vec<String>)>, PolicyError> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let object = value
        .as_object()
        .ok_or_else(|| place.wrong("an object is expected"))?;
    object
        .iter()
        .map(|(key, value)| {
            let place = place.key(key);
            let parameter = Parameter::parse(key).ok_or_else(|| {
                place.wrong("a message has sender, target (or targets) and message_type only")
            })?;
            Ok((parameter, place.texts(value)?))
        })
        .collect()
}

fn entries(place: &Place, value: Option<&Value>) -> Result<Vec<Entry>, PolicyError> {
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(values)) => values
            .iter()
            .enumerate()
            .map(|(index, value)| entry(&place.index(index), value))
            .collect(),
        Some(value) => Ok(vec![entry(place, value)?]),
    }
}

fn entry(place: &Place, value: &Value) -> Result<Entry, PolicyError> {
    match value {
        Value::String(text) if text == "*" => Ok(Entry::Anyone),
        Value::String(text) => name_pattern(place, text),
        Value::Object(map) => {
            let map = match (map.len(), map.get("certname"), map.get("extensions")) {
                (1, Some(certname), None) => {
                    let place = place.key("certname");
                    return match certname.as_str() {
                        Some("*") => Ok(Entry::Anyone),
                        Some(text) => name_pattern(&place, text),
                        None => Err(place.wrong("a name is expected")),
                    };
                }
                (1, None, Some(extensions)) => extensions,
                _ => return Err(place.wrong("either certname or extensions is expected")),
            };
            let place = place.key("extensions");
            let map = map
                .as_object()
                .ok_or_else(|| place.wrong("an object is expected"))?;
            if map.is_empty() {
                return Err(place.wrong("at least one extension is expected"));
            }
            map.iter()
                .map(|(key, value)| {
                    let place = place.key(key);
                    if super::extensions::oid(key).is_none() {
                        return Err(place.wrong("neither a Puppet extension nor a dotted id"));
                    }
                    Ok((key.clone(), place.texts(value)?))
                })
                .collect::<Result<_, _>>()
                .map(Entry::Extensions)
        }
        _ => Err(place.wrong("a name, certname or extensions is expected")),
    }
}

fn name_pattern(place: &Place, text: &str) -> Result<Entry, PolicyError> {
    if text.is_empty() {
        return Err(place.wrong("a name cannot be empty"));
    }
    pattern(text)
        .map(Entry::Name)
        .map_err(|error| place.bad_regex(&error))
}

/// The current position in the document, for error messages.
struct Place {
    path: String,
}

impl Place {
    fn key(&self, key: &str) -> Self {
        Self {
            path: format!("{}.{key}", self.path),
        }
    }

    fn index(&self, index: usize) -> Self {
        Self {
            path: format!("{}[{index}]", self.path),
        }
    }

    fn wrong(&self, problem: &str) -> PolicyError {
        PolicyError::Form {
            place: self.path.clone(),
            problem: problem.to_owned(),
        }
    }

    fn bad_regex(&self, error: &regex::Error) -> PolicyError {
        let first_line = error
            .to_string()
            .lines()
            .last()
            .unwrap_or_default()
            .trim()
            .to_owned();
        self.wrong(&format!("not a regular expression: {first_line}"))
    }

    /// Reads an object and refuses unknown keys.
    fn object<'v>(
        &self,
        value: &'v Value,
        known: &[&str],
    ) -> Result<&'v Map<String, Value>, PolicyError> {
        let object = value
            .as_object()
            .ok_or_else(|| self.wrong("an object is expected"))?;
        match object.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(self
                .key(key)
                .wrong(&format!("unknown; known are {}", known.join(", ")))),
            None => Ok(object),
        }
    }

    fn text(&self, value: Option<&Value>) -> Result<String, PolicyError> {
        match value {
            Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
            Some(_) => Err(self.wrong("a text is expected")),
            None => Err(self.wrong("missing")),
        }
    }

    /// Reads one string or a list of strings; numbers and booleans are read as their text.
    fn texts(&self, value: &Value) -> Result<Vec<String>, PolicyError> {
        let one = |value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
            _ => Err(self.wrong("a text or a list of texts is expected")),
        };
        match value {
            Value::Array(values) => values.iter().map(one).collect(),
            value => Ok(vec![one(value)?]),
        }
    }
}
