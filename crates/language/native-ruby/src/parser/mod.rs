//! Parser of the Ruby code in a template or function: [`Parser`].
//!
//! Invariant: code that Ruby reads otherwise, or refuses, is refused here; names of variables are resolved
//! while they are read, as in Ruby, so an unknown name is a method, and no method of the wrapper is native.

mod blocks;
mod calls;
mod constants;
mod cursor;
mod exceptions;
mod expressions;
mod function_file;
mod literals;
mod primary;
mod statements;

use std::collections::HashMap;
use std::sync::Arc;

use crate::defaults::{CHAIN_MAX, LOCALS_MAX, PARSE_DEPTH_MAX};
use crate::error::NotNative;
use crate::syntax::{Body, Expr, Node, Slot};

pub(crate) type Parsed<T> = Result<T, NotNative>;

/// Variable of the method in which Ruby evaluates the template, which is `nil` at its start.
const EMPTY_VARIABLE_OF_THE_WRAPPER: &str = "result";

/// Further variables of that method.
const VARIABLES_OF_THE_WRAPPER: [&str; 5] = [
    "string",
    "template_source",
    "escaped_template_source",
    "template",
    "_erbout",
];

/// Where the code stands: this decides which names mean something without a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeKind {
    /// In the wrapper of a template, with `scope` and the scope's variables.
    Template,
    /// In a method of a function's object.
    Function,
}

pub(crate) struct Parser<'a> {
    kind: CodeKind,
    code: &'a str,
    at: usize,
    /// Offsets of the first byte of each line.
    lines: Vec<usize>,
    depth: usize,
    /// Variables of the blocks around, the outermost first.
    scopes: Vec<HashMap<String, Slot>>,
    locals: usize,
    /// Libraries that the code requires.
    libraries: Vec<&'a str>,
    /// Methods of the function that its code calls.
    own_calls: Vec<Arc<str>>,
    /// Loops around, up to the innermost block.
    loops: usize,
    /// Offset at which the last statement or condition begins. A call of its first operand may have an
    /// argument without brackets.
    command_start: Option<usize>,
    /// True in the arguments of `raise`, which are never evaluated here.
    is_unevaluated: bool,
    /// True if a comment freezes the literal strings.
    has_frozen_strings: bool,
}

// === impl Parser ===

impl<'a> Parser<'a> {
    /// A parser of a template's code.
    pub(crate) fn new(code: &'a str) -> Self {
        let wrapper = HashMap::from([(EMPTY_VARIABLE_OF_THE_WRAPPER.to_owned(), 0)]);
        let mut parser = Self::of_kind(CodeKind::Template, code);
        parser.locals = wrapper.len();
        parser.scopes.push(wrapper);
        parser
    }

    fn of_kind(kind: CodeKind, code: &'a str) -> Self {
        let newlines = code.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            kind,
            code,
            at: 0,
            lines: std::iter::once(0).chain(newlines).collect(),
            depth: 0,
            scopes: Vec::new(),
            locals: 0,
            libraries: Vec::new(),
            own_calls: Vec::new(),
            loops: 0,
            command_start: None,
            is_unevaluated: false,
            has_frozen_strings: false,
        }
    }

    /// The statements of the whole template, and the number of its variables.
    pub(crate) fn parse_template(mut self) -> Parsed<(Body, usize)> {
        let body = self.parse_body()?;
        if self.at < self.code.len() {
            return self.refuse("code that ends nothing");
        }
        Ok((body, self.locals))
    }

    fn line(&self) -> u32 {
        let line = self.lines.partition_point(|start| *start <= self.at);
        u32::try_from(line).unwrap_or(u32::MAX)
    }

    fn refuse<T>(&self, reason: impl Into<String>) -> Parsed<T> {
        Err(NotNative {
            reason: reason.into(),
            line: self.line(),
        })
    }

    /// Parses one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= PARSE_DEPTH_MAX {
            return self.refuse("deeply nested code");
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Counts the links of a chain, which is a tree as deep as it is long.
    fn lengthen(&self, chain: &mut usize) -> Parsed<()> {
        *chain += 1;
        if *chain > CHAIN_MAX {
            return self.refuse("a long chain of operators or calls");
        }
        Ok(())
    }

    fn find_local(&self, name: &str) -> Option<Slot> {
        let scopes = self.scopes.iter().rev();
        scopes.filter_map(|scope| scope.get(name).copied()).next()
    }

    /// The variable that is assigned: an outer one, or a new one of the innermost block.
    fn assigned_local(&mut self, name: &str) -> Parsed<Slot> {
        match self.find_local(name) {
            Some(slot) => Ok(slot),
            None => self.declare(name),
        }
    }

    /// A new variable of the innermost block.
    fn declare(&mut self, name: &str) -> Parsed<Slot> {
        if self.kind == CodeKind::Template && VARIABLES_OF_THE_WRAPPER.contains(&name) {
            return self.refuse(format!("a variable named {name}"));
        }
        if self.locals >= LOCALS_MAX {
            return self.refuse("too many variables");
        }
        let slot = self.locals;
        self.locals += 1;
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), slot);
        }
        Ok(slot)
    }

    fn expr(line: u32, node: Node) -> Expr {
        Expr { line, node }
    }
}
