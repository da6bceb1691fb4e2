//! The answer to a case: [`CatalogAnswer`].
//!
//! Invariant: a document of an answer has no value that changes from compile to compile.

use serde_json::{Value, json};

/// The version of a catalog whose environment has no `config_version`: the time of its first parse.
const FIXED_VERSION: i64 = 0;
const FIXED_UUID: &str = "00000000-0000-4000-8000-000000000000";

/// The outcome of a compile.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogAnswer {
    /// The document for the agent, as rich data, or the message of the error.
    pub catalog: Result<Value, String>,
    /// Place and code of an error, as far as the compiler has them: `code`, `file`, `line`, `column`.
    pub place: Option<Value>,
    /// `resources` without rich data, `warnings` and `error`; `None` if they were not asked for.
    pub plain: Option<Value>,
    /// The exported resources, which the agent does not get; `None` if they are not compared.
    pub exported: Option<Value>,
    /// Messages as `LEVEL SOURCE: TEXT`, without the error; `None` if they are not compared.
    pub logs: Option<Vec<String>>,
}

impl From<Result<Value, String>> for CatalogAnswer {
    fn from(outcome: Result<Value, String>) -> Self {
        Self {
            catalog: outcome.map(|it| normalized(&it)),
            place: None,
            plain: None,
            exported: None,
            logs: None,
        }
    }
}

impl CatalogAnswer {
    /// Reads an answer of `ruby/catalogs.rb` or of a recording.
    pub fn from_json(answer: &Value) -> Self {
        let outcome = match answer["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer["catalog"].clone()),
        };
        let place = outcome.is_err().then(|| place_of(answer));
        let logs = answer["logs"].as_array().map(Vec::as_slice);
        let texts = |list: &[Value]| {
            let texts = list.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        Self {
            place: place.filter(|it| it.as_object().is_some_and(|map| !map.is_empty())),
            plain: answer.get("plain").map(normalized),
            exported: Some(answer.get("exported").map_or(json!([]), normalized)),
            logs: Some(logs.map_or_else(Vec::new, texts)),
            ..Self::from(outcome)
        }
    }

    /// The form that [`from_json`](Self::from_json) reads.
    pub fn to_json(&self) -> Value {
        let mut answer = json!({});
        match &self.catalog {
            Ok(document) => answer["catalog"] = document.clone(),
            Err(message) => answer["error"] = json!(message),
        }
        if let Some(Value::Object(place)) = &self.place {
            for (key, value) in place {
                answer[key.as_str()] = value.clone();
            }
        }
        if let Some(plain) = &self.plain {
            answer["plain"] = plain.clone();
        }
        if let Some(exported) = self.exported.as_ref().filter(|it| **it != json!([])) {
            answer["exported"] = exported.clone();
        }
        if let Some(logs) = self.logs.as_ref().filter(|it| !it.is_empty()) {
            answer["logs"] = json!(logs);
        }
        answer
    }
}

fn place_of(answer: &Value) -> Value {
    let keys = ["code", "file", "line", "column"];
    let known = keys.iter().filter(|key| !answer[**key].is_null());
    Value::Object(
        known
            .map(|key| ((*key).to_owned(), answer[*key].clone()))
            .collect(),
    )
}

/// A document or a list of resources with fixed version and uuid, and with sorted tags.
pub(super) fn normalized(document: &Value) -> Value {
    let mut document = document.clone();
    if document["version"].is_i64() {
        document["version"] = json!(FIXED_VERSION);
    }
    if document.get("catalog_uuid").is_some() {
        document["catalog_uuid"] = json!(FIXED_UUID);
    }
    sort_texts(document.get_mut("tags"));
    let resources = match document {
        Value::Array(ref mut resources) => Some(resources),
        ref mut document => document.get_mut("resources").and_then(Value::as_array_mut),
    };
    for resource in resources.into_iter().flatten() {
        sort_texts(resource.get_mut("tags"));
        sort_texts(resource.get_mut("sensitive_parameters"));
    }
    document
}

fn sort_texts(list: Option<&mut Value>) {
    if let Some(Value::Array(list)) = list {
        list.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    }
}
