//! `base64`, and texts escaped for PowerShell and for batch files.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::{Binary, Value};

use crate::old_api::{OldCall, old_functions};

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "base64" => base64;
};

macro_rules! escapes {
    ($($name:literal => $run:path),+) => {
        &[$(FunctionSpec::new($name, &[FunctionDispatch::new(&[one("Any", "string")], $run)])),+]
    };
}

pub(super) static ESCAPES: &[FunctionSpec] = escapes!(
    "batch_escape" => batch_escape,
    "stdlib::batch_escape" => batch_escape,
    "powershell_escape" => powershell_escape,
    "stdlib::powershell_escape" => powershell_escape
);

fn batch_escape(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let text = ruby::to_s(call.get(0));
    evaluator.charge_bytes(text.len())?;
    let mut escaped = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => escaped.push('"'),
            '$' | '\\' => escaped.push('\\'),
            _ => {}
        }
        escaped.push(c);
    }
    escaped.push('"');
    Ok(Value::from(escaped))
}

fn powershell_escape(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let text = ruby::to_s(call.get(0));
    evaluator.charge_bytes(text.len())?;
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' ' | '\'' | '`' | '|' | '\n' | '$' => escaped.push('`'),
            '"' => escaped.push_str("\\`"),
            _ => {}
        }
        escaped.push(c);
    }
    Ok(Value::from(escaped))
}

fn base64(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() < 2 {
        return raise(format!(
            "base64(): Wrong number of arguments ({}; must be >= 2)",
            old.len()
        ));
    }
    let action = old.get(0).as_str().unwrap_or_default();
    if !matches!(action, "encode" | "decode") {
        return raise("base64(): the first argument must be one of 'encode' or 'decode'");
    }
    let Some(text) = old.text(1) else {
        return raise("base64(): the second argument must be a string to base64");
    };
    let method = match old.len() {
        2 => "default",
        _ => old.get(2).as_str().unwrap_or_default(),
    };
    if !matches!(method, "default" | "strict" | "urlsafe") {
        return raise(
            "base64(): the third argument must be one of 'default', 'strict', or 'urlsafe'",
        );
    }
    evaluator.charge_bytes(text.len() * 2)?;
    if action == "encode" {
        Ok(Value::from(encode(text, method)))
    } else {
        decode(text, method)
    }
}

/// Encodes a text; the default method has lines of 60 characters.
fn encode(text: &str, method: &str) -> String {
    const LINE: usize = 60;
    let strict = Binary::new(text.as_bytes()).to_string();
    match method {
        "strict" => strict,
        "urlsafe" => strict.replace('+', "-").replace('/', "_"),
        _ => {
            let mut lines = String::new();
            for (index, c) in strict.chars().enumerate() {
                lines.push(c);
                if (index + 1).is_multiple_of(LINE) {
                    lines.push('\n');
                }
            }
            if !lines.is_empty() && !lines.ends_with('\n') {
                lines.push('\n');
            }
            lines
        }
    }
}

/// Decodes a text; the default method accepts any input.
fn decode(text: &str, method: &str) -> EvalResult {
    let strict = match method {
        "strict" => text.to_owned(),
        "urlsafe" => {
            let mut strict = text.replace('-', "+").replace('_', "/");
            if !strict.ends_with('=') {
                strict.push_str(&"=".repeat((4 - strict.len() % 4) % 4));
            }
            strict
        }
        _ => lenient(text),
    };
    let Some(bytes) = Binary::from_base64(&strict) else {
        return raise("invalid base64");
    };
    match std::str::from_utf8(bytes.bytes()) {
        Ok(text) => Ok(Value::from(text)),
        Err(_) => raise("base64(): what is decoded is not UTF-8: use Binary.new for bytes"),
    }
}

/// Decodes groups of four digits. Other characters are skipped, but a `=` in the third or fourth
/// position ends the text.
fn lenient(text: &str) -> String {
    let mut digits = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '+' | '/') {
            digits.push(c);
        } else if c == '=' && digits.len() % 4 >= 2 {
            break;
        }
    }
    // a last group of one digit contains no byte; surplus bits of a last group are dropped
    let whole = digits.len() - usize::from(digits.len() % 4 == 1);
    let mut strict = digits[..whole].to_owned();
    let surplus = match whole % 4 {
        2 => 0x0f,
        3 => 0x03,
        _ => return strict,
    };
    if let Some(last) = strict.pop() {
        strict.push(without_bits(last, surplus));
    }
    strict.push_str(&"=".repeat(4 - whole % 4));
    strict
}

fn without_bits(digit: char, surplus: usize) -> char {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = DIGITS.find(digit).unwrap_or_default() & !surplus;
    DIGITS.chars().nth(value).unwrap_or(digit)
}
