//! `${…}` inside a text.
//!
//! Invariant, as in Puppet: if the expression is one token, or its first token is followed by `.`
//! or `[`, then a leading name, number or keyword is the name of a variable.

use super::{Lexer, Step, Stop};
use crate::defaults::MAX_INTERPOLATION_DEPTH;
use crate::token::Kind;

impl Lexer<'_, '_> {
    /// Reads from after `${` to after its `}`.
    pub(super) fn interpolation(&mut self) -> Result<(), Stop> {
        if self.depth >= MAX_INTERPOLATION_DEPTH {
            let message = format!(
                "Interpolations are nested more than {MAX_INTERPOLATION_DEPTH} levels deep"
            );
            self.fault("TOO_DEEP", self.pos - 2..self.pos, message);
            return Err(Stop);
        }
        self.depth += 1;
        let done = self.until_brace();
        self.depth -= 1;
        done
    }

    fn until_brace(&mut self) -> Result<(), Stop> {
        let outside = self.braces;
        self.braces += 1;
        let first = self.out.tokens.len();
        while self.pos < self.text.len() {
            let Step::Token(kind) = self.step()? else {
                continue;
            };
            self.after = kind;
            if kind == Kind::RBrace && self.braces == outside {
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
            [_, next, ..] => matches!(next.kind, Kind::Dot | Kind::LBracket),
            [] => false,
        };
        let Some(token) = tokens.first_mut() else {
            return;
        };
        if !accessed {
            return;
        }
        match token.kind {
            Kind::True | Kind::False => {
                let name = if token.kind == Kind::True {
                    "true"
                } else {
                    "false"
                };
                let message = format!(
                    "Illegal variable name, The given name '{name}' does not conform to the naming \
                     rule /^((::)?[a-z]\\w*)*((::)?[a-z_]\\w*)$/"
                );
                let span = token.span;
                token.kind = Kind::Error;
                let mut fault = crate::Diagnostic::error("ILLEGAL_VAR_NAME", span, message);
                fault
                    .help
                    .push("a single word in `${…}` is the name of a variable".into());
                self.out.faults.push((first, fault));
            }
            kind if matches!(kind, Kind::Name | Kind::Word | Kind::Number)
                || kind.is_plain_keyword() =>
            {
                token.kind = Kind::Variable;
            }
            _ => {}
        }
    }
}
