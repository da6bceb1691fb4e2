//! From text to [`ParamType`].

use std::str::FromStr;

use super::argument::{Argument, ArgumentValue};
use super::build::build;
use super::error::{TypeError, clip};
use super::lexer::{Token, tokens};
use super::{ParamType, Presence, StructEntry};
use crate::defaults::{MAX_TYPE_BYTES, MAX_TYPE_DEPTH};

impl FromStr for ParamType {
    type Err = TypeError;

    fn from_str(text: &str) -> Result<Self, TypeError> {
        if text.len() > MAX_TYPE_BYTES {
            return Err(TypeError::TooLong(text.len()));
        }
        let mut parser = Parser {
            tokens: tokens(text)?,
            next: 0,
            end: text.len(),
        };
        let parsed = parser.param_type(0)?;
        match parser.peek() {
            None => Ok(parsed),
            Some(token) => Err(unexpected(token, parser.at())),
        }
    }
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    end: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    fn take(&mut self, wanted: &Token) -> bool {
        let found = self.peek() == Some(wanted);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: &Token, expected: &'static str) -> Result<(), TypeError> {
        let at = self.at();
        if self.take(wanted) {
            Ok(())
        } else {
            Err(TypeError::Expected { expected, at })
        }
    }

    fn param_type(&mut self, depth: usize) -> Result<ParamType, TypeError> {
        let at = self.at();
        if depth >= MAX_TYPE_DEPTH {
            return Err(TypeError::TooDeep { at });
        }
        let name = match self.peek() {
            Some(Token::Word(name)) if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
                name.clone()
            }
            Some(token) => return Err(unexpected(token, at)),
            None => {
                return Err(TypeError::Expected {
                    expected: "a type",
                    at,
                });
            }
        };
        self.next += 1;
        let arguments = if self.take(&Token::Punctuation('[')) {
            Some(self.arguments(depth)?)
        } else {
            None
        };
        build(&name, at, arguments)
    }

    fn arguments(&mut self, depth: usize) -> Result<Vec<Argument>, TypeError> {
        let mut arguments = Vec::new();
        loop {
            arguments.push(self.argument(depth)?);
            if self.take(&Token::Punctuation(']')) {
                return Ok(arguments);
            }
            self.expect(&Token::Punctuation(','), "',' or ']'")?;
            // A trailing comma is fine in the language.
            if self.take(&Token::Punctuation(']')) {
                return Ok(arguments);
            }
        }
    }

    fn argument(&mut self, depth: usize) -> Result<Argument, TypeError> {
        let at = self.at();
        let value = match self.peek() {
            Some(Token::Text(text)) => ArgumentValue::Text(text.clone()),
            Some(Token::Regex(source)) => ArgumentValue::Regex(source.clone()),
            Some(Token::Integer(number)) => ArgumentValue::Integer(*number),
            Some(Token::Float(number)) => ArgumentValue::Float(*number),
            Some(Token::Word(word)) => match word.as_str() {
                "default" => ArgumentValue::Default,
                "true" => ArgumentValue::Boolean(true),
                "false" => ArgumentValue::Boolean(false),
                name if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
                    let value = ArgumentValue::Type(self.param_type(depth + 1)?);
                    return Ok(Argument { at, value });
                }
                bare => ArgumentValue::Text(bare.to_owned()),
            },
            Some(Token::Punctuation('{')) => {
                let value = ArgumentValue::Entries(self.entries(depth)?);
                return Ok(Argument { at, value });
            }
            Some(token) => return Err(unexpected(token, at)),
            None => {
                return Err(TypeError::Expected {
                    expected: "']'",
                    at,
                });
            }
        };
        self.next += 1;
        Ok(Argument { at, value })
    }

    fn entries(&mut self, depth: usize) -> Result<Vec<StructEntry>, TypeError> {
        self.expect(&Token::Punctuation('{'), "'{'")?;
        let mut entries: Vec<StructEntry> = Vec::new();
        while !self.take(&Token::Punctuation('}')) {
            let at = self.at();
            let (name, presence) = self.entry_key()?;
            if entries.iter().any(|entry| entry.name == name) {
                return Err(TypeError::Unexpected {
                    found: "second entry of that name".into(),
                    at,
                });
            }
            self.expect(&Token::Arrow, "'=>'")?;
            let value = self.param_type(depth + 1)?;
            entries.push(StructEntry {
                name,
                presence,
                value,
            });
            if !self.take(&Token::Punctuation(',')) {
                self.expect(&Token::Punctuation('}'), "',' or '}'")?;
                break;
            }
        }
        Ok(entries)
    }

    fn entry_key(&mut self) -> Result<(String, Presence), TypeError> {
        let at = self.at();
        let token = self.peek().cloned();
        self.next += 1;
        let presence = match token {
            Some(Token::Text(name)) => return Ok((name, Presence::ByValue)),
            Some(Token::Word(word)) if word == "Optional" => Presence::Optional,
            Some(Token::Word(word)) if word == "NotUndef" => Presence::Required,
            Some(Token::Word(name)) if name.starts_with(|c: char| c.is_ascii_lowercase()) => {
                return Ok((name, Presence::ByValue));
            }
            _ => {
                return Err(TypeError::Expected {
                    expected: "the name of an entry",
                    at,
                });
            }
        };
        self.expect(&Token::Punctuation('['), "'['")?;
        let at = self.at();
        let name = match self.peek() {
            Some(Token::Text(name)) => name.clone(),
            Some(Token::Word(name)) if name.starts_with(|c: char| c.is_ascii_lowercase()) => {
                name.clone()
            }
            _ => {
                return Err(TypeError::Expected {
                    expected: "the name of an entry",
                    at,
                });
            }
        };
        self.next += 1;
        self.expect(&Token::Punctuation(']'), "']'")?;
        Ok((name, presence))
    }
}

fn unexpected(token: &Token, at: usize) -> TypeError {
    let found = match token {
        Token::Word(word) => format!("'{}'", clip(word)),
        Token::Text(_) => "string".to_owned(),
        Token::Regex(_) => "regular expression".to_owned(),
        Token::Integer(number) => format!("number {number}"),
        Token::Float(number) => format!("number {number}"),
        Token::Punctuation(c) => format!("'{c}'"),
        Token::Arrow => "'=>'".to_owned(),
    };
    TypeError::Unexpected { found, at }
}
