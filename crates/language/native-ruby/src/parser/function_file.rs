//! Files of functions: `Puppet::Functions.create_function` with its `dispatch` blocks and methods.

use std::collections::HashMap;

use super::{CodeKind, Parsed, Parser};
use crate::defaults::FUNCTION_PARTS_MAX;
use crate::function_syntax::{RubyDispatch, RubyMethod, RubyParameter, RubyParameterKind};
use crate::syntax::{Expr, Slot, StrPart};

/// Start of the definition of a function.
const CREATE_FUNCTION: &str = "Puppet::Functions.create_function(";

/// The parts of a function's file.
#[derive(Debug)]
pub(crate) struct FunctionFile {
    pub(crate) name: String,
    pub(crate) dispatches: Vec<RubyDispatch>,
    pub(crate) methods: Vec<RubyMethod>,
}

impl<'a> Parser<'a> {
    /// A parser of a function's file.
    pub(crate) fn for_function(code: &'a str) -> Self {
        let mut parser = Self::of_kind(CodeKind::Function, code);
        let comments = code
            .lines()
            .take_while(|line| line.trim_start().starts_with('#'));
        parser.has_frozen_strings = comments
            .into_iter()
            .any(|comment| comment.contains("frozen_string_literal"));
        parser
    }

    pub(crate) fn parse_function_file(mut self) -> Parsed<FunctionFile> {
        self.skip_separators();
        while self.parse_require()?.is_some() {
            self.skip_separators();
        }
        self.expect(CREATE_FUNCTION)?;
        let name = self.parse_plain_name()?;
        self.expect(")")?;
        self.skip_blanks();
        self.expect_keyword("do")?;
        let mut file = FunctionFile {
            name,
            dispatches: Vec::new(),
            methods: Vec::new(),
        };
        loop {
            self.skip_separators();
            if self.take_keyword("end") {
                break;
            }
            if file.dispatches.len() + file.methods.len() >= FUNCTION_PARTS_MAX {
                return self.refuse("a function with many parts");
            }
            match self.peek_word() {
                "dispatch" => file.dispatches.push(self.parse_dispatch()?),
                "def" => self.parse_method(&mut file.methods)?,
                "require" => drop(self.parse_require()?),
                word => return self.refuse(format!("{word} in a function")),
            }
        }
        self.skip_separators();
        if self.at < self.code.len() {
            return self.refuse("code behind the function");
        }
        self.check_methods(&mut file)?;
        Ok(file)
    }

    /// `dispatch :method do … end`
    fn parse_dispatch(&mut self) -> Parsed<RubyDispatch> {
        self.at += "dispatch".len();
        let has_bracket = self.skip_bracket();
        let method = self.parse_plain_name()?;
        if has_bracket {
            self.expect(")")?;
        }
        self.skip_blanks();
        self.expect_keyword("do")?;
        let mut dispatch = RubyDispatch {
            method,
            parameters: Vec::new(),
            return_type: None,
        };
        loop {
            self.skip_separators();
            if self.take_keyword("end") {
                return Ok(dispatch);
            }
            let word = self.peek_word();
            self.at += word.len();
            let has_bracket = self.skip_bracket();
            let type_text = self.parse_plain_string()?;
            if word == "return_type" {
                dispatch.return_type = Some(type_text);
            } else {
                let parameter = self.parse_dispatch_parameter(word, type_text)?;
                self.check_order(&dispatch.parameters, parameter.kind)?;
                dispatch.parameters.push(parameter);
            }
            if has_bracket {
                self.expect(")")?;
            }
        }
    }

    fn parse_dispatch_parameter(&mut self, word: &str, type_text: String) -> Parsed<RubyParameter> {
        let kind = match word {
            "param" | "required_param" => RubyParameterKind::Required,
            "optional_param" => RubyParameterKind::Optional,
            "repeated_param" | "optional_repeated_param" => RubyParameterKind::Repeated,
            "required_repeated_param" => RubyParameterKind::RequiredRepeated,
            _ => return self.refuse(format!("{word} in a dispatch")),
        };
        self.skip_blanks();
        self.expect(",")?;
        self.skip_lines();
        self.parse_plain_name()?;
        Ok(RubyParameter { type_text, kind })
    }

    /// Puppet refuses parameters in another order.
    fn check_order(&self, before: &[RubyParameter], kind: RubyParameterKind) -> Parsed<()> {
        let last = before.last().map(|parameter| parameter.kind);
        let is_ordered = match last {
            None | Some(RubyParameterKind::Required) => true,
            Some(RubyParameterKind::Optional) => {
                matches!(
                    kind,
                    RubyParameterKind::Optional | RubyParameterKind::Repeated
                )
            }
            Some(RubyParameterKind::Repeated | RubyParameterKind::RequiredRepeated) => false,
        };
        match is_ordered {
            true => Ok(()),
            false => self.refuse("parameters of a dispatch in another order"),
        }
    }

    /// `def name(a, b = value, *rest) … end`
    fn parse_method(&mut self, methods: &mut Vec<RubyMethod>) -> Parsed<()> {
        self.at += "def".len();
        self.skip_blanks();
        let name = self.peek_word();
        let is_taken = methods.iter().any(|method| *method.name == *name);
        if name.is_empty() || is_taken || self.peek_at(name.len()) == b'.' {
            return self.refuse("a method in another form");
        }
        self.at += name.len();
        self.locals = 0;
        self.scopes.push(HashMap::new());
        let method = self.parse_method_rest(name);
        self.scopes.pop();
        methods.push(method?);
        Ok(())
    }

    fn parse_method_rest(&mut self, name: &str) -> Parsed<RubyMethod> {
        let mut parameters = Vec::new();
        let mut rest = None;
        if self.take("(") {
            (parameters, rest) = self.parse_method_parameters()?;
        }
        self.skip_blanks();
        if !matches!(self.peek(), b'\n' | b';' | b'#') {
            return self.refuse("a method in another form");
        }
        let line = self.line();
        let body = self.parse_body()?;
        let body = self.parse_rescues(body)?;
        Ok(RubyMethod {
            name: name.into(),
            parameters,
            rest,
            body: vec![Self::expr(line, body)],
            locals: self.locals,
        })
    }

    /// Parameters with their defaults, and the one that takes all further arguments.
    #[expect(clippy::type_complexity, reason = "the parts of one list")]
    fn parse_method_parameters(&mut self) -> Parsed<(Vec<(Slot, Option<Expr>)>, Option<Slot>)> {
        let mut parameters: Vec<(Slot, Option<Expr>)> = Vec::new();
        loop {
            self.skip_lines();
            if self.take(")") {
                return Ok((parameters, None));
            }
            let is_rest = self.take("*");
            let name = self.peek_word();
            let is_name = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
            if !is_name || name.ends_with(['?', '!']) || super::cursor::is_keyword(name) {
                return self.refuse("a parameter in another form");
            }
            self.at += name.len();
            if self
                .scopes
                .last()
                .is_some_and(|scope| scope.contains_key(name))
            {
                return self.refuse("two parameters with one name");
            }
            let slot = self.declare(name)?;
            self.skip_blanks();
            if is_rest {
                self.expect(")")?;
                return Ok((parameters, Some(slot)));
            }
            let default = match self.take("=") {
                true => {
                    self.skip_lines();
                    Some(self.parse_expression()?)
                }
                false => None,
            };
            if default.is_none() && parameters.last().is_some_and(|(_, it)| it.is_some()) {
                return self.refuse("a required parameter behind an optional one");
            }
            parameters.push((slot, default));
            self.skip_lines();
            if !self.take(",") && !self.is_next(")") {
                return self.refuse("a parameter in another form");
            }
        }
    }

    /// Every called method is there, and a function without `dispatch` gets the one of its only method.
    fn check_methods(&self, file: &mut FunctionFile) -> Parsed<()> {
        let find = |name: &str| file.methods.iter().find(|method| *method.name == *name);
        if let Some(unknown) = self.own_calls.iter().find(|name| find(name).is_none()) {
            return self.refuse(format!("{unknown}, which is no method of the function"));
        }
        let dispatches = file.dispatches.iter();
        let mut unknown = dispatches.filter(|dispatch| find(&dispatch.method).is_none());
        if let Some(unknown) = unknown.next() {
            return self.refuse(format!("a dispatch to {}", unknown.method));
        }
        if file.dispatches.is_empty() {
            let simple = file.name.rsplit("::").next().unwrap_or_default();
            let Some(method) = find(simple) else {
                return self.refuse("a function without its method");
            };
            let dispatch = RubyDispatch::of_method(method);
            file.dispatches.push(dispatch);
        }
        Ok(())
    }

    fn expect_keyword(&mut self, keyword: &str) -> Parsed<()> {
        match self.take_keyword(keyword) {
            true => Ok(()),
            false => self.refuse(format!("code without {keyword:?} where it is expected")),
        }
    }

    /// Takes the bracket of arguments if there is one.
    fn skip_bracket(&mut self) -> bool {
        let has_bracket = self.take("(");
        self.skip_blanks();
        has_bracket
    }

    /// A name as a symbol or string.
    fn parse_plain_name(&mut self) -> Parsed<String> {
        if self.take(":") && !matches!(self.peek(), b'\'' | b'"') {
            let word = self.peek_word();
            self.at += word.len();
            return match word.is_empty() {
                true => self.refuse("a name in another form"),
                false => Ok(word.to_owned()),
            };
        }
        self.parse_plain_string()
    }

    fn parse_plain_string(&mut self) -> Parsed<String> {
        if !matches!(self.peek(), b'\'' | b'"') {
            return self.refuse("a text in another form");
        }
        match self.parse_string()?.as_slice() {
            [StrPart::Text(text)] => Ok(text.clone()),
            _ => self.refuse("a text with an interpolation"),
        }
    }
}
