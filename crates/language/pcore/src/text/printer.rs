//! Types and values as programs write them: [`ValuePrinter`].
//!
//! Invariant: the printed text of a type (without aliases) parses to an equal type.

use std::fmt::Write as _;

use super::quote::quote;
use super::regexp_literal;
use super::ruby_float;
use crate::types::{CallableType, IntRange, StringType, StructElement, Type, TypeKind};

/// Builds a text. It is indented if `indent` is set, and shows the definitions of named types if it
/// is expanded.
#[derive(Debug, Default)]
pub(crate) struct ValuePrinter {
    pub(super) out: String,
    pub(super) expanded: bool,
    /// Indentation of lists and hashes in levels; `None` prints on one line.
    pub(super) indent: Option<usize>,
    /// The aliases whose definitions are being printed.
    pub(super) open: Vec<usize>,
}

impl ValuePrinter {
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

    /// Prints a type: its name and parameters.
    pub(crate) fn print_type(&mut self, ty: &Type) {
        match ty.kind() {
            TypeKind::Any => self.push("Any"),
            TypeKind::Undef => self.push("Undef"),
            TypeKind::Default => self.push("Default"),
            TypeKind::Unit => self.push("Unit"),
            TypeKind::Scalar => self.push("Scalar"),
            TypeKind::ScalarData => self.push("ScalarData"),
            TypeKind::Numeric => self.push("Numeric"),
            TypeKind::Binary => self.push("Binary"),
            TypeKind::SemVerRange => self.push("SemVerRange"),
            TypeKind::CatalogEntry => self.push("CatalogEntry"),
            TypeKind::Integer(range) => self.words("Integer", &range_words(Some(*range))),
            TypeKind::Float(range) => {
                let (from, to) = (range.from.map(ruby_float), range.to.map(ruby_float));
                self.words("Float", &bounds(from, to));
            }
            TypeKind::Boolean(None) => self.push("Boolean"),
            TypeKind::Boolean(Some(value)) => self.words("Boolean", &[value.to_string()]),
            TypeKind::String(StringType::Size(size)) => {
                self.words("String", &range_words(Some(*size)))
            }
            TypeKind::String(_) => self.push("String"),
            TypeKind::Collection(size) => self.words("Collection", &range_words(*size)),
            TypeKind::Class(name) => {
                let name = name.as_ref().map(ToString::to_string);
                self.words("Class", name.as_slice());
            }
            _ => self.print_composed(ty),
        }
    }

    fn print_composed(&mut self, ty: &Type) {
        match ty.kind() {
            TypeKind::Enum(texts) if !texts.values().is_empty() => {
                let mut parts: Vec<String> =
                    texts.values().iter().map(|text| quote(text)).collect();
                if texts.ignores_case() {
                    parts.push("true".to_owned());
                }
                self.words("Enum", &parts);
            }
            TypeKind::Enum(_) => self.push("Enum"),
            TypeKind::Pattern(patterns) => {
                let parts: Vec<String> = patterns.iter().map(regexp_literal).collect();
                self.words("Pattern", &parts);
            }
            TypeKind::Regexp(pattern) => {
                let pattern = pattern.as_ref().map(regexp_literal);
                self.words("Regexp", pattern.as_slice());
            }
            TypeKind::SemVer(ranges) => {
                let parts: Vec<String> = ranges.iter().map(|range| format!("'{range}'")).collect();
                self.words("SemVer", &parts);
            }
            TypeKind::Timestamp(range) => self.times("Timestamp", range.from, range.to),
            TypeKind::Timespan(range) => self.times("Timespan", range.from, range.to),
            TypeKind::Type(inner) => self.print_contained("Type", inner.as_ref()),
            TypeKind::Iterable(inner) => self.print_contained("Iterable", inner.as_ref()),
            TypeKind::Iterator(inner) => self.print_contained("Iterator", inner.as_ref()),
            TypeKind::Optional(inner) => self.text_or_type("Optional", inner.as_ref()),
            TypeKind::NotUndef(inner) => self.text_or_type("NotUndef", inner.as_ref()),
            TypeKind::Sensitive(inner) => {
                let inner = Some(inner).filter(|inner| !matches!(inner.kind(), TypeKind::Any));
                self.print_contained("Sensitive", inner);
            }
            TypeKind::Variant(types) if types.is_empty() => self.push("Variant"),
            TypeKind::Variant(types) => self.list("Variant", types, &[]),
            TypeKind::Tuple(tuple) if tuple.types.is_empty() => self.push("Tuple"),
            TypeKind::Tuple(tuple) => self.list("Tuple", &tuple.types, &range_words(tuple.size)),
            TypeKind::Array {
                size: Some(IntRange::EMPTY),
                ..
            } => self.push("Array[0, 0]"),
            TypeKind::Array { .. } if *ty == Type::array() => self.push("Array"),
            TypeKind::Array { element, size } => {
                self.list("Array", std::slice::from_ref(element), &range_words(*size));
            }
            TypeKind::Hash {
                size: Some(IntRange::EMPTY),
                ..
            } => self.push("Hash[0, 0]"),
            TypeKind::Hash { .. } if *ty == Type::hash() => self.push("Hash"),
            TypeKind::Hash { key, value, size } => {
                self.list("Hash", &[key.clone(), value.clone()], &range_words(*size));
            }
            TypeKind::Struct(elements) => self.structure(elements),
            TypeKind::Callable(callable) => self.callable(callable),
            _ => self.print_named_type(ty),
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

    fn print_contained(&mut self, name: &str, inner: Option<&Type>) {
        self.push(name);
        if let Some(inner) = inner {
            self.push("[");
            self.print_type(inner);
            self.push("]");
        }
    }

    /// Prints `Optional['text']` for the type of exactly that text.
    fn text_or_type(&mut self, name: &str, inner: Option<&Type>) {
        match inner.map(Type::kind) {
            Some(TypeKind::String(StringType::Value(text))) => self.words(name, &[quote(text)]),
            _ => self.print_contained(name, inner),
        }
    }

    /// `Name[A, B, 1, 2]`.
    fn list(&mut self, name: &str, types: &[Type], words: &[String]) {
        self.push(name);
        self.push("[");
        self.print_list(types, words);
        self.push("]");
    }

    fn print_list(&mut self, types: &[Type], words: &[String]) {
        for (index, ty) in types.iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            self.print_type(ty);
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
        self.print_braced(elements.iter(), |printer, element| {
            let name = quote(&element.name);
            // the mark is printed only if the value does not imply it
            let key = match (element.optional, element.value.accepts_undef()) {
                (true, false) => format!("Optional[{name}]"),
                (false, true) => format!("NotUndef[{name}]"),
                _ => name,
            };
            printer.push(&key);
            printer.push(" => ");
            printer.print_type(&element.value);
        });
        self.push("]");
    }

    fn callable(&mut self, callable: &CallableType) {
        self.push("Callable");
        match (&callable.parameters, &callable.returns) {
            (None, None) => {}
            (None, Some(returns)) => {
                self.push("[[], ");
                self.print_type(returns);
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
                self.print_type(returns);
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
            .filter(|ty| !matches!(ty.kind(), TypeKind::Unit))
            .cloned()
            .collect();
        let words = if tuple.types.is_empty() {
            vec!["0".to_owned(), "0".to_owned()]
        } else {
            range_words(tuple.size)
        };
        self.print_list(&types, &words);
        if let Some(block) = &callable.block {
            if !types.is_empty() || !words.is_empty() {
                self.push(", ");
            }
            self.print_type(block);
        }
    }
}

/// Parameters of a range as printed in brackets: empty if it is unbounded.
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
