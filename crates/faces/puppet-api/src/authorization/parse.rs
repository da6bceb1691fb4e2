//! Reads rules from a HOCON document: [`parse_rules`].

use pki::NamePattern;
use regex::Regex;
use serde_json::{Map, Value};

use super::rule::{AuthorizationRule, RulePath, RuleSubject};

/// Reason that rules do not load. Places are written `authorization.rules[3].allow`, with positions from 0.
#[derive(Debug, thiserror::Error)]
pub enum AuthorizationRulesError {
    /// The file cannot be read, or is not HOCON.
    #[error("cannot read the authorization rules")]
    File(#[from] hocon::HoconFileError),
    /// A key is missing, unknown or has a value without meaning.
    #[error("{place}: {problem}")]
    Form {
        /// The position in the document.
        place: String,
        /// The defect and the expected value.
        problem: String,
    },
}

type Parsed<T> = Result<T, AuthorizationRulesError>;

/// A position in the document, for errors.
#[derive(Debug, Clone)]
struct DocumentPlace(String);

const METHODS: [&str; 5] = ["get", "post", "put", "delete", "head"];

pub(super) fn parse_rules(document: &Value) -> Parsed<Vec<AuthorizationRule>> {
    let root = DocumentPlace("authorization".to_owned());
    let section = document.get("authorization");
    let section = section.ok_or_else(|| root.error("missing"))?;
    let section = root.object(section, &["version", "rules", "allow-header-cert-info"])?;
    if section.get("version").and_then(Value::as_i64) != Some(1) {
        return Err(root.key("version").error("1 is expected"));
    }
    if !matches!(
        section.get("allow-header-cert-info"),
        None | Some(Value::Bool(false))
    ) {
        return Err(root.key("allow-header-cert-info").error(
            "a client is known by the certificate of its connection only; remove it or set it to false",
        ));
    }
    let place = root.key("rules");
    let rules = section.get("rules").and_then(Value::as_array);
    let rules = rules.ok_or_else(|| place.error("a list of rules is expected"))?;
    let rules = rules.iter().enumerate();
    let rules = rules.map(|(index, rule)| parse_rule(&place.index(index), rule));
    let mut rules = rules.collect::<Parsed<Vec<_>>>()?;
    rules.sort_by(|a, b| (a.sort_order, &a.name).cmp(&(b.sort_order, &b.name)));
    let mut names: Vec<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(twice) => Err(place.error(format!("two rules are named {:?}", twice[0]))),
        None => Ok(rules),
    }
}

fn parse_rule(place: &DocumentPlace, value: &Value) -> Parsed<AuthorizationRule> {
    let rule = place.object(
        value,
        &[
            "name",
            "sort-order",
            "match-request",
            "allow",
            "deny",
            "allow-unauthenticated",
        ],
    )?;
    let order = rule.get("sort-order").and_then(Value::as_u64);
    let order = order.and_then(|it| u16::try_from(it).ok());
    let order = order.filter(|it| (1..=999).contains(it));
    let matching = place.key("match-request");
    let request = rule
        .get("match-request")
        .ok_or_else(|| matching.error("missing"))?;
    let request = matching.object(request, &["path", "type", "method", "query-params"])?;
    let path = parse_path(&matching, request)?;
    let allow_unauthenticated = match rule.get("allow-unauthenticated") {
        None => false,
        Some(Value::Bool(value)) => *value,
        Some(_) => {
            let place = place.key("allow-unauthenticated");
            return Err(place.error("true or false is expected"));
        }
    };
    let has_lists = rule.contains_key("allow") || rule.contains_key("deny");
    if allow_unauthenticated == has_lists {
        return Err(place.error(match has_lists {
            true => "allow and deny have no meaning with allow-unauthenticated",
            false => "allow, deny or allow-unauthenticated is expected",
        }));
    }
    Ok(AuthorizationRule {
        name: place.key("name").text(rule.get("name"))?,
        sort_order: order.ok_or_else(|| {
            place
                .key("sort-order")
                .error("a number from 1 to 999 is expected")
        })?,
        methods: parse_methods(&matching.key("method"), request.get("method"))?,
        params: parse_params(&matching.key("query-params"), request.get("query-params"))?,
        allow: parse_subjects(&place.key("allow"), rule.get("allow"), &path)?,
        deny: parse_subjects(&place.key("deny"), rule.get("deny"), &path)?,
        path,
        allow_unauthenticated,
    })
}

fn parse_path(place: &DocumentPlace, request: &Map<String, Value>) -> Parsed<RulePath> {
    let text = place.key("path").text(request.get("path"))?;
    let kind = place.key("type").text(request.get("type"))?;
    match kind.to_ascii_lowercase().as_str() {
        "path" => Ok(RulePath::Prefix(text)),
        "regex" => Regex::new(&text)
            .map(RulePath::Regex)
            .map_err(|error| place.key("path").regex_error(&error)),
        _ => Err(place.key("type").error("path or regex is expected")),
    }
}

fn parse_methods(place: &DocumentPlace, value: Option<&Value>) -> Parsed<Vec<String>> {
    let methods = match value {
        None => return Ok(Vec::new()),
        Some(value) => place.texts(value)?,
    };
    let methods = methods.into_iter().map(|method| {
        let method = method.to_ascii_lowercase();
        match METHODS.contains(&method.as_str()) {
            true => Ok(method),
            false => Err(place.error(format!("one of {} is expected", METHODS.join(", ")))),
        }
    });
    methods.collect()
}

fn parse_params(
    place: &DocumentPlace,
    value: Option<&Value>,
) -> Parsed<Vec<(String, Vec<String>)>> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let object = value.as_object();
    let object = object.ok_or_else(|| place.error("an object is expected"))?;
    let params = object.iter();
    params
        .map(|(name, value)| Ok((name.clone(), place.key(name).texts(value)?)))
        .collect()
}

fn parse_subjects(
    place: &DocumentPlace,
    value: Option<&Value>,
    path: &RulePath,
) -> Parsed<Vec<RuleSubject>> {
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(values)) => {
            let values = values.iter().enumerate();
            values
                .map(|(index, value)| parse_subject(&place.index(index), value, path))
                .collect()
        }
        Some(value) => Ok(vec![parse_subject(place, value, path)?]),
    }
}

fn parse_subject(place: &DocumentPlace, value: &Value, path: &RulePath) -> Parsed<RuleSubject> {
    let expected = "a certname, or an object with certname or extensions, is expected";
    match value {
        Value::String(name) => parse_name(place, name, path),
        Value::Object(object) if object.len() == 1 => {
            match (object.get("certname"), object.get("extensions")) {
                (Some(Value::String(name)), None) => parse_name(&place.key("certname"), name, path),
                (None, Some(extensions)) => parse_extensions(&place.key("extensions"), extensions),
                _ => Err(place.error(expected)),
            }
        }
        _ => Err(place.error(expected)),
    }
}

fn parse_name(place: &DocumentPlace, name: &str, path: &RulePath) -> Parsed<RuleSubject> {
    if name.is_empty() {
        return Err(place.error("a name cannot be empty"));
    }
    let expression = name.strip_prefix('/').and_then(|it| it.strip_suffix('/'));
    if let Some(expression) = expression {
        let pattern = NamePattern::regex(expression);
        let pattern = pattern.map_err(|error| place.regex_error(&error))?;
        return Ok(RuleSubject::Name(pattern));
    }
    if let Some(largest) = largest_reference(name) {
        let groups = match path {
            RulePath::Prefix(_) => 0,
            RulePath::Regex(regex) => regex.captures_len() - 1,
        };
        return match (1..=groups).contains(&largest) && !name.contains('*') {
            true => Ok(RuleSubject::Captured(name.to_owned())),
            false => Err(place.error(format!(
                "${largest} is not a group of the rule's regular expression, or stands beside a *"
            ))),
        };
    }
    match name.strip_prefix('*') {
        Some("") => Ok(RuleSubject::Anyone),
        Some(domain) if domain.starts_with('.') && !domain.contains('*') => {
            Ok(RuleSubject::Name(NamePattern::Domain(domain.to_owned())))
        }
        Some(_) => {
            Err(place.error("a * stands alone, or for the begin of a domain: *.example.com"))
        }
        None if name.contains('*') => {
            Err(place.error("a * stands alone, or for the begin of a domain: *.example.com"))
        }
        None => Ok(RuleSubject::Name(NamePattern::Exact(name.to_owned()))),
    }
}

/// The largest number after a `$`; `None` if there is no number.
fn largest_reference(name: &str) -> Option<usize> {
    let parts = name.split('$').skip(1);
    let numbers = parts.filter_map(|part| {
        let end = part
            .find(|it: char| !it.is_ascii_digit())
            .unwrap_or(part.len());
        part[..end].parse().ok()
    });
    numbers.max()
}

fn parse_extensions(place: &DocumentPlace, value: &Value) -> Parsed<RuleSubject> {
    let object = value.as_object().filter(|object| !object.is_empty());
    let object = object.ok_or_else(|| place.error("an object of extensions is expected"))?;
    let extensions = object.iter().map(|(key, value)| {
        let place = place.key(key);
        let id = pki::extension_id(key);
        let id = id.ok_or_else(|| place.error("neither a Puppet extension nor a dotted id"))?;
        Ok((id, place.texts(value)?))
    });
    Ok(RuleSubject::Extensions(extensions.collect::<Parsed<_>>()?))
}

impl DocumentPlace {
    fn key(&self, key: &str) -> Self {
        Self(format!("{}.{key}", self.0))
    }

    fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    fn error(&self, problem: impl Into<String>) -> AuthorizationRulesError {
        AuthorizationRulesError::Form {
            place: self.0.clone(),
            problem: problem.into(),
        }
    }

    fn regex_error(&self, error: &regex::Error) -> AuthorizationRulesError {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default().trim();
        self.error(format!("not a regular expression: {last}"))
    }

    /// The object, whose keys must be known.
    fn object<'v>(&self, value: &'v Value, known: &[&str]) -> Parsed<&'v Map<String, Value>> {
        let object = value.as_object();
        let object = object.ok_or_else(|| self.error("an object is expected"))?;
        match object.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(self
                .key(key)
                .error(format!("unknown; known are {}", known.join(", ")))),
            None => Ok(object),
        }
    }

    fn text(&self, value: Option<&Value>) -> Parsed<String> {
        match value {
            Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
            Some(_) => Err(self.error("a text is expected")),
            None => Err(self.error("missing")),
        }
    }

    /// One text or a list of texts; numbers and booleans are read as their text.
    fn texts(&self, value: &Value) -> Parsed<Vec<String>> {
        let one = |value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
            _ => Err(self.error("a text or a list of texts is expected")),
        };
        match value {
            Value::Array(values) => values.iter().map(one).collect(),
            value => Ok(vec![one(value)?]),
        }
    }
}
