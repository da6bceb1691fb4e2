//! The parser: builds statements from tokens, and evaluates them. Main function: [`file`].
//!
//! Invariant: after an error parsing continues at the next statement, so that all errors of a file
//! are reported at once.

use std::collections::HashMap;

use crate::defaults::{MAX_DEPTH, MAX_TEXT_BYTES};
use crate::mistake::{Mistake, Mistakes, Position};
use crate::model::Puppetfile;
use crate::module::{self, Argument};
use crate::path::InnerPath;
use crate::token::{Kind, Piece, Token};
use crate::value::Value;

struct Parser {
    /// The tokens in reverse order: the next one is the last.
    tokens: Vec<Token>,
    names: HashMap<String, Value>,
    /// Number of open blocks of refused Ruby; their `end` is not an additional error.
    blocks: usize,
}

type Parsed<T> = Result<T, Mistake>;

/// Keywords of Ruby that begin a block with an `end`.
const BLOCKS: &[&str] = &[
    "if", "unless", "case", "while", "until", "for", "def", "class", "module", "begin",
];

/// Keywords of Ruby inside such blocks.
const PARTS: &[&str] = &["else", "elsif", "when", "rescue", "ensure"];

/// Builds the content of a file from its tokens. Errors are added to `mistakes`.
pub(crate) fn file(mut tokens: Vec<Token>, mistakes: &mut Mistakes) -> Puppetfile {
    tokens.reverse();
    let mut parser = Parser {
        tokens,
        names: HashMap::new(),
        blocks: 0,
    };
    let mut file = Puppetfile::default();
    while let Some(token) = parser.tokens.pop() {
        if token.kind == Kind::End {
            continue;
        }
        if let Err(mistake) = parser.statement(token, &mut file) {
            mistakes.push(mistake);
            parser.skip();
        }
    }
    module::check_directories(&file, mistakes);
    file
}

fn refused(at: Position, what: &str) -> Mistake {
    let msg = format!(
        "{what} is Ruby that is not run here; write what it comes to: mod, forge, moduledir, and names \
         for texts (name = 'text') are read"
    );
    Mistake::new(at, msg)
}

// === impl Parser ===

impl Parser {
    fn peek(&self) -> Option<&Kind> {
        self.tokens.last().map(|token| &token.kind)
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(&Kind::Mark(wanted));
        if is_there {
            self.tokens.pop();
        }
        is_there
    }

    fn at(&self) -> Position {
        self.tokens.last().map_or(Position::START, |token| token.at)
    }

    /// Skips to the end of the statement.
    fn skip(&mut self) {
        while let Some(token) = self.tokens.pop() {
            match token.kind {
                Kind::End => return,
                Kind::Word(word) if word == "do" => self.blocks += 1,
                Kind::Word(word) if word == "end" => self.blocks = self.blocks.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn statement(&mut self, token: Token, file: &mut Puppetfile) -> Parsed<()> {
        let at = token.at;
        let Kind::Word(word) = token.kind else {
            return Err(match token.kind {
                Kind::Refused(what) => refused(at, &what),
                _ => Mistake::new(at, "a statement begins with mod, forge or moduledir"),
            });
        };
        if self.take('=') {
            let value = self.value(0)?;
            self.ended()?;
            self.names.insert(word, value);
            return Ok(());
        }
        match word.as_str() {
            "mod" => {
                let arguments = self.arguments()?;
                file.mods.push(module::module(at, arguments)?);
            }
            "forge" => file.forge = Some(self.one_text("forge", at)?),
            "moduledir" => {
                let text = self.one_text("moduledir", at)?;
                file.moduledir = inner_path("moduledir", &text, at)?;
            }
            // Without effect since r10k 5, and it never excluded anything.
            "exclusion" => drop(self.arguments()?),
            "end" if self.blocks > 0 => self.blocks -= 1,
            part if self.blocks > 0 && PARTS.contains(&part) => self.skip(),
            block if BLOCKS.contains(&block) => {
                self.blocks += 1;
                return Err(refused(at, block));
            }
            "ENV" => return Err(environment_variable(at)),
            other => return Err(refused(at, other)),
        }
        Ok(())
    }

    fn one_text(&mut self, verb: &str, at: Position) -> Parsed<String> {
        let mut arguments = self.arguments()?.into_iter();
        match (arguments.next(), arguments.next()) {
            (Some((_, Argument::Plain(Value::Text(text)))), None) => Ok(text),
            _ => Err(Mistake::new(at, format!("{verb} takes one text"))),
        }
    }

    /// Parses the arguments of a statement, up to its end.
    fn arguments(&mut self) -> Parsed<Vec<(Position, Argument)>> {
        let in_brackets = self.take('(');
        let mut arguments = Vec::new();
        loop {
            if in_brackets && self.take(')') {
                break;
            }
            if !in_brackets && matches!(self.peek(), Some(Kind::End) | None) {
                break;
            }
            let at = self.at();
            arguments.push((at, self.argument()?));
            if self.take(',') {
                continue;
            }
            if in_brackets && !self.take(')') {
                return Err(self.unexpected("a comma or )"));
            }
            break;
        }
        self.ended()?;
        Ok(arguments)
    }

    fn argument(&mut self) -> Parsed<Argument> {
        if let Some(Kind::Label(_)) = self.peek() {
            let (key, value) = self.pair(0)?;
            return Ok(Argument::Option(key, value));
        }
        let at = self.at();
        let value = self.value(0)?;
        if self.peek() != Some(&Kind::Arrow) {
            return Ok(match value {
                Value::Hash(pairs) => Argument::Options(pairs),
                plain => Argument::Plain(plain),
            });
        }
        self.tokens.pop();
        Ok(Argument::Option(key(value, at)?, self.value(0)?))
    }

    /// Checks that the statement ends here.
    fn ended(&mut self) -> Parsed<()> {
        match self.peek() {
            Some(Kind::End) => {
                self.tokens.pop();
                Ok(())
            }
            None => Ok(()),
            Some(Kind::Word(word)) if matches!(word.as_str(), "if" | "unless") => {
                Err(refused(self.at(), &word.clone()))
            }
            Some(_) => Err(self.unexpected("a comma or the end of the line")),
        }
    }

    fn unexpected(&self, wanted: &str) -> Mistake {
        let at = self.at();
        match self.peek() {
            Some(Kind::Refused(what)) => refused(at, what),
            Some(Kind::Mark('.')) => refused(at, "a call of a method"),
            _ => Mistake::new(at, format!("{wanted} is expected here")),
        }
    }

    fn value(&mut self, depth: usize) -> Parsed<Value> {
        let mut value = self.operand(depth)?;
        while self.peek() == Some(&Kind::Mark('+')) {
            let at = self.at();
            self.tokens.pop();
            value = match (value, self.operand(depth)?) {
                (Value::Text(one), Value::Text(other)) => Value::Text(joined(at, one, &other)?),
                (Value::List(mut one), Value::List(other)) => {
                    one.extend(other);
                    Value::List(one)
                }
                _ => return Err(Mistake::new(at, "+ joins two texts or two lists")),
            };
        }
        Ok(value)
    }

    fn operand(&mut self, depth: usize) -> Parsed<Value> {
        let at = self.at();
        if depth >= MAX_DEPTH {
            let what = format!("lists and hashes are nested more than {MAX_DEPTH} deep");
            return Err(Mistake::new(at, what));
        }
        let Some(token) = self.tokens.pop() else {
            return Err(Mistake::new(at, "a value is expected here"));
        };
        let value = match token.kind {
            Kind::Text(pieces) => self.text(&pieces, at)?,
            Kind::Words(words) => Value::List(words.into_iter().map(Value::Text).collect()),
            Kind::Symbol(name) => Value::Symbol(name),
            Kind::Number(number) => Value::Number(number),
            Kind::Mark('[') => self.list(depth)?,
            Kind::Mark('{') => self.hash(depth)?,
            Kind::Mark('(') => {
                let value = self.value(depth + 1)?;
                if !self.take(')') {
                    return Err(self.unexpected(")"));
                }
                value
            }
            Kind::Word(word) => self.word(&word, at)?,
            Kind::Refused(what) => return Err(refused(at, &what)),
            kind => {
                self.tokens.push(Token { kind, at });
                return Err(Mistake::new(at, "a value is expected here"));
            }
        };
        self.method(value)
    }

    /// Parses method calls: `.freeze` has no effect; no other method is supported.
    fn method(&mut self, value: Value) -> Parsed<Value> {
        while self.peek() == Some(&Kind::Mark('.')) {
            let at = self.at();
            self.tokens.pop();
            match self.tokens.pop().map(|token| token.kind) {
                Some(Kind::Word(word)) if word == "freeze" => {}
                Some(Kind::Word(word)) => return Err(refused(at, &format!(".{word}"))),
                _ => return Err(refused(at, "a call of a method")),
            }
        }
        Ok(value)
    }

    fn word(&mut self, word: &str, at: Position) -> Parsed<Value> {
        match word {
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            "nil" => return Ok(Value::Nil),
            "ENV" => return Err(environment_variable(at)),
            _ => {}
        }
        let known = self.names.get(word).cloned();
        known.ok_or_else(|| refused(at, word))
    }

    fn text(&mut self, pieces: &[Piece], at: Position) -> Parsed<Value> {
        let mut text = String::new();
        for piece in pieces {
            let part = match piece {
                Piece::Literal(literal) => literal.as_str(),
                Piece::Name(name) => match self.names.get(name) {
                    Some(Value::Text(text) | Value::Symbol(text) | Value::Number(text)) => text,
                    Some(other) => {
                        let what = format!("{name} is {}, not a text", other.kind());
                        return Err(Mistake::new(at, what));
                    }
                    None => return Err(refused(at, &format!("#{{{name}}}"))),
                },
            };
            text = joined(at, text, part)?;
        }
        while let Some(Kind::Text(_)) = self.peek() {
            // Adjacent texts are concatenated.
            let Some(Token {
                kind: Kind::Text(more),
                at,
            }) = self.tokens.pop()
            else {
                break;
            };
            if let Value::Text(more) = self.text(&more, at)? {
                text = joined(at, text, &more)?;
            }
        }
        Ok(Value::Text(text))
    }

    fn list(&mut self, depth: usize) -> Parsed<Value> {
        let mut values = Vec::new();
        while !self.take(']') {
            values.push(self.value(depth + 1)?);
            if !self.take(',') && self.peek() != Some(&Kind::Mark(']')) {
                return Err(self.unexpected("a comma or ]"));
            }
        }
        Ok(Value::List(values))
    }

    fn hash(&mut self, depth: usize) -> Parsed<Value> {
        let mut pairs = Vec::new();
        while !self.take('}') {
            pairs.push(self.pair(depth + 1)?);
            if !self.take(',') && self.peek() != Some(&Kind::Mark('}')) {
                return Err(self.unexpected("a comma or }"));
            }
        }
        Ok(Value::Hash(pairs))
    }

    /// Parses `key: value` or `:key => value`.
    fn pair(&mut self, depth: usize) -> Parsed<(String, Value)> {
        if let Some(Kind::Label(label)) = self.peek() {
            let label = label.clone();
            self.tokens.pop();
            return Ok((label, self.value(depth)?));
        }
        let at = self.at();
        let key = key(self.value(depth)?, at)?;
        if self.peek() != Some(&Kind::Arrow) {
            return Err(self.unexpected("=>"));
        }
        self.tokens.pop();
        Ok((key, self.value(depth)?))
    }
}

fn key(value: Value, at: Position) -> Parsed<String> {
    match value {
        Value::Symbol(name) | Value::Text(name) => Ok(name),
        other => {
            let what = format!("the name of an option is a symbol, not {}", other.kind());
            Err(Mistake::new(at, what))
        }
    }
}

fn joined(at: Position, mut text: String, more: &str) -> Parsed<String> {
    if text.len() + more.len() > MAX_TEXT_BYTES {
        let what = format!("this text has more than {MAX_TEXT_BYTES} bytes");
        return Err(Mistake::new(at, what));
    }
    text.push_str(more);
    Ok(text)
}

fn environment_variable(at: Position) -> Mistake {
    let what = "ENV is not read: what is deployed would depend on who deploys; write the value itself, \
                or :control_branch for the name of the environment's branch";
    Mistake::new(at, what)
}

pub(crate) fn inner_path(what: &str, text: &str, at: Position) -> Parsed<InnerPath> {
    text.parse()
        .map_err(|error| Mistake::new(at, format!("{what}: {text:?}: {error}")))
}
