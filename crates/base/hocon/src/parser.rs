//! Text to [`Node`]: recursive descent, one function for each part of the grammar.

use indexmap::IndexMap;
use serde_json::Value;

use crate::Error;
use crate::cursor::{Cursor, Position, is_blank};
use crate::defaults::MAX_DEPTH;
use crate::node::{Node, Path, Piece};
use crate::quoted;

/// Characters that end an unquoted string; HOCON reserves them.
const RESERVED: &str = "$\"{}[]:=,+#`^?!@*&\\";

pub(crate) fn parse(text: &str) -> Result<Node, Error> {
    let mut parser = Parser {
        cursor: Cursor::new(text),
        depth: 0,
        here: Vec::new(),
    };
    let root = parser.root()?;
    parser.cursor.skip_lines();
    match parser.cursor.peek() {
        None => Ok(root),
        Some(c) => Err(parser
            .cursor
            .error(format!("unexpected {c:?} after the end"))),
    }
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    depth: usize,
    /// Keys from the root to the object that is being read; `+=` needs them.
    here: Path,
}

/// Operator between a key and its value.
enum Assignment {
    Set,
    Append,
}

// === impl Parser: objects ===

impl Parser<'_> {
    fn root(&mut self) -> Result<Node, Error> {
        self.cursor.skip_lines();
        match self.cursor.peek() {
            Some('{') => self.object(),
            Some('[') => self.array(),
            _ => self.fields(None),
        }
    }

    fn object(&mut self) -> Result<Node, Error> {
        let start = self.enter()?;
        self.cursor.bump();
        let object = self.fields(Some(start))?;
        self.depth -= 1;
        Ok(object)
    }

    /// Fields up to `}`, or up to the end of the text when no brace was opened.
    fn fields(&mut self, opened: Option<Position>) -> Result<Node, Error> {
        let mut object = Node::Object(IndexMap::new());
        self.cursor.skip_lines();
        loop {
            match (self.cursor.peek(), opened) {
                (Some('}'), Some(_)) => {
                    self.cursor.bump();
                    return Ok(object);
                }
                (None, None) => return Ok(object),
                (None, Some(start)) => return Err(start.error("this { is never closed")),
                _ => self.field(&mut object)?,
            }
            self.separator("}")?;
        }
    }

    fn field(&mut self, object: &mut Node) -> Result<(), Error> {
        self.refuse_include()?;
        let at = self.cursor.position();
        let path = self.key_path(":=+{")?;
        if self.here.len() + path.len() > MAX_DEPTH {
            return Err(at.error(format!("keys are nested deeper than {MAX_DEPTH}")));
        }
        let assignment = self.assignment()?;
        let outer = self.here.len();
        self.here.extend(path.iter().cloned());
        let value = self.value()?;
        match assignment {
            Assignment::Set => object.set(&path, value),
            Assignment::Append => {
                let earlier = Node::Substitution {
                    path: self.here.clone(),
                    optional: true,
                    at,
                };
                let pieces = vec![
                    Piece::Value(earlier),
                    Piece::Value(Node::Array(vec![value])),
                ];
                object.set(&path, Node::Concatenation { pieces, at });
            }
        }
        self.here.truncate(outer);
        Ok(())
    }

    fn assignment(&mut self) -> Result<Assignment, Error> {
        self.cursor.skip_lines();
        if self.cursor.eat("+=") {
            self.cursor.skip_lines();
            return Ok(Assignment::Append);
        }
        if self.cursor.peek() == Some('{') || self.cursor.eat(":") || self.cursor.eat("=") {
            self.cursor.skip_lines();
            return Ok(Assignment::Set);
        }
        Err(self
            .cursor
            .error("expected ':', '=', '+=' or '{' after the key"))
    }

    /// Line ends or one comma; none are needed before `close` or the end.
    fn separator(&mut self, close: &str) -> Result<(), Error> {
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

    fn enter(&mut self) -> Result<Position, Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.cursor.error(format!("nested deeper than {MAX_DEPTH}")));
        }
        Ok(self.cursor.position())
    }
}

// === impl Parser: keys ===

impl Parser<'_> {
    /// A dotted path up to one of the characters of `ends`.
    fn key_path(&mut self, ends: &str) -> Result<Path, Error> {
        let start = self.cursor.position();
        let mut path = Vec::new();
        let mut part = KeyPart::default();
        loop {
            match self.cursor.peek() {
                Some('"') => {
                    let text = quoted::string(&mut self.cursor)?;
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
    kept: usize,
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
            self.kept = self.text.len();
        }
    }

    fn push_quoted(&mut self, text: &str) {
        self.text.push_str(text);
        self.kept = self.text.len();
        self.quoted = true;
    }

    fn finish(mut self, at: Position) -> Result<String, Error> {
        self.text.truncate(self.kept);
        if self.text.is_empty() && !self.quoted {
            return Err(at.error("a key or a part of it is empty"));
        }
        Ok(self.text)
    }
}

// === impl Parser: values ===

impl Parser<'_> {
    /// Pieces up to the end of the line, a comma or a closing bracket.
    fn value(&mut self) -> Result<Node, Error> {
        let at = self.cursor.position();
        let mut pieces: Vec<Piece> = Vec::new();
        // Blanks count only between pieces.
        let mut blanks = String::new();
        loop {
            let before = self.cursor.rest();
            self.cursor.skip_blanks();
            if !pieces.is_empty() {
                blanks.push_str(&before[..before.len() - self.cursor.rest().len()]);
            }
            let Some(piece) = self.piece()? else { break };
            if !blanks.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut blanks)));
            }
            pieces.push(piece);
        }
        match pieces.len() {
            0 => Err(at.error("expected a value")),
            1 => single(pieces.remove(0), at),
            _ => Ok(Node::Concatenation { pieces, at }),
        }
    }

    fn piece(&mut self) -> Result<Option<Piece>, Error> {
        let piece = match self.cursor.peek() {
            None | Some('\n' | ',' | '}' | ']') => return Ok(None),
            _ if self.cursor.at_comment() => return Ok(None),
            Some('{') => Piece::Value(self.object()?),
            Some('[') => Piece::Value(self.array()?),
            Some('"') => {
                let text = quoted::string(&mut self.cursor)?;
                Piece::Value(Node::Scalar(Value::String(text)))
            }
            Some('$') => Piece::Value(self.substitution()?),
            Some(_) => Piece::Text(self.unquoted()?),
        };
        Ok(Some(piece))
    }

    fn array(&mut self) -> Result<Node, Error> {
        let start = self.enter()?;
        self.cursor.bump();
        // Within an array there is no path, so `+=` of an inner object does not
        // look back; the name cannot be written, so it cannot be found.
        let outer = std::mem::replace(&mut self.here, vec![String::from("\0array")]);
        let mut items = Vec::new();
        self.cursor.skip_lines();
        loop {
            match self.cursor.peek() {
                Some(']') => {
                    self.cursor.bump();
                    break;
                }
                None => return Err(start.error("this [ is never closed")),
                Some(_) => items.push(self.value()?),
            }
            self.separator("]")?;
        }
        self.here = outer;
        self.depth -= 1;
        Ok(Node::Array(items))
    }

    fn substitution(&mut self) -> Result<Node, Error> {
        let at = self.cursor.position();
        if !self.cursor.eat("${") {
            return Err(at.error("'$' must stand within quotes, or start a ${substitution}"));
        }
        let optional = self.cursor.eat("?");
        let path = self.key_path("}")?;
        if !self.cursor.eat("}") {
            return Err(at.error("this ${ is never closed"));
        }
        Ok(Node::Substitution { path, optional, at })
    }

    fn unquoted(&mut self) -> Result<String, Error> {
        // The plus sign of 1e+3 is reserved elsewhere.
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

/// A value of one piece keeps its type.
fn single(piece: Piece, at: Position) -> Result<Node, Error> {
    let text = match piece {
        Piece::Value(node) => return Ok(node),
        Piece::Text(text) => text,
    };
    let value = match text.as_str() {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" => Value::Null,
        number if number_length(number) == number.len() => serde_json::from_str(number)
            .map_err(|_| at.error(format!("the number {number} is too large")))?,
        _ => Value::String(text),
    };
    Ok(Node::Scalar(value))
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
