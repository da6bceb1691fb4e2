//! Calls of `newparam` and `newproperty`: [`Declaration`].
//!
//! Invariant: a declaration is read only if its name and the option `namevar` are literals.

use std::ops::Range;

use super::code::CodeCheck;
use super::lexer::RubyFault;
use super::token::{Keyword, RubyTokenKind};

/// An attribute that a type declares.
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) is_property: bool,
    /// True if it is marked as name variable.
    pub(super) is_name_variable: bool,
}

/// The value of the variable of a loop.
#[derive(Clone, Copy)]
pub(super) struct LoopVariable<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

/// The parts of a call: `name(arguments) block`.
pub(super) struct CallParts {
    pub(super) arguments: Range<usize>,
    /// The statements of the block, without its parameters; `None` without a block.
    pub(super) block: Option<Range<usize>>,
}

impl CodeCheck<'_, '_> {
    /// The parts of a call that takes the whole statement, from the name of the method.
    pub(super) fn call_parts(
        &self,
        name: usize,
        statement: &Range<usize>,
    ) -> Result<CallParts, RubyFault> {
        let file = self.file;
        let open = name + 1;
        let is_adjacent = match (file.token(name), file.token(open)) {
            (Some(name), Some(open)) => name.range.end == open.range.start,
            _ => false,
        };
        let (arguments, after) = if is_adjacent && file.is_operator(open, "(") {
            (file.inside(open), file.end_of(open) + 1)
        } else {
            let mut at = open;
            let begins_block =
                |at| file.is_keyword(at, Keyword::Do) || (at == open && file.is_operator(at, "{"));
            while at < statement.end && !begins_block(at) {
                at = file.end_of(at).max(at) + 1;
            }
            (open..at.min(statement.end), at)
        };
        if after >= statement.end {
            let block = None;
            return Ok(CallParts { arguments, block });
        }
        let is_block = file.is_keyword(after, Keyword::Do) || file.is_operator(after, "{");
        if !is_block || file.end_of(after) + 1 != statement.end {
            return self.fault(after, "a call goes on after its arguments");
        }
        let mut block = file.inside(after);
        if file.is_operator(block.start, "|") {
            let rest = block.start + 1..block.end;
            let Some(close) = rest.clone().find(|at| file.is_operator(*at, "|")) else {
                return self.fault(after, "a block whose parameters do not end");
            };
            block.start = close + 1;
        }
        let block = Some(block);
        Ok(CallParts { arguments, block })
    }

    /// Reads `newparam …` or `newproperty …`.
    pub(super) fn declaration(
        &mut self,
        statement: &Range<usize>,
        variable: Option<LoopVariable<'_>>,
    ) -> Result<Declaration, RubyFault> {
        let start = statement.start;
        let is_property = self.file.text(start) == "newproperty";
        let CallParts { arguments, block } = self.call_parts(start, statement)?;
        let items = self.file.items(arguments);
        let Some((name, options)) = items.split_first() else {
            return self.fault(start, "an attribute without a name");
        };
        let name = self.attribute_name(name, variable)?;
        let mut is_name_variable = false;
        for option in options {
            is_name_variable |= self.is_name_variable_option(option)?;
        }
        for statement in block.map_or_else(Vec::new, |block| self.file.statements(block)) {
            let is_mark = self.file.is_identifier(statement.start, "isnamevar");
            match statement.len() {
                1 if is_mark => is_name_variable = true,
                _ => self.check_statement(statement)?,
            }
        }
        Ok(Declaration {
            name,
            is_property,
            is_name_variable,
        })
    }

    fn attribute_name(
        &self,
        item: &Range<usize>,
        variable: Option<LoopVariable<'_>>,
    ) -> Result<String, RubyFault> {
        let name = match self.file.kind(item.start) {
            _ if item.len() != 1 => None,
            Some(RubyTokenKind::Symbol(Some(name)) | RubyTokenKind::Text(Some(name))) => {
                Some(name.as_str())
            }
            Some(RubyTokenKind::Identifier) => variable
                .filter(|it| it.name == self.file.text(item.start))
                .map(|it| it.value),
            _ => None,
        };
        let name = name.map(str::to_ascii_lowercase);
        match name.filter(|name| is_attribute_name(name)) {
            Some(name) => Ok(name),
            None => self.fault(
                item.start,
                "the name of an attribute is not a plain literal",
            ),
        }
    }

    /// True for `namevar: true`.
    fn is_name_variable_option(&self, option: &Range<usize>) -> Result<bool, RubyFault> {
        let start = option.start;
        let (key, value) = match self.file.kind(start) {
            Some(RubyTokenKind::Label(Some(key))) => (key, start + 1),
            Some(RubyTokenKind::Symbol(Some(key))) if self.file.is_operator(start + 1, "=>") => {
                (key, start + 2)
            }
            _ => return self.fault(start, "an option of an attribute is not a plain pair"),
        };
        self.check_names(value..option.end)?;
        if key != "namevar" {
            return Ok(false);
        }
        match self.file.kind(value) {
            // also `:false`, which Ruby takes for true
            Some(
                RubyTokenKind::Keyword(Keyword::True)
                | RubyTokenKind::Symbol(_)
                | RubyTokenKind::Text(_),
            ) if value + 1 == option.end => Ok(true),
            Some(RubyTokenKind::Keyword(Keyword::False | Keyword::Nil))
                if value + 1 == option.end =>
            {
                Ok(false)
            }
            _ => self.fault(start, "the option `namevar` is neither true nor false"),
        }
    }
}

/// True for a name of which Puppet can make the name of a class.
pub(super) fn is_attribute_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|it| it.is_ascii_lowercase())
        && bytes.all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_')
}
