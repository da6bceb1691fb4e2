//! Parses a task's parameters from the command line. Main function: [`parse`].
//!
//! Invariant: `--params` is JSON and exact; `key=value` is for typing: a value that is JSON is
//! taken as JSON, any other as a string, unless the task declares the parameter as a string.

use api_types::Object;
use serde_json::Value;

use crate::failure::usage;
use crate::input::text_or_file;
use crate::{CommandFailure, Result};

/// Parameters of a task or plan on the command line.
#[derive(Debug, clap::Args)]
pub(crate) struct ParameterArguments {
    /// Parameters: a value that is JSON is taken as JSON, any other as text
    #[arg(value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// All parameters as a JSON object, or @FILE
    #[arg(long, value_name = "JSON")]
    pub(crate) params: Option<String>,
}

impl ParameterArguments {
    /// The parameters of the task or plan with this metadata.
    pub(crate) fn parse(&self, metadata: &Object) -> Result<Object> {
        parse(&self.pairs, self.params.as_deref(), metadata)
    }
}

/// Parses `pairs` or `json` (text, or `@FILE`), not both. A parameter that the metadata of the task
/// or plan declares as text is not read as JSON, so that `version=1.10` stays "1.10".
pub(crate) fn parse(pairs: &[String], json: Option<&str>, metadata: &Object) -> Result<Object> {
    match json {
        Some(_) if !pairs.is_empty() => {
            usage("give parameters as key=value or with --params, not both")
        }
        Some(json) => object(json),
        None => {
            let mut all = Object::new();
            for pair in pairs {
                let (key, value) = split(pair, metadata)?;
                if all.insert(key.clone(), value).is_some() {
                    return usage(format!(
                        "the parameter `{key}` is given twice; leave one out"
                    ));
                }
            }
            Ok(all)
        }
    }
}

fn object(json: &str) -> Result<Object> {
    let (place, text) = text_or_file("--params", json)?;
    decode_errors::json::from_str(&text).map_err(|error| {
        let what = format!("parameters are a JSON object such as {{\"name\": \"value\"}}: {error}");
        CommandFailure::content(place, what)
    })
}

fn split(pair: &str, metadata: &Object) -> Result<(String, Value)> {
    let Some((key, text)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        return usage(format!("`{pair}` is not a parameter; write key=value"));
    };
    let value = if is_text(metadata, key) {
        Value::String(text.to_owned())
    } else {
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    };
    Ok((key.to_owned(), value))
}

/// True if the task or plan declares this parameter as text, so that `version=1.10` is not read as
/// a number.
pub(crate) fn is_text(metadata: &Object, key: &str) -> bool {
    let declared = metadata
        .get("parameters")
        .and_then(|parameters| parameters.get(key));
    let declared = declared
        .and_then(|parameter| parameter.get("type"))
        .and_then(Value::as_str);
    declared.is_some_and(|declared| {
        let inner = declared
            .trim()
            .trim_start_matches("Optional[")
            .trim_start_matches("Sensitive[");
        ["String", "Enum", "Pattern"]
            .iter()
            .any(|text| inner.starts_with(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pairs(pairs: &[&str]) -> Value {
        let pairs: Vec<_> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        let text = json!({"parameters": {"version": {"type": "String"}}});
        Value::Object(parse(&pairs, None, text.as_object().unwrap()).unwrap())
    }

    #[test]
    fn what_is_json_is_taken_as_json() {
        let given = pairs(&["a=1", "b=true", "c=text", "d=[1,\"x\"]", "e=a=b", "f="]);
        assert_eq!(
            given,
            json!({"a": 1, "b": true, "c": "text", "d": [1, "x"], "e": "a=b", "f": ""})
        );
    }

    #[test]
    fn a_declared_string_stays_text() {
        assert_eq!(pairs(&["version=1.10"]), json!({"version": "1.10"}));
    }

    #[test]
    fn mistakes_are_named() {
        let parse = |pair: &[String], json| {
            let failure = parse(pair, json, &Object::new()).unwrap_err();
            failure.to_string()
        };
        assert!(parse(&["x".to_owned()], None).contains("key=value"));
        assert!(parse(&["x=1".to_owned()], Some("{}")).contains("not both"));
        assert!(parse(&[], Some("[1]")).contains("JSON object"));
        assert!(parse(&[], Some("@/nonexistent")).contains("/nonexistent"));
    }

    #[test]
    fn parameters_that_cannot_be_read_are_told_in_plain_words() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("params.json");
        for (text, part) in [
            ("", "the text ends where a value is needed"),
            ("[1]", "must be an object, not an array"),
            ("\"a\"", "must be an object, not a string"),
            ("{\"a\": nope}", "(line 1, column 8)"),
            ("{\"a\": 1} x", "remove what follows the end of the value"),
            ("{\"a\": [1, 2}", "write a comma between two values"),
        ] {
            std::fs::write(&file, text).unwrap();
            let named = format!("@{}", file.display());
            for given in [text, named.as_str()] {
                let failure = parse(&[], Some(given), &Object::new()).unwrap_err();
                let message = failure.to_string();
                assert!(message.contains(part), "{message}");
                let wording = decode_errors::LIBRARY_WORDING;
                assert!(
                    !wording.iter().any(|part| message.contains(part)),
                    "{message}"
                );
            }
        }
    }

    #[test]
    fn declared_text_is_known() {
        let metadata = json!({"parameters": {
            "a": {"type": "Optional[String[1]]"}, "b": {"type": "Integer"}, "c": {}
        }});
        let is_text = |key| is_text(metadata.as_object().unwrap(), key);
        assert!(is_text("a"));
        assert!(!is_text("b") && !is_text("c") && !is_text("d"));
    }
}
