//! Words, literals and punctuation of a type expression.

use super::error::TypeError;

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A type's name, a bare word, `default`, `true`, `false`.
    Word(String),
    /// A quoted string.
    Text(String),
    /// A regular expression, without its slashes.
    Regex(String),
    Integer(i64),
    Float(f64),
    /// `[`, `]`, `{`, `}`, `,`
    Punctuation(char),
    /// `=>`
    Arrow,
}

/// The tokens with their byte offsets.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, TypeError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (token, bytes) = match c {
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '[' | ']' | '{' | '}' | ',' => (Token::Punctuation(c), 1),
            '=' if rest.starts_with("=>") => (Token::Arrow, 2),
            '\'' | '"' => string(at, rest, c)?,
            '/' => regex(at, rest)?,
            '-' | '+' | '0'..='9' => number(at, rest)?,
            c if c.is_ascii_alphabetic() || c == '_' => word(rest),
            other => {
                return Err(TypeError::Unexpected {
                    found: format!("{other:?}"),
                    at,
                });
            }
        };
        tokens.push((at, token));
        at += bytes;
    }
    Ok(tokens)
}

fn word(rest: &str) -> (Token, usize) {
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':')))
        .unwrap_or(rest.len());
    (Token::Word(rest[..end].to_owned()), end)
}

fn number(at: usize, rest: &str) -> Result<(Token, usize), TypeError> {
    let mut end = 1;
    for (index, c) in rest.char_indices().skip(1) {
        let sign_of_exponent = matches!(c, '-' | '+') && rest[..index].ends_with(['e', 'E']);
        if !(c.is_ascii_alphanumeric() || c == '.' || sign_of_exponent) {
            break;
        }
        end = index + c.len_utf8();
    }
    let digits = &rest[..end];
    let unsigned = digits.trim_start_matches(['-', '+']);
    let token = match unsigned
        .strip_prefix("0x")
        .or_else(|| unsigned.strip_prefix("0X"))
    {
        Some(hex) => i64::from_str_radix(hex, 16)
            .ok()
            .map(|number| {
                if digits.starts_with('-') {
                    -number
                } else {
                    number
                }
            })
            .map(Token::Integer),
        None => digits.parse().map(Token::Integer).ok().or_else(|| {
            let float = digits
                .parse()
                .ok()
                .filter(|number: &f64| number.is_finite());
            float.map(Token::Float)
        }),
    };
    token
        .map(|token| (token, end))
        .ok_or_else(|| TypeError::Unexpected {
            found: format!("the number '{digits}'"),
            at,
        })
}

/// In single quotes, `\'` and `\\` are escapes; in double quotes, `\n`, `\t` and the like too.
/// Interpolation is refused: there is nothing to interpolate.
fn string(at: usize, rest: &str, quote: char) -> Result<(Token, usize), TypeError> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((index, c)) = chars.next() {
        match c {
            c if c == quote => return Ok((Token::Text(text), index + 1)),
            '$' if quote == '"' => return Err(TypeError::Interpolation { at: at + index }),
            '\\' => match chars.next().map(|(_, escaped)| escaped) {
                Some(escaped) if escaped == quote || escaped == '\\' => text.push(escaped),
                Some('n') if quote == '"' => text.push('\n'),
                Some('t') if quote == '"' => text.push('\t'),
                Some('$') if quote == '"' => text.push('$'),
                Some(other) => text.extend(['\\', other]),
                None => break,
            },
            other => text.push(other),
        }
    }
    Err(TypeError::Unclosed { what: "string", at })
}

fn regex(at: usize, rest: &str) -> Result<(Token, usize), TypeError> {
    let mut escaped = false;
    for (index, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '/' => return Ok((Token::Regex(rest[1..index].to_owned()), index + 1)),
            _ => {}
        }
    }
    Err(TypeError::Unclosed {
        what: "regular expression",
        at,
    })
}
