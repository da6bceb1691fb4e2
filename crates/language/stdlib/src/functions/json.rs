//! `to_json` and `to_json_pretty` in the format of Ruby 3.1, including empty collections over
//! several lines.

use std::fmt::Write as _;

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::{Hash, Value, ruby_float};

use super::sensitive::write_unwrapped;
use crate::defaults::NESTING_MAX;

const OPTIONS: &str = "Struct[{ indent => Optional[String], space => Optional[String], \
    space_before => Optional[String], object_nl => Optional[String], array_nl => Optional[String], \
    allow_nan => Optional[Boolean], max_nesting => Optional[Integer[-1,default]] }]";

macro_rules! pretty {
    () => {
        &[FunctionDispatch::new(
            &[
                one("Variant[Hash, Array]", "data"),
                optional("Optional[Boolean]", "skip_undef"),
                optional(OPTIONS, "opts"),
            ],
            to_json_pretty,
        )]
    };
}

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "to_json",
        &[FunctionDispatch::new(&[one("Any", "data")], to_json)],
    ),
    FunctionSpec::new(
        "stdlib::to_json",
        &[FunctionDispatch::new(&[one("Any", "data")], to_json)],
    ),
    FunctionSpec::new("to_json_pretty", pretty!()),
    FunctionSpec::new("stdlib::to_json_pretty", pretty!()),
];

/// The separators between the parts of a document.
struct JsonSeparators {
    indent: String,
    space: String,
    space_before: String,
    object_break: String,
    array_break: String,
    allows_nan: bool,
    nesting_max: usize,
}

impl JsonSeparators {
    fn compact() -> Self {
        Self {
            indent: String::new(),
            space: String::new(),
            space_before: String::new(),
            object_break: String::new(),
            array_break: String::new(),
            allows_nan: false,
            nesting_max: NESTING_MAX,
        }
    }

    fn pretty(options: Option<&Hash>) -> Self {
        let text = |name: &str, default: &str| {
            let given = options
                .and_then(|it| it.get_str(name))
                .and_then(Value::as_str);
            given.unwrap_or(default).to_owned()
        };
        let nesting = options
            .and_then(|it| it.get_str("max_nesting"))
            .and_then(Value::as_int);
        Self {
            indent: text("indent", "  "),
            space: text("space", " "),
            space_before: text("space_before", ""),
            object_break: text("object_nl", "\n"),
            array_break: text("array_nl", "\n"),
            allows_nan: options
                .and_then(|it| it.get_str("allow_nan"))
                .is_some_and(Value::is_truthy),
            nesting_max: match nesting {
                None => NESTING_MAX,
                Some(0 | -1) => NESTING_MAX,
                Some(limit) => usize::try_from(limit)
                    .unwrap_or(NESTING_MAX)
                    .min(NESTING_MAX),
            },
        }
    }
}

fn to_json(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    write_unwrapped(evaluator, call.get(0), |value| {
        text(evaluator, value, JsonSeparators::compact())
    })
}

fn to_json_pretty(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let data = if call.get(1).is_truthy() {
        without_undef(call.get(0))
    } else {
        call.get(0).clone()
    };
    write_unwrapped(evaluator, &data, |value| {
        let style = JsonSeparators::pretty(call.get(2).as_hash());
        let mut text = text(evaluator, value, style)?;
        text.push('\n');
        Ok(text)
    })
}

/// Removes undef entries at the top level; deeper ones stay.
fn without_undef(value: &Value) -> Value {
    match value {
        Value::Array(list) => {
            Value::array(list.iter().filter(|it| !it.is_undef()).cloned().collect())
        }
        Value::Hash(entries) => Value::hash(
            entries
                .iter()
                .filter(|(_, it)| !it.is_undef())
                .map(|(key, it)| (key.clone(), it.clone()))
                .collect(),
        ),
        other => other.clone(),
    }
}

fn text(evaluator: &Evaluator<'_>, value: &Value, style: JsonSeparators) -> EvalResult<String> {
    let mut writer = PrettyJsonWriter {
        evaluator,
        style,
        text: String::new(),
        depth: 0,
    };
    writer.value(value)?;
    Ok(writer.text)
}

struct PrettyJsonWriter<'a, 'h> {
    evaluator: &'a Evaluator<'h>,
    style: JsonSeparators,
    text: String,
    depth: usize,
}

impl PrettyJsonWriter<'_, '_> {
    fn value(&mut self, value: &Value) -> EvalResult<()> {
        self.evaluator.check_size(self.text.len())?;
        match value {
            Value::Undef => self.text.push_str("null"),
            Value::Bool(flag) => {
                let _ = write!(self.text, "{flag}");
            }
            Value::Int(number) => {
                let _ = write!(self.text, "{number}");
            }
            Value::Float(number) if !number.is_finite() && !self.style.allows_nan => {
                return raise(format!("{} not allowed in JSON", ruby_float(*number)));
            }
            Value::Float(number) => self.text.push_str(&ruby_float(*number)),
            Value::Str(text) => quote(text, &mut self.text),
            Value::Array(list) => return self.list(list),
            Value::Hash(entries) => return self.hash(entries),
            other => quote(&ruby::to_s(other), &mut self.text),
        }
        Ok(())
    }

    fn deeper(&mut self) -> EvalResult<()> {
        self.depth += 1;
        if self.depth > self.style.nesting_max {
            return raise(format!("nesting of {} is too deep", self.depth - 1));
        }
        Ok(())
    }

    fn indent(&mut self) {
        for _ in 0..self.depth {
            self.text.push_str(&self.style.indent);
        }
    }

    fn list(&mut self, list: &[Value]) -> EvalResult<()> {
        self.deeper()?;
        let line_break = self.style.array_break.clone();
        self.text.push('[');
        self.text.push_str(&line_break);
        for (index, value) in list.iter().enumerate() {
            if index > 0 {
                self.text.push(',');
                self.text.push_str(&line_break);
            }
            self.indent();
            self.value(value)?;
        }
        self.depth -= 1;
        self.text.push_str(&line_break);
        self.indent();
        self.text.push(']');
        Ok(())
    }

    fn hash(&mut self, entries: &Hash) -> EvalResult<()> {
        self.deeper()?;
        let line_break = self.style.object_break.clone();
        self.text.push('{');
        for (index, (key, value)) in entries.iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            self.text.push_str(&line_break);
            self.indent();
            quote(&ruby::to_s(key), &mut self.text);
            self.text.push_str(&self.style.space_before);
            self.text.push(':');
            self.text.push_str(&self.style.space);
            self.value(value)?;
        }
        self.depth -= 1;
        self.text.push_str(&line_break);
        self.indent();
        self.text.push('}');
        Ok(())
    }
}

fn quote(text: &str, into: &mut String) {
    into.push('"');
    for c in text.chars() {
        match c {
            '"' => into.push_str("\\\""),
            '\\' => into.push_str("\\\\"),
            '\n' => into.push_str("\\n"),
            '\r' => into.push_str("\\r"),
            '\t' => into.push_str("\\t"),
            '\u{c}' => into.push_str("\\f"),
            '\u{8}' => into.push_str("\\b"),
            c if c < ' ' => {
                let _ = write!(into, "\\u{:04x}", u32::from(c));
            }
            other => into.push(other),
        }
    }
    into.push('"');
}
