//! Literals, variables, assignments and brackets.

use super::cursor::{is_keyword, is_name_start};
use super::{Parsed, Parser};
use crate::syntax::{AssignOperator, Conversion, Expr, Node, RubyClass, Target};

/// Operators that may stand before the equals sign of an assignment.
const ASSIGN_OPERATORS: [&str; 5] = ["+", "-", "*", "/", "<<"];

impl Parser<'_> {
    /// A literal, variable, call or bracket with what is appended to it.
    pub(super) fn parse_primary(&mut self) -> Parsed<Expr> {
        let line = self.line();
        let node = self.parse_atom()?;
        self.parse_postfix(Self::expr(line, node))
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
        self.at = after;
        if is_joined {
            return self.refuse("strings beside each other");
        }
        Ok(Node::Str(string))
    }

    fn parse_instance_variable(&mut self) -> Parsed<Node> {
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
            "nil" => Ok(Node::Nil),
            "true" => Ok(Node::True),
            "false" => Ok(Node::False),
            "if" | "unless" => Ok(self.parse_if(line, word == "unless")?.node),
            "case" => Ok(self.parse_case(line)?.node),
            "next" | "break" => self.parse_jump(word),
            "defined?" => self.parse_defined(),
            _ => self.refuse(format!("the keyword {word}")),
        }
    }

    fn parse_jump(&mut self, word: &str) -> Parsed<Node> {
        if self.scopes.len() < 2 {
            return self.refuse(format!("{word} outside of a block"));
        }
        self.skip_blanks();
        let has_value = !matches!(self.peek(), 0 | b';' | b'\n' | b'#' | b'}' | b')')
            && !["if", "unless", "end"]
                .iter()
                .any(|word| self.is_keyword_next(word));
        match (word, has_value) {
            ("next", true) => Ok(Node::Next(Some(Box::new(self.parse_expression()?)))),
            ("next", false) => Ok(Node::Next(None)),
            (_, true) => self.refuse("break with a value"),
            (_, false) => Ok(Node::Break),
        }
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
        if word == "scope" && !has_bracket {
            return self.parse_scope();
        }
        if word == "has_variable?" && has_bracket {
            return Ok(Node::HasVariable(Box::new(self.parse_only_argument()?)));
        }
        if word == "Regexp" && self.is_next(".escape(") {
            self.at += ".escape".len();
            return Ok(Node::RegexpEscape(Box::new(self.parse_only_argument()?)));
        }
        if let (Some(conversion), true) = (Conversion::named(word), has_bracket) {
            let argument = self.parse_only_argument()?;
            return Ok(Node::Convert(conversion, Box::new(argument)));
        }
        if let (Some(class), false) = (RubyClass::named(word), self.is_next("::")) {
            return Ok(Node::Class(class));
        }
        self.refuse(format!("{word}, which is no variable"))
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
