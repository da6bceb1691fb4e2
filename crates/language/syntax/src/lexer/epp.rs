//! Templates: text with code between `<%` and `%>`.

use super::{LexerStep, LexerStop, SourceLexer};
use crate::token::TokenKind;

/// The tag that encloses the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EppTag {
    /// `<%`
    Code,
    /// `<%=`
    Expression,
}

/// The end of a stretch of text.
enum TemplateTextEnd {
    Input,
    Tag { tag: EppTag, start: usize },
}

impl SourceLexer<'_, '_> {
    pub(super) fn epp_start(&mut self) {
        self.token_to(TokenKind::EppStart, 0..0, None);
        if self.template_text(false).is_err() {
            self.pos = self.text.len();
        }
    }

    /// Handles `%>` or `-%>`.
    pub(super) fn epp_end(&mut self, len: usize) -> Result<LexerStep, LexerStop> {
        let start = self.pos;
        self.pos += len;
        let trim = len == 3;
        if self.epp == Some(EppTag::Expression) {
            let kind = if trim {
                TokenKind::EppEndTrim
            } else {
                TokenKind::EppEnd
            };
            self.token(kind, start, None);
        }
        self.template_text(trim)?;
        Ok(LexerStep::Group)
    }

    /// Reads text up to the next tag, as [`TokenKind::RenderString`].
    fn template_text(&mut self, trim: bool) -> Result<(), LexerStop> {
        let start = self.pos;
        if start == self.text.len() {
            self.epp_open = false;
            return Ok(());
        }
        let mut text = String::new();
        let ending = self.scan_template(&mut text, trim)?;
        let (at_end, tag_start) = match ending {
            TemplateTextEnd::Input => (true, self.pos),
            TemplateTextEnd::Tag { start, .. } => (false, start),
        };
        if !text.is_empty() || at_end {
            let value = self.out.interner.intern(&text);
            self.token_to(TokenKind::RenderString, start..tag_start, Some(value));
        }
        self.epp_open = !at_end;
        if let TemplateTextEnd::Tag { tag, start } = ending {
            if tag == EppTag::Expression {
                self.token(TokenKind::RenderExpr, start, None);
            }
            self.epp = Some(tag);
        }
        Ok(())
    }

    fn scan_template(
        &mut self,
        text: &mut String,
        mut trim: bool,
    ) -> Result<TemplateTextEnd, LexerStop> {
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
                return Ok(TemplateTextEnd::Input);
            };
            let open = self.pos + at;
            self.pos = open + 2;
            match self.peek(0) {
                0 if self.pos == self.text.len() => {
                    let message =
                        "Unbalanced embedded expression - opening <% and reaching end of input";
                    self.fault("EPP_UNBALANCED_EXPRESSION", self.pos..self.pos, message);
                    return Err(LexerStop);
                }
                b'-' => {
                    self.pos += 1;
                    text.truncate(text.trim_end_matches([' ', '\t']).len());
                    return Ok(TemplateTextEnd::Tag {
                        tag: EppTag::Code,
                        start: open,
                    });
                }
                b'%' => {
                    self.pos += 1;
                    text.push_str("<%");
                }
                b'=' => {
                    self.pos += 1;
                    return Ok(TemplateTextEnd::Tag {
                        tag: EppTag::Expression,
                        start: open,
                    });
                }
                b'#' => trim = self.template_comment(text)?,
                _ => {
                    return Ok(TemplateTextEnd::Tag {
                        tag: EppTag::Code,
                        start: open,
                    });
                }
            }
        }
        Ok(TemplateTextEnd::Input)
    }

    /// Reads a comment from the `#` of `<%#`. Returns true if the text after it is to be trimmed.
    fn template_comment(&mut self, text: &mut String) -> Result<bool, LexerStop> {
        let rest = &self.text.as_bytes()[self.pos..];
        let close =
            memchr::memmem::find_iter(rest, b"%>").find(|at| *at > 0 && rest[at - 1] != b'%');
        let Some(close) = close else {
            let message = "Reaching end after opening <%# without seeing %>";
            self.fault("EPP_UNBALANCED_COMMENT", self.pos..self.pos, message);
            return Err(LexerStop);
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
