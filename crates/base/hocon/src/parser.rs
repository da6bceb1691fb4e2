//! Text to [`HoconNode`]: recursive descent, one function for each part of the grammar.

use indexmap::IndexMap;
use serde_json::Value;

use crate::Error;
use crate::cursor::{TextCursor, TextPosition, is_blank};
use crate::defaults::MAX_DEPTH;
use crate::node::{ConcatenationPiece, HoconNode, KeyPath};
use crate::quoted;

/// Characters that end an unquoted string; HOCON reserves them.
const RESERVED: &str = "$\"{}[]:=,+#`^?!@*&\\";

pub(crate) fn parse(text: &str) -> Result<HoconNode, Error> {
    let mut parser = HoconParser {
        cursor: TextCursor::new(text),
        depth: 0,
        current_path: Vec::new(),
    };
    let root = parser.parse_root()?;
    parser.cursor.skip_lines();
    match parser.cursor.peek() {
        None => Ok(root),
        Some(c) => Err(parser
            .cursor
            .error(format!("unexpected {c:?} after the end"))),
    }
}

struct HoconParser<'a> {
    cursor: TextCursor<'a>,
    depth: usize,
    /// Keys from the root to the object that is being read; `+=` needs them.
    current_path: KeyPath,
}

/// Operator between a key and its value.
enum AssignmentOperator {
    Set,
    Append,
}

// === impl HoconParser: objects ===

impl HoconParser<'_> {
    fn parse_root(&mut self) -> Result<HoconNode, Error> {
        self.cursor.skip_lines();
        match self.cursor.peek() {
            Some('{') => self.parse_object(),
            Some('[') => self.parse_array(),
            _ => self.parse_fields(None),
        }
    }

    fn parse_object(&mut self) -> Result<HoconNode, Error> {
        let start = self.enter_nesting()?;
        self.cursor.bump();
        let object = self.parse_fields(Some(start))?;
        self.depth -= 1;
        Ok(object)
    }

    /// Parses fields up to `}`, or up to the end of the text if no brace was opened.
    fn parse_fields(&mut self, opened: Option<TextPosition>) -> Result<HoconNode, Error> {
        let mut object = HoconNode::Object(IndexMap::new());
        self.cursor.skip_lines();
        loop {
            match (self.cursor.peek(), opened) {
                (Some('}'), Some(_)) => {
                    self.cursor.bump();
                    return Ok(object);
                }
                (None, None) => return Ok(object),
                (None, Some(start)) => return Err(start.error("this { is never closed")),
                _ => self.parse_field(&mut object)?,
            }
            self.parse_separator("}")?;
        }
    }

    fn parse_field(&mut self, object: &mut HoconNode) -> Result<(), Error> {
        self.refuse_include()?;
        let at = self.cursor.position();
        let path = self.parse_key_path(":=+{")?;
        if self.current_path.len() + path.len() > MAX_DEPTH {
            return Err(at.error(format!("keys are nested deeper than {MAX_DEPTH}")));
        }
        let assignment = self.parse_assignment()?;
        let outer = self.current_path.len();
        self.current_path.extend(path.iter().cloned());
        let value = self.parse_value()?;
        match assignment {
            AssignmentOperator::Set => object.set(&path, value),
            AssignmentOperator::Append => {
                let earlier = HoconNode::Substitution {
                    path: self.current_path.clone(),
                    optional: true,
                    at,
                };
                let pieces = vec![
                    ConcatenationPiece::Value(earlier),
                    ConcatenationPiece::Value(HoconNode::Array(vec![value])),
                ];
                object.set(&path, HoconNode::Concatenation { pieces, at });
            }
        }
        self.current_path.truncate(outer);
        Ok(())
    }

    fn parse_assignment(&mut self) -> Result<AssignmentOperator, Error> {
        self.cursor.skip_lines();
        if self.cursor.eat("+=") {
            self.cursor.skip_lines();
            return Ok(AssignmentOperator::Append);
        }
        if self.cursor.peek() == Some('{') || self.cursor.eat(":") || self.cursor.eat("=") {
            self.cursor.skip_lines();
            return Ok(AssignmentOperator::Set);
        }
        Err(self
            .cursor
            .error("expected ':', '=', '+=' or '{' after the key"))
    }

    /// Skips line ends or one comma; none are needed before `close` or the end of the text.
    fn parse_separator(&mut self, close: &str) -> Result<(), Error> {
        let line_end = self.cursor.skip_lines();
        if self.cursor.eat(",") {
            self.cursor.skip_lines();
            return Ok(());
        }
        match self.cursor.peek() {
            None => Ok(()),
            Some(_) if line_end || self.cursor.starts_with(close) => Ok(()),
            Some(c) => Err(self.cursor.error(format!(
                "unexpected {c:?}; such a character must stand within quotes"
            ))),
        }
    }

    fn refuse_include(&self) -> Result<(), Error> {
        let Some(after) = self.cursor.rest().strip_prefix("include") else {
            return Ok(());
        };
        let after = after.trim_start_matches(|c| c != '\n' && is_blank(c));
        let forms = ["\"", "file(", "url(", "classpath(", "required("];
        if forms.iter().any(|form| after.starts_with(form)) {
            return Err(self
                .cursor
                .error("include is not supported; put the settings here"));
        }
        Ok(())
    }

    fn enter_nesting(&mut self) -> Result<TextPosition, Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.cursor.error(format!("nested deeper than {MAX_DEPTH}")));
        }
        Ok(self.cursor.position())
    }
}

// === impl HoconParser: keys ===

impl HoconParser<'_> {
    /// Parses a dotted path up to one of the characters of `ends`.
    fn parse_key_path(&mut self, ends: &str) -> Result<KeyPath, Error> {
        let start = self.cursor.position();
        let mut path = Vec::new();
        let mut part = KeyPart::default();
        loop {
            match self.cursor.peek() {
                Some('"') => {
                    let text = quoted::read_string(&mut self.cursor)?;
                    part.push_quoted(&text);
                }
                Some('.') => {
                    self.cursor.bump();
                    path.push(std::mem::take(&mut part).finish(start)?);
                }
                Some(c) if c == '\n' || ends.contains(c) || self.cursor.at_comment() => break,
                Some(c) if is_blank(c) || !RESERVED.contains(c) => {
                    self.cursor.bump();
                    part.push(c);
                }
                Some(c) => {
                    let what = format!("unexpected {c:?} in a key; put the key within quotes");
                    return Err(self.cursor.error(what));
                }
                None => break,
            }
            if path.len() > MAX_DEPTH {
                return Err(start.error(format!("the key has more than {MAX_DEPTH} parts")));
            }
        }
        path.push(part.finish(start)?);
        Ok(path)
    }
}

/// One part of a dotted key. Blanks at its ends do not count, unless quoted.
#[derive(Default)]
struct KeyPart {
    text: String,
    /// Length up to which the text is kept when it is trimmed.
    significant_bytes: usize,
    quoted: bool,
}

impl KeyPart {
    fn push(&mut self, c: char) {
        if is_blank(c) {
            if !self.text.is_empty() || self.quoted {
                self.text.push(c);
            }
        } else {
            self.text.push(c);
            self.significant_bytes = self.text.len();
        }
    }

    fn push_quoted(&mut self, text: &str) {
        self.text.push_str(text);
        self.significant_bytes = self.text.len();
        self.quoted = true;
    }

    fn finish(mut self, at: TextPosition) -> Result<String, Error> {
        self.text.truncate(self.significant_bytes);
        if self.text.is_empty() && !self.quoted {
            return Err(at.error("a key or a part of it is empty"));
        }
        Ok(self.text)
    }
}

// === impl HoconParser: values ===

impl HoconParser<'_> {
    /// Parses pieces up to the end of the line, a comma or a closing bracket.
    fn parse_value(&mut self) -> Result<HoconNode, Error> {
        let at = self.cursor.position();
        let mut pieces: Vec<ConcatenationPiece> = Vec::new();
        // Blanks count only between pieces.
        let mut blanks = String::new();
        loop {
            let before = self.cursor.rest();
            self.cursor.skip_blanks();
            if !pieces.is_empty() {
                blanks.push_str(&before[..before.len() - self.cursor.rest().len()]);
            }
            let Some(piece) = self.parse_piece()? else {
                break;
            };
            if !blanks.is_empty() {
                pieces.push(ConcatenationPiece::Text(std::mem::take(&mut blanks)));
            }
            pieces.push(piece);
        }
        match pieces.len() {
            0 => Err(at.error("expected a value")),
            1 => piece_to_node(pieces.remove(0), at),
            _ => Ok(HoconNode::Concatenation { pieces, at }),
        }
    }

    fn parse_piece(&mut self) -> Result<Option<ConcatenationPiece>, Error> {
        let piece = match self.cursor.peek() {
            None | Some('\n' | ',' | '}' | ']') => return Ok(None),
            _ if self.cursor.at_comment() => return Ok(None),
            Some('{') => ConcatenationPiece::Value(self.parse_object()?),
            Some('[') => ConcatenationPiece::Value(self.parse_array()?),
            Some('"') => {
                let text = quoted::read_string(&mut self.cursor)?;
                ConcatenationPiece::Value(HoconNode::Scalar(Value::String(text)))
            }
            Some('$') => ConcatenationPiece::Value(self.parse_substitution()?),
            Some(_) => ConcatenationPiece::Text(self.parse_unquoted()?),
        };
        Ok(Some(piece))
    }

    fn parse_array(&mut self) -> Result<HoconNode, Error> {
        let start = self.enter_nesting()?;
        self.cursor.bump();
        // Values within an array have no path, so `+=` in an inner object must not find an earlier
        // value. No document can contain this name, so it is never found.
        let outer = std::mem::replace(&mut self.current_path, vec![String::from("\0array")]);
        let mut items = Vec::new();
        self.cursor.skip_lines();
        loop {
            match self.cursor.peek() {
                Some(']') => {
                    self.cursor.bump();
                    break;
                }
                None => return Err(start.error("this [ is never closed")),
                Some(_) => items.push(self.parse_value()?),
            }
            self.parse_separator("]")?;
        }
        self.current_path = outer;
        self.depth -= 1;
        Ok(HoconNode::Array(items))
    }

    fn parse_substitution(&mut self) -> Result<HoconNode, Error> {
        let at = self.cursor.position();
        if !self.cursor.eat("${") {
            return Err(at.error("'$' must stand within quotes, or start a ${substitution}"));
        }
        let optional = self.cursor.eat("?");
        let path = self.parse_key_path("}")?;
        if !self.cursor.eat("}") {
            return Err(at.error("this ${ is never closed"));
        }
        Ok(HoconNode::Substitution { path, optional, at })
    }

    fn parse_unquoted(&mut self) -> Result<String, Error> {
        // The plus sign of `1e+3` is reserved outside of numbers.
        let mut length = number_length(self.cursor.rest());
        for c in self.cursor.rest()[length..].chars() {
            let comment = self.cursor.rest()[length..].starts_with("//");
            if comment || is_blank(c) || RESERVED.contains(c) {
                break;
            }
            length += c.len_utf8();
        }
        if length == 0 {
            let what = match self.cursor.peek() {
                Some(c) => format!("unexpected {c:?}; such a character must stand within quotes"),
                None => "unexpected end".to_owned(),
            };
            return Err(self.cursor.error(what));
        }
        Ok(self.cursor.take(length).to_owned())
    }
}

/// Converts a value of one piece, which keeps its type.
fn piece_to_node(piece: ConcatenationPiece, at: TextPosition) -> Result<HoconNode, Error> {
    let text = match piece {
        ConcatenationPiece::Value(node) => return Ok(node),
        ConcatenationPiece::Text(text) => text,
    };
    let value = match text.as_str() {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" => Value::Null,
        number if number_length(number) == number.len() => serde_json::from_str(number)
            .map_err(|_| at.error(format!("the number {number} is too large")))?,
        _ => Value::String(text),
    };
    Ok(HoconNode::Scalar(value))
}

/// Returns the length of the JSON number at the start of `text`, in bytes; 0 if there is none.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut end = usize::from(bytes.first() == Some(&b'-'));
    match digits(end) {
        0 => return 0,
        // JSON has no leading zeros: 007 is text.
        count if count > 1 && bytes[end] == b'0' => return 0,
        count => end += count,
    }
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let start = (end + 1 + sign).min(bytes.len());
        if digits(start) > 0 {
            end = start + digits(start);
        }
    }
    end
}
