//! Names, bare words, keywords, type names and variables.

use super::{LexerStep, SourceLexer};
use crate::token::{KEYWORDS, TASK_KEYWORDS, TokenKind};

impl SourceLexer<'_, '_> {
    /// Reads a word that begins with a small letter or `_`.
    pub(super) fn word(&mut self) -> LexerStep {
        let start = self.pos;
        self.pos = bare_word(self.text.as_bytes(), start).unwrap_or(start + 1);
        let text = &self.text[start..self.pos];
        if !is_name(text.as_bytes()) {
            let value = self.out.interner.intern(text);
            return self.token(TokenKind::Word, start, Some(value));
        }
        let kind = keyword(text, self.mode.tasks).unwrap_or(TokenKind::Name);
        let value = self.out.interner.intern(text);
        self.token(kind, start, Some(value))
    }

    pub(super) fn type_name(&mut self) -> LexerStep {
        let start = self.pos;
        self.pos = class_ref(self.text.as_bytes(), start).unwrap_or(start + 1);
        if self.peek(0) == b':' && self.peek(1) == b':' {
            return self.bad_type_name(start, "ILLEGAL_CLASS_REFERENCE", "Illegal class reference");
        }
        let value = self.out.interner.intern(&self.text[start..self.pos]);
        self.token(TokenKind::ClassRef, start, Some(value))
    }

    /// Reads `::` and the name that it qualifies.
    pub(super) fn qualified(&mut self) -> LexerStep {
        let start = self.pos;
        let bytes = self.text.as_bytes();
        if self.peek(2).is_ascii_uppercase() {
            self.pos = class_ref(bytes, start).unwrap_or(start + 2);
            if self.peek(0) == b':' && self.peek(1) == b':' {
                let code = "ILLEGAL_FULLY_QUALIFIED_CLASS_REFERENCE";
                let message = "Illegal fully qualified class reference";
                return self.bad_type_name(start, code, message);
            }
            let value = self.out.interner.intern(&self.text[start..self.pos]);
            return self.token(TokenKind::ClassRef, start, Some(value));
        }
        let Some(end) = bare_word(bytes, start) else {
            self.pos = start + 2;
            let at = self.pos;
            self.fault(
                "ILLEGAL_FULLY_QUALIFIED_NAME",
                at..at,
                "Illegal fully qualified name",
            )
            .label = Some("a name must follow `::`".into());
            return LexerStep::Token(TokenKind::Error);
        };
        self.pos = end;
        let text = &self.text[start..end];
        let kind = if is_name(text.as_bytes()) {
            TokenKind::Name
        } else {
            TokenKind::Word
        };
        let value = self.out.interner.intern(text);
        self.token(kind, start, Some(value))
    }

    /// `Foo::` without a capital letter after it. Puppet reports a position inside the colons.
    fn bad_type_name(&mut self, start: usize, code: &'static str, message: &str) -> LexerStep {
        let colons = self.pos;
        let bytes = self.text.as_bytes();
        let mut end = colons + 2;
        while bytes
            .get(end)
            .is_some_and(|byte| is_word(*byte) || *byte == b':')
        {
            end += 1;
        }
        let written = &self.text[start..end];
        let help = format!(
            "every part of a type name begins with a capital letter: `{}`",
            capitalized(written.trim_end_matches(':'))
        );
        self.pos = end;
        let fault = self.fault(code, colons + 1..end, message.to_owned());
        fault.label = Some("a capital letter was expected after `::`".into());
        fault.help.push(help.into());
        LexerStep::Token(TokenKind::Error)
    }

    pub(super) fn variable(&mut self) -> LexerStep {
        let start = self.pos;
        self.pos = start + 1 + variable_name(&self.text.as_bytes()[start + 1..]);
        let value = self.out.interner.intern(&self.text[start + 1..self.pos]);
        self.token(TokenKind::Variable, start, Some(value))
    }
}

fn keyword(text: &str, tasks: bool) -> Option<TokenKind> {
    if !(2..=8).contains(&text.len()) {
        return None;
    }
    let list = if tasks { TASK_KEYWORDS } else { &[] };
    KEYWORDS
        .iter()
        .chain(list)
        .find(|(word, _)| *word == text)
        .map(|(_, kind)| *kind)
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The end of parts like `::ab-c` from here; `None` if there is no part.
fn bare_word(bytes: &[u8], start: usize) -> Option<usize> {
    let mut end = None;
    let mut at = start;
    loop {
        if bytes[at..].starts_with(b"::") {
            at += 2;
        }
        if !matches!(bytes.get(at), Some(b'a'..=b'z' | b'_')) {
            return end;
        }
        while bytes
            .get(at)
            .is_some_and(|byte| is_word(*byte) || *byte == b'-')
        {
            at += 1;
        }
        // dashes are allowed inside words only
        while bytes[at - 1] == b'-' {
            at -= 1;
        }
        end = Some(at);
    }
}

/// Parts of letters, digits and `_`, each begun by a small letter, joined by `::`.
fn is_name(word: &[u8]) -> bool {
    let mut begins = true;
    for (at, byte) in word.iter().enumerate() {
        match byte {
            b':' => {
                begins = true;
                continue;
            }
            b'-' => return false,
            _ if begins && !byte.is_ascii_lowercase() => return false,
            _ => {}
        }
        debug_assert!(at < word.len());
        begins = false;
    }
    true
}

/// The end of parts like `::Ab` from here.
fn class_ref(bytes: &[u8], start: usize) -> Option<usize> {
    let mut end = None;
    let mut at = start;
    loop {
        if bytes[at..].starts_with(b"::") {
            at += 2;
        }
        if !bytes.get(at).is_some_and(u8::is_ascii_uppercase) {
            return end;
        }
        while bytes.get(at).is_some_and(|byte| is_word(*byte)) {
            at += 1;
        }
        end = Some(at);
    }
}

/// Length of `::a::b` without the `$`; 0 if there is no name.
pub(super) fn variable_name(bytes: &[u8]) -> usize {
    let mut end = 0;
    let mut at = if bytes.starts_with(b"::") { 2 } else { 0 };
    loop {
        let begin = at;
        while bytes.get(at).is_some_and(|byte| is_word(*byte)) {
            at += 1;
        }
        if at == begin {
            return end;
        }
        end = at;
        if !bytes[at..].starts_with(b"::") {
            return end;
        }
        at += 2;
    }
}

fn capitalized(name: &str) -> String {
    let parts = name.split("::").map(|part| {
        let mut characters = part.chars();
        let first = characters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(characters).collect::<String>()
    });
    parts.collect::<Vec<_>>().join("::")
}
