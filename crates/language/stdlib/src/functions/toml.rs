//! `to_toml`: pairs first, then tables, then lists of tables, each by their keys.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::{Hash, Value};

use super::sensitive::write_unwrapped;
use crate::defaults::NESTING_MAX;

macro_rules! forms {
    () => {
        &[FunctionDispatch::new(&[one("Hash", "data")], to_toml)
            .returning("Variant[String, Sensitive[String]]")]
    };
}

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new("to_toml", forms!()),
    FunctionSpec::new("stdlib::to_toml", forms!()),
];

fn to_toml(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    write_unwrapped(evaluator, call.get(0), |value| {
        let mut writer = TomlWriter {
            evaluator,
            text: String::new(),
        };
        if let Value::Hash(entries) = value {
            writer.table(entries, &mut Vec::new())?;
        }
        Ok(writer.text)
    })
}

struct TomlWriter<'a, 'h> {
    evaluator: &'a Evaluator<'h>,
    text: String,
}

impl TomlWriter<'_, '_> {
    fn table(&mut self, entries: &Hash, path: &mut Vec<String>) -> EvalResult<()> {
        let has_pairs = entries.values().any(is_simple);
        if !path.is_empty() && (has_pairs || entries.is_empty()) {
            self.line(&format!("[{}]", path.join(".")))?;
        }
        self.entries(entries, path)
    }

    fn entries(&mut self, entries: &Hash, path: &mut Vec<String>) -> EvalResult<()> {
        if path.len() > NESTING_MAX {
            return raise(format!(
                "tables are nested deeper than {NESTING_MAX} levels"
            ));
        }
        let sorted = sort_entries(entries)?;
        for (key, value) in sorted.iter().filter(|(_, value)| is_simple(value)) {
            self.line(&format!("{} = {}", written_key(key), plain(value)))?;
        }
        for (key, value) in &sorted {
            if let Value::Hash(inner) = value {
                path.push(written_key(key));
                self.table(inner, path)?;
                path.pop();
            }
        }
        for (key, value) in &sorted {
            if let Value::Array(tables) = value
                && !is_simple(value)
            {
                path.push(written_key(key));
                self.tables(tables, path)?;
                path.pop();
            }
        }
        Ok(())
    }

    fn tables(&mut self, tables: &[Value], path: &mut Vec<String>) -> EvalResult<()> {
        for table in tables {
            self.line(&format!("[[{}]]", path.join(".")))?;
            let Value::Hash(entries) = table else {
                return raise(format!(
                    "undefined method `keys' for {}",
                    ruby::inspect(table)
                ));
            };
            self.entries(entries, path)?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> EvalResult<()> {
        self.evaluator.check_size(self.text.len() + line.len())?;
        self.text.push_str(line);
        self.text.push('\n');
        Ok(())
    }
}

/// True for values that are neither a table nor a list that begins with one.
fn is_simple(value: &Value) -> bool {
    match value {
        Value::Hash(_) => false,
        Value::Array(list) => !matches!(list.first(), Some(Value::Hash(_))),
        _ => true,
    }
}

fn sort_entries(entries: &Hash) -> EvalResult<Vec<(&str, &Value)>> {
    let mut all = Vec::with_capacity(entries.len());
    for (key, value) in entries.iter() {
        match key.as_str() {
            Some(key) => all.push((key, value)),
            None => {
                return raise(format!(
                    "to_toml(): keys of tables are strings, and this is {}",
                    ruby::inspect(key)
                ));
            }
        }
    }
    all.sort_by_key(|(key, _)| *key);
    Ok(all)
}

fn written_key(key: &str) -> String {
    let is_bare = |line: &str| {
        line.bytes()
            .all(|it| it.is_ascii_alphanumeric() || b"_-".contains(&it))
    };
    if key.split('\n').any(is_bare) {
        key.to_owned()
    } else {
        format!("\"{}\"", key.replace('"', "\\\""))
    }
}

fn plain(value: &Value) -> String {
    match value {
        // in texts of Ruby these signs are escaped, in TOML they are not
        Value::Str(_) => ["\\#{", "\\#$", "\\#@"]
            .iter()
            .fold(ruby::inspect(value), |text, sign| {
                text.replace(sign, &sign[1..])
            }),
        Value::Regexp(_) => ruby::inspect(&Value::from(value.to_string())),
        Value::Timestamp(time) => time
            .format("%Y-%m-%dT%H:%M:%SZ", None)
            .unwrap_or_else(|_| value.to_string()),
        other => ruby::inspect(other),
    }
}
