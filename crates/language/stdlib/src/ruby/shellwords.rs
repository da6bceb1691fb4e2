//! Splitting and escaping of words of a shell: `Shellwords`.

use evaluator::ruby::inspect;
use pcore::Value;

/// Escapes a text so that a shell reads it as one unchanged word.
pub(crate) fn escape(text: &str) -> String {
    if text.is_empty() {
        return "''".to_owned();
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("'\n'"),
            c if c.is_ascii_alphanumeric() || "_-.,:+/@".contains(c) => escaped.push(c),
            c => escaped.extend(['\\', c]),
        }
    }
    escaped
}

/// The words of a line, without their quotes.
pub(crate) fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches(is_blank);
        let Some(first) = rest.chars().next() else {
            return Ok(words);
        };
        let piece = match first {
            '\'' => split_quoted(rest, '\''),
            '"' => split_quoted(rest, '"'),
            '\\' => {
                let length = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                let escaped = if length == 1 { rest } else { &rest[1..length] };
                Some((escaped.to_owned(), length))
            }
            _ => {
                let length = rest
                    .find(|c| is_blank(c) || matches!(c, '\\' | '\'' | '"'))
                    .unwrap_or(rest.len());
                Some((rest[..length].to_owned(), length))
            }
        };
        let Some((text, length)) = piece else {
            return Err(format!("Unmatched quote: {}", inspect(&Value::from(line))));
        };
        word.push_str(&text);
        rest = &rest[length..];
        if rest.is_empty() || rest.starts_with(is_blank) {
            words.push(std::mem::take(&mut word));
        }
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

/// The text between quotes, and its length in bytes including the quotes.
fn split_quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut letters = rest[1..].char_indices();
    while let Some((at, c)) = letters.next() {
        if c == quote {
            return Some((text, at + 2));
        }
        if c == '\\' && quote == '"' {
            let (_, next) = letters.next()?;
            if !matches!(next, '$' | '`' | '"' | '\\' | '\n') {
                text.push('\\');
            }
            text.push(next);
        } else {
            text.push(c);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_apart_into_words() {
        assert_eq!(
            split("a 'b c' \"d\\\"e\" f\\ g'h'").unwrap(),
            ["a", "b c", "d\"e", "f gh"]
        );
        assert_eq!(split("  ").unwrap(), [""; 0]);
        assert_eq!(split("a 'b").unwrap_err(), "Unmatched quote: \"a 'b\"");
        assert_eq!(escape("a b'é\n"), "a\\ b\\'\\é'\n'");
    }
}
