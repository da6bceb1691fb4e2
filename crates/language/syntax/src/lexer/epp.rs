//! Templates: text with code between `<%` and `%>`.

use super::{Lexer, Step, Stop};
use crate::token::Kind;

/// The tag that encloses the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// `<%`
    Code,
    /// `<%=`
    Expression,
}

/// The end of a stretch of text.
enum Ending {
    Input,
    Tag { tag: Tag, start: usize },
}

impl Lexer<'_, '_> {
    pub(super) fn epp_start(&mut self) {
        self.token_to(Kind::EppStart, 0..0, None);
        if self.template_text(false).is_err() {
            self.pos = self.text.len();
        }
    }

    /// Handles `%>` or `-%>`.
    pub(super) fn epp_end(&mut self, len: usize) -> Result<Step, Stop> {
        let start = self.pos;
        self.pos += len;
        let trim = len == 3;
        if self.epp == Some(Tag::Expression) {
            let kind = if trim { Kind::EppEndTrim } else { Kind::EppEnd };
            self.token(kind, start, None);
        }
        self.template_text(trim)?;
        Ok(Step::Group)
    }

    /// Reads text up to the next tag, as [`Kind::RenderString`].
    fn template_text(&mut self, trim: bool) -> Result<(), Stop> {
        let start = self.pos;
        if start == self.text.len() {
            self.epp_open = false;
            return Ok(());
        }
        let mut text = String::new();
        let ending = self.scan_template(&mut text, trim)?;
        let (at_end, tag_start) = match ending {
            Ending::Input => (true, self.pos),
            Ending::Tag { start, .. } => (false, start),
        };
        if !text.is_empty() || at_end {
            let value = self.out.interner.intern(&text);
            self.token_to(Kind::RenderString, start..tag_start, Some(value));
        }
        self.epp_open = !at_end;
        if let Ending::Tag { tag, start } = ending {
            if tag == Tag::Expression {
                self.token(Kind::RenderExpr, start, None);
            }
            self.epp = Some(tag);
        }
        Ok(())
    }

    fn scan_template(&mut self, text: &mut String, mut trim: bool) -> Result<Ending, Stop> {
        while self.pos < self.text.len() {
            let rest = &self.text[self.pos..];
            let tag = memchr::memmem::find(rest.as_bytes(), b"<%");
            let mut part = &rest[..tag.unwrap_or(rest.len())];
            if trim {
                part = trimmed(part);
                trim = false;
            }
            text.push_str(&part.replace("%%>", "%>"));
            let Some(at) = tag else {
                self.pos = self.text.len();
                return Ok(Ending::Input);
            };
            let open = self.pos + at;
            self.pos = open + 2;
            match self.peek(0) {
                0 if self.pos == self.text.len() => {
                    let message =
                        "Unbalanced embedded expression - opening <% and reaching end of input";
                    self.fault("EPP_UNBALANCED_EXPRESSION", self.pos..self.pos, message);
                    return Err(Stop);
                }
                b'-' => {
                    self.pos += 1;
                    text.truncate(text.trim_end_matches([' ', '\t']).len());
                    return Ok(Ending::Tag {
                        tag: Tag::Code,
                        start: open,
                    });
                }
                b'%' => {
                    self.pos += 1;
                    text.push_str("<%");
                }
                b'=' => {
                    self.pos += 1;
                    return Ok(Ending::Tag {
                        tag: Tag::Expression,
                        start: open,
                    });
                }
                b'#' => trim = self.template_comment(text)?,
                _ => {
                    return Ok(Ending::Tag {
                        tag: Tag::Code,
                        start: open,
                    });
                }
            }
        }
        Ok(Ending::Input)
    }

    /// Reads a comment from the `#` of `<%#`. Returns true if the text after it is to be trimmed.
    fn template_comment(&mut self, text: &mut String) -> Result<bool, Stop> {
        let rest = &self.text.as_bytes()[self.pos..];
        let close =
            memchr::memmem::find_iter(rest, b"%>").find(|at| *at > 0 && rest[at - 1] != b'%');
        let Some(close) = close else {
            let message = "Reaching end after opening <%# without seeing %>";
            self.fault("EPP_UNBALANCED_COMMENT", self.pos..self.pos, message);
            return Err(Stop);
        };
        if rest.get(1) == Some(&b'-') {
            text.truncate(text.trim_end_matches([' ', '\t']).len());
        }
        let trim = rest[close - 1] == b'-';
        self.pos += close + 2;
        Ok(trim)
    }
}

/// Removes leading blanks and the line break after them.
fn trimmed(part: &str) -> &str {
    let rest = part.trim_start_matches([' ', '\t']);
    let rest = rest.strip_prefix('\r').unwrap_or(rest);
    rest.strip_prefix('\n').unwrap_or(rest)
}
