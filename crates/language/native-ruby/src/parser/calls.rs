//! Method calls, indexes and the calls of `scope`.

use super::cursor::is_name_start;
use super::{Parsed, Parser};
use crate::methods::native_method;
use crate::syntax::{Block, Expr, MethodCall, Node, RubyClass, Target};

impl Parser<'_> {
    /// Calls and indexes behind an expression.
    pub(super) fn parse_postfix(&mut self, mut expr: Expr) -> Parsed<Expr> {
        let mut chain = 0;
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
            expr = self.parse_call(expr, is_safe)?;
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

    /// The name, arguments and block of a call behind its dot.
    fn parse_call(&mut self, receiver: Expr, is_safe: bool) -> Parsed<Expr> {
        let line = receiver.line;
        let word = self.peek_word();
        if matches!(word, "is_a?" | "kind_of?") {
            self.at += word.len();
            return self.parse_class_check(receiver, is_safe);
        }
        let known = native_method(word).or(self.is_unevaluated.then_some("new"));
        let Some(name) = known else {
            return self.refuse(format!("the method {word}"));
        };
        self.at += word.len();
        let mut arguments = Vec::new();
        let mut block = None;
        if self.peek() == b'(' {
            self.at += 1;
            (arguments, block) = self.parse_call_arguments()?;
        }
        if block.is_none() {
            block = self.parse_block()?;
        }
        self.refuse_command_arguments(word)?;
        if self.is_attribute_assigned() {
            return self.refuse("an assignment to an attribute");
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

    fn is_attribute_assigned(&self) -> bool {
        let rest = self.rest().trim_start_matches([' ', '\t']);
        rest.starts_with('=') && !["==", "=~", "=>"].iter().any(|it| rest.starts_with(it))
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
                    Ok(Node::ScopeVariable(Box::new(name)))
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
            return Ok(Node::ScopeVariable(Box::new(self.parse_scope_argument()?)));
        }
        if word == "call_function" && self.take("(") {
            let mut arguments = self.parse_arguments(")")?;
            let (Some(list), Some(name), true) =
                (arguments.pop(), arguments.pop(), arguments.is_empty())
            else {
                return self.refuse("scope.call_function in another form");
            };
            return Ok(Node::ModernCall(Box::new(name), Box::new(list)));
        }
        if let Some(name) = word.strip_prefix("function_") {
            if name.is_empty() || name.ends_with(['?', '!']) || self.peek() != b'(' {
                return self.refuse(format!("scope.{word} in another form"));
            }
            let list = self.parse_only_argument()?;
            return Ok(Node::LegacyCall(name.to_owned(), Box::new(list)));
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
