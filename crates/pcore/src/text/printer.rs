//! Types and values as programs write them: [`Printer`].
//!
//! The rule that must hold: what is printed of a type (without aliases) reads back as an equal type.

use std::fmt::Write as _;

use super::float::ruby_float;
use super::quote::quote;
use super::regexp_literal;
use crate::types::{CallableType, IntRange, Kind, StringType, StructElement, Type};
use crate::value::{Hash, Value};

/// Collects a text. It is indented if it has an indent, and shows what named types stand for if it is
/// expanded.
#[derive(Debug, Default)]
pub(crate) struct Printer {
    pub(super) out: String,
    pub(super) expanded: bool,
    /// How deep lists and hashes are indented; `None` is one line.
    pub(super) indent: Option<usize>,
    /// Aliases that are being shown.
    pub(super) open: Vec<usize>,
}

impl Printer {
    pub(crate) fn expanded() -> Self {
        Self {
            expanded: true,
            ..Self::default()
        }
    }

    pub(crate) fn indented(level: usize) -> Self {
        Self {
            indent: Some(level),
            ..Self::default()
        }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    pub(super) fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// A type by its name and parameters.
    pub(crate) fn ty(&mut self, ty: &Type) {
        match ty.kind() {
            Kind::Any => self.push("Any"),
            Kind::Undef => self.push("Undef"),
            Kind::Default => self.push("Default"),
            Kind::Unit => self.push("Unit"),
            Kind::Scalar => self.push("Scalar"),
            Kind::ScalarData => self.push("ScalarData"),
            Kind::Numeric => self.push("Numeric"),
            Kind::Binary => self.push("Binary"),
            Kind::SemVerRange => self.push("SemVerRange"),
            Kind::CatalogEntry => self.push("CatalogEntry"),
            Kind::Integer(range) => self.words("Integer", &range_words(Some(*range))),
            Kind::Float(range) => {
                let (from, to) = (range.from.map(ruby_float), range.to.map(ruby_float));
                self.words("Float", &bounds(from, to));
            }
            Kind::Boolean(None) => self.push("Boolean"),
            Kind::Boolean(Some(value)) => self.words("Boolean", &[value.to_string()]),
            Kind::String(StringType::Size(size)) => self.words("String", &range_words(Some(*size))),
            Kind::String(_) => self.push("String"),
            Kind::Collection(size) => self.words("Collection", &range_words(*size)),
            Kind::Class(name) => {
                let name = name.as_ref().map(ToString::to_string);
                self.words("Class", name.as_slice());
            }
            _ => self.composed(ty),
        }
    }

    fn composed(&mut self, ty: &Type) {
        match ty.kind() {
            Kind::Enum(texts) if !texts.values().is_empty() => {
                let mut parts: Vec<String> =
                    texts.values().iter().map(|text| quote(text)).collect();
                if texts.ignores_case() {
                    parts.push("true".to_owned());
                }
                self.words("Enum", &parts);
            }
            Kind::Enum(_) => self.push("Enum"),
            Kind::Pattern(patterns) => {
                let parts: Vec<String> = patterns.iter().map(regexp_literal).collect();
                self.words("Pattern", &parts);
            }
            Kind::Regexp(pattern) => {
                let pattern = pattern.as_ref().map(regexp_literal);
                self.words("Regexp", pattern.as_slice());
            }
            Kind::SemVer(ranges) => {
                let parts: Vec<String> = ranges.iter().map(|range| format!("'{range}'")).collect();
                self.words("SemVer", &parts);
            }
            Kind::Timestamp(range) => self.times("Timestamp", range.from, range.to),
            Kind::Timespan(range) => self.times("Timespan", range.from, range.to),
            Kind::Type(inner) => self.contained("Type", inner.as_ref()),
            Kind::Iterable(inner) => self.contained("Iterable", inner.as_ref()),
            Kind::Iterator(inner) => self.contained("Iterator", inner.as_ref()),
            Kind::Optional(inner) => self.text_or_type("Optional", inner.as_ref()),
            Kind::NotUndef(inner) => self.text_or_type("NotUndef", inner.as_ref()),
            Kind::Sensitive(inner) => {
                let inner = Some(inner).filter(|inner| !matches!(inner.kind(), Kind::Any));
                self.contained("Sensitive", inner);
            }
            Kind::Variant(types) if types.is_empty() => self.push("Variant"),
            Kind::Variant(types) => self.list("Variant", types, &[]),
            Kind::Tuple(tuple) if tuple.types.is_empty() => self.push("Tuple"),
            Kind::Tuple(tuple) => self.list("Tuple", &tuple.types, &range_words(tuple.size)),
            Kind::Array {
                size: Some(IntRange::EMPTY),
                ..
            } => self.push("Array[0, 0]"),
            Kind::Array { .. } if *ty == Type::array() => self.push("Array"),
            Kind::Array { element, size } => {
                self.list("Array", std::slice::from_ref(element), &range_words(*size));
            }
            Kind::Hash {
                size: Some(IntRange::EMPTY),
                ..
            } => self.push("Hash[0, 0]"),
            Kind::Hash { .. } if *ty == Type::hash() => self.push("Hash"),
            Kind::Hash { key, value, size } => {
                self.list("Hash", &[key.clone(), value.clone()], &range_words(*size));
            }
            Kind::Struct(elements) => self.structure(elements),
            Kind::Callable(callable) => self.callable(callable),
            _ => self.named(ty),
        }
    }

    /// `Name[a, b]`, or the name alone.
    fn words(&mut self, name: &str, parts: &[String]) {
        self.push(name);
        if !parts.is_empty() {
            let _ = write!(self.out, "[{}]", parts.join(", "));
        }
    }

    fn times<T: ToString + PartialEq>(&mut self, name: &str, from: Option<T>, to: Option<T>) {
        let quoted = |time: &T| format!("'{}'", time.to_string());
        let mut parts = Vec::new();
        if from.is_some() || to.is_some() {
            parts.push(from.as_ref().map_or_else(|| "default".to_owned(), quoted));
        }
        if let Some(to) = to.filter(|to| Some(to) != from.as_ref()) {
            parts.push(quoted(&to));
        }
        self.words(name, &parts);
    }

    fn contained(&mut self, name: &str, inner: Option<&Type>) {
        self.push(name);
        if let Some(inner) = inner {
            self.push("[");
            self.ty(inner);
            self.push("]");
        }
    }

    /// `Optional['text']` stands for the type of exactly that text.
    fn text_or_type(&mut self, name: &str, inner: Option<&Type>) {
        match inner.map(Type::kind) {
            Some(Kind::String(StringType::Value(text))) => self.words(name, &[quote(text)]),
            _ => self.contained(name, inner),
        }
    }

    /// `Name[A, B, 1, 2]`.
    fn list(&mut self, name: &str, types: &[Type], words: &[String]) {
        self.push(name);
        self.push("[");
        self.listed(types, words);
        self.push("]");
    }

    fn listed(&mut self, types: &[Type], words: &[String]) {
        for (index, ty) in types.iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            self.ty(ty);
        }
        for (index, word) in words.iter().enumerate() {
            if index > 0 || !types.is_empty() {
                self.push(", ");
            }
            self.push(word);
        }
    }

    fn structure(&mut self, elements: &[StructElement]) {
        self.push("Struct");
        if elements.is_empty() {
            return;
        }
        self.push("[");
        self.braces(elements.iter(), |printer, element| {
            let name = quote(&element.name);
            // the mark is only printed where the value does not say it
            let key = match (element.optional, element.value.accepts_undef()) {
                (true, false) => format!("Optional[{name}]"),
                (false, true) => format!("NotUndef[{name}]"),
                _ => name,
            };
            printer.push(&key);
            printer.push(" => ");
            printer.ty(&element.value);
        });
        self.push("]");
    }

    fn callable(&mut self, callable: &CallableType) {
        self.push("Callable");
        match (&callable.parameters, &callable.returns) {
            (None, None) => {}
            (None, Some(returns)) => {
                self.push("[[], ");
                self.ty(returns);
                self.push("]");
            }
            (Some(_), None) => {
                self.push("[");
                self.parameters(callable);
                self.push("]");
            }
            (Some(_), Some(returns)) => {
                self.push("[[");
                self.parameters(callable);
                self.push("], ");
                self.ty(returns);
                self.push("]");
            }
        }
    }

    fn parameters(&mut self, callable: &CallableType) {
        let Some(tuple) = &callable.parameters else {
            return;
        };
        let types: Vec<Type> = tuple
            .types
            .iter()
            .filter(|ty| !matches!(ty.kind(), Kind::Unit))
            .cloned()
            .collect();
        let words = if tuple.types.is_empty() {
            vec!["0".to_owned(), "0".to_owned()]
        } else {
            range_words(tuple.size)
        };
        self.listed(&types, &words);
        if let Some(block) = &callable.block {
            if !types.is_empty() || !words.is_empty() {
                self.push(", ");
            }
            self.ty(block);
        }
    }

    /// A value as a program writes it.
    pub(crate) fn value(&mut self, value: &Value) {
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
            Value::Hash(entries) => self.hash(entries),
            Value::Regexp(regexp) => self.push(&regexp_literal(regexp)),
            Value::Type(ty) => self.ty(ty),
            Value::SemVer(version) => self.quoted(version),
            Value::SemVerRange(range) => self.quoted(range),
            Value::Timestamp(time) => self.quoted(time),
            Value::Timespan(span) => self.quoted(span),
            Value::Uri(uri) => {
                let text = quote(&uri.to_string());
                let _ = write!(self.out, "URI({text})");
            }
            Value::Object(object) => self.object(object.as_ref()),
            Value::Sensitive(_) | Value::Binary(_) => {
                self.push("Instance of ");
                self.ty(&Type::infer(value));
            }
        }
    }

    fn quoted(&mut self, text: impl std::fmt::Display) {
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
                    self.value(value);
                }
                self.indent = Some(indent);
                self.newline();
            }
            _ => {
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        self.push(", ");
                    }
                    self.value(value);
                }
            }
        }
        self.push("]");
    }

    pub(super) fn hash(&mut self, entries: &Hash) {
        self.braces(entries.iter(), |printer, (key, value)| {
            printer.value(key);
            printer.push(" => ");
            printer.value(value);
        });
    }

    /// Entries in braces, each on its line if indented.
    pub(super) fn braces<T>(
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

/// Whether a list is short enough for one line.
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
    let mut printer = Printer::default();
    printer.value(value);
    printer.finish()
}

/// What a range says in brackets: nothing if it is unbounded.
fn range_words(range: Option<IntRange>) -> Vec<String> {
    range.map_or_else(Vec::new, |range| {
        bounds(
            range.from.map(|from| from.to_string()),
            range.to.map(|to| to.to_string()),
        )
    })
}

fn bounds(from: Option<String>, to: Option<String>) -> Vec<String> {
    if from.is_none() && to.is_none() {
        return Vec::new();
    }
    let mut words = vec![from.unwrap_or_else(|| "default".to_owned())];
    words.extend(to);
    words
}
