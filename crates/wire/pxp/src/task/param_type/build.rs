//! A type from its name and its parameters.

use super::argument::{Argument, ArgumentValue};
use super::error::{TypeError, clip};
use super::{ParamType, Range, Regex};

/// The type called `name`, which stands at `at`.
pub(super) fn build(
    name: &str,
    at: usize,
    arguments: Option<Vec<Argument>>,
) -> Result<ParamType, TypeError> {
    let takes = |takes| TypeError::Parameters {
        name: name.to_owned(),
        takes,
        at,
    };
    if let Some(plain) = plain(name) {
        return if arguments.is_none() {
            Ok(plain)
        } else {
            Err(takes("no parameters"))
        };
    }
    let arguments = arguments.unwrap_or_default();
    let built = match name {
        "Boolean" => boolean(&arguments),
        "String" => string(arguments, at)?,
        "Integer" => range(&arguments, at, integer)?.map(ParamType::Integer),
        "Float" => range(&arguments, at, float)?.map(ParamType::Float),
        "Enum" => enumeration(arguments),
        "Pattern" => patterns(arguments)?,
        "Optional" => wrapper(arguments).map(|inner| ParamType::Optional(Box::new(inner))),
        "NotUndef" => wrapper(arguments).map(|inner| ParamType::NotUndef(Box::new(inner))),
        "Sensitive" => wrapper(arguments).map(|inner| ParamType::Sensitive(Box::new(inner))),
        "Variant" => types(arguments).map(ParamType::Variant),
        "Array" => array(arguments, at)?,
        "Hash" => hash(arguments, at)?,
        "Tuple" => tuple(arguments, at)?,
        "Struct" => structure(arguments),
        "Collection" => range(&arguments, at, size)?.map(ParamType::Collection),
        _ => {
            return Err(TypeError::Unknown {
                name: clip(name),
                at,
            });
        }
    };
    built.ok_or_else(|| takes(expectation(name)))
}

/// Types without parameters.
fn plain(name: &str) -> Option<ParamType> {
    Some(match name {
        "Any" => ParamType::Any,
        "Data" | "RichData" => ParamType::Data,
        "Undef" => ParamType::Undef,
        "Scalar" => ParamType::ScalarData { scalar: true },
        "ScalarData" => ParamType::ScalarData { scalar: false },
        "Numeric" => ParamType::Numeric,
        "TargetSpec" | "Boltlib::TargetSpec" => ParamType::TargetSpec,
        _ => return None,
    })
}

/// What a type takes, for an error.
fn expectation(name: &str) -> &'static str {
    match name {
        "Boolean" => "true or false, or nothing",
        "String" => "a smallest and a largest length",
        "Integer" | "Float" => "a smallest and a largest number",
        "Enum" => "one or more strings",
        "Pattern" => "one or more regular expressions",
        "Optional" | "NotUndef" | "Sensitive" => "one type or string",
        "Variant" => "one or more types",
        "Array" => "a type, a smallest and a largest size",
        "Hash" => "two types, a smallest and a largest size",
        "Tuple" => "one or more types, a smallest and a largest size",
        "Struct" => "entries in braces, such as {name => String}",
        _ => "a smallest and a largest size",
    }
}

// === one function for each kind of type; `None`: wrong parameters ===

fn boolean(arguments: &[Argument]) -> Option<ParamType> {
    match arguments {
        [] => Some(ParamType::Boolean(None)),
        [
            Argument {
                value: ArgumentValue::Boolean(only),
                ..
            },
        ] => Some(ParamType::Boolean(Some(*only))),
        _ => None,
    }
}

/// `String['text']` takes just that text.
fn string(arguments: Vec<Argument>, at: usize) -> Result<Option<ParamType>, TypeError> {
    if let [
        Argument {
            value: ArgumentValue::Text(text),
            ..
        },
    ] = arguments.as_slice()
    {
        return Ok(Some(literal(text.clone())));
    }
    Ok(range(&arguments, at, size)?.map(ParamType::String))
}

fn enumeration(mut arguments: Vec<Argument>) -> Option<ParamType> {
    // A final `true` makes it ignore case.
    let ignore_case = match arguments.last()?.value {
        ArgumentValue::Boolean(flag) => {
            arguments.pop();
            flag
        }
        _ => false,
    };
    let text = |argument: Argument| match argument.value {
        ArgumentValue::Text(text) => Some(text),
        _ => None,
    };
    let values = arguments
        .into_iter()
        .map(text)
        .collect::<Option<Vec<_>>>()?;
    (!values.is_empty()).then_some(ParamType::Enum {
        values,
        ignore_case,
    })
}

fn patterns(arguments: Vec<Argument>) -> Result<Option<ParamType>, TypeError> {
    let mut all = Vec::new();
    for Argument { at, value } in arguments {
        let (ArgumentValue::Regex(source) | ArgumentValue::Text(source)) = value else {
            return Ok(None);
        };
        all.push(Regex::new(&source).map_err(|problem| TypeError::Regex { problem, at })?);
    }
    Ok((!all.is_empty()).then_some(ParamType::Pattern(all)))
}

fn wrapper(arguments: Vec<Argument>) -> Option<ParamType> {
    let mut arguments = arguments.into_iter();
    match (
        arguments.next().map(|argument| argument.value),
        arguments.next(),
    ) {
        (None, None) => Some(ParamType::Any),
        (Some(ArgumentValue::Type(inner)), None) => Some(inner),
        (Some(ArgumentValue::Text(text)), None) => Some(literal(text)),
        _ => None,
    }
}

fn array(arguments: Vec<Argument>, at: usize) -> Result<Option<ParamType>, TypeError> {
    let (mut types, rest) = leading_types(arguments);
    let element = match types.len() {
        0 => ParamType::Any,
        1 => types.remove(0),
        _ => return Ok(None),
    };
    Ok(range(&rest, at, size)?.map(|sizes| ParamType::Array(Box::new(element), sizes)))
}

fn hash(arguments: Vec<Argument>, at: usize) -> Result<Option<ParamType>, TypeError> {
    let (types, rest) = leading_types(arguments);
    let mut types = types.into_iter();
    let (key, value) = match (types.next(), types.next(), types.next()) {
        (None, ..) => (ParamType::Any, ParamType::Any),
        (Some(key), Some(value), None) => (key, value),
        _ => return Ok(None),
    };
    let sizes = range(&rest, at, size)?;
    Ok(sizes.map(|sizes| ParamType::Hash(Box::new(key), Box::new(value), sizes)))
}

/// Without sizes, exactly as many elements as types.
fn tuple(arguments: Vec<Argument>, at: usize) -> Result<Option<ParamType>, TypeError> {
    let (types, rest) = leading_types(arguments);
    if types.is_empty() {
        return Ok(None);
    }
    if rest.is_empty() {
        let count = Some(types.len() as u64);
        return Ok(Some(ParamType::Tuple(
            types,
            Range {
                min: count,
                max: count,
            },
        )));
    }
    Ok(range(&rest, at, size)?.map(|sizes| ParamType::Tuple(types, sizes)))
}

fn structure(arguments: Vec<Argument>) -> Option<ParamType> {
    let mut arguments = arguments.into_iter();
    match (
        arguments.next().map(|argument| argument.value),
        arguments.next(),
    ) {
        (Some(ArgumentValue::Entries(entries)), None) => Some(ParamType::Struct(entries)),
        _ => None,
    }
}

// === parts ===

fn literal(text: String) -> ParamType {
    ParamType::Enum {
        values: vec![text],
        ignore_case: false,
    }
}

fn types(arguments: Vec<Argument>) -> Option<Vec<ParamType>> {
    let (types, rest) = leading_types(arguments);
    (rest.is_empty() && !types.is_empty()).then_some(types)
}

fn leading_types(arguments: Vec<Argument>) -> (Vec<ParamType>, Vec<Argument>) {
    let mut types = Vec::new();
    let mut rest = Vec::new();
    for argument in arguments {
        match argument.value {
            ArgumentValue::Type(parsed) if rest.is_empty() => types.push(parsed),
            value => rest.push(Argument { value, ..argument }),
        }
    }
    (types, rest)
}

/// Up to two ends of a range, each of which may be `default`.
fn range<T: PartialOrd + Copy>(
    arguments: &[Argument],
    at: usize,
    end: impl Fn(&ArgumentValue) -> Option<T>,
) -> Result<Option<Range<T>>, TypeError> {
    let read = |argument: Option<&Argument>| match argument.map(|argument| &argument.value) {
        None | Some(ArgumentValue::Default) => Some(None),
        Some(value) => end(value).map(Some),
    };
    let (Some(min), Some(max), true) = (
        read(arguments.first()),
        read(arguments.get(1)),
        arguments.len() <= 2,
    ) else {
        return Ok(None);
    };
    match (min, max) {
        (Some(min), Some(max)) if min > max => Err(TypeError::EmptyRange { at }),
        _ => Ok(Some(Range { min, max })),
    }
}

fn size(value: &ArgumentValue) -> Option<u64> {
    integer(value).and_then(|number| u64::try_from(number).ok())
}

fn integer(value: &ArgumentValue) -> Option<i64> {
    match value {
        ArgumentValue::Integer(number) => Some(*number),
        _ => None,
    }
}

fn float(value: &ArgumentValue) -> Option<f64> {
    match value {
        ArgumentValue::Integer(number) => Some(*number as f64),
        ArgumentValue::Float(number) => Some(*number),
        _ => None,
    }
}
