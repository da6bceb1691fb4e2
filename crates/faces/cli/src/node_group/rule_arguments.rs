//! Parses rules, classes and variables of a group from the command line. Main functions: [`rule`],
//! [`class`], [`variable`].

use serde_json::Value;

use crate::failure::usage;
use crate::input::{parse_json, text_or_file};
use crate::terminal::escape_control;
use crate::{CommandFailure, Result};

/// Parses a rule in JSON, or `@FILE` that contains it.
pub(super) fn rule(text: &str) -> Result<Value> {
    let (place, text) = text_or_file("--rule", text)?;
    match parse_json(&place, &text)? {
        rule @ Value::Array(_) => Ok(rule),
        _ => {
            let what = r#"a rule is an array, as in ["~", "name", "^web"]"#;
            Err(CommandFailure::content(place, what))
        }
    }
}

/// Parses `NAME`, or `NAME={"parameter": value}`.
pub(super) fn class(text: &str) -> Result<(String, Value)> {
    let Some((name, parameters)) = text.split_once('=') else {
        return Ok((text.to_owned(), Value::Object(serde_json::Map::new())));
    };
    match parse_json("--class", parameters)? {
        parameters @ Value::Object(_) => Ok((name.to_owned(), parameters)),
        _ => {
            let name = escape_control(name);
            let what = format!("the parameters of {name} must be a JSON object");
            Err(CommandFailure::content("--class", what))
        }
    }
}

/// Parses `NAME=VALUE`; a value that is no JSON is taken as text.
pub(super) fn variable(text: &str) -> Result<(String, Value)> {
    let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        let text = escape_control(text);
        return usage(format!("`{text}` is not a variable; write name=value"));
    };
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parts_are_read() {
        assert_eq!(
            rule(r#"["=", "name", "a"]"#).unwrap(),
            json!(["=", "name", "a"])
        );
        assert_eq!(class("ntp").unwrap(), ("ntp".to_owned(), json!({})));
        let with = class(r#"a::b={"x": "y=z"}"#).unwrap();
        assert_eq!(with, ("a::b".to_owned(), json!({"x": "y=z"})));
        assert_eq!(variable("n=1").unwrap().1, json!(1));
        assert_eq!(variable("n=a=b").unwrap().1, json!("a=b"));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(rule("{}").unwrap_err().to_string().contains("array"));
        assert!(rule("[").unwrap_err().to_string().contains("--rule"));
        assert!(class("a=1").unwrap_err().to_string().contains("object"));
        assert!(
            variable("x")
                .unwrap_err()
                .to_string()
                .contains("name=value")
        );
        assert!(rule("@/nonexistent").is_err());
    }
}
