//! Method calls, indexes and the calls of `scope`.

use super::cursor::{is_keyword, is_name_start};
use super::{Parsed, Parser};
use crate::methods::{MAP_WITH_INDEX, native_method};
use crate::source::INSERT_END;
use crate::syntax::{Block, Expr, MethodCall, Node, RubyClass, ScopeUse, Target};

impl Parser<'_> {
    /// Calls and indexes behind an expression, which begins at an offset.
    pub(super) fn parse_postfix(&mut self, mut expr: Expr, start: usize) -> Parsed<Expr> {
        let mut chain = 0;
        let is_command = self.command_start == Some(start);
        loop {
            self.lengthen(&mut chain)?;
            if self.peek() == b'[' {
                expr = self.parse_index(expr)?;
                continue;
            }
            let before = self.at;
            self.skip_lines();
            let is_safe = self.is_next("&.");
            let is_call = is_safe || (self.peek() == b'.' && is_name_start(self.peek_at(1)));
            if !is_call {
                self.at = before;
                if self.is_next("::") || self.peek() == b'(' {
                    return self.refuse("a constant or call in another form");
                }
                return Ok(expr);
            }
            self.at += if is_safe { 2 } else { 1 };
            expr = self.parse_call(expr, is_safe, is_command)?;
        }
    }

    fn parse_index(&mut self, receiver: Expr) -> Parsed<Expr> {
        let line = receiver.line;
        self.at += 1;
        let mut arguments = self.parse_arguments("]")?;
        if arguments.len() == 1 {
            let index = arguments.remove(0);
            let target = Target::Index(Box::new(receiver), Box::new(index));
            return Ok(match self.parse_assignment(target)? {
                Ok(assignment) => Self::expr(line, assignment),
                Err(Target::Index(receiver, index)) => Self::call(*receiver, "[]", vec![*index]),
                Err(_) => return self.refuse("code that cannot be read"),
            });
        }
        Ok(Self::call(receiver, "[]", arguments))
    }

    fn call(receiver: Expr, name: &'static str, arguments: Vec<Expr>) -> Expr {
        let line = receiver.line;
        let call = MethodCall {
            receiver,
            name,
            arguments,
            block: None,
            is_safe: false,
        };
        Self::expr(line, Node::Call(Box::new(call)))
    }

    /// The name, arguments and block of a call behind its dot. `is_command`: the call may have an argument
    /// without brackets.
    fn parse_call(&mut self, receiver: Expr, is_safe: bool, is_command: bool) -> Parsed<Expr> {
        let line = receiver.line;
        let word = self.peek_word();
        if matches!(word, "is_a?" | "kind_of?") {
            self.at += word.len();
            return self.parse_class_check(receiver, is_safe);
        }
        let known = native_method(word).or(self.is_unevaluated.then_some("new"));
        self.at += word.len();
        let mut arguments = Vec::new();
        let mut block = None;
        if self.take("(") {
            (arguments, block) = self.parse_call_arguments()?;
        } else if is_command && self.is_command_argument_next() {
            arguments.push(self.parse_command_argument(word)?);
        }
        if block.is_none() {
            block = self.parse_block()?;
        }
        self.refuse_command_arguments(word)?;
        if self.is_attribute_assigned() {
            return self.refuse("an assignment to an attribute");
        }
        let Some(mut name) = known else {
            let reason = format!("the method {word}");
            return Ok(Self::expr(line, Node::Refused(reason.into())));
        };
        if arguments.is_empty() && block.is_none() {
            block = self.parse_map_with_index(name)?;
            name = block.as_ref().map_or(name, |_| MAP_WITH_INDEX);
        }
        let call = MethodCall {
            receiver,
            name,
            arguments,
            block,
            is_safe,
        };
        Ok(Self::expr(line, Node::Call(Box::new(call))))
    }

    /// The block of `map.each_with_index`, `map.with_index` and `each_with_index.map` after the first of
    /// the two names.
    fn parse_map_with_index(&mut self, first: &str) -> Parsed<Option<Block>> {
        let second: &[&str] = match first {
            "map" | "collect" => &["each_with_index", "with_index"],
            "each_with_index" => &["map", "collect"],
            _ => return Ok(None),
        };
        let before = self.at;
        let has_dot = self.take(".");
        let word = self.peek_word();
        if !has_dot || !second.contains(&word) {
            self.at = before;
            return Ok(None);
        }
        self.at += word.len();
        match self.parse_block()? {
            // with one parameter, the two orders differ
            Some(
                block @ Block::Code {
                    takes_apart: true, ..
                },
            ) => Ok(Some(block)),
            _ => self.refuse(format!("{first}.{word} in another form")),
        }
    }

    fn is_attribute_assigned(&self) -> bool {
        let rest = self.rest().trim_start_matches([' ', '\t']);
        rest.starts_with('=') && !["==", "=~", "=>"].iter().any(|it| rest.starts_with(it))
    }

    /// True if a variable, string or number follows after a blank.
    fn is_command_argument_next(&self) -> bool {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches([' ', '\t']);
        let first = trimmed.as_bytes().first().copied().unwrap_or(0);
        let is_value = match first {
            b'\'' | b'"' | b'@' => true,
            first if is_name_start(first) => {
                let word_end = trimmed.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let word = &trimmed[..word_end.unwrap_or(trimmed.len())];
                !is_keyword(word)
            }
            first => first.is_ascii_digit(),
        };
        is_value && trimmed.len() < rest.len()
    }

    /// The only argument of a call that is a whole statement or condition, without brackets: it reaches as
    /// far as an expression does.
    fn parse_command_argument(&mut self, name: &str) -> Parsed<Expr> {
        self.skip_blanks();
        let argument = self.parse_expression()?;
        self.skip_blanks();
        let is_end = matches!(
            self.peek(),
            0 | b';' | b'\n' | b'#' | b')' | b'}' | INSERT_END
        ) || ["then", "and", "or", "if", "unless"]
            .iter()
            .any(|word| self.is_keyword_next(word));
        if is_end {
            return Ok(argument);
        }
        self.refuse(format!("arguments of {name} without brackets"))
    }

    /// Arguments without brackets are read by Ruby in ways that depend on blanks.
    pub(super) fn refuse_command_arguments(&self, name: &str) -> Parsed<()> {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches([' ', '\t']);
        if trimmed.len() == rest.len() {
            return Ok(());
        }
        let first = trimmed.as_bytes().first().copied().unwrap_or(0);
        let second = trimmed.as_bytes().get(1).copied().unwrap_or(0);
        let word_end = trimmed.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let word = &trimmed[..word_end.unwrap_or(trimmed.len())];
        let keywords = [
            "if", "unless", "and", "or", "then", "do", "end", "else", "elsif", "when", "rescue",
        ];
        let is_argument = match first {
            b'\'' | b'"' | b'@' | b'$' | b'(' | b'[' | b'{' => true,
            b':' => second != b' ' && second != b':',
            // an operator with a blank behind it is one in any case
            b'-' | b'*' | b'&' | b'/' | b'%' | b'<' | b'+' | b'?' | b'!' => {
                is_name_start(second)
                    || second.is_ascii_digit()
                    || matches!(
                        second,
                        b'\'' | b'"' | b'@' | b':' | b'[' | b'(' | b'$' | b'/'
                    )
            }
            _ if is_name_start(first) => !keywords.contains(&word),
            _ => first.is_ascii_digit(),
        };
        if is_argument {
            return self.refuse(format!("arguments of {name} without brackets"));
        }
        Ok(())
    }

    fn parse_class_check(&mut self, receiver: Expr, is_safe: bool) -> Parsed<Expr> {
        let line = receiver.line;
        let has_bracket = self.take("(");
        self.skip_blanks();
        let word = self.peek_word();
        let class = RubyClass::named(word);
        let (Some(class), false) = (class, is_safe) else {
            return self.refuse(format!("the class {word}"));
        };
        self.at += word.len();
        if self.is_next("::") {
            return self.refuse(format!("a class in {word}"));
        }
        if has_bracket {
            self.skip_blanks();
            self.expect(")")?;
        }
        Ok(Self::expr(line, Node::IsA(Box::new(receiver), class)))
    }

    /// The only argument in brackets.
    pub(super) fn parse_only_argument(&mut self) -> Parsed<Expr> {
        self.expect("(")?;
        let (mut arguments, block) = self.parse_call_arguments()?;
        match (arguments.pop(), arguments.is_empty(), block) {
            (Some(argument), true, None) => Ok(argument),
            _ => self.refuse("another number of arguments than one"),
        }
    }

    /// Arguments up to the closing bracket, with `&:name` at their end.
    fn parse_call_arguments(&mut self) -> Parsed<(Vec<Expr>, Option<Block>)> {
        self.skip_lines();
        if self.is_next("&:") {
            let block = self.parse_method_block()?;
            return Ok((Vec::new(), Some(block)));
        }
        Ok((self.parse_arguments(")")?, None))
    }

    fn parse_method_block(&mut self) -> Parsed<Block> {
        self.at += 2;
        let word = self.peek_word();
        let Some(name) = native_method(word) else {
            return self.refuse(format!("the method {word}"));
        };
        self.at += word.len();
        self.skip_lines();
        self.expect(")")?;
        Ok(Block::Method(name))
    }

    /// Expressions up to a closing bracket. Keys and values without braces are one hash at the end.
    pub(super) fn parse_arguments(&mut self, close: &str) -> Parsed<Vec<Expr>> {
        let mut arguments = Vec::new();
        let mut pairs = Vec::new();
        loop {
            self.skip_lines();
            if self.take(close) {
                break;
            }
            let line = self.line();
            if let Some(key) = self.parse_label()? {
                self.skip_lines();
                pairs.push((Self::expr(line, key), self.parse_expression()?));
            } else {
                let expr = self.parse_expression()?;
                self.skip_lines();
                if self.take("=>") {
                    self.skip_lines();
                    pairs.push((expr, self.parse_expression()?));
                } else if pairs.is_empty() {
                    arguments.push(expr);
                } else {
                    return self.refuse("an argument after keys");
                }
            }
            self.skip_lines();
            if !self.take(",") {
                self.expect(close)?;
                break;
            }
        }
        if !pairs.is_empty() {
            let line = self.line();
            arguments.push(Self::expr(line, Node::Hash(pairs)));
        }
        Ok(arguments)
    }

    /// The call or index behind `scope`.
    pub(super) fn parse_scope(&mut self) -> Parsed<Node> {
        if self.take("[") {
            let mut arguments = self.parse_arguments("]")?;
            return match (arguments.pop(), arguments.is_empty()) {
                (Some(name), true) if !self.is_attribute_assigned() => {
                    Ok(Node::Scope(ScopeUse::Variable(Box::new(name))))
                }
                _ => self.refuse("scope[] in another form"),
            };
        }
        if !self.take(".") {
            return self.refuse("scope as a value");
        }
        let word = self.peek_word();
        self.at += word.len();
        if word == "lookupvar" {
            return Ok(Node::Scope(ScopeUse::Variable(Box::new(
                self.parse_scope_argument()?,
            ))));
        }
        if matches!(word, "call_function" | "setvar") && self.take("(") {
            let mut arguments = self.parse_arguments(")")?;
            let (Some(second), Some(name), true) =
                (arguments.pop(), arguments.pop(), arguments.is_empty())
            else {
                return self.refuse(format!("scope.{word} in another form"));
            };
            let (name, second) = (Box::new(name), Box::new(second));
            return Ok(match word {
                "setvar" => Node::Scope(ScopeUse::SetVariable(name, second)),
                _ => Node::Scope(ScopeUse::ModernCall(name, second)),
            });
        }
        if let Some(name) = word.strip_prefix("function_") {
            if name.is_empty() || name.ends_with(['?', '!']) || self.peek() != b'(' {
                return self.refuse(format!("scope.{word} in another form"));
            }
            let list = self.parse_only_argument()?;
            return Ok(Node::Scope(ScopeUse::LegacyCall(
                name.to_owned(),
                Box::new(list),
            )));
        }
        self.refuse(format!("scope.{word}"))
    }

    /// The only argument, in brackets or a string without them.
    fn parse_scope_argument(&mut self) -> Parsed<Expr> {
        if self.peek() == b'(' {
            return self.parse_only_argument();
        }
        let line = self.line();
        self.skip_blanks();
        if !matches!(self.peek(), b'\'' | b'"') {
            return self.refuse("scope.lookupvar in another form");
        }
        let string = self.parse_string()?;
        self.skip_blanks();
        let is_alone = matches!(self.peek(), 0 | b';' | b'\n' | b')' | 4);
        if !is_alone {
            return self.refuse("arguments of lookupvar without brackets");
        }
        Ok(Self::expr(line, Node::Str(string)))
    }
}
