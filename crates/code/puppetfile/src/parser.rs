//! The parser: builds statements from tokens, and evaluates them. Main function: [`parse_file`].
//!
//! Invariant: after an error parsing continues at the next statement, so that all errors of a file
//! are reported at once.

use std::collections::HashMap;

use crate::defaults::{MAX_DEPTH, MAX_TEXT_BYTES};
use crate::error::{PuppetfileError, PuppetfileErrors, PuppetfilePosition};
use crate::model::Puppetfile;
use crate::module::{self, StatementArgument};
use crate::path::InnerPath;
use crate::token::{PuppetfileToken, PuppetfileTokenKind, QuotedPiece};
use crate::value::PuppetfileValue;

struct PuppetfileParser {
    /// The tokens in reverse order: the next one is the last.
    tokens: Vec<PuppetfileToken>,
    names: HashMap<String, PuppetfileValue>,
    /// Number of open blocks of refused Ruby; their `end` is not an additional error.
    blocks: usize,
}

type ParseResult<T> = Result<T, PuppetfileError>;

/// Keywords of Ruby that begin a block with an `end`.
const BLOCKS: &[&str] = &[
    "if", "unless", "case", "while", "until", "for", "def", "class", "module", "begin",
];

/// Keywords of Ruby inside such blocks.
const PARTS: &[&str] = &["else", "elsif", "when", "rescue", "ensure"];

/// Builds the content of a file from its tokens. Errors are added to `mistakes`.
pub(crate) fn parse_file(
    mut tokens: Vec<PuppetfileToken>,
    mistakes: &mut PuppetfileErrors,
) -> Puppetfile {
    tokens.reverse();
    let mut parser = PuppetfileParser {
        tokens,
        names: HashMap::new(),
        blocks: 0,
    };
    let mut file = Puppetfile::default();
    while let Some(token) = parser.tokens.pop() {
        if token.kind == PuppetfileTokenKind::End {
            continue;
        }
        if let Err(mistake) = parser.parse_statement(token, &mut file) {
            mistakes.push(mistake);
            parser.skip_statement();
        }
    }
    module::check_directories(&file, mistakes);
    file
}

fn refusal(at: PuppetfilePosition, what: &str) -> PuppetfileError {
    let msg = format!(
        "{what} is Ruby that is not run here; write what it comes to: mod, forge, moduledir, and names \
         for texts (name = 'text') are read"
    );
    PuppetfileError::new(at, msg)
}

// === impl PuppetfileParser ===

impl PuppetfileParser {
    fn peek(&self) -> Option<&PuppetfileTokenKind> {
        self.tokens.last().map(|token| &token.kind)
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(&PuppetfileTokenKind::Mark(wanted));
        if is_there {
            self.tokens.pop();
        }
        is_there
    }

    fn position(&self) -> PuppetfilePosition {
        self.tokens
            .last()
            .map_or(PuppetfilePosition::START, |token| token.at)
    }

    /// Skips to the end of the statement.
    fn skip_statement(&mut self) {
        while let Some(token) = self.tokens.pop() {
            match token.kind {
                PuppetfileTokenKind::End => return,
                PuppetfileTokenKind::Word(word) if word == "do" => self.blocks += 1,
                PuppetfileTokenKind::Word(word) if word == "end" => {
                    self.blocks = self.blocks.saturating_sub(1)
                }
                _ => {}
            }
        }
    }

    fn parse_statement(
        &mut self,
        token: PuppetfileToken,
        file: &mut Puppetfile,
    ) -> ParseResult<()> {
        let at = token.at;
        let PuppetfileTokenKind::Word(word) = token.kind else {
            return Err(match token.kind {
                PuppetfileTokenKind::Refused(what) => refusal(at, &what),
                _ => PuppetfileError::new(at, "a statement begins with mod, forge or moduledir"),
            });
        };
        if self.take('=') {
            let value = self.parse_value(0)?;
            self.expect_end()?;
            self.names.insert(word, value);
            return Ok(());
        }
        match word.as_str() {
            "mod" => {
                let arguments = self.parse_arguments()?;
                file.mods.push(module::to_declaration(at, arguments)?);
            }
            "forge" => file.forge = Some(self.parse_single_text("forge", at)?),
            "moduledir" => {
                let text = self.parse_single_text("moduledir", at)?;
                file.moduledir = parse_inner_path("moduledir", &text, at)?;
            }
            // Without effect since r10k 5, and it never excluded anything.
            "exclusion" => drop(self.parse_arguments()?),
            "end" if self.blocks > 0 => self.blocks -= 1,
            part if self.blocks > 0 && PARTS.contains(&part) => self.skip_statement(),
            block if BLOCKS.contains(&block) => {
                self.blocks += 1;
                return Err(refusal(at, block));
            }
            "ENV" => return Err(environment_variable_error(at)),
            other => return Err(refusal(at, other)),
        }
        Ok(())
    }

    fn parse_single_text(&mut self, verb: &str, at: PuppetfilePosition) -> ParseResult<String> {
        let mut arguments = self.parse_arguments()?.into_iter();
        match (arguments.next(), arguments.next()) {
            (Some((_, StatementArgument::Plain(PuppetfileValue::Text(text)))), None) => Ok(text),
            _ => Err(PuppetfileError::new(at, format!("{verb} takes one text"))),
        }
    }

    /// Parses the arguments of a statement, up to its end.
    fn parse_arguments(&mut self) -> ParseResult<Vec<(PuppetfilePosition, StatementArgument)>> {
        let in_brackets = self.take('(');
        let mut arguments = Vec::new();
        loop {
            if in_brackets && self.take(')') {
                break;
            }
            if !in_brackets && matches!(self.peek(), Some(PuppetfileTokenKind::End) | None) {
                break;
            }
            let at = self.position();
            arguments.push((at, self.parse_argument()?));
            if self.take(',') {
                continue;
            }
            if in_brackets && !self.take(')') {
                return Err(self.unexpected("a comma or )"));
            }
            break;
        }
        self.expect_end()?;
        Ok(arguments)
    }

    fn parse_argument(&mut self) -> ParseResult<StatementArgument> {
        if let Some(PuppetfileTokenKind::Label(_)) = self.peek() {
            let (key, value) = self.parse_pair(0)?;
            return Ok(StatementArgument::Option(key, value));
        }
        let at = self.position();
        let value = self.parse_value(0)?;
        if self.peek() != Some(&PuppetfileTokenKind::Arrow) {
            return Ok(match value {
                PuppetfileValue::Hash(pairs) => StatementArgument::Options(pairs),
                plain => StatementArgument::Plain(plain),
            });
        }
        self.tokens.pop();
        Ok(StatementArgument::Option(
            to_key(value, at)?,
            self.parse_value(0)?,
        ))
    }

    /// Checks that the statement ends here.
    fn expect_end(&mut self) -> ParseResult<()> {
        match self.peek() {
            Some(PuppetfileTokenKind::End) => {
                self.tokens.pop();
                Ok(())
            }
            None => Ok(()),
            Some(PuppetfileTokenKind::Word(word)) if matches!(word.as_str(), "if" | "unless") => {
                Err(refusal(self.position(), &word.clone()))
            }
            Some(_) => Err(self.unexpected("a comma or the end of the line")),
        }
    }

    fn unexpected(&self, wanted: &str) -> PuppetfileError {
        let at = self.position();
        match self.peek() {
            Some(PuppetfileTokenKind::Refused(what)) => refusal(at, what),
            Some(PuppetfileTokenKind::Mark('.')) => refusal(at, "a call of a method"),
            _ => PuppetfileError::new(at, format!("{wanted} is expected here")),
        }
    }

    fn parse_value(&mut self, depth: usize) -> ParseResult<PuppetfileValue> {
        let mut value = self.parse_operand(depth)?;
        while self.peek() == Some(&PuppetfileTokenKind::Mark('+')) {
            let at = self.position();
            self.tokens.pop();
            value = match (value, self.parse_operand(depth)?) {
                (PuppetfileValue::Text(one), PuppetfileValue::Text(other)) => {
                    PuppetfileValue::Text(join_texts(at, one, &other)?)
                }
                (PuppetfileValue::List(mut one), PuppetfileValue::List(other)) => {
                    one.extend(other);
                    PuppetfileValue::List(one)
                }
                _ => return Err(PuppetfileError::new(at, "+ joins two texts or two lists")),
            };
        }
        Ok(value)
    }

    fn parse_operand(&mut self, depth: usize) -> ParseResult<PuppetfileValue> {
        let at = self.position();
        if depth >= MAX_DEPTH {
            let what = format!("lists and hashes are nested more than {MAX_DEPTH} deep");
            return Err(PuppetfileError::new(at, what));
        }
        let Some(token) = self.tokens.pop() else {
            return Err(PuppetfileError::new(at, "a value is expected here"));
        };
        let value = match token.kind {
            PuppetfileTokenKind::Text(pieces) => self.parse_text(&pieces, at)?,
            PuppetfileTokenKind::Words(words) => {
                PuppetfileValue::List(words.into_iter().map(PuppetfileValue::Text).collect())
            }
            PuppetfileTokenKind::Symbol(name) => PuppetfileValue::Symbol(name),
            PuppetfileTokenKind::Number(number) => PuppetfileValue::Number(number),
            PuppetfileTokenKind::Mark('[') => self.parse_list(depth)?,
            PuppetfileTokenKind::Mark('{') => self.parse_hash(depth)?,
            PuppetfileTokenKind::Mark('(') => {
                let value = self.parse_value(depth + 1)?;
                if !self.take(')') {
                    return Err(self.unexpected(")"));
                }
                value
            }
            PuppetfileTokenKind::Word(word) => self.parse_word(&word, at)?,
            PuppetfileTokenKind::Refused(what) => return Err(refusal(at, &what)),
            kind => {
                self.tokens.push(PuppetfileToken { kind, at });
                return Err(PuppetfileError::new(at, "a value is expected here"));
            }
        };
        self.parse_method(value)
    }

    /// Parses method calls: `.freeze` has no effect; no other method is supported.
    fn parse_method(&mut self, value: PuppetfileValue) -> ParseResult<PuppetfileValue> {
        while self.peek() == Some(&PuppetfileTokenKind::Mark('.')) {
            let at = self.position();
            self.tokens.pop();
            match self.tokens.pop().map(|token| token.kind) {
                Some(PuppetfileTokenKind::Word(word)) if word == "freeze" => {}
                Some(PuppetfileTokenKind::Word(word)) => {
                    return Err(refusal(at, &format!(".{word}")));
                }
                _ => return Err(refusal(at, "a call of a method")),
            }
        }
        Ok(value)
    }

    fn parse_word(&mut self, word: &str, at: PuppetfilePosition) -> ParseResult<PuppetfileValue> {
        match word {
            "true" => return Ok(PuppetfileValue::Bool(true)),
            "false" => return Ok(PuppetfileValue::Bool(false)),
            "nil" => return Ok(PuppetfileValue::Nil),
            "ENV" => return Err(environment_variable_error(at)),
            _ => {}
        }
        let known = self.names.get(word).cloned();
        known.ok_or_else(|| refusal(at, word))
    }

    fn parse_text(
        &mut self,
        pieces: &[QuotedPiece],
        at: PuppetfilePosition,
    ) -> ParseResult<PuppetfileValue> {
        let mut text = String::new();
        for piece in pieces {
            let part = match piece {
                QuotedPiece::Literal(literal) => literal.as_str(),
                QuotedPiece::Name(name) => match self.names.get(name) {
                    Some(
                        PuppetfileValue::Text(text)
                        | PuppetfileValue::Symbol(text)
                        | PuppetfileValue::Number(text),
                    ) => text,
                    Some(other) => {
                        let what = format!("{name} is {}, not a text", other.kind_name());
                        return Err(PuppetfileError::new(at, what));
                    }
                    None => return Err(refusal(at, &format!("#{{{name}}}"))),
                },
            };
            text = join_texts(at, text, part)?;
        }
        while let Some(PuppetfileTokenKind::Text(_)) = self.peek() {
            // Adjacent texts are concatenated.
            let Some(PuppetfileToken {
                kind: PuppetfileTokenKind::Text(more),
                at,
            }) = self.tokens.pop()
            else {
                break;
            };
            if let PuppetfileValue::Text(more) = self.parse_text(&more, at)? {
                text = join_texts(at, text, &more)?;
            }
        }
        Ok(PuppetfileValue::Text(text))
    }

    fn parse_list(&mut self, depth: usize) -> ParseResult<PuppetfileValue> {
        let mut values = Vec::new();
        while !self.take(']') {
            values.push(self.parse_value(depth + 1)?);
            if !self.take(',') && self.peek() != Some(&PuppetfileTokenKind::Mark(']')) {
                return Err(self.unexpected("a comma or ]"));
            }
        }
        Ok(PuppetfileValue::List(values))
    }

    fn parse_hash(&mut self, depth: usize) -> ParseResult<PuppetfileValue> {
        let mut pairs = Vec::new();
        while !self.take('}') {
            pairs.push(self.parse_pair(depth + 1)?);
            if !self.take(',') && self.peek() != Some(&PuppetfileTokenKind::Mark('}')) {
                return Err(self.unexpected("a comma or }"));
            }
        }
        Ok(PuppetfileValue::Hash(pairs))
    }

    /// Parses `key: value` or `:key => value`.
    fn parse_pair(&mut self, depth: usize) -> ParseResult<(String, PuppetfileValue)> {
        if let Some(PuppetfileTokenKind::Label(label)) = self.peek() {
            let label = label.clone();
            self.tokens.pop();
            return Ok((label, self.parse_value(depth)?));
        }
        let at = self.position();
        let key = to_key(self.parse_value(depth)?, at)?;
        if self.peek() != Some(&PuppetfileTokenKind::Arrow) {
            return Err(self.unexpected("=>"));
        }
        self.tokens.pop();
        Ok((key, self.parse_value(depth)?))
    }
}

fn to_key(value: PuppetfileValue, at: PuppetfilePosition) -> ParseResult<String> {
    match value {
        PuppetfileValue::Symbol(name) | PuppetfileValue::Text(name) => Ok(name),
        other => {
            let what = format!(
                "the name of an option is a symbol, not {}",
                other.kind_name()
            );
            Err(PuppetfileError::new(at, what))
        }
    }
}

fn join_texts(at: PuppetfilePosition, mut text: String, more: &str) -> ParseResult<String> {
    if text.len() + more.len() > MAX_TEXT_BYTES {
        let what = format!("this text has more than {MAX_TEXT_BYTES} bytes");
        return Err(PuppetfileError::new(at, what));
    }
    text.push_str(more);
    Ok(text)
}

fn environment_variable_error(at: PuppetfilePosition) -> PuppetfileError {
    let what = "ENV is not read: what is deployed would depend on who deploys; write the value itself, \
                or :control_branch for the name of the environment's branch";
    PuppetfileError::new(at, what)
}

pub(crate) fn parse_inner_path(
    what: &str,
    text: &str,
    at: PuppetfilePosition,
) -> ParseResult<InnerPath> {
    text.parse()
        .map_err(|error| PuppetfileError::new(at, format!("{what}: {text:?}: {error}")))
}
