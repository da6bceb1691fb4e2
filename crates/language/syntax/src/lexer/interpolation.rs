//! `${…}` inside a text.
//!
//! Invariant, as in Puppet: if the expression is one token, or its first token is followed by `.`
//! or `[`, then a leading name, number or keyword is the name of a variable.

use super::{LexerStep, LexerStop, SourceLexer};
use crate::defaults::MAX_INTERPOLATION_DEPTH;
use crate::token::TokenKind;

impl SourceLexer<'_, '_> {
    /// Reads from after `${` to after its `}`.
    pub(super) fn interpolation(&mut self) -> Result<(), LexerStop> {
        if self.depth >= MAX_INTERPOLATION_DEPTH {
            let message = format!(
                "Interpolations are nested more than {MAX_INTERPOLATION_DEPTH} levels deep"
            );
            self.fault("TOO_DEEP", self.pos - 2..self.pos, message);
            return Err(LexerStop);
        }
        self.depth += 1;
        let done = self.until_brace();
        self.depth -= 1;
        done
    }

    fn until_brace(&mut self) -> Result<(), LexerStop> {
        let outside = self.braces;
        self.braces += 1;
        let first = self.out.tokens.len();
        while self.pos < self.text.len() {
            let LexerStep::Token(kind) = self.step()? else {
                continue;
            };
            self.after = kind;
            if kind == TokenKind::RBrace && self.braces == outside {
                self.out.tokens.pop();
                self.make_variable(first);
                return Ok(());
            }
        }
        Ok(())
    }

    fn make_variable(&mut self, first: usize) {
        let tokens = &mut self.out.tokens[first..];
        let accessed = match tokens {
            [_] => true,
            [_, next, ..] => matches!(next.kind, TokenKind::Dot | TokenKind::LBracket),
            [] => false,
        };
        let Some(token) = tokens.first_mut() else {
            return;
        };
        if !accessed {
            return;
        }
        match token.kind {
            TokenKind::True | TokenKind::False => {
                let name = if token.kind == TokenKind::True {
                    "true"
                } else {
                    "false"
                };
                let message = format!(
                    "Illegal variable name, The given name '{name}' does not conform to the naming \
                     rule /^((::)?[a-z]\\w*)*((::)?[a-z_]\\w*)$/"
                );
                let span = token.span;
                token.kind = TokenKind::Error;
                let mut fault = crate::Diagnostic::error("ILLEGAL_VAR_NAME", span, message);
                fault
                    .help
                    .push("a single word in `${…}` is the name of a variable".into());
                self.out.faults.push((first, fault));
            }
            kind if matches!(kind, TokenKind::Name | TokenKind::Word | TokenKind::Number)
                || kind.is_plain_keyword() =>
            {
                token.kind = TokenKind::Variable;
            }
            _ => {}
        }
    }
}
