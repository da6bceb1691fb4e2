//! Formatted texts of values that are neither numbers nor containers.

use super::container::Indentation;
use super::number;
use super::spec::{FormatError, FormatMap, ValueFormat};
use super::sprintf;
use crate::text::{
    REDACTED, ValuePrinter, base64, capitalize, double_quote, quote, regexp_literal,
};
use crate::types::Type;
use crate::value::{Binary, Uri, Value};

pub(super) fn convert(value: &Value, format: &ValueFormat) -> Result<String, FormatError> {
    match value {
        Value::Undef => undef(format),
        Value::Default => default(format),
        Value::Bool(flag) => boolean(*flag, format),
        Value::Str(text) => string(text, format),
        Value::Binary(bytes) => binary(bytes, format),
        Value::Regexp(regexp) => match format.letter {
            'p' => sprintf::text(format, &regexp_literal(regexp)),
            's' if format.alt => sprintf::text(format, &quote(regexp.source())),
            's' => sprintf::text(format, regexp.source()),
            letter => illegal("Regexp", letter, "sp"),
        },
        Value::Type(ty) => match format.letter {
            's' if format.alt => sprintf::text(format, &format!("\"{ty}\"")),
            's' | 'p' => sprintf::text(format, &ty.to_string()),
            letter => illegal("Type", letter, "sp"),
        },
        _ => other(value, format),
    }
}

fn illegal<T>(ty: &'static str, letter: char, expected: &'static str) -> Result<T, FormatError> {
    Err(FormatError::Illegal {
        ty,
        letter,
        expected,
    })
}

/// Pads a text as Puppet itself does, without the check of the flags in Ruby's `sprintf`.
fn pad_text(format: &ValueFormat, text: &str) -> Result<String, FormatError> {
    let plain = ValueFormat {
        flags: String::new(),
        ..format.clone()
    };
    sprintf::text(&plain, text)
}

fn undef(format: &ValueFormat) -> Result<String, FormatError> {
    let text = match (format.letter, format.alt) {
        ('n', true) => "null",
        ('n', false) => "nil",
        ('u', true) => "undefined",
        ('u', false) | ('p', false) => "undef",
        ('v', _) => "n/a",
        ('V', _) => "N/A",
        ('s', true) => "\"\"",
        ('s', false) => "",
        ('p', true) => "\"undef\"",
        ('d' | 'x' | 'X' | 'o' | 'b' | 'B' | 'e' | 'E' | 'f' | 'g' | 'G' | 'a' | 'A', _) => "NaN",
        (letter, _) => return illegal("Undef", letter, "nudxXobBeEfgGaAvVsp"),
    };
    pad_text(format, text)
}

fn default(format: &ValueFormat) -> Result<String, FormatError> {
    let text = match (format.letter, format.alt) {
        ('d' | 's' | 'p', false) => "default",
        ('d' | 's' | 'p', true) => "\"default\"",
        ('D', false) => "Default",
        ('D', true) => "\"Default\"",
        (letter, _) => return illegal("Default", letter, "dDsp"),
    };
    pad_text(format, text)
}

fn boolean(flag: bool, format: &ValueFormat) -> Result<String, FormatError> {
    let words = match format.letter {
        't' => ("true", "false"),
        'T' => ("True", "False"),
        'y' => ("yes", "no"),
        'Y' => ("Yes", "No"),
        'd' | 'x' | 'X' | 'o' | 'b' | 'B' => return number::integer(flag.into(), format),
        'e' | 'E' | 'f' | 'g' | 'G' | 'a' | 'A' => {
            return number::float(f64::from(u8::from(flag)), format);
        }
        's' | 'p' => return pad_text(format, if flag { "true" } else { "false" }),
        letter => return illegal("Boolean", letter, "tTyYdxXobBeEfgGaAsp"),
    };
    let word = if flag { words.0 } else { words.1 };
    pad_text(format, if format.alt { &word[..1] } else { word })
}

fn string(text: &str, format: &ValueFormat) -> Result<String, FormatError> {
    let changed = match format.letter {
        's' => return sprintf::text(format, text),
        'p' if format.alt => return pad_text(format, &double_quote(text)),
        'p' => return pad_text(format, &quote(text)),
        'c' => capitalize(text),
        'C' => {
            let segments: Vec<String> = text.split("::").map(capitalize).collect();
            segments.join("::").trim_end_matches("::").to_owned()
        }
        'u' => text.to_uppercase(),
        'd' => text.to_lowercase(),
        't' => text.trim_matches(is_stripped).to_owned(),
        letter => return illegal("String", letter, "cCudspt"),
    };
    if format.alt {
        pad_text(format, &quote(&changed))
    } else {
        sprintf::text(format, &changed)
    }
}

/// True for the characters that Ruby's `strip` removes.
fn is_stripped(c: char) -> bool {
    c == '\0' || c == '\u{b}' || c.is_ascii_whitespace()
}

fn binary(bytes: &Binary, format: &ValueFormat) -> Result<String, FormatError> {
    let text = match format.letter {
        's' if format.alt => return sprintf::text(format, &inspect_bytes(bytes.bytes())),
        's' => match std::str::from_utf8(bytes.bytes()) {
            Ok(text) => text.to_owned(),
            Err(_) => return Err(FormatError::NotText(first_beyond_ascii(bytes.bytes()))),
        },
        'p' => {
            let inner = sprintf::text(&format.with_letter('s'), &bytes.to_string())?;
            return Ok(format!("Binary(\"{inner}\")"));
        }
        'b' => base64::encode_lines(bytes.bytes()),
        'B' => bytes.to_string(),
        'u' => base64::encode(bytes.bytes(), base64::FOR_URLS),
        't' => "Binary".to_owned(),
        'T' => "BINARY".to_owned(),
        letter => return illegal("Binary", letter, "bButTsp"),
    };
    if format.alt {
        sprintf::text(format, &syntax::ruby_inspect(&text))
    } else {
        sprintf::text(format, &text)
    }
}

/// Ruby's `inspect` of a binary string: bytes outside ASCII as `\xNN`.
fn inspect_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    for chunk in bytes.chunk_by(|a, b| a.is_ascii() == b.is_ascii()) {
        match std::str::from_utf8(chunk) {
            Ok(text) if chunk.is_ascii() => {
                let quoted = syntax::ruby_inspect(text);
                out.push_str(&quoted[1..quoted.len() - 1].replace("\\u00", "\\x"));
            }
            _ => out.extend(chunk.iter().map(|byte| format!("\\x{byte:02X}"))),
        }
    }
    format!("\"{out}\"")
}

fn first_beyond_ascii(bytes: &[u8]) -> u8 {
    let mut beyond = bytes.iter().filter(|byte| !byte.is_ascii());
    beyond.next().copied().unwrap_or_default()
}

/// Versions, times and sensitive values, which Ruby formats itself.
fn other(value: &Value, format: &ValueFormat) -> Result<String, FormatError> {
    sprintf::check(format)?;
    match (value, format.letter) {
        (Value::Sensitive(_), 'p') => sprintf::text(format, &format!("#<{REDACTED}>")),
        (_, 's') => sprintf::text(format, &value.to_string()),
        (Value::SemVer(_), 'p') => sprintf::text(format, &value.to_string()),
        // Puppet prints the address of the Ruby object
        (Value::Timestamp(_) | Value::Timespan(_), 'p') => {
            sprintf::text(format, &value.to_program_string())
        }
        (Value::SemVerRange(range), 'p') => sprintf::text(format, &range.canonical()),
        (_, 'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'b' | 'B') => match value {
            Value::Timespan(span) => sprintf::integer(format, span.whole_seconds().into()),
            Value::Timestamp(time) => sprintf::integer(format, time.whole_seconds().into()),
            _ => not_a_number(value, "Integer"),
        },
        (_, 'e' | 'E' | 'f' | 'g' | 'G' | 'a' | 'A') => match value {
            Value::Timespan(span) => sprintf::float(format, span.seconds()),
            Value::Timestamp(time) => sprintf::float(format, time.seconds()),
            _ => not_a_number(value, "Float"),
        },
        (_, letter) => Err(FormatError::Malformed(letter.to_string())),
    }
}

fn not_a_number(value: &Value, to: &'static str) -> Result<String, FormatError> {
    let class = match value {
        Value::Sensitive(_) => "Puppet::Pops::Types::PSensitiveType::Sensitive".to_owned(),
        Value::SemVer(_) => "SemanticPuppet::Version".to_owned(),
        Value::SemVerRange(_) => "SemanticPuppet::VersionRange".to_owned(),
        other => Type::infer(other).name(),
    };
    Err(FormatError::NotANumber(class, to))
}

pub(super) fn uri(
    ty: &Type,
    uri: &Uri,
    value: &Value,
    map: &FormatMap,
    indentation: Indentation,
) -> Result<String, FormatError> {
    let format = map.format_for(ty);
    match format.letter {
        'p' => Ok(print_value(value, &format, indentation)),
        's' if format.alt => sprintf::text(&format, &quote(&uri.to_string())),
        's' => sprintf::text(&format, &uri.to_string()),
        letter => illegal("URI", letter, "sp"),
    }
}

pub(super) fn object(
    ty: &Type,
    value: &Value,
    map: &FormatMap,
    indentation: Indentation,
) -> Result<String, FormatError> {
    let format = map.format_for(ty);
    match format.letter {
        'p' => Ok(print_value(value, &format, indentation)),
        's' | 'q' => Ok(value.to_string()),
        letter => illegal("Object", letter, "spq"),
    }
}

/// The value as a program writes it; on several lines if the format has the flag `#` or indentation
/// is on.
fn print_value(value: &Value, format: &ValueFormat, indentation: Indentation) -> String {
    let mut printer = if format.alt || indentation.is_indenting() {
        ValuePrinter::indented(indentation.level())
    } else {
        ValuePrinter::default()
    };
    printer.print_value(value);
    printer.finish()
}
