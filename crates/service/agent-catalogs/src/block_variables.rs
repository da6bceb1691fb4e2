//! Variables of an `apply` block that another server sends: [`BlockVariables`].
//!
//! Invariant: references inside of the values are followed only as far as the limits of size and depth allow.

use std::str::Chars;

use partial_debug::partial_debug;
use pcore::{Hash, RichDataError};
use plan_language::plan_value_from_rich_json;
use serde_json::{Map, Value as Json};

use crate::defaults::{BLOCK_VALUE_BYTES, BLOCK_VALUES_BYTES_MAX, BLOCK_VALUES_DEPTH_MAX};

const TYPE: &str = "__ptype";
const VALUE: &str = "__pvalue";

/// Variables of a plan, as rich data.
#[derive(Clone)]
pub enum BlockVariables {
    /// One object with all variables.
    Object(Map<String, Json>),
    /// Objects with one variable each. References name variables before their own.
    List(Vec<Map<String, Json>>),
}

// Leaves out the values, which may be secret.
partial_debug!(BlockVariables {});

/// Reason that the variables of a block cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BlockVariablesError {
    #[error("{0:?} is not the name of a variable")]
    Name(String),
    #[error("${name}: the reference {path} leads to no value")]
    Reference { name: String, path: String },
    #[error(
        "the values take more than {} MiB or {BLOCK_VALUES_DEPTH_MAX} levels with their references resolved",
        BLOCK_VALUES_BYTES_MAX >> 20
    )]
    TooLarge,
    #[error("${name}: {source}")]
    Value { name: String, source: RichDataError },
}

/// Variables that were read.
#[derive(Debug, Default)]
pub(crate) struct ReadVariables {
    pub(crate) values: Hash,
    /// Names of the variables that are left out, and the type of a value in each that is not read here.
    pub(crate) of_unknown_types: Vec<(String, String)>,
}

impl BlockVariables {
    /// Converts the variables to values.
    pub(crate) fn read(self) -> Result<ReadVariables, BlockVariablesError> {
        let all = match self {
            Self::Object(all) => all,
            Self::List(list) => list.into_iter().flatten().collect(),
        };
        let root = Json::Object(all);
        let mut read = ReadVariables::default();
        let mut references = ReferenceResolver {
            root: &root,
            bytes_left: BLOCK_VALUES_BYTES_MAX,
        };
        for (name, json) in root.as_object().into_iter().flatten() {
            if !is_variable_name(name) {
                return Err(BlockVariablesError::Name(name.clone()));
            }
            let json = references.resolve(json, name, 0)?;
            match plan_value_from_rich_json(&json) {
                Ok(value) => drop(read.values.insert(name.as_str(), value)),
                Err(RichDataError::UnknownType(ty)) => {
                    read.of_unknown_types.push((name.clone(), ty));
                }
                Err(source) => {
                    let name = name.clone();
                    return Err(BlockVariablesError::Value { name, source });
                }
            }
        }
        Ok(read)
    }
}

/// Replaces references in values by that to which they refer.
struct ReferenceResolver<'j> {
    /// All variables.
    root: &'j Json,
    bytes_left: usize,
}

impl<'j> ReferenceResolver<'j> {
    fn resolve(
        &mut self,
        json: &Json,
        variable: &str,
        depth: usize,
    ) -> Result<Json, BlockVariablesError> {
        self.take_bytes(BLOCK_VALUE_BYTES + json.as_str().map_or(0, str::len))?;
        if depth > BLOCK_VALUES_DEPTH_MAX {
            return Err(BlockVariablesError::TooLarge);
        }
        Ok(match json {
            Json::Array(values) => {
                let values = values.iter();
                let values = values.map(|value| self.resolve(value, variable, depth + 1));
                Json::Array(values.collect::<Result<_, _>>()?)
            }
            Json::Object(fields) if is_of_type(fields, "LocalRef") => {
                let path = fields.get(VALUE).and_then(Json::as_str).unwrap_or_default();
                let found = self.follow(path)?;
                let found = found.ok_or_else(|| BlockVariablesError::Reference {
                    name: variable.to_owned(),
                    path: path.chars().take(100).collect(),
                })?;
                self.resolve(found, variable, depth + 1)?
            }
            Json::Object(fields) => {
                let mut resolved = Map::with_capacity(fields.len());
                for (key, value) in fields {
                    self.take_bytes(key.len())?;
                    resolved.insert(key.clone(), self.resolve(value, variable, depth + 1)?);
                }
                Json::Object(resolved)
            }
            plain => plain.clone(),
        })
    }

    /// The value at a path such as `$['a'][0]`.
    fn follow(&mut self, path: &str) -> Result<Option<&'j Json>, BlockVariablesError> {
        self.take_bytes(path.len())?;
        let Some(mut rest) = path.strip_prefix('$') else {
            return Ok(None);
        };
        let mut at = self.root;
        while !rest.is_empty() {
            let Some((key, after)) = rest.strip_prefix('[').and_then(path_key) else {
                return Ok(None);
            };
            rest = after;
            // the time to search counts as bytes
            self.take_bytes(key_pairs(at).map_or(0, <[Json]>::len))?;
            match member(at, &key) {
                Some(found) => at = found,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    fn take_bytes(&mut self, bytes: usize) -> Result<(), BlockVariablesError> {
        let left = self.bytes_left.checked_sub(bytes);
        self.bytes_left = left.ok_or(BlockVariablesError::TooLarge)?;
        Ok(())
    }
}

fn is_of_type(fields: &Map<String, Json>, name: &str) -> bool {
    fields.get(TYPE).and_then(Json::as_str) == Some(name)
}

/// The key at the begin of the text, and the text after the bracket that ends it.
fn path_key(text: &str) -> Option<(Json, &str)> {
    let Some(quote) = text.chars().next().filter(|it| matches!(it, '\'' | '"')) else {
        let (word, rest) = text.split_once(']')?;
        let key = match word {
            "null" | "undef" => Json::Null,
            word => serde_json::from_str(word).ok()?,
        };
        return Some((key, rest));
    };
    let mut key = String::new();
    let mut chars = text[1..].chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' if quote == '"' => key.push(unescaped(&mut chars)?),
            '\\' => match chars.next()? {
                escaped @ ('\\' | '\'') => key.push(escaped),
                other => key.extend(['\\', other]),
            },
            char if char == quote => {
                let rest = chars.as_str().strip_prefix(']')?;
                return Some((Json::String(key), rest));
            }
            char => key.push(char),
        }
    }
    None
}

/// The character of an escape sequence in double quotes. `chars` are those after the backslash.
fn unescaped(chars: &mut Chars<'_>) -> Option<char> {
    Some(match chars.next()? {
        char @ ('\\' | '\'' | '"' | '$') => char,
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let (digits, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
            *chars = rest.chars();
            char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
        }
        _ => return None,
    })
}

/// An element of a list, or the value of a key. A sensitive value is passed through, as it has no key.
fn member<'j>(value: &'j Json, key: &Json) -> Option<&'j Json> {
    match value {
        Json::Array(values) => values.get(usize::try_from(key.as_u64()?).ok()?),
        Json::Object(fields) if is_of_type(fields, "Sensitive") => member(fields.get(VALUE)?, key),
        Json::Object(fields) if is_of_type(fields, "Hash") => {
            let mut pairs = key_pairs(value)?.chunks_exact(2);
            pairs.find(|pair| &pair[0] == key)?.get(1)
        }
        Json::Object(fields) => fields.get(key.as_str()?),
        _ => None,
    }
}

/// The keys and values of a hash whose keys are not all texts.
fn key_pairs(value: &Json) -> Option<&[Json]> {
    let fields = value.as_object()?;
    let pairs = fields.get(VALUE).filter(|_| is_of_type(fields, "Hash"))?;
    pairs.as_array().map(Vec::as_slice)
}

/// True for a name that a program can write after `$`.
fn is_variable_name(name: &str) -> bool {
    let segments = name.strip_prefix("::").unwrap_or(name).split("::");
    let mut segments = segments.peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        let mut bytes = segment.bytes();
        let first = bytes.next();
        let is_first_valid =
            first.is_some_and(|it| it.is_ascii_lowercase() || (is_last && it == b'_'));
        if !is_first_valid || !bytes.all(|it| it.is_ascii_alphanumeric() || it == b'_') {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use pcore::Value;
    use serde_json::json;

    use super::*;

    fn read(json: Json) -> Result<ReadVariables, BlockVariablesError> {
        let Json::Object(all) = json else {
            unreachable!("variables are an object");
        };
        BlockVariables::Object(all).read()
    }

    #[test]
    fn references_lead_to_values_of_any_variable() {
        let variables = read(json!({
            "a": {"it's": [1, {"__ptype": "Sensitive", "__pvalue": ["s"]}]},
            "h": {"__ptype": "Hash", "__pvalue": [5, ["five"], "k", 2]},
            "b": {"__ptype": "LocalRef", "__pvalue": "$['a'][\"it's\"][0]"},
            "c": {"__ptype": "LocalRef", "__pvalue": "$['a']['it\\'s'][1][0]"},
            "d": [{"__ptype": "LocalRef", "__pvalue": "$['h'][5]"}],
        }))
        .unwrap();
        let text = |name: &str| variables.values.get_str(name).unwrap().to_string();
        assert_eq!(text("b"), "1");
        assert_eq!(text("c"), "s");
        let list = variables.values.get_str("d").unwrap().to_json();
        assert_eq!(list.unwrap(), json!([["five"]]));
    }

    #[test]
    fn circles_and_multiplied_values_are_refused() {
        let to = |path: &str| json!({"__ptype": "LocalRef", "__pvalue": path});
        for bad in [
            json!({"a": to("$['a']")}),
            json!({"a": [to("$")]}),
            json!({"a": to("$['b']"), "b": to("$['a']")}),
        ] {
            let error = read(bad).unwrap_err();
            assert!(matches!(error, BlockVariablesError::TooLarge), "{error}");
        }
        let mut laughs =
            Map::from_iter([("v0".to_owned(), json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]))]);
        for level in 1..100 {
            let below = to(&format!("$['v{}']", level - 1));
            laughs.insert(format!("v{level}"), Json::Array(vec![below; 10]));
        }
        let error = read(Json::Object(laughs)).unwrap_err();
        assert!(matches!(error, BlockVariablesError::TooLarge), "{error}");
        for path in [
            "",
            "$[",
            "$['x']",
            "$['a']['b']",
            "$['a'][0",
            "$['a\\",
            "$['a'][99999999999999999999]",
            "$[\"\\u{}\"]",
            "$[\"\\u{D800}\"]",
            "$[\"\\u{61\"]",
            "$[\"\\x\"]",
            "a",
        ] {
            let error = read(json!({"a": [1], "z": to(path)})).unwrap_err();
            assert!(
                matches!(error, BlockVariablesError::Reference { .. }),
                "{path}: {error}"
            );
        }
    }

    /// Puppet writes a key with a control character in double quotes, and each other one in single quotes, where a
    /// backslash stands for itself.
    #[test]
    fn keys_of_references_are_written_as_by_puppet() {
        for (key, path) in [
            ("x\u{1b}", r#"$['m']["x\u{1B}"]"#),
            ("\n\r\t\"$\\\u{0}", r#"$['m']["\n\r\t\"\$\\\u{0}"]"#),
            ("é\u{1}]", r#"$['m']["é\u{1}]"]"#),
            (r"a\n\d", r"$['m']['a\n\d']"),
            (r"it's\", r"$['m']['it\'s\\']"),
            ("\"$", r#"$['m']['"$']"#),
        ] {
            let reference = json!({"__ptype": "LocalRef", "__pvalue": path});
            let variables = read(json!({"m": {key: 7}, "found": reference}));
            let found = variables.unwrap().values.get_str("found").cloned();
            assert_eq!(found, Some(Value::Int(7)), "{path}");
        }
    }

    #[test]
    fn long_paths_count_as_often_as_they_are_followed() {
        let key = "k".repeat(1 << 20);
        let path = format!("$['m']['{key}']");
        let reference = |path: &str| json!({"__ptype": "LocalRef", "__pvalue": path});
        let of_references = |number: usize| {
            let all = vec![reference("$['long']"); number];
            read(json!({"m": {&*key: 1}, "long": reference(&path), "all": all}))
        };
        assert!(of_references(2).is_ok());
        let refused = of_references(40);
        assert!(matches!(refused, Err(BlockVariablesError::TooLarge)));
    }

    #[test]
    fn values_of_unknown_types_are_left_out_and_bad_names_refused() {
        let variables = read(json!({"t": [{"__ptype": "Future"}], "x": 1})).unwrap();
        let expected = [("t".to_owned(), "Future".to_owned())];
        assert_eq!(variables.of_unknown_types, expected);
        assert_eq!(variables.values.len(), 1);
        for name in ["", "A", "a-b", "a::", "_a::b", "é", "a b"] {
            let error = read(json!({name: 1})).unwrap_err();
            assert!(matches!(error, BlockVariablesError::Name(_)), "{name}");
        }
        assert!(read(json!({"x": {"__ptype": "Timestamp", "__pvalue": "never"}})).is_err());
    }
}
