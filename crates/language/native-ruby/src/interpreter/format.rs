//! Ruby's `%` of a string: [`format`].

use crate::defaults::{FORMAT_WIDTH_MAX, TEXT_MAX};
use crate::value::{Eval, RubyValue, refuse};

/// Flags, width and precision of a directive.
#[derive(Debug, Default)]
struct Directive {
    is_left: bool,
    has_zeros: bool,
    width: usize,
    precision: Option<usize>,
}

/// Formats values; only `%s`, `%d`, `%i`, `%x`, `%o`, `%f` and `%%` with `-`, `0`, a width and a precision.
pub(super) fn format(text: &str, values: &[RubyValue]) -> Eval {
    let mut out = String::new();
    let mut values = values.iter();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let directive;
        (directive, rest) = read_directive(rest)?;
        let Some(kind) = rest.chars().next() else {
            return refuse("an incomplete format");
        };
        rest = &rest[kind.len_utf8()..];
        let Some(value) = values.next() else {
            return refuse("a format with too few values");
        };
        out.push_str(&format_value(&directive, kind, value)?);
        if out.len() > TEXT_MAX {
            return refuse("a long text");
        }
    }
    out.push_str(rest);
    Ok(RubyValue::string(out))
}

fn read_directive(text: &str) -> Eval<(Directive, &str)> {
    let mut directive = Directive::default();
    let mut rest = text;
    loop {
        if let Some(after) = rest.strip_prefix('-') {
            directive.is_left = true;
            rest = after;
        } else if let Some(after) = rest.strip_prefix('0') {
            directive.has_zeros = true;
            rest = after;
        } else {
            break;
        }
    }
    (directive.width, rest) = read_number(rest)?;
    if let Some(after) = rest.strip_prefix('.') {
        let precision;
        (precision, rest) = read_number(after)?;
        directive.precision = Some(precision);
    }
    Ok((directive, rest))
}

fn read_number(text: &str) -> Eval<(usize, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    match digits {
        "" => Ok((0, rest)),
        digits => match digits.parse() {
            Ok(number) if number <= FORMAT_WIDTH_MAX => Ok((number, rest)),
            _ => refuse("a wide format"),
        },
    }
}

fn format_value(directive: &Directive, kind: char, value: &RubyValue) -> Eval<String> {
    let text = match (kind, value, directive.precision) {
        ('s', value, None) if !directive.has_zeros => value.to_text()?,
        ('d' | 'i', RubyValue::Int(number), None) => number.to_string(),
        ('x', RubyValue::Int(number), None) if *number >= 0 => format!("{number:x}"),
        ('o', RubyValue::Int(number), None) if *number >= 0 => format!("{number:o}"),
        ('f', RubyValue::Float(number), precision) if number.is_finite() => {
            format!("{number:.*}", precision.unwrap_or(6))
        }
        _ => return refuse(format!("the format %{kind} of {}", value.kind())),
    };
    let missing = directive.width.saturating_sub(text.chars().count());
    Ok(if directive.is_left {
        format!("{text}{}", " ".repeat(missing))
    } else if directive.has_zeros {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", text.as_str()),
        };
        format!("{sign}{}{digits}", "0".repeat(missing))
    } else {
        format!("{}{text}", " ".repeat(missing))
    })
}
