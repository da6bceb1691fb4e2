//! Numbers, lists, hashes, interpolated strings and heredocs.

use super::{PartResult, SourceParser};
use crate::ast::{AstSlice, Expr, ExprId, HashEntry};
use crate::defaults::MAX_VALIDATION_FAULTS;
use crate::diagnostic::Diagnostic;
use crate::token::{SyntaxToken, TokenKind};

/// A member of a list or an argument: a value, or a pair that becomes a hash with its neighbours.
pub(super) enum LiteralMember {
    Value(ExprId),
    Pair(HashEntry),
}

impl SourceParser<'_> {
    pub(super) fn number(&mut self) -> PartResult<ExprId> {
        let token = self.bump();
        let text = self.value(token);
        let text = self.interner.text(text).clone();
        let nothing = Expr::Int {
            value: 0,
            radix: 10,
        };
        match number(&text) {
            Ok(expr) => Ok(self.builder.push(expr, token.span)),
            Err(BadNumber::Float) => {
                self.faults.push((self.at, bad_float(&text, token)));
                Ok(self.builder.push(nothing, token.span))
            }
            Err(BadNumber::Integer) => {
                let id = self.builder.push(nothing, token.span);
                if self.numbers.len() < MAX_VALIDATION_FAULTS {
                    self.numbers.push((id, overflow(&text, token)));
                }
                Ok(id)
            }
        }
    }

    pub(super) fn array(&mut self) -> PartResult<ExprId> {
        let open = self.bump();
        let members = if self.kind() == TokenKind::RBracket {
            AstSlice::EMPTY
        } else {
            let members = self.members(TokenKind::RBracket, SourceParser::collection_entry)?;
            self.with_pairs(members)
        };
        let close = self.expect(TokenKind::RBracket, "`,` or `]`")?;
        let span = open.span.join(close.span);
        Ok(self.builder.push(Expr::Array(members), span))
    }

    pub(super) fn hash(&mut self) -> PartResult<ExprId> {
        let open = self.bump();
        if self.kind() == TokenKind::RBrace {
            let close = self.bump();
            let span = open.span.join(close.span);
            return Ok(self.builder.push(Expr::Hash(AstSlice::EMPTY), span));
        }
        let key = self.hash_entry()?;
        self.hash_from(open, key)
    }

    /// Parses the rest of a hash after its first key.
    pub(super) fn hash_from(&mut self, open: SyntaxToken, key: ExprId) -> PartResult<ExprId> {
        let mut entries = vec![self.pair(key)?];
        while self.eat(TokenKind::Comma) {
            if self.kind() == TokenKind::RBrace {
                break;
            }
            let key = self.hash_entry()?;
            entries.push(self.pair(key)?);
        }
        let close = self.expect(TokenKind::RBrace, "`,` or `}`")?;
        let entries = self.builder.list(entries);
        let span = open.span.join(close.span);
        Ok(self.builder.push(Expr::Hash(entries), span))
    }

    /// True for keywords that can be keys without quotes.
    pub(super) fn begins_hash_by_keyword(&self) -> bool {
        let second = self.tokens.get(self.at + 1).map(|token| token.kind);
        let third = self.tokens.get(self.at + 2).map(|token| token.kind);
        second == Some(TokenKind::RBrace)
            || (matches!(second, Some(TokenKind::Type | TokenKind::Function))
                && third == Some(TokenKind::Farrow))
    }

    /// Parses a key or value of a hash; `type` and `function` are plain words here.
    fn hash_entry(&mut self) -> PartResult<ExprId> {
        if self.is_bare_keyword() {
            return Ok(self.keyword_as_text());
        }
        self.assignment()
    }

    fn is_bare_keyword(&self) -> bool {
        matches!(self.kind(), TokenKind::Type | TokenKind::Function)
            && matches!(
                self.kind_after(),
                TokenKind::Farrow
                    | TokenKind::Comma
                    | TokenKind::RBracket
                    | TokenKind::RBrace
                    | TokenKind::RParen
                    | TokenKind::End
            )
    }

    fn keyword_as_text(&mut self) -> ExprId {
        let token = self.bump();
        let value = self.value(token);
        self.builder.push(Expr::Str(value), token.span)
    }

    /// `=> value` after a key.
    fn pair(&mut self, key: ExprId) -> PartResult<HashEntry> {
        let arrow = self.expect(TokenKind::Farrow, "`=>`")?;
        let value = self.hash_entry()?;
        let span = arrow.span;
        Ok(HashEntry { key, value, span })
    }

    /// Parses a member of a list.
    fn collection_entry(&mut self) -> PartResult<LiteralMember> {
        if self.is_bare_keyword() {
            let value = self.keyword_as_text();
            return self.member_from(value);
        }
        self.argument()
    }

    /// Parses an argument of a call.
    pub(super) fn argument(&mut self) -> PartResult<LiteralMember> {
        let keyword = matches!(self.kind(), TokenKind::Type | TokenKind::Function)
            && self.kind_after() == TokenKind::Farrow;
        let value = if keyword {
            self.keyword_as_text()
        } else {
            self.assignment()?
        };
        self.member_from(value)
    }

    /// Parses a value, or the pair whose key it is.
    pub(super) fn member_from(&mut self, value: ExprId) -> PartResult<LiteralMember> {
        if self.kind() == TokenKind::Farrow {
            return self.pair(value).map(LiteralMember::Pair);
        }
        Ok(LiteralMember::Value(value))
    }

    /// Parses one or more members, separated by commas; a comma may precede `close`.
    pub(super) fn members(
        &mut self,
        close: TokenKind,
        one: fn(&mut Self) -> PartResult<LiteralMember>,
    ) -> PartResult<Vec<LiteralMember>> {
        let mut members = vec![one(self)?];
        while self.eat(TokenKind::Comma) {
            if self.kind() == close {
                break;
            }
            members.push(one(self)?);
        }
        Ok(members)
    }

    /// Joins adjacent pairs into one hash.
    pub(super) fn with_pairs(&mut self, members: Vec<LiteralMember>) -> AstSlice<ExprId> {
        let mut values = Vec::with_capacity(members.len());
        let mut pairs: Vec<HashEntry> = Vec::new();
        for member in members {
            match member {
                LiteralMember::Pair(pair) => pairs.push(pair),
                LiteralMember::Value(value) => {
                    self.flush_pairs(&mut pairs, &mut values);
                    values.push(value);
                }
            }
        }
        self.flush_pairs(&mut pairs, &mut values);
        self.builder.list(values)
    }

    fn flush_pairs(&mut self, pairs: &mut Vec<HashEntry>, values: &mut Vec<ExprId>) {
        let Some(first) = pairs.first() else {
            return;
        };
        let span = first.span;
        let entries = self.builder.list(pairs.drain(..));
        values.push(self.builder.push(Expr::Hash(entries), span));
    }

    pub(super) fn interpolated(&mut self) -> PartResult<ExprId> {
        let open = self.bump();
        let mut parts = Vec::new();
        self.text_part(open, &mut parts);
        loop {
            let start = self.span();
            let inner = self.assignment()?;
            let inner = self.as_variable(inner, 0);
            parts.push(self.builder.push(Expr::Text(inner), start));
            let text = self.token();
            match text.kind {
                TokenKind::DqMid => {
                    self.bump();
                    self.text_part(text, &mut parts);
                }
                TokenKind::DqPost => {
                    self.bump();
                    self.text_part(text, &mut parts);
                    let parts = self.builder.list(parts);
                    let span = open.span.join(text.span);
                    return Ok(self.builder.push(Expr::Concat(parts), span));
                }
                _ => return self.unexpected("`}`"),
            }
        }
    }

    /// Adds the text between interpolations, unless it is empty.
    fn text_part(&mut self, token: SyntaxToken, parts: &mut Vec<ExprId>) {
        let value = self.value(token);
        if !self.interner.text(value).is_empty() {
            parts.push(self.builder.push(Expr::Str(value), token.span));
        }
    }

    pub(super) fn heredoc(&mut self) -> PartResult<ExprId> {
        let token = self.bump();
        let text = match self.kind() {
            TokenKind::DqPre => self.interpolated()?,
            TokenKind::String => self.primary()?,
            _ => return self.unexpected("the text of the heredoc"),
        };
        let syntax = token.value;
        Ok(self
            .builder
            .push(Expr::Heredoc { syntax, text }, token.span))
    }

    /// Converts a name or whole number to a variable, if it is the whole interpolation or the start
    /// of its accesses and calls.
    fn as_variable(&mut self, id: ExprId, depth: u32) -> ExprId {
        match self.expr(id) {
            Expr::QName(name) => self.builder.set(id, Expr::Variable(name)),
            Expr::Int { value, radix: 10 } => {
                let name = self.interner.intern(&value.to_string());
                self.builder.set(id, Expr::Variable(name));
            }
            Expr::Access { left, .. } | Expr::NamedAccess { left, .. }
                if depth < self.max_depth =>
            {
                self.as_variable(left, depth + 1);
            }
            Expr::MethodCall(call) if depth < self.max_depth => {
                let functor = self.builder.ast().call(call).functor;
                self.as_variable(functor, depth + 1);
            }
            _ => {}
        }
        id
    }
}

/// The reason for which a number that the lexer accepted has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BadNumber {
    Integer,
    Float,
}

fn number(text: &str) -> Result<Expr, BadNumber> {
    let integer = |digits: &str, radix: u8| {
        i64::from_str_radix(digits, u32::from(radix))
            .map(|value| Expr::Int { value, radix })
            .map_err(|_| BadNumber::Integer)
    };
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return integer(digits, 16);
    }
    if !text.contains(['.', 'e', 'E']) {
        let octal = text.len() > 1 && text.starts_with('0');
        return integer(text, if octal { 8 } else { 10 });
    }
    let value: f64 = text.parse().map_err(|_| BadNumber::Float)?;
    // Puppet has no zero with an exponent
    let zero = text.split(['e', 'E']).next().unwrap_or(text);
    let zero_power =
        zero.len() < text.len() && zero.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if value.is_infinite() || zero_power {
        return Err(BadNumber::Float);
    }
    Ok(Expr::Float(value))
}

fn bad_float(text: &str, token: SyntaxToken) -> Diagnostic {
    let message = format!("Internal Error, NUMBER token does not contain a valid number, {text}");
    Diagnostic::error("INVALID_DECIMAL_NUMBER", token.span, message)
}

fn overflow(text: &str, token: SyntaxToken) -> Diagnostic {
    let message = format!(
        "A Literal Integer resulted in a value outside of Puppet Integer max range, got '{}'",
        overflowing(text)
    );
    Diagnostic::error("NUMERIC_OVERFLOW", token.span, message)
        .with_help("integers go from -9223372036854775808 to 9223372036854775807")
}

/// The number as Puppet prints it: hexadecimal, signed, prefixed.
fn overflowing(text: &str) -> String {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    if let Some(digits) = hexadecimal {
        let digits = digits.trim_start_matches('0').to_ascii_lowercase();
        return format!("+0x{digits}");
    }
    let radix = if text.starts_with('0') { 8 } else { 10 };
    match u128::from_str_radix(text, radix) {
        Ok(value) => format!("+{value:#x}"),
        Err(_) => text.to_owned(),
    }
}
