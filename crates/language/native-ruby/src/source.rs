//! The tags of a template, turned into one text of Ruby code: [`RubySource`].
//!
//! Ruby's own ERB does the same, and a comment in a tag may hide the text after the tag, so this follows
//! it: pieces are joined with `; `, and lines end where they end there.
//!
//! Invariant: [`TEXT_MARK`], [`INSERT_START`] and [`INSERT_END`] are in no template.

use crate::defaults::TEMPLATE_MAX;
use crate::error::NotNative;

/// Precedes the number of a literal text and a [`TEXT_END`].
pub(crate) const TEXT_MARK: u8 = 1;
pub(crate) const TEXT_END: u8 = 2;

/// Precedes the code of `<%= … %>`.
pub(crate) const INSERT_START: u8 = 3;
pub(crate) const INSERT_END: u8 = 4;

/// Code with marks in the place of literal texts and insertions.
#[derive(Debug, Default)]
pub(crate) struct RubySource {
    pub(crate) code: String,
    pub(crate) texts: Vec<String>,
    line: Vec<String>,
    /// Text that was read and not put into the code.
    content: String,
}

/// Kind of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Code,
    Insert,
    Comment,
}

/// Part of a template before the next tag's start or end, and that start or end.
enum ScannedStart {
    Tag(Tag),
    /// `<%%`
    Literal,
    End,
}

// === impl RubySource ===

impl RubySource {
    pub(crate) fn new(template: &str) -> Result<Self, NotNative> {
        let refuse = |reason: &str| NotNative {
            reason: reason.to_owned(),
            line: 1,
        };
        if template.len() > TEMPLATE_MAX {
            return Err(refuse("the template is too long"));
        }
        if template.bytes().any(|byte| (1..=4).contains(&byte)) {
            return Err(refuse("control characters in the template"));
        }
        if template.starts_with("<%#") && has_magic_comment(template) {
            return Err(refuse("a magic comment"));
        }
        let mut source = Self::default();
        source.read(template);
        Ok(source)
    }

    fn read(&mut self, template: &str) {
        let mut tag = None;
        let mut at = 0;
        while at < template.len() {
            let rest = &template[at..];
            at += match tag {
                None => self.read_text(rest, &mut tag),
                Some(kind) => self.read_tag(rest, kind, &mut tag),
            };
        }
        self.put_content();
        self.code.push_str(&self.line.join("; "));
        self.line.clear();
    }

    /// Reads up to and including the start of a tag; gives the number of bytes.
    fn read_text(&mut self, rest: &str, tag: &mut Option<Tag>) -> usize {
        let (text, start, length) = scan_start(rest);
        if text == "\n" {
            self.content.push('\n');
            self.put_content();
        } else {
            self.content.push_str(text);
        }
        match start {
            ScannedStart::Tag(kind) => {
                self.put_content();
                *tag = Some(kind);
            }
            ScannedStart::Literal => self.content.push_str("<%"),
            ScannedStart::End => {}
        }
        text.len() + length
    }

    /// Reads up to and including the end of a tag; gives the number of bytes.
    fn read_tag(&mut self, rest: &str, kind: Tag, tag: &mut Option<Tag>) -> usize {
        let Some(at) = rest.bytes().enumerate().position(|(at, _)| {
            let rest = &rest.as_bytes()[at..];
            rest.starts_with(b"-%>") || rest.starts_with(b"%%>") || rest.starts_with(b"%>")
        }) else {
            // a tag without an end: Ruby prints its code
            self.content.push_str(rest);
            return rest.len();
        };
        self.content.push_str(&rest[..at]);
        let end = &rest[at..];
        if end.starts_with("%%>") {
            self.content.push_str("%>");
            return at + 3;
        }
        self.close_tag(kind);
        *tag = None;
        if !end.starts_with('-') {
            return at + 2;
        }
        let after = &end[3..];
        let newline = match after {
            "" => Some(0),
            _ if after.starts_with('\n') => Some(1),
            _ if after.starts_with("\r\n") => Some(2),
            _ => None,
        };
        if newline.is_some() {
            self.end_line();
        }
        at + 3 + newline.unwrap_or(0)
    }

    fn close_tag(&mut self, kind: Tag) {
        let content = std::mem::take(&mut self.content);
        match kind {
            Tag::Code => match content.strip_suffix('\n') {
                Some(content) => {
                    // `chop!` takes a carriage return before the newline too
                    let content = content.strip_suffix('\r').unwrap_or(content);
                    self.line.push(content.to_owned());
                    self.end_line();
                }
                None => self.line.push(content),
            },
            Tag::Insert => {
                let (start, end) = (char::from(INSERT_START), char::from(INSERT_END));
                self.line.push(format!("{start}{content}{end}"));
            }
            Tag::Comment => {}
        }
    }

    fn put_content(&mut self) {
        if self.content.is_empty() {
            return;
        }
        let content = std::mem::take(&mut self.content);
        let newlines = content.matches('\n').count();
        let (mark, end) = (char::from(TEXT_MARK), char::from(TEXT_END));
        let number = self.texts.len();
        self.line
            .push(format!("{mark}{number}{end}{}", "\n".repeat(newlines)));
        self.texts.push(content);
    }

    fn end_line(&mut self) {
        self.code.push_str(&self.line.join("; "));
        self.line.clear();
        self.code.push('\n');
    }
}

/// The text before the next start of a tag, the start, and its length. The beginning counts as that of a
/// line, even in the middle of one, as in Ruby's scanner.
fn scan_start(rest: &str) -> (&str, ScannedStart, usize) {
    let bytes = rest.as_bytes();
    let mut line_start = Some(0);
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'<' && bytes[at..].starts_with(b"<%") {
            let (start, length) = match bytes.get(at + 2) {
                Some(b'-') => {
                    // blanks between the start of the line and the tag are dropped
                    let from = line_start.unwrap_or(at);
                    return (&rest[..from], ScannedStart::Tag(Tag::Code), at + 3 - from);
                }
                Some(b'%') => (ScannedStart::Literal, 3),
                Some(b'=') => (ScannedStart::Tag(Tag::Insert), 3),
                Some(b'#') => (ScannedStart::Tag(Tag::Comment), 3),
                _ => (ScannedStart::Tag(Tag::Code), 2),
            };
            return (&rest[..at], start, length);
        }
        match byte {
            b'\n' => line_start = Some(at + 1),
            b' ' | b'\t' => {}
            _ => line_start = None,
        }
    }
    (rest, ScannedStart::End, 0)
}

/// True if the first tag may set the encoding or freeze the texts.
fn has_magic_comment(template: &str) -> bool {
    let comments = template.split("<%#").take(8);
    comments
        .map(|comment| comment.split("%>").next().unwrap_or_default())
        .any(|comment| comment.contains("coding") || comment.contains("frozen"))
}

#[cfg(test)]
mod tests {
    use super::RubySource;

    fn code(template: &str) -> String {
        let source = RubySource::new(template).expect("no control characters");
        let mut code = source.code.replace('\u{3}', "[").replace('\u{4}', "]");
        for (index, text) in source.texts.iter().enumerate() {
            code = code.replace(&format!("\u{1}{index}\u{2}"), &format!("{text:?}"));
        }
        code
    }

    #[test]
    fn tags_become_the_code_that_ruby_runs() {
        let cases = [
            ("x<% a=1 %>  <%- b=1 -%>\ny", "\"x\";  a=1 ;  b=1 \n\"y\""),
            ("  <%- a=1 -%>  \nz", " a=1 ; \"  \\nz\"\n"),
            ("a <%# c -%>\nb", "\"a \"\n\"b\""),
            ("<% # c %>b\nc", " # c ; \"b\\nc\"\n"),
            ("<%= 1 -%>", "[ 1 ]\n"),
            ("<% a=1\n%>x", " a=1\n\"x\""),
            ("<%% x %> %%> <%= '%%>' %>", "\"<% x %> %%> \"; [ '%>' ]"),
            ("un <% foo", "\"un \"; \" foo\""),
            ("<% x = 1 -%>\r\nz", " x = 1 \n\"z\""),
        ];
        for (template, expected) in cases {
            assert_eq!(code(template), expected, "{template}");
        }
    }
}
