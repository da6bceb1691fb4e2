//! Formats and maps of formats. Main types: [`ValueFormat`], [`FormatMap`].
//!
//! Invariant: a map is in the order in which it is searched, the narrowest types first.

use crate::defaults::FORMATTED_WIDTH_MAX;
use crate::types::{StringType, Type, TypeKind};
use crate::value::{Hash, Value};

/// A format is invalid, or not valid for the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The first byte that is not ASCII.
    #[error("\"\\x{0:02X}\" from ASCII-8BIT to UTF-8")]
    NotText(u8),
    #[error("The format '{0}' is not a valid format on the form '%<flags><width>.<prec><format>'")]
    NotAFormat(String),
    #[error("The same flag can only be used once, got '{0}'")]
    FlagTwice(String),
    #[error("Only one of the delimiters [ {{ ( < | can be given in the format flags, got '{0}'")]
    TwoDelimiters(String),
    #[error(
        "Illegal format '{letter}' specified for value of {ty} type - expected one of the characters '{expected}'"
    )]
    Illegal {
        ty: &'static str,
        letter: char,
        expected: &'static str,
    },
    #[error("malformed format string - %{0}")]
    Malformed(String),
    #[error("malformed name - unmatched parenthesis")]
    MalformedName,
    #[error("can't convert {0} into {1}")]
    NotANumber(String, &'static str),
    #[error("top level keys in the format hash must be data types, got instance of '{0}'")]
    KeyNotAType(String),
    #[error(
        "only 'separator', 'separator2', 'format', 'string_formats' are allowed in a container format, got {0}"
    )]
    ContainerKey(String),
    #[error(
        "string conversion expects a Default value or a Hash of type to format mappings, got a '{0}'"
    )]
    NotFormats(String),
    #[error("pack(U): value out of range")]
    NotACharacter,
    #[error("the format asks for {0} characters, more than the limit of {FORMATTED_WIDTH_MAX}")]
    TooWide(usize),
}

/// The character before a non-negative number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberSign {
    Ignore,
    Plus,
    Space,
}

/// `%<flags><width>.<precision><letter>`.
#[derive(Debug, Clone)]
pub(super) struct ValueFormat {
    pub(super) flags: String,
    pub(super) letter: char,
    pub(super) alt: bool,
    pub(super) left: bool,
    pub(super) zero: bool,
    pub(super) plus: NumberSign,
    pub(super) delimiter: Option<char>,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
    pub(super) separator: Option<String>,
    pub(super) separator2: Option<String>,
    /// The formats for the elements of a list or hash.
    pub(super) inner: Option<FormatMap>,
}

impl ValueFormat {
    pub(super) fn parse(source: &str) -> Result<Self, FormatError> {
        let refused = || FormatError::NotAFormat(source.to_owned());
        let body = source.strip_prefix('%').ok_or_else(refused)?;
        let is_flag = |c: char| c.is_ascii_whitespace() || "[+#0{<(|-".contains(c);
        let end = body.find(|c| !is_flag(c)).ok_or_else(refused)?;
        let (flags, rest) = body.split_at(end);
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .ok_or_else(refused)?;
        let (width, rest) = rest.split_at(end);
        let (precision, rest) = match rest.strip_prefix('.') {
            Some(rest) => {
                let end = rest
                    .find(|c: char| !c.is_ascii_digit())
                    .ok_or_else(refused)?;
                if end == 0 {
                    return Err(refused());
                }
                (&rest[..end], &rest[end..])
            }
            None => ("", rest),
        };
        let mut letters = rest.trim_end_matches('\n').chars();
        let letter = letters
            .next()
            .filter(char::is_ascii_alphabetic)
            .ok_or_else(refused)?;
        if letters.next().is_some() {
            return Err(refused());
        }
        let mut seen = String::new();
        for flag in flags.chars() {
            if seen.contains(flag) {
                return Err(FormatError::FlagTwice(source.to_owned()));
            }
            seen.push(flag);
        }
        let mut delimiters = "[{(<|".chars().filter(|c| flags.contains(*c));
        let delimiter = delimiters.next();
        if delimiters.next().is_some() {
            return Err(FormatError::TwoDelimiters(source.to_owned()));
        }
        Ok(Self {
            flags: flags.to_owned(),
            letter,
            alt: flags.contains('#'),
            left: flags.contains('-'),
            zero: flags.contains('0'),
            plus: if flags.contains(' ') {
                NumberSign::Space
            } else if flags.contains('+') {
                NumberSign::Plus
            } else {
                NumberSign::Ignore
            },
            delimiter,
            width: size(width)?,
            precision: size(precision)?,
            separator: None,
            separator2: None,
            inner: None,
        })
    }

    /// A format of this crate, which is always valid.
    fn known(source: &str) -> Self {
        Self::parse(source).unwrap_or_else(|_| Self {
            flags: String::new(),
            letter: 's',
            alt: false,
            left: false,
            zero: false,
            plus: NumberSign::Ignore,
            delimiter: None,
            width: None,
            precision: None,
            separator: None,
            separator2: None,
            inner: None,
        })
    }

    /// This format, overridden by the separators and inner formats of `other`.
    fn merge(&self, other: &Self) -> Self {
        Self {
            separator: other.separator.clone().or_else(|| self.separator.clone()),
            separator2: other.separator2.clone().or_else(|| self.separator2.clone()),
            inner: match (&self.inner, &other.inner) {
                (Some(lower), Some(higher)) => Some(lower.merge(higher)),
                (lower, higher) => higher.clone().or_else(|| lower.clone()),
            },
            ..other.clone()
        }
    }

    /// This format with another letter.
    pub(super) fn with_letter(&self, letter: char) -> Self {
        Self {
            letter,
            ..self.clone()
        }
    }

    /// Opening and closing delimiters of a list or hash.
    pub(super) fn delimiters(
        &self,
        usual: (&'static str, &'static str),
    ) -> (&'static str, &'static str) {
        match self.delimiter {
            Some('[') => ("[", "]"),
            Some('{') => ("{", "}"),
            Some('(') => ("(", ")"),
            Some('<') => ("<", ">"),
            Some(_) => ("|", "|"),
            None if self.plus == NumberSign::Space => ("", ""),
            None => usual,
        }
    }
}

fn size(digits: &str) -> Result<Option<usize>, FormatError> {
    if digits.is_empty() {
        return Ok(None);
    }
    let size = digits.parse().unwrap_or(usize::MAX);
    if size > FORMATTED_WIDTH_MAX {
        return Err(FormatError::TooWide(size));
    }
    Ok(Some(size))
}

/// Formats by type, in the order in which they are tried.
#[derive(Debug, Clone)]
pub(super) struct FormatMap(Vec<(Type, ValueFormat)>);

impl FormatMap {
    /// Default formats.
    pub(super) fn default_formats() -> Self {
        let container = |letter: &str, separator2: &str| ValueFormat {
            separator: Some(", ".to_owned()),
            separator2: Some(separator2.to_owned()),
            inner: Some(Self::default_inner_formats()),
            ..ValueFormat::known(letter)
        };
        Self(vec![
            (Type::object(), ValueFormat::known("%p")),
            (Type::float(), ValueFormat::known("%f")),
            (Type::numeric(), ValueFormat::known("%d")),
            (Type::array(), container("%a", ", ")),
            (Type::hash(), container("%h", " => ")),
            (Type::binary(), ValueFormat::known("%B")),
            (Type::any(), ValueFormat::known("%s")),
        ])
    }

    /// Default formats for elements of lists and hashes.
    pub(super) fn default_inner_formats() -> Self {
        Self(vec![(Type::any(), ValueFormat::known("%p"))])
    }

    pub(super) fn single_format(ty: Type, format: &str) -> Result<Self, FormatError> {
        Ok(Self(vec![(ty, ValueFormat::parse(format)?)]))
    }

    pub(super) fn container_format(ty: Type, format: &str) -> Result<Self, FormatError> {
        Self::single_format(ty, format)
    }

    /// Parses a hash from types to formats.
    pub(super) fn parse(given: &Hash) -> Result<Self, FormatError> {
        let mut formats = Vec::with_capacity(given.len());
        for (key, value) in given.iter() {
            let Value::Type(ty) = key else {
                return Err(FormatError::KeyNotAType(Type::infer(key).name()));
            };
            let format = match value {
                Value::Hash(container) => parse_container(container)?,
                Value::Str(format) => ValueFormat::parse(format)?,
                other => return Err(FormatError::NotAFormat(other.to_string())),
            };
            formats.push((ty.clone(), format));
        }
        Ok(Self(formats))
    }

    /// The format for a type.
    pub(super) fn format_for(&self, ty: &Type) -> ValueFormat {
        self.0
            .iter()
            .find(|(wide, _)| wide.is_assignable(ty))
            .map_or_else(|| ValueFormat::known("%s"), |(_, format)| format.clone())
    }

    fn get(&self, ty: &Type) -> Option<&ValueFormat> {
        self.0
            .iter()
            .find(|(key, _)| key == ty)
            .map(|(_, format)| format)
    }

    /// The union of both maps; formats of `higher` replace those of the same or narrower types.
    pub(super) fn merge(&self, higher: &Self) -> Self {
        let kept: Vec<&(Type, ValueFormat)> = self
            .0
            .iter()
            .filter(|(lower, _)| {
                !higher
                    .0
                    .iter()
                    .any(|(high, _)| high != lower && high.is_assignable(lower))
            })
            .collect();
        let mut merged: Vec<(Type, ValueFormat)> = kept
            .iter()
            .map(|(ty, format)| {
                let format = match higher.get(ty) {
                    Some(high) => format.merge(high),
                    None => format.clone(),
                };
                (ty.clone(), format)
            })
            .collect();
        for (ty, format) in &higher.0 {
            if !merged.iter().any(|(known, _)| known == ty) {
                merged.push((ty.clone(), format.clone()));
            }
        }
        Self(sort(merged))
    }
}

fn parse_container(given: &Hash) -> Result<ValueFormat, FormatError> {
    let known = ["separator", "separator2", "format", "string_formats"];
    let is_known = |key: &Value| key.as_str().is_some_and(|key| known.contains(&key));
    if !given.keys().all(is_known) {
        return Err(FormatError::ContainerKey(
            Value::hash(given.clone()).to_program_string(),
        ));
    }
    let text = |key: &str| {
        given
            .get_str(key)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let inner = match given.get_str("string_formats") {
        Some(Value::Hash(inner)) => Some(FormatMap::parse(inner)?),
        _ => None,
    };
    Ok(ValueFormat {
        separator: text("separator"),
        separator2: text("separator2"),
        inner,
        ..ValueFormat::parse(&text("format").unwrap_or_default())?
    })
}

/// Sorts narrow types first, by insertion, because the order is not total.
fn sort(formats: Vec<(Type, ValueFormat)>) -> Vec<(Type, ValueFormat)> {
    let mut sorted: Vec<(Type, ValueFormat)> = Vec::with_capacity(formats.len());
    for entry in formats {
        let place = sorted
            .iter()
            .position(|other| is_before(&entry.0, &other.0))
            .unwrap_or(sorted.len());
        sorted.insert(place, entry);
    }
    sorted
}

fn is_before(ty: &Type, other: &Type) -> bool {
    if ty == other {
        return false;
    }
    match (other.is_assignable(ty), ty.is_assignable(other)) {
        (true, false) => true,
        (false, true) => false,
        _ => match (rank(ty), rank(other)) {
            (0, _) | (_, 0) => ty.to_string() < other.to_string(),
            (mine, theirs) => mine < theirs,
        },
    }
}

fn rank(ty: &Type) -> u8 {
    match ty.kind() {
        TypeKind::Struct(_) => 1,
        TypeKind::Hash { .. } => 2,
        TypeKind::Tuple(_) => 3,
        TypeKind::Array { .. } => 4,
        TypeKind::Pattern(_) => 10,
        TypeKind::Enum(_) => 11,
        TypeKind::String(StringType::Any | StringType::Size(_) | StringType::Value(_)) => 12,
        _ => 0,
    }
}
