//! Texts in quotes, as programs write them: [`quote`], [`double_quote`].

use std::fmt::Write as _;

/// Quotes a text with single quotes, or with double quotes if it contains control characters.
#[must_use]
pub fn quote(text: &str) -> String {
    if text.chars().any(|c| (c as u32) < 0x20) {
        return double_quote(text);
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    let mut escaped = false;
    for c in text.chars() {
        if escaped {
            quoted.push('\\');
            quoted.push(c);
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else {
            if c == '\'' {
                quoted.push('\\');
            }
            quoted.push(c);
        }
    }
    if escaped {
        quoted.push('\\');
    }
    quoted.push('\'');
    quoted
}

/// Quotes a text with double quotes and escapes everything that a program would evaluate.
#[must_use]
pub fn double_quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '"' => quoted.push_str("\\\""),
            '$' => quoted.push_str("\\$"),
            '\\' => quoted.push_str("\\\\"),
            c if (c as u32) < 0x20 => {
                let _ = write!(quoted, "\\u{{{:X}}}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
