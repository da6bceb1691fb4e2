//! Formats of lists and hashes: delimiters, separators, line breaks.
//!
//! Invariant: the elements are formatted with the container's own map, but containers among them
//! with the whole map.

use super::convert;
use super::spec::{FormatError, FormatMap, ValueFormat};
use crate::types::{Type, TypeKind};
use crate::value::{Hash, Value};

/// Indentation of a container: its level, and whether indenting is on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Indentation {
    level: usize,
    first: bool,
    indenting: bool,
}

impl Default for Indentation {
    fn default() -> Self {
        Self {
            level: 0,
            first: true,
            indenting: false,
        }
    }
}

impl Indentation {
    pub(super) fn level(self) -> usize {
        self.level
    }

    pub(super) fn is_indenting(self) -> bool {
        self.indenting
    }

    fn subsequent(self) -> Self {
        Self {
            first: false,
            ..self
        }
    }

    fn indenting(self, indenting: bool) -> Self {
        Self { indenting, ..self }
    }

    fn increase(self, indenting: bool) -> Self {
        Self {
            level: self.level + 1,
            first: true,
            indenting,
        }
    }

    /// True if the container starts on its own line.
    fn breaks(self) -> bool {
        self.indenting && self.level > 0 && !self.first
    }

    fn padding(self) -> String {
        "  ".repeat(self.level)
    }
}

fn is_container(ty: &Type) -> bool {
    matches!(
        ty.kind(),
        TypeKind::Array { .. }
            | TypeKind::Hash { .. }
            | TypeKind::Struct(_)
            | TypeKind::Tuple(_)
            | TypeKind::Object(_)
    )
}

fn is_list_or_hash(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Hash(_))
}

fn inner_text(
    value: &Value,
    map: &FormatMap,
    inner: &FormatMap,
    indentation: Indentation,
) -> Result<String, FormatError> {
    let ty = Type::infer_detailed(value);
    let map = if is_container(&ty) { map } else { inner };
    convert(&ty, value, map, indentation)
}

pub(super) fn array(
    ty: &Type,
    values: &[Value],
    map: &FormatMap,
    indentation: Indentation,
) -> Result<String, FormatError> {
    let format = map.format_for(ty);
    if !matches!(format.letter, 'a' | 's' | 'p') {
        return Err(FormatError::Illegal {
            ty: "Array",
            letter: format.letter,
            expected: "asp",
        });
    }
    let inner = format
        .inner
        .clone()
        .unwrap_or_else(FormatMap::default_inner_formats);
    let indentation = indentation.indenting(format.alt || indentation.indenting);
    let children = indentation.increase(format.alt).subsequent();
    let texts: Vec<String> = values
        .iter()
        .map(|value| inner_text(value, map, &inner, children))
        .collect::<Result<_, _>>()?;
    Ok(join(&format, values, &texts, indentation, children))
}

fn join(
    format: &ValueFormat,
    values: &[Value],
    texts: &[String],
    indentation: Indentation,
    children: Indentation,
) -> String {
    let separator = format.separator.as_deref().unwrap_or(", ");
    let (open, close) = format.delimiters(("[", "]"));
    let breaks = format.alt
        && format
            .width
            .is_some_and(|width| widest(values, texts) > width);
    let mut out = String::new();
    if indentation.breaks() {
        out.push('\n');
        out.push_str(&indentation.padding());
    }
    out.push_str(open);
    for (index, (value, text)) in values.iter().zip(texts).enumerate() {
        let plain = !is_list_or_hash(value);
        if index == 0 {
            if breaks && plain {
                out.push(' ');
            }
        } else {
            out.push_str(separator);
            let behind_container = format.alt && is_list_or_hash(&values[index - 1]);
            if plain && (breaks || behind_container) {
                if !out.ends_with('\n') {
                    out.truncate(out.trim_end().len());
                }
                out.push('\n');
                out.push_str(&children.padding());
            }
        }
        if out.ends_with(' ') && text.starts_with('\n') {
            out.truncate(out.trim_end().len());
        }
        out.push_str(text);
    }
    out.push_str(close);
    out
}

/// The largest total length, in characters, of neighbouring elements that are not lists or hashes.
fn widest(values: &[Value], texts: &[String]) -> usize {
    let (mut widest, mut run) = (0, 0);
    for (value, text) in values.iter().zip(texts) {
        run = if is_list_or_hash(value) {
            0
        } else {
            run + text.chars().count()
        };
        widest = widest.max(run);
    }
    widest
}

pub(super) fn hash(
    ty: &Type,
    entries: &Hash,
    map: &FormatMap,
    indentation: Indentation,
) -> Result<String, FormatError> {
    let format = map.format_for(ty);
    match format.letter {
        'a' => {
            let pairs = entries
                .iter()
                .map(|(key, value)| Value::array(vec![key.clone(), value.clone()]));
            let pairs = Value::array(pairs.collect());
            convert(&Type::infer_detailed(&pairs), &pairs, map, indentation)
        }
        'h' | 's' | 'p' => braces(&format, entries, map, indentation),
        letter => Err(FormatError::Illegal {
            ty: "Hash",
            letter,
            expected: "hasp",
        }),
    }
}

fn braces(
    format: &ValueFormat,
    entries: &Hash,
    map: &FormatMap,
    indentation: Indentation,
) -> Result<String, FormatError> {
    let inner = format
        .inner
        .clone()
        .unwrap_or_else(FormatMap::default_inner_formats);
    let indentation = indentation.indenting(format.alt || indentation.indenting);
    let children = indentation.increase(false);
    let (open, close) = format.delimiters(("{", "}"));
    let arrow = format.separator2.as_deref().unwrap_or(" => ");
    let mut separator = format.separator.as_deref().unwrap_or(", ").to_owned();
    let (mut line_break, mut padding) = ("", String::new());
    if format.alt {
        if !separator.ends_with('\n') {
            separator.truncate(separator.trim_end().len());
        }
        separator.push('\n');
        line_break = "\n";
        padding = children.padding();
    }
    let texts: Vec<String> = entries
        .iter()
        .map(|(key, value)| {
            let key = inner_text(key, map, &inner, children)?;
            let value = inner_text(value, map, &inner, children)?;
            Ok(format!("{padding}{key}{arrow}{value}"))
        })
        .collect::<Result<_, FormatError>>()?;
    let mut out = String::new();
    if indentation.breaks() {
        out.push('\n');
        out.push_str(&indentation.padding());
    }
    out.push_str(open);
    out.push_str(line_break);
    out.push_str(&texts.join(&separator));
    if format.alt {
        out.push_str(line_break);
        out.push_str(&indentation.padding());
    }
    out.push_str(close);
    Ok(out)
}
