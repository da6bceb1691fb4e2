//! Literals, variables, assignments and brackets.

use std::sync::Arc;

use super::cursor::{is_keyword, is_name_start};
use super::{CodeKind, Parsed, Parser};
use crate::syntax::{
    AssignOperator, Conversion, Expr, LibraryFunction, Literal, Node, RubyClass, ScopeUse, Target,
};

/// Operators that may stand before the equals sign of an assignment.
const ASSIGN_OPERATORS: [&str; 5] = ["+", "-", "*", "/", "<<"];

impl Parser<'_> {
    /// A literal, variable, call or bracket with what is appended to it.
    pub(super) fn parse_primary(&mut self) -> Parsed<Expr> {
        let (line, start) = (self.line(), self.at);
        let node = self.parse_atom()?;
        self.parse_postfix(Self::expr(line, node), start)
    }

    fn parse_atom(&mut self) -> Parsed<Node> {
        match self.peek() {
            b'\'' | b'"' => self.parse_string_atom(),
            b'@' => self.parse_instance_variable(),
            b'$' => self.parse_match_group(),
            b':' => self.parse_symbol(),
            b'/' => self.parse_regex(),
            b'[' => self.parse_array(),
            b'{' => self.parse_hash(),
            b'(' => self.parse_parentheses(),
            b'%' if self.peek_at(1) == b'r' => self.parse_percent_regex(),
            b'%' if self.peek_at(1) == b'(' => self.parse_string_atom(),
            b'%' => self.parse_words(),
            b'-' | b'0'..=b'9' => self.parse_number(),
            byte if is_name_start(byte) => self.parse_word(),
            _ => self.refuse("code that cannot be read"),
        }
    }

    fn parse_string_atom(&mut self) -> Parsed<Node> {
        let string = self.parse_string()?;
        // literals beside each other are one in Ruby, and one before a colon is a key
        let after = self.at;
        self.skip_blanks();
        let is_joined = matches!(self.peek(), b'\'' | b'"');
        if is_joined && self.is_unevaluated {
            return self.parse_string_atom();
        }
        self.at = after;
        if is_joined {
            return self.refuse("strings beside each other");
        }
        Ok(match self.has_frozen_strings {
            true => Node::FrozenStr(string),
            false => Node::Str(string),
        })
    }

    fn parse_instance_variable(&mut self) -> Parsed<Node> {
        if self.kind == CodeKind::Function {
            return self.refuse("a variable that lives longer than the call");
        }
        self.at += 1;
        let name = self.peek_word().trim_end_matches(['?', '!']);
        if name.is_empty() {
            return self.refuse("a class variable");
        }
        self.at += name.len();
        let target = Target::InstanceVariable(name.into());
        match self.parse_assignment(target)? {
            Ok(assignment) => Ok(assignment),
            Err(_) => Ok(Node::InstanceVariable(name.into())),
        }
    }

    fn parse_match_group(&mut self) -> Parsed<Node> {
        let digit = self.peek_at(1);
        if !matches!(digit, b'1'..=b'9') || self.peek_at(2).is_ascii_digit() {
            return self.refuse("a global variable");
        }
        self.at += 2;
        Ok(Node::MatchGroup(usize::from(digit - b'0')))
    }

    fn parse_parentheses(&mut self) -> Parsed<Node> {
        self.at += 1;
        let body = self.parse_body()?;
        self.expect(")")?;
        Ok(Node::Body(body))
    }

    fn parse_word(&mut self) -> Parsed<Node> {
        let word = self.peek_word();
        let line = self.line();
        if is_keyword(word) {
            return self.parse_keyword(word, line);
        }
        if word == "defined" {
            return self.refuse("a method of the template's own object");
        }
        let name = word.trim_end_matches(['?', '!']);
        if name.len() == word.len() && !word.starts_with(|c: char| c.is_ascii_uppercase()) {
            let start = self.at;
            self.at += word.len();
            if self.is_assigned() {
                let slot = self.assigned_local(word)?;
                if let Ok(assignment) = self.parse_assignment(Target::Local(slot))? {
                    return Ok(assignment);
                }
            }
            if let Some(slot) = self.find_local(word) {
                return Ok(Node::Local(slot));
            }
            self.at = start;
        }
        self.parse_function(word)
    }

    fn parse_keyword(&mut self, word: &str, line: u32) -> Parsed<Node> {
        self.at += word.len();
        match word {
            "nil" => Ok(Node::Literal(Literal::Nil)),
            "true" => Ok(Node::Literal(Literal::Bool(true))),
            "false" => Ok(Node::Literal(Literal::Bool(false))),
            "if" | "unless" => Ok(self.parse_if(line, word == "unless")?.node),
            "case" => Ok(self.parse_case(line)?.node),
            "next" | "break" => self.parse_jump(word),
            "return" if self.kind == CodeKind::Function => self.parse_return(),
            "begin" => self.parse_begin(),
            "while" | "until" => self.parse_loop(line, word == "until"),
            "defined?" => self.parse_defined(),
            _ => self.refuse(format!("the keyword {word}")),
        }
    }

    fn parse_jump(&mut self, word: &str) -> Parsed<Node> {
        if self.scopes.len() < 2 || self.loops > 0 {
            return self.refuse(format!("{word} outside of a block"));
        }
        let has_value = self.has_jump_value();
        match (word, has_value) {
            ("next", true) => Ok(Node::Next(Some(Box::new(self.parse_expression()?)))),
            ("next", false) => Ok(Node::Next(None)),
            (_, true) => self.refuse("break with a value"),
            (_, false) => Ok(Node::Break),
        }
    }

    fn has_jump_value(&mut self) -> bool {
        self.skip_blanks();
        !matches!(self.peek(), 0 | b';' | b'\n' | b'#' | b'}' | b')')
            && !["if", "unless", "end"]
                .iter()
                .any(|word| self.is_keyword_next(word))
    }

    fn parse_return(&mut self) -> Parsed<Node> {
        if !self.has_jump_value() {
            return Ok(Node::Return(None));
        }
        let value = self.parse_expression()?;
        self.skip_blanks();
        if self.peek() == b',' {
            return self.refuse("a return of several values");
        }
        Ok(Node::Return(Some(Box::new(value))))
    }

    /// `while` or `until` after its word, up to its `end`.
    fn parse_loop(&mut self, line: u32, is_negated: bool) -> Parsed<Node> {
        self.skip_blanks();
        let mut condition = self.parse_condition()?;
        self.refuse_literal_condition(&condition)?;
        if is_negated {
            condition = Self::expr(line, Node::Not(Box::new(condition)));
        }
        self.skip_blanks();
        if !self.take_keyword("do") && !matches!(self.peek(), b';' | b'\n' | b'#') {
            return self.refuse("a condition that cannot be read");
        }
        self.loops += 1;
        let body = self.nested(Self::parse_body);
        self.loops -= 1;
        let body = body?;
        self.expect_end()?;
        let condition = Box::new(condition);
        Ok(Node::While { condition, body })
    }

    fn parse_defined(&mut self) -> Parsed<Node> {
        self.skip_blanks();
        let has_bracket = self.take("(");
        self.skip_blanks();
        if self.peek() != b'@' {
            return self.refuse("defined? of other than an instance variable");
        }
        self.at += 1;
        let name = self.peek_word().trim_end_matches(['?', '!']);
        if name.is_empty() {
            return self.refuse("a class variable");
        }
        self.at += name.len();
        self.skip_blanks();
        if has_bracket {
            self.expect(")")?;
        } else if !matches!(self.peek(), b';' | b'\n' | 0) {
            return self.refuse("defined? without brackets");
        }
        Ok(Node::DefinedInstanceVariable(name.into()))
    }

    /// A constant, or a function that the wrapper has.
    fn parse_function(&mut self, word: &str) -> Parsed<Node> {
        self.at += word.len();
        let has_bracket = self.peek() == b'(';
        let is_template = self.kind == CodeKind::Template;
        if word == "scope" && is_template && !has_bracket {
            return self.parse_scope();
        }
        if word == "has_variable?" && is_template && has_bracket {
            return Ok(Node::Scope(ScopeUse::HasVariable(Box::new(
                self.parse_only_argument()?,
            ))));
        }
        if matches!(word, "raise" | "fail") {
            return self.parse_raise();
        }
        if word == "Regexp" && self.is_next(".escape(") {
            self.at += ".escape".len();
            return Ok(Node::Library(
                LibraryFunction::RegexpEscape,
                Box::new(self.parse_only_argument()?),
            ));
        }
        if let (Some(conversion), true) = (Conversion::named(word), has_bracket) {
            let argument = self.parse_only_argument()?;
            return Ok(Node::Library(
                LibraryFunction::Convert(conversion),
                Box::new(argument),
            ));
        }
        if let (Some(class), false) = (RubyClass::named(word), self.is_next("::")) {
            return Ok(Node::Class(class));
        }
        if let Some(node) = self.parse_constant(word)? {
            return Ok(node);
        }
        if !is_template && word.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') {
            return self.parse_own_call(word);
        }
        self.refuse(format!("{word}, which is no variable"))
    }

    /// A function without a receiver, in the methods of a function.
    fn parse_own_call(&mut self, word: &str) -> Parsed<Node> {
        let has_bracket = self.peek() == b'(';
        let arguments = match self.take("(") {
            true => self.parse_arguments(")")?,
            false => Vec::new(),
        };
        if !has_bracket {
            self.refuse_command_arguments(word)?;
        }
        if self.parse_block()?.is_some() {
            return self.refuse("a block for a method of the function");
        }
        match (word, has_bracket) {
            ("call_function", true) => Ok(Node::FunctionCall(arguments)),
            ("closure_scope", false) => Ok(Node::ClosureScope),
            _ => {
                let name: Arc<str> = word.into();
                self.own_calls.push(Arc::clone(&name));
                Ok(Node::OwnCall(name, arguments))
            }
        }
    }

    /// True if an assignment follows a name.
    fn is_assigned(&self) -> bool {
        let rest = self.rest().trim_start_matches([' ', '\t']);
        let is_plain = rest.starts_with('=') && !rest.starts_with("==");
        let is_plain = is_plain && !rest.starts_with("=~") && !rest.starts_with("=>");
        let operators = ASSIGN_OPERATORS.iter().chain(&["||", "&&"]);
        let mut operators = operators.filter_map(|operator| rest.strip_prefix(*operator));
        is_plain || operators.any(|rest| rest.starts_with('='))
    }

    /// The assignment if one follows, else the target.
    pub(super) fn parse_assignment(&mut self, target: Target) -> Parsed<Result<Node, Target>> {
        if !self.is_assigned() {
            return Ok(Err(target));
        }
        self.skip_blanks();
        let operator = match self.peek() {
            b'=' => None,
            b'|' => Some(AssignOperator::Or),
            b'&' => Some(AssignOperator::And),
            _ => {
                let operators = ASSIGN_OPERATORS.iter();
                let operator = operators.copied().find(|operator| self.is_next(operator));
                operator.map(AssignOperator::Method)
            }
        };
        self.at += match &operator {
            None => 1,
            Some(AssignOperator::Or | AssignOperator::And) => 3,
            Some(AssignOperator::Method(name)) => name.len() + 1,
        };
        self.skip_lines();
        let value = Box::new(self.parse_expression()?);
        self.skip_blanks();
        if self.is_keyword_next("rescue") {
            return self.refuse("the keyword rescue");
        }
        Ok(Ok(match operator {
            None => Node::Assign(target, value),
            Some(operator) => Node::OperatorAssign(target, operator, value),
        }))
    }
}
