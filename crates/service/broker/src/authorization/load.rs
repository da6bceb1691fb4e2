//! Reads a policy from HOCON strictly: a rule that could never work is refused, and the error
//! names its position.
//!
//! Invariant: an existing policy either keeps its meaning here or does not load.

use std::path::Path;

use regex::Regex;
use serde_json::{Map, Value};

use super::AuthorizationPolicy;
use super::name::{PolicySubject, parse_pattern};
use super::rule::{AuthorizationRule, PathPattern, QueryParameter};

/// The reason a policy does not load. Positions are written `authorization.rules[3].allow`.
#[derive(Debug, thiserror::Error)]
pub enum AuthorizationPolicyError {
    /// The file cannot be read or is not HOCON.
    #[error("cannot read the authorization rules")]
    File(#[from] hocon::HoconFileError),
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

pub(super) fn load_file(path: &Path) -> Result<AuthorizationPolicy, AuthorizationPolicyError> {
    parse_policy(&hocon::read_file(path)?)
}

pub(super) fn parse_text(text: &str) -> Result<AuthorizationPolicy, AuthorizationPolicyError> {
    parse_policy(&hocon::parse(text)?)
}

fn parse_policy(document: &Value) -> Result<AuthorizationPolicy, AuthorizationPolicyError> {
    let root = PolicyPath {
        path: "authorization".to_owned(),
    };
    let section = document
        .get("authorization")
        .ok_or_else(|| root.to_error("missing; a policy is {version: 1, rules: [...]}"))?;
    let section = root.read_object(section, &["version", "rules", "allow-header-cert-info"])?;
    match section.get("version") {
        Some(version) if version.as_i64() == Some(1) => {}
        _ => return Err(root.join_key("version").to_error("only version 1 is known")),
    }
    if section
        .get("allow-header-cert-info")
        .is_some_and(|value| value.as_bool() != Some(false))
    {
        let problem = "identity comes from the TLS certificate only; remove it or set it to false";
        return Err(root.join_key("allow-header-cert-info").to_error(problem));
    }
    let place = root.join_key("rules");
    let rules = section
        .get("rules")
        .ok_or_else(|| place.to_error("missing"))?;
    let rules = rules
        .as_array()
        .ok_or_else(|| place.to_error("a list of rules is expected"))?;
    let mut rules: Vec<AuthorizationRule> = rules
        .iter()
        .enumerate()
        .map(|(index, value)| parse_rule(&place.join_index(index), value))
        .collect::<Result<_, _>>()?;
    rules.sort_by(|a, b| (a.sort_order, &a.name).cmp(&(b.sort_order, &b.name)));
    if let Some(twice) = rules.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(place.to_error(&format!("two rules are named {:?}", twice[0].name)));
    }
    Ok(AuthorizationPolicy { rules })
}

const RULE_KEYS: &[&str] = &[
    "name",
    "sort-order",
    "match-request",
    "allow",
    "deny",
    "allow-unauthenticated",
];

fn parse_rule(
    place: &PolicyPath,
    value: &Value,
) -> Result<AuthorizationRule, AuthorizationPolicyError> {
    let rule = place.read_object(value, RULE_KEYS)?;
    let name = place.join_key("name");
    let name = name.read_text(rule.get("name"))?;
    let sort = place.join_key("sort-order");
    let sort_order = rule.get("sort-order").and_then(Value::as_u64);
    let sort_order = sort_order
        .and_then(|order| u16::try_from(order).ok())
        .filter(|order| (1..=999).contains(order))
        .ok_or_else(|| sort.to_error("a number from 1 to 999 is expected"))?;
    let matching = place.join_key("match-request");
    let request = rule
        .get("match-request")
        .ok_or_else(|| matching.to_error("missing"))?;
    let request = matching.read_object(request, &["type", "path", "method", "query-params"])?;
    let allow_unauthenticated = match rule.get("allow-unauthenticated") {
        None => false,
        Some(value) => value.as_bool().ok_or_else(|| {
            place
                .join_key("allow-unauthenticated")
                .to_error("true or false is expected")
        })?,
    };
    let allow = parse_entries(&place.join_key("allow"), rule.get("allow"))?;
    let deny = parse_entries(&place.join_key("deny"), rule.get("deny"))?;
    if !allow_unauthenticated && rule.get("allow").is_none() && rule.get("deny").is_none() {
        return Err(place.to_error("allow, deny or allow-unauthenticated is expected"));
    }
    Ok(AuthorizationRule {
        name,
        sort_order,
        path: parse_path_pattern(&matching, request)?,
        methods: parse_methods(&matching.join_key("method"), request.get("method"))?,
        parameters: parse_parameters(
            &matching.join_key("query-params"),
            request.get("query-params"),
        )?,
        allow,
        deny,
        allow_unauthenticated,
    })
}

fn parse_path_pattern(
    place: &PolicyPath,
    request: &Map<String, Value>,
) -> Result<PathPattern, AuthorizationPolicyError> {
    let path = place.join_key("path").read_text(request.get("path"))?;
    match request.get("type").and_then(Value::as_str) {
        Some("path") => Ok(PathPattern::Prefix(path)),
        Some("regex") => Regex::new(&path)
            .map(PathPattern::Regex)
            .map_err(|error| place.join_key("path").to_regex_error(&error)),
        _ => Err(place.join_key("type").to_error("path or regex is expected")),
    }
}

fn parse_methods(
    place: &PolicyPath,
    value: Option<&Value>,
) -> Result<Vec<String>, AuthorizationPolicyError> {
    let methods = match value {
        None => return Ok(Vec::new()),
        Some(value) => place.read_texts(value)?,
    };
    Ok(methods.iter().map(|method| method.to_lowercase()).collect())
}

fn parse_parameters(
    place: &PolicyPath,
    value: Option<&Value>,
) -> Result<Vec<(QueryParameter, Vec<String>)>, AuthorizationPolicyError> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let object = value
        .as_object()
        .ok_or_else(|| place.to_error("an object is expected"))?;
    object
        .iter()
        .map(|(key, value)| {
            let place = place.join_key(key);
            let parameter = QueryParameter::parse(key).ok_or_else(|| {
                place.to_error("a message has sender, target (or targets) and message_type only")
            })?;
            Ok((parameter, place.read_texts(value)?))
        })
        .collect()
}

fn parse_entries(
    place: &PolicyPath,
    value: Option<&Value>,
) -> Result<Vec<PolicySubject>, AuthorizationPolicyError> {
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(values)) => values
            .iter()
            .enumerate()
            .map(|(index, value)| parse_entry(&place.join_index(index), value))
            .collect(),
        Some(value) => Ok(vec![parse_entry(place, value)?]),
    }
}

fn parse_entry(
    place: &PolicyPath,
    value: &Value,
) -> Result<PolicySubject, AuthorizationPolicyError> {
    match value {
        Value::String(text) if text == "*" => Ok(PolicySubject::Anyone),
        Value::String(text) => parse_name_pattern(place, text),
        Value::Object(map) => {
            let map = match (map.len(), map.get("certname"), map.get("extensions")) {
                (1, Some(certname), None) => {
                    let place = place.join_key("certname");
                    return match certname.as_str() {
                        Some("*") => Ok(PolicySubject::Anyone),
                        Some(text) => parse_name_pattern(&place, text),
                        None => Err(place.to_error("a name is expected")),
                    };
                }
                (1, None, Some(extensions)) => extensions,
                _ => return Err(place.to_error("either certname or extensions is expected")),
            };
            let place = place.join_key("extensions");
            let map = map
                .as_object()
                .ok_or_else(|| place.to_error("an object is expected"))?;
            if map.is_empty() {
                return Err(place.to_error("at least one extension is expected"));
            }
            map.iter()
                .map(|(key, value)| {
                    let place = place.join_key(key);
                    if pki::extension_id(key).is_none() {
                        return Err(place.to_error("neither a Puppet extension nor a dotted id"));
                    }
                    Ok((key.clone(), place.read_texts(value)?))
                })
                .collect::<Result<_, _>>()
                .map(PolicySubject::Extensions)
        }
        _ => Err(place.to_error("a name, certname or extensions is expected")),
    }
}

fn parse_name_pattern(
    place: &PolicyPath,
    text: &str,
) -> Result<PolicySubject, AuthorizationPolicyError> {
    if text.is_empty() {
        return Err(place.to_error("a name cannot be empty"));
    }
    parse_pattern(text)
        .map(PolicySubject::Name)
        .map_err(|error| place.to_regex_error(&error))
}

/// The current position in the document, for error messages.
struct PolicyPath {
    path: String,
}

impl PolicyPath {
    fn join_key(&self, key: &str) -> Self {
        Self {
            path: format!("{}.{key}", self.path),
        }
    }

    fn join_index(&self, index: usize) -> Self {
        Self {
            path: format!("{}[{index}]", self.path),
        }
    }

    fn to_error(&self, problem: &str) -> AuthorizationPolicyError {
        AuthorizationPolicyError::Form {
            place: self.path.clone(),
            problem: problem.to_owned(),
        }
    }

    fn to_regex_error(&self, error: &regex::Error) -> AuthorizationPolicyError {
        let first_line = error
            .to_string()
            .lines()
            .last()
            .unwrap_or_default()
            .trim()
            .to_owned();
        self.to_error(&format!("not a regular expression: {first_line}"))
    }

    /// Reads an object and refuses unknown keys.
    fn read_object<'v>(
        &self,
        value: &'v Value,
        known: &[&str],
    ) -> Result<&'v Map<String, Value>, AuthorizationPolicyError> {
        let object = value
            .as_object()
            .ok_or_else(|| self.to_error("an object is expected"))?;
        match object.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(self
                .join_key(key)
                .to_error(&format!("unknown; known are {}", known.join(", ")))),
            None => Ok(object),
        }
    }

    fn read_text(&self, value: Option<&Value>) -> Result<String, AuthorizationPolicyError> {
        match value {
            Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
            Some(_) => Err(self.to_error("a text is expected")),
            None => Err(self.to_error("missing")),
        }
    }

    /// Reads one string or a list of strings; numbers and booleans are read as their text.
    fn read_texts(&self, value: &Value) -> Result<Vec<String>, AuthorizationPolicyError> {
        let one = |value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
            _ => Err(self.to_error("a text or a list of texts is expected")),
        };
        match value {
            Value::Array(values) => values.iter().map(one).collect(),
            value => Ok(vec![one(value)?]),
        }
    }
}
