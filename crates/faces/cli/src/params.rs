//! Parses a task's parameters from the command line. Main function: [`parse`].
//!
//! Invariant: `--params` is JSON and exact; `key=value` is for typing: a value that is JSON is
//! taken as JSON, any other as a string, unless the task declares the parameter as a string.

use std::path::Path;

use api_types::Object;
use serde_json::Value;

use crate::CommandFailure;
use crate::input::read_limited;

/// Parses `pairs` or `json` (text, or `@FILE`), not both. `is_string` returns true if the task
/// declares the parameter as text, so that `version=1.10` stays "1.10".
pub(crate) fn parse(
    pairs: &[String],
    json: Option<&str>,
    is_string: impl Fn(&str) -> bool,
) -> Result<Object, CommandFailure> {
    match json {
        Some(_) if !pairs.is_empty() => Err(CommandFailure::Usage(
            "give parameters as key=value or with --params, not both".to_owned(),
        )),
        Some(json) => object(json),
        None => {
            let mut all = Object::new();
            for pair in pairs {
                let (key, value) = split(pair, &is_string)?;
                if all.insert(key.clone(), value).is_some() {
                    let what = format!("the parameter `{key}` is given twice; leave one out");
                    return Err(CommandFailure::Usage(what));
                }
            }
            Ok(all)
        }
    }
}

fn object(json: &str) -> Result<Object, CommandFailure> {
    let (place, text) = match json.strip_prefix('@') {
        Some(path) => (path.to_owned(), read_limited(Path::new(path))?),
        None => ("--params".to_owned(), json.to_owned()),
    };
    decode_errors::json::from_str(&text).map_err(|error| CommandFailure::Content {
        place,
        what: format!("parameters are a JSON object such as {{\"name\": \"value\"}}: {error}"),
    })
}

fn split(pair: &str, is_string: &impl Fn(&str) -> bool) -> Result<(String, Value), CommandFailure> {
    let Some((key, text)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        let what = format!("`{pair}` is not a parameter; write key=value");
        return Err(CommandFailure::Usage(what));
    };
    let value = if is_string(key) {
        Value::String(text.to_owned())
    } else {
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    };
    Ok((key.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pairs(pairs: &[&str]) -> Value {
        let pairs: Vec<_> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        Value::Object(parse(&pairs, None, |key| key == "version").unwrap())
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
        let parse = |pair: &[String], json| parse(pair, json, |_| false).unwrap_err().to_string();
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
                let failure = parse(&[], Some(given), |_| false).unwrap_err();
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
}
