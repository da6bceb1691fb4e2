//! `sprintf` as in Ruby: arguments by position, by number (`%1$s`) and by name (`%<x>d`, `%{x}`).
//!
//! Invariant: a width or precision never makes a text larger than a value may be.

use pcore::Value;

use crate::Evaluator;
use crate::error::{EvalResult, raise};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one};
use crate::{label, numbers, ruby};

/// The largest width or precision, larger than in any sensible format.
const WIDTH_MAX: usize = 1 << 16;

pub(super) static FUNCTIONS: &[FunctionSpec] = &[FunctionSpec::new(
    "sprintf",
    &[FunctionDispatch::new(
        &[one("Any", "format"), any("Any", "arguments")],
        sprintf,
    )],
)];

fn sprintf(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    for argument in &mut call.arguments {
        *argument = evaluator.old_argument(argument)?;
    }
    let Value::Str(format) = call.get(0) else {
        return raise(format!(
            "no implicit conversion of {} into String",
            label::ruby_class(call.get(0))
        ));
    };
    let mut formatting = SprintfFormatter {
        arguments: &call.arguments[1..],
        next: 0,
    };
    let text = formatting.format(format)?;
    evaluator.charge_bytes(text.len())?;
    Ok(Value::from(text))
}

struct SprintfFormatter<'a> {
    arguments: &'a [Value],
    next: usize,
}

/// Flags, width and precision between `%` and the conversion letter.
#[derive(Default)]
struct FormatSpec {
    minus: bool,
    plus: bool,
    space: bool,
    zero: bool,
    alternate: bool,
    width: Option<usize>,
    precision: Option<usize>,
    value: Option<Value>,
}

impl SprintfFormatter<'_> {
    fn format(&mut self, format: &str) -> EvalResult<String> {
        let mut text = String::new();
        let mut letters = format.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter == '%' {
                self.directive(&mut letters, &mut text)?;
            } else {
                text.push(letter);
            }
        }
        Ok(text)
    }

    fn directive(
        &mut self,
        letters: &mut std::iter::Peekable<std::str::Chars<'_>>,
        text: &mut String,
    ) -> EvalResult<()> {
        let mut spec = FormatSpec::default();
        loop {
            let Some(letter) = letters.next() else {
                return raise("incomplete format specifier; use %% (double %) instead");
            };
            match letter {
                '-' => spec.minus = true,
                '+' => spec.plus = true,
                ' ' => spec.space = true,
                '0' => spec.zero = true,
                '#' => spec.alternate = true,
                '1'..='9' => {
                    let number = number(letter, letters);
                    if letters.next_if_eq(&'$').is_some() {
                        spec.value = Some(self.argument_at(number)?);
                    } else {
                        spec.width = Some(number);
                    }
                }
                '*' => self.width(&mut spec)?,
                '.' => {
                    spec.precision = Some(match letters.next_if(char::is_ascii_digit) {
                        Some(digit) => number(digit, letters),
                        None => 0,
                    });
                }
                '<' => {
                    let name: String = letters.by_ref().take_while(|it| *it != '>').collect();
                    spec.value = Some(self.argument_named(&name, '<', '>')?);
                }
                '{' => {
                    let name: String = letters.by_ref().take_while(|it| *it != '}').collect();
                    let shown = ruby::to_s(&self.argument_named(&name, '{', '}')?);
                    text.push_str(&pad(&spec, &shown));
                    return Ok(());
                }
                '%' => {
                    text.push('%');
                    return Ok(());
                }
                '\n' | '\0' => {
                    text.push('%');
                    text.push(letter);
                    return Ok(());
                }
                conversion => {
                    text.push_str(&self.convert(&mut spec, conversion)?);
                    return Ok(());
                }
            }
            if spec.width.max(spec.precision).unwrap_or_default() > WIDTH_MAX {
                return raise("width too big");
            }
        }
    }

    fn width(&mut self, spec: &mut FormatSpec) -> EvalResult<()> {
        let width = integer(&self.following()?)?;
        spec.minus |= width < 0;
        spec.width = usize::try_from(width.unsigned_abs()).ok();
        Ok(())
    }

    fn following(&mut self) -> EvalResult {
        let Some(value) = self.arguments.get(self.next) else {
            return raise("too few arguments");
        };
        self.next += 1;
        Ok(value.clone())
    }

    fn argument_at(&self, number: usize) -> EvalResult {
        match number.checked_sub(1).and_then(|it| self.arguments.get(it)) {
            Some(value) => Ok(value.clone()),
            None => raise("too few arguments"),
        }
    }

    fn argument_named(&self, name: &str, open: char, close: char) -> EvalResult {
        match self.arguments {
            [Value::Hash(entries)] => match entries.get_str(name) {
                Some(value) => Ok(value.clone()),
                None => raise(format!("key{open}{name}{close} not found")),
            },
            _ => raise("one hash required"),
        }
    }

    fn convert(&mut self, spec: &mut FormatSpec, conversion: char) -> EvalResult<String> {
        if !"diusfeEgGaAxXobBcp".contains(conversion) {
            return raise(format!("malformed format string - %{conversion}"));
        }
        let value = match spec.value.take() {
            Some(value) => value,
            None => self.following()?,
        };
        Ok(match conversion {
            's' => pad(spec, &truncate(spec, &ruby::to_s(&value))),
            'p' => pad(spec, &truncate(spec, &ruby::inspect(&value))),
            'c' => pad(spec, &character(&value)?),
            'd' | 'i' | 'u' => format_signed(spec, integer(&value)?, 10, ""),
            'x' => format_signed(spec, integer(&value)?, 16, "0x"),
            'X' => format_signed(spec, integer(&value)?, 16, "0x").to_uppercase(),
            'o' => format_signed(spec, integer(&value)?, 8, "0"),
            'b' => format_signed(spec, integer(&value)?, 2, "0b"),
            'B' => format_signed(spec, integer(&value)?, 2, "0b").to_uppercase(),
            _ => format_float(spec, float(&value)?, conversion),
        })
    }
}

fn number(first: char, letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> usize {
    let mut number = first.to_digit(10).unwrap_or_default() as usize;
    while let Some(digit) = letters.next_if(char::is_ascii_digit) {
        number = (number * 10 + digit.to_digit(10).unwrap_or_default() as usize).min(WIDTH_MAX + 1);
    }
    number
}

fn truncate(spec: &FormatSpec, text: &str) -> String {
    match spec.precision {
        Some(precision) => text.chars().take(precision).collect(),
        None => text.to_owned(),
    }
}

fn pad(spec: &FormatSpec, text: &str) -> String {
    let missing = spec
        .width
        .unwrap_or_default()
        .saturating_sub(text.chars().count());
    let blanks = " ".repeat(missing);
    if spec.minus {
        format!("{text}{blanks}")
    } else {
        format!("{blanks}{text}")
    }
}

fn character(value: &Value) -> EvalResult<String> {
    match value {
        Value::Str(text) => match text.chars().next() {
            Some(letter) => Ok(letter.to_string()),
            None => raise("%c requires a character"),
        },
        other => {
            let code = u32::try_from(integer(other)?).ok().and_then(char::from_u32);
            match code {
                Some(letter) => Ok(letter.to_string()),
                None => raise("invalid character"),
            }
        }
    }
}

/// Converts like Ruby's `Integer()`.
fn integer(value: &Value) -> EvalResult<i64> {
    match value {
        Value::Int(number) => Ok(*number),
        Value::Float(number) => Ok(number.floor() as i64),
        Value::Str(text) => match numbers::parse(text) {
            Some(Value::Int(number)) => Ok(number),
            _ => raise(format!(
                "invalid value for Integer(): {}",
                ruby::inspect(value)
            )),
        },
        Value::Bool(flag) => raise(format!("can't convert {flag} into Integer")),
        other => raise(format!(
            "can't convert {} into Integer",
            label::ruby_class(other)
        )),
    }
}

/// Converts like Ruby's `Float()`.
fn float(value: &Value) -> EvalResult<f64> {
    match value {
        Value::Int(number) => Ok(*number as f64),
        Value::Float(number) => Ok(*number),
        Value::Str(text) => match numbers::parse(text) {
            Some(Value::Int(number)) => Ok(number as f64),
            Some(Value::Float(number)) => Ok(number),
            _ => raise(format!(
                "invalid value for Float(): {}",
                ruby::inspect(value)
            )),
        },
        Value::Bool(flag) => raise(format!("can't convert {flag} into Float")),
        other => raise(format!(
            "can't convert {} into Float",
            label::ruby_class(other)
        )),
    }
}

fn sign(spec: &FormatSpec, negative: bool) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    }
}

fn format_signed(spec: &FormatSpec, number: i64, radix: u32, prefix: &str) -> String {
    // Without a sign flag, Ruby writes negative numbers as a complement, such as `..f`.
    let complement = number < 0 && radix != 10 && !spec.plus && !spec.space;
    let digits = if complement {
        complement_digits(number, radix)
    } else {
        let magnitude = number.unsigned_abs();
        match radix {
            2 => format!("{magnitude:b}"),
            8 => format!("{magnitude:o}"),
            16 => format!("{magnitude:x}"),
            _ => magnitude.to_string(),
        }
    };
    let mut digits = digits;
    if let Some(precision) = spec.precision
        && digits.len() < precision
    {
        digits = "0".repeat(precision - digits.len()) + &digits;
    }
    let prefix = if spec.alternate { prefix } else { "" };
    let sign = if complement {
        ""
    } else {
        sign(spec, number < 0)
    };
    pad_with_zeroes(
        spec,
        &format!("{sign}{prefix}"),
        &digits,
        spec.precision.is_none(),
    )
}

fn complement_digits(number: i64, radix: u32) -> String {
    let (digits, last) = match radix {
        2 => (format!("{number:b}"), '1'),
        8 => (format!("{:o}", i128::from(number) & ((1 << 66) - 1)), '7'),
        _ => (format!("{number:x}"), 'f'),
    };
    format!("..{last}{}", digits.trim_start_matches(last))
}

fn pad_with_zeroes(spec: &FormatSpec, front: &str, digits: &str, may_fill: bool) -> String {
    let width = spec.width.unwrap_or_default();
    if spec.zero && !spec.minus && may_fill {
        let missing = width.saturating_sub(front.len() + digits.len());
        return format!("{front}{}{digits}", "0".repeat(missing));
    }
    pad(spec, &format!("{front}{digits}"))
}

fn format_float(spec: &FormatSpec, number: f64, conversion: char) -> String {
    let sign = sign(spec, number.is_sign_negative() && !number.is_nan());
    if !number.is_finite() {
        let word = if number.is_nan() { "NaN" } else { "Inf" };
        return pad(spec, &format!("{sign}{word}"));
    }
    let magnitude = number.abs();
    let precision = spec.precision.unwrap_or(6);
    let digits = match conversion.to_ascii_lowercase() {
        'f' => format!("{magnitude:.precision$}"),
        'e' => exponential(magnitude, precision),
        'g' => format_general(magnitude, precision.max(1), spec.alternate),
        _ => hexadecimal(magnitude),
    };
    let text = pad_with_zeroes(spec, sign, &digits, true);
    if conversion.is_ascii_uppercase() {
        text.to_uppercase()
    } else {
        text
    }
}

fn exponential(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

fn format_general(number: f64, precision: usize, keep_zeroes: bool) -> String {
    let rounded = exponential(number, precision - 1);
    let exponent: i32 = rounded
        .split_once('e')
        .and_then(|(_, it)| it.parse().ok())
        .unwrap_or_default();
    let places = i32::try_from(precision).unwrap_or(i32::MAX);
    let trim = |text: &str| {
        if keep_zeroes || !text.contains('.') {
            text.to_owned()
        } else {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    };
    if exponent < -4 || exponent >= places {
        let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "+00"));
        return format!("{}e{exponent}", trim(mantissa));
    }
    let decimals = usize::try_from(places - 1 - exponent).unwrap_or_default();
    trim(&format!("{number:.decimals$}"))
}

/// Formats for `%a`: the mantissa in hexadecimal digits, and the power of two.
fn hexadecimal(number: f64) -> String {
    if number == 0.0 {
        return "0x0p+0".to_owned();
    }
    let bits = number.to_bits();
    let fraction = format!("{:013x}", bits & 0x000f_ffff_ffff_ffff);
    let fraction = fraction.trim_end_matches('0');
    let exponent = i64::try_from(bits >> 52 & 0x7ff).unwrap_or_default() - 1023;
    let point = if fraction.is_empty() { "" } else { "." };
    format!("0x1{point}{fraction}p{exponent:+}")
}
