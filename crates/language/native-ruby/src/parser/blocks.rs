//! Blocks with their parameters.

use std::collections::HashMap;

use super::{Parsed, Parser};
use crate::syntax::{Block, Parameter};

impl Parser<'_> {
    /// The block behind a call, if there is one.
    pub(super) fn parse_block(&mut self) -> Parsed<Option<Block>> {
        let before = self.at;
        self.skip_blanks();
        let close = if self.take_keyword("do") {
            "end"
        } else if self.take("{") {
            "}"
        } else {
            self.at = before;
            return Ok(None);
        };
        self.scopes.push(HashMap::new());
        let loops = std::mem::take(&mut self.loops);
        let block = self.nested(|parser| parser.parse_block_body(close));
        self.loops = loops;
        self.scopes.pop();
        block.map(Some)
    }

    fn parse_block_body(&mut self, close: &str) -> Parsed<Block> {
        let first = self.locals;
        self.skip_lines();
        let mut parameters = Vec::new();
        let mut has_comma = false;
        if self.take("|") {
            (parameters, has_comma) = self.parse_parameters("|")?;
        }
        let body = self.parse_body()?;
        match close {
            "end" => self.expect_end()?,
            _ => self.expect(close)?,
        }
        let is_nested = matches!(parameters.first(), Some(Parameter::Nested(_)));
        Ok(Block::Code {
            takes_apart: has_comma || parameters.len() > 1 || is_nested,
            parameters,
            // blocks inside have theirs among these, and begin with `nil` themselves
            locals: (first..self.locals).collect(),
            body,
        })
    }

    /// Parameters up to a closing mark, and true if there was a comma.
    fn parse_parameters(&mut self, close: &str) -> Parsed<(Vec<Parameter>, bool)> {
        let mut parameters = Vec::new();
        let mut has_comma = false;
        loop {
            self.skip_lines();
            if self.take(close) {
                return Ok((parameters, has_comma));
            }
            if self.take("(") {
                let (nested, _) = self.nested(|parser| parser.parse_parameters(")"))?;
                parameters.push(Parameter::Nested(nested));
            } else {
                let word = self.peek_word();
                if word.is_empty()
                    || !word.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
                {
                    return self.refuse("block parameters in another form");
                }
                self.at += word.len();
                parameters.push(Parameter::Slot(self.declare(word)?));
            }
            self.skip_lines();
            if self.take(",") {
                has_comma = true;
            } else if !self.is_next(close) {
                return self.refuse("block parameters in another form");
            }
        }
    }
}
