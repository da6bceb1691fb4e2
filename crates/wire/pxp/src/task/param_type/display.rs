//! A type as the language writes it; parsing that gives the same type again.

use std::fmt::{self, Display, Formatter};

use super::{ParamType, Presence, Range, StructEntry};

impl Display for ParamType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("Any"),
            Self::Data => f.write_str("Data"),
            Self::Undef => f.write_str("Undef"),
            Self::ScalarData { scalar: true } => f.write_str("Scalar"),
            Self::ScalarData { scalar: false } => f.write_str("ScalarData"),
            Self::Numeric => f.write_str("Numeric"),
            Self::TargetSpec => f.write_str("TargetSpec"),
            Self::Boolean(None) => f.write_str("Boolean"),
            Self::Boolean(Some(only)) => write!(f, "Boolean[{only}]"),
            Self::String(lengths) => parameters(f, "String", &[], lengths),
            Self::Integer(numbers) => parameters(f, "Integer", &[], numbers),
            Self::Float(numbers) => parameters(f, "Float", &[], &numbers.map(FloatEnd)),
            Self::Collection(sizes) => parameters(f, "Collection", &[], sizes),
            Self::Enum {
                values,
                ignore_case,
            } => {
                f.write_str("Enum[")?;
                list(f, values.iter().map(|value| Quoted(value)))?;
                f.write_str(if *ignore_case { ",true]" } else { "]" })
            }
            Self::Pattern(all) => {
                f.write_str("Pattern[")?;
                list(f, all.iter().map(|regex| format!("/{}/", regex.as_str())))?;
                f.write_str("]")
            }
            Self::Optional(inner) => write!(f, "Optional[{inner}]"),
            Self::NotUndef(inner) => write!(f, "NotUndef[{inner}]"),
            Self::Sensitive(inner) => write!(f, "Sensitive[{inner}]"),
            Self::Variant(types) => {
                f.write_str("Variant[")?;
                list(f, types.iter())?;
                f.write_str("]")
            }
            Self::Array(element, sizes) => parameters(f, "Array", &[element], sizes),
            Self::Hash(key, value, sizes) => parameters(f, "Hash", &[key, value], sizes),
            Self::Tuple(types, sizes) => {
                let all: Vec<&Self> = types.iter().collect();
                let exactly = Some(types.len() as u64);
                let implied = sizes.min == exactly && sizes.max == exactly;
                parameters(f, "Tuple", &all, if implied { &Range::OPEN } else { sizes })
            }
            Self::Struct(entries) => {
                f.write_str("Struct[{")?;
                list(f, entries.iter())?;
                f.write_str("}]")
            }
        }
    }
}

impl Display for StructEntry {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, value) = (Quoted(&self.name), &self.value);
        match self.presence {
            Presence::ByValue => write!(f, "{name} => {value}"),
            Presence::Optional => write!(f, "Optional[{name}] => {value}"),
            Presence::Required => write!(f, "NotUndef[{name}] => {value}"),
        }
    }
}

impl Range<u64> {
    const OPEN: Self = Self {
        min: None,
        max: None,
    };
}

impl<T: Copy> Range<T> {
    fn map<U>(&self, end: impl Fn(T) -> U) -> Range<U> {
        Range {
            min: self.min.map(&end),
            max: self.max.map(&end),
        }
    }
}

/// A float that is not taken for an integer when read again.
struct FloatEnd(f64);

impl Display for FloatEnd {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A text in single quotes.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.0.replace('\\', r"\\").replace('\'', r"\'"))
    }
}

/// The name, and in brackets the types and the ends of the range, as far as there are any.
fn parameters<T: Display>(
    f: &mut Formatter<'_>,
    name: &str,
    types: &[&ParamType],
    range: &Range<T>,
) -> fmt::Result {
    let end = |end: &Option<T>| end.as_ref().map_or("default".to_owned(), T::to_string);
    let mut all: Vec<String> = types.iter().map(|inner| inner.to_string()).collect();
    match (&range.min, &range.max) {
        (None, None) => {}
        (_, None) => all.push(end(&range.min)),
        _ => all.extend([end(&range.min), end(&range.max)]),
    }
    if all.is_empty() {
        f.write_str(name)
    } else {
        write!(f, "{name}[{}]", all.join(","))
    }
}

fn list<T: Display>(f: &mut Formatter<'_>, items: impl Iterator<Item = T>) -> fmt::Result {
    for (index, item) in items.enumerate() {
        if index > 0 {
            f.write_str(",")?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}
