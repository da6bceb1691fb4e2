//! Code that is not read, and must not declare attributes: [`CodeCheck`].
//!
//! Invariant: code that passes can neither declare an attribute nor leave the declaration of a type
//! early.

use std::collections::HashSet;
use std::ops::Range;

use super::RubyLibrary;
use super::lexer::RubyFault;
use super::library::LibrarySearch;
use super::structure::RubyFile;
use super::token::{Keyword, RubyTokenKind};
use super::words::{
    DECIDING, DECIDING_IN_CLASS, DECIDING_VARIABLES, DECLARING, DEFERRING, DYNAMIC, find_name,
    looks_like_declaration,
};

/// Methods that a type may call without declaring attributes, beside [`DEFERRING`].
const HARMLESS_METHODS: &[&str] = &[
    "alias_method",
    "apply_to_all",
    "apply_to_device",
    "apply_to_host",
    "attr_accessor",
    "attr_reader",
    "attr_writer",
    "desc",
    "extend",
    "feature",
    "include",
    "module_function",
    "private",
    "protected",
    "public",
    "raise",
    "require",
    "require_relative",
];

/// Checks of a file and of the files that it requires.
pub(super) struct CodeCheck<'f, 's> {
    pub(super) file: &'f RubyFile<'s>,
    pub(super) library: &'f dyn RubyLibrary,
    pub(super) type_name: &'f str,
    pub(super) search: LibrarySearch<'f>,
    /// Names of the methods, modules and variables that the file defines.
    pub(super) defined: HashSet<&'s str>,
    /// Tokens of the last `class << self` that was checked.
    checked_singleton: Range<usize>,
}

impl<'f, 's> CodeCheck<'f, 's> {
    pub(super) fn new(
        file: &'f RubyFile<'s>,
        library: &'f dyn RubyLibrary,
        type_name: &'f str,
    ) -> Self {
        let definitions = file.all().filter(|index| {
            file.is_keyword(*index, Keyword::Def) || file.is_keyword(*index, Keyword::Module)
        });
        let mut defined: HashSet<&str> = definitions.map(|index| file.text(index + 1)).collect();
        for index in file.all() {
            defined.extend(block_parameters(file, index).map(|index| file.text(index)));
            if file.is_operator(index + 1, "=") {
                defined.insert(file.text(index));
            }
        }
        Self {
            file,
            library,
            type_name,
            search: LibrarySearch::new(library, type_name),
            defined,
            checked_singleton: 0..0,
        }
    }

    /// Fails if a text may hide declarations.
    pub(super) fn check_hidden_code(&self) -> Result<(), RubyFault> {
        if self.file.documents().any(looks_like_declaration) {
            return self
                .file
                .fault(0, "a text of several lines looks like a declaration");
        }
        for token in self.file.all_tokens() {
            let text = self.file.text_of(token);
            let is_uncertain =
                matches!(token.kind, RubyTokenKind::Regex(_)) || text.starts_with('%');
            if is_uncertain && DECLARING.iter().any(|name| text.contains(name)) {
                let reason = "a literal contains a declaration".to_owned();
                return Err(RubyFault {
                    line: token.line,
                    reason,
                });
            }
        }
        for token in self.file.interpolated() {
            if let Some(name) = find_name(self.file, token, DECLARING) {
                let (line, reason) = (token.line, format!("`{name}` in an interpolation"));
                return Err(RubyFault { line, reason });
            }
        }
        for list in [DECLARING, DYNAMIC, DECIDING_VARIABLES] {
            if let Some(name) = self.file.name_in_heredocs(list) {
                return self
                    .file
                    .fault(0, &format!("`{name}` in a text with interpolations"));
            }
        }
        Ok(())
    }

    pub(super) fn fault<T>(&self, index: usize, reason: &str) -> Result<T, RubyFault> {
        self.file.fault(index, reason)
    }

    /// Fails unless a statement outside of the type's body is harmless.
    pub(super) fn check_statement(&mut self, statement: Range<usize>) -> Result<(), RubyFault> {
        self.check_names(statement.clone())?;
        self.check_flow(statement.clone())?;
        self.check_loaded_code(statement, false)
    }

    /// Fails unless a statement of the type's body is harmless: also each method that it calls is
    /// known.
    pub(super) fn check_body_statement(
        &mut self,
        statement: Range<usize>,
    ) -> Result<(), RubyFault> {
        self.check_names(statement.clone())?;
        self.check_flow(statement.clone())?;
        if self.file.kind(statement.start) == Some(&RubyTokenKind::Constant) {
            self.check_constant(&statement)?;
        }
        self.check_loaded_code(statement, true)
    }

    fn check_call(&self, index: usize) -> Result<(), RubyFault> {
        let name = self.file.text(index);
        let is_assigned = ["=", "||=", "<<", "+="]
            .iter()
            .any(|it| self.file.is_operator(index + 1, it));
        let is_known = DEFERRING.contains(&name)
            || HARMLESS_METHODS.contains(&name)
            || self.search.is_defined(name)
            || self.defined.contains(name)
            || is_assigned;
        match is_known {
            true => Ok(()),
            false => self.fault(
                index,
                &format!("`{name}` is called, which no module in sight defines"),
            ),
        }
    }

    /// Constants may be assigned, and Puppet's own methods called.
    fn check_constant(&self, statement: &Range<usize>) -> Result<(), RubyFault> {
        let start = statement.start;
        let assigns = ["=", "||="]
            .iter()
            .any(|it| self.file.is_operator(start + 1, it));
        let hands_over = statement
            .clone()
            .any(|index| self.file.is_keyword(index, Keyword::SelfObject));
        match assigns || (self.file.text(start) == "Puppet" && !hands_over) {
            true => Ok(()),
            false => self.fault(start, "a method of another class is called"),
        }
    }

    /// Fails if `class << self` replaces a method that decides about attributes.
    fn check_singleton(&mut self, class: usize) -> Result<(), RubyFault> {
        let is_checked = self.checked_singleton.contains(&class);
        if is_checked || !self.file.is_operator(class + 1, "<<") {
            return Ok(());
        }
        self.checked_singleton = self.file.inside(class);
        for index in self.file.inside(class) {
            let Some(token) = self.file.token(index) else {
                break;
            };
            let mut name = find_name(self.file, token, DECIDING);
            let is_symbol = matches!(token.kind, RubyTokenKind::Symbol(_));
            if is_symbol || self.file.is_keyword(index - 1, Keyword::Def) {
                name = name.or_else(|| find_name(self.file, token, DECIDING_IN_CLASS));
            }
            if let Some(name) = name {
                return self.fault(index, &format!("the type replaces the method `{name}`"));
            }
        }
        Ok(())
    }

    /// Fails if `def self.a` replaces a method that decides about attributes.
    fn check_definition(&self, def: usize) -> Result<(), RubyFault> {
        let name = self.file.text(def + 3);
        let is_singleton = self.file.is_operator(def + 2, ".");
        match is_singleton && (DECIDING.contains(&name) || DECIDING_IN_CLASS.contains(&name)) {
            true => self.fault(def, &format!("the type replaces the method `{name}`")),
            false => Ok(()),
        }
    }

    /// Fails if a token names a method that declares attributes.
    pub(super) fn check_names(&self, range: Range<usize>) -> Result<(), RubyFault> {
        for index in range {
            let Some(token) = self.file.token(index) else {
                break;
            };
            if let Some(name) = find_name(self.file, token, DECLARING) {
                return self.fault(index, &format!("`{name}` in a form that is not read"));
            }
        }
        Ok(())
    }

    /// Fails if the code may leave the block that it stands in.
    fn check_flow(&self, range: Range<usize>) -> Result<(), RubyFault> {
        let mut at = range.start;
        while at < range.end {
            match self.file.kind(at) {
                Some(RubyTokenKind::Keyword(Keyword::Return | Keyword::Break | Keyword::Next)) => {
                    return self.fault(at, "the declarations may end early");
                }
                Some(RubyTokenKind::Keyword(Keyword::Def | Keyword::Do)) => {
                    at = self.file.end_of(at);
                }
                Some(RubyTokenKind::Operator) if self.file.text(at) == "{" => {
                    at = self.file.end_of(at);
                }
                _ => {}
            }
            at += 1;
        }
        Ok(())
    }

    /// Checks the code that runs while the file is loaded: not methods, and not blocks of
    /// [`DEFERRING`]. With `is_body`, each method that a statement calls on the type must be known.
    fn check_loaded_code(&mut self, range: Range<usize>, is_body: bool) -> Result<(), RubyFault> {
        let mut is_deferred = false;
        let mut at = range.start;
        while at < range.end {
            match self.file.kind(at) {
                Some(RubyTokenKind::Newline) => is_deferred = false,
                Some(RubyTokenKind::Keyword(Keyword::Def)) => {
                    self.check_definition(at)?;
                    at = self.file.end_of(at);
                }
                Some(RubyTokenKind::Keyword(Keyword::Class)) => self.check_singleton(at)?,
                Some(RubyTokenKind::Keyword(Keyword::Do)) if is_deferred => {
                    at = self.file.end_of(at);
                    is_deferred = false;
                }
                Some(RubyTokenKind::Operator) if is_deferred && self.file.text(at) == "{" => {
                    at = self.file.end_of(at);
                    is_deferred = false;
                }
                Some(RubyTokenKind::Identifier) => {
                    is_deferred |= DEFERRING.contains(&self.file.text(at));
                    self.check_loaded_name(at)?;
                    if is_body && self.begins_statement(at, range.start) {
                        self.check_call(at)?;
                    }
                }
                Some(RubyTokenKind::Variable)
                    if DECIDING_VARIABLES.contains(&self.file.text(at)) =>
                {
                    let name = self.file.text(at);
                    return self.fault(at, &format!("the variable {name} is used"));
                }
                Some(_) => self.check_interpolations(at)?,
                None => {}
            }
            at += 1;
        }
        Ok(())
    }

    /// Fails if code within a literal runs code by a name that is not in sight, or changes a variable
    /// of the type.
    fn check_interpolations(&self, at: usize) -> Result<(), RubyFault> {
        let Some(token) = self.file.token(at) else {
            return Ok(());
        };
        for inner in self.file.interpolated_in(token) {
            let variable = Some(self.file.text_of(inner));
            let variable = variable.filter(|it| DECIDING_VARIABLES.contains(it));
            if let Some(name) = find_name(self.file, inner, DYNAMIC).or(variable) {
                return self.fault(at, &format!("`{name}` in an interpolation"));
            }
        }
        Ok(())
    }

    /// True if a statement may begin at a token: after the end of a line, a keyword or a block's
    /// start.
    fn begins_statement(&self, at: usize, start: usize) -> bool {
        let Some(before) = at.checked_sub(1).filter(|_| at > start) else {
            return true;
        };
        match self.file.kind(before) {
            Some(RubyTokenKind::Newline) => true,
            Some(RubyTokenKind::Keyword(keyword)) => keyword.is_before_expression(),
            Some(RubyTokenKind::Operator) => matches!(self.file.text(before), "{" | "|"),
            _ => false,
        }
    }

    fn check_loaded_name(&mut self, at: usize) -> Result<(), RubyFault> {
        let Some(token) = self.file.token(at) else {
            return Ok(());
        };
        if let Some(name) = find_name(self.file, token, DYNAMIC) {
            return self.fault(at, &format!("`{name}` runs code that is not in sight"));
        }
        let is_method = at > 0 && matches!(self.file.text(at - 1), "." | "&.");
        match self.file.text(at) {
            "require" if !is_method => self.check_require(at),
            "require_relative" if !is_method => self.check_relative(at),
            "include" | "extend" | "prepend" if !is_method => self.check_mixin(at),
            "include" | "extend" | "prepend" => {
                self.fault(at, "a module is mixed in to another class")
            }
            _ => Ok(()),
        }
    }
}

/// The parameters of the block that begins at a token; empty if none does.
fn block_parameters(file: &RubyFile<'_>, open: usize) -> Range<usize> {
    let begins = file.is_keyword(open, Keyword::Do) || file.is_operator(open, "{");
    if !begins || !file.is_operator(open + 1, "|") {
        return open..open;
    }
    let inside = open + 2..file.end_of(open);
    match inside.clone().find(|at| file.is_operator(*at, "|")) {
        Some(close) => open + 2..close,
        None => open..open,
    }
}
