//! Files that a type file requires, and modules that it mixes in.
//!
//! Invariant: each of them is searched for declarations, or is Ruby's or Puppet's own.

use super::code::CodeCheck;
use super::lexer::RubyFault;
use super::library::resolve_feature;
use super::token::{Keyword, RubyTokenKind};

impl CodeCheck<'_, '_> {
    pub(super) fn check_require(&mut self, at: usize) -> Result<(), RubyFault> {
        let argument = at + 1 + usize::from(self.file.is_operator(at + 1, "("));
        let line = self.file.line(at);
        match self.file.kind(argument) {
            Some(RubyTokenKind::Text(Some(feature))) => self.search.require(feature, line),
            _ => match self.relative_feature(argument) {
                Some(feature) => self.search.require(&feature, line),
                None => self.fault(at, "the name of a required file is computed"),
            },
        }
    }

    pub(super) fn check_relative(&mut self, at: usize) -> Result<(), RubyFault> {
        let argument = at + 1 + usize::from(self.file.is_operator(at + 1, "("));
        let Some(RubyTokenKind::Text(Some(path))) = self.file.kind(argument) else {
            return self.fault(at, "the name of a required file is computed");
        };
        match resolve_feature("puppet/type", path) {
            Some(feature) => self.search.require(&feature, self.file.line(at)),
            None => self.fault(at, "a required file lies outside of the module's lib"),
        }
    }

    /// The feature of `File.expand_path(File.join(File.dirname(__FILE__), '..', 'a'))`, and of
    /// `File.expand_path('../a', __FILE__)`.
    fn relative_feature(&self, start: usize) -> Option<String> {
        let mut texts = Vec::new();
        let mut has_directory = false;
        let mut at = start;
        loop {
            match self.file.kind(at)? {
                RubyTokenKind::Newline => break,
                RubyTokenKind::Text(Some(text)) => texts.push(text.as_str()),
                RubyTokenKind::Constant if self.file.text(at) == "File" => {}
                RubyTokenKind::Identifier => match self.file.text(at) {
                    "dirname" => has_directory = true,
                    "expand_path" | "join" => {}
                    _ => return None,
                },
                RubyTokenKind::Keyword(Keyword::Value) => match self.file.text(at) {
                    "__FILE__" => {}
                    "__dir__" => has_directory = true,
                    _ => return None,
                },
                RubyTokenKind::Operator if "(),.".contains(self.file.text(at)) => {}
                _ => return None,
            }
            at += 1;
        }
        let base = match has_directory {
            true => "puppet/type",
            false => "puppet/type/file",
        };
        resolve_feature(base, &texts.join("/"))
    }

    /// A mixin must be Puppet's own, or defined in a file that was searched.
    pub(super) fn check_mixin(&mut self, at: usize) -> Result<(), RubyFault> {
        let mut index = at + 1 + usize::from(self.file.is_operator(at + 1, "("));
        let root = self.file.text(index);
        let mut last = "";
        let mut feature = Vec::new();
        while self.file.kind(index) == Some(&RubyTokenKind::Constant)
            || self.file.is_operator(index, "::")
        {
            if !self.file.is_operator(index, "::") {
                last = self.file.text(index);
                feature.push(snake_case(last));
            }
            index += 1;
        }
        self.search
            .search_if_present(&feature.join("/"), self.file.line(at))?;
        let ends = matches!(self.file.kind(index), None | Some(RubyTokenKind::Newline))
            || self.file.is_operator(index, ")");
        let is_known =
            root == "Puppet" || self.search.is_defined(last) || self.defined.contains(last);
        match ends && !last.is_empty() && is_known {
            true => Ok(()),
            false => self.fault(at, "a module is mixed in that no file in sight defines"),
        }
    }
}

/// The name of the file in which a constant is defined by convention.
fn snake_case(constant: &str) -> String {
    let mut name = String::new();
    for c in constant.chars() {
        if c.is_uppercase() && name.ends_with(|last: char| last.is_lowercase()) {
            name.push('_');
        }
        name.extend(c.to_lowercase());
    }
    name
}
