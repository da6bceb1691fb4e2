//! Values as programs write them, on one line or over several.

use std::fmt::Write as _;

use super::printer::ValuePrinter;
use super::quote::quote;
use super::regexp_literal;
use super::ruby_float;
use crate::types::Type;
use crate::value::{Hash, Value};

impl ValuePrinter {
    /// Prints a value as a program writes it.
    pub(crate) fn print_value(&mut self, value: &Value) {
        match value {
            Value::Undef => self.push("undef"),
            Value::Default => self.push("default"),
            Value::Bool(flag) => self.push(if *flag { "true" } else { "false" }),
            Value::Int(number) => {
                let _ = write!(self.out, "{number}");
            }
            Value::Float(number) => self.push(&ruby_float(*number)),
            Value::Str(text) => self.push(&quote(text)),
            Value::Array(values) => self.array(values),
            Value::Hash(entries) => self.print_hash(entries),
            Value::Regexp(regexp) => self.push(&regexp_literal(regexp)),
            Value::Type(ty) => self.print_type(ty),
            Value::SemVer(version) => self.print_quoted(version),
            Value::SemVerRange(range) => self.print_quoted(range),
            Value::Timestamp(time) => self.print_quoted(time),
            Value::Timespan(span) => self.print_quoted(span),
            Value::Uri(uri) => {
                let text = quote(&uri.to_string());
                let _ = write!(self.out, "URI({text})");
            }
            Value::Object(object) => self.print_object(object.as_ref()),
            Value::Sensitive(_) | Value::Binary(_) => {
                self.push("Instance of ");
                self.print_type(&Type::infer(value));
            }
        }
    }

    fn print_quoted(&mut self, text: impl std::fmt::Display) {
        let _ = write!(self.out, "'{text}'");
    }

    fn array(&mut self, values: &[Value]) {
        self.push("[");
        match self.indent {
            Some(indent) if !is_short(values, indent) => {
                self.indent = Some(indent + 1);
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        self.push(",");
                    }
                    self.newline();
                    self.print_value(value);
                }
                self.indent = Some(indent);
                self.newline();
            }
            _ => {
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        self.push(", ");
                    }
                    self.print_value(value);
                }
            }
        }
        self.push("]");
    }

    pub(super) fn print_hash(&mut self, entries: &Hash) {
        self.print_braced(entries.iter(), |printer, (key, value)| {
            printer.print_value(key);
            printer.push(" => ");
            printer.print_value(value);
        });
    }

    /// Prints entries in braces, each on its own line if indented.
    pub(super) fn print_braced<T>(
        &mut self,
        entries: impl Iterator<Item = T>,
        mut entry: impl FnMut(&mut Self, T),
    ) {
        self.push("{");
        let outer = self.indent;
        self.indent = outer.map(|indent| indent + 1);
        for (index, item) in entries.enumerate() {
            if index > 0 {
                self.push(if outer.is_some() { "," } else { ", " });
            }
            if outer.is_some() {
                self.newline();
            }
            entry(self, item);
        }
        self.indent = outer;
        if outer.is_some() {
            self.newline();
        }
        self.push("}");
    }

    fn newline(&mut self) {
        let end = self.out.trim_end().len();
        self.out.truncate(end);
        self.out.push('\n');
        for _ in 0..self.indent.unwrap_or(0) {
            self.out.push_str("  ");
        }
    }
}

/// True if a list is short enough for one line.
fn is_short(values: &[Value], indent: usize) -> bool {
    let width = |value: &Value| match value {
        Value::Undef => 3,
        Value::Bool(_) | Value::Int(_) => value_text(value).len(),
        Value::Float(number) => ruby_float(*number).len(),
        Value::Default => 8,
        Value::Str(text) => 2 + text.chars().count(),
        Value::Array(values) if values.is_empty() => 2,
        Value::Hash(entries) if entries.is_empty() => 2,
        _ => 1_000,
    };
    values.is_empty() || 100_usize.saturating_sub(indent * 2) > values.iter().map(width).sum()
}

fn value_text(value: &Value) -> String {
    let mut printer = ValuePrinter::default();
    printer.print_value(value);
    printer.finish()
}
