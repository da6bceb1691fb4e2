//! The block of `Puppet::Type.newtype`: [`read`].
//!
//! Invariant: each statement is a declaration that is read, or code that cannot declare.

use std::collections::HashSet;
use std::ops::Range;

use super::code::CodeCheck;
use super::declaration::{CallParts, Declaration, LoopVariable};
use super::lexer::RubyFault;
use super::providers::has_provider;
use super::structure::RubyFile;
use super::token::{Keyword, RubyTokenKind};
use super::words::{DECLARING, find_name};
use crate::defaults::MAX_LOOP_BYTES;
use crate::{ResourceType, ResourceTypeBuilder, ResourceTypeOrigin};

/// Reads a type from the call of `newtype` whose name stands at `call`.
pub(super) fn read(
    check: &mut CodeCheck<'_, '_>,
    call: usize,
    statement: &Range<usize>,
) -> Result<ResourceType, RubyFault> {
    let CallParts { arguments, block } = check.call_parts(call, statement)?;
    let items = check.file.items(arguments);
    let name = items.first().filter(|item| item.len() == 1);
    let name = name.and_then(|item| check.file.kind(item.start));
    match name {
        Some(RubyTokenKind::Symbol(Some(name)) | RubyTokenKind::Text(Some(name)))
            if name == check.type_name => {}
        _ => {
            let reason = format!("the file does not declare the type {}", check.type_name);
            return check.fault(call, &reason);
        }
    }
    let mut is_capability = false;
    for option in items.iter().skip(1) {
        check.check_statement(option.clone())?;
        is_capability |= is_capability_option(check.file, option);
    }
    let mut builder = ResourceTypeBuilder::new(check.type_name, ResourceTypeOrigin::Ruby);
    builder.set_capability(is_capability);
    let mut body = TypeBody {
        builder,
        check,
        methods: HashSet::new(),
        loop_bytes: 0,
    };
    for statement in block.map_or_else(Vec::new, |block| body.check.file.statements(block)) {
        body.statement(statement)?;
    }
    body.finish(call)
}

/// True for `is_capability: true` and `:is_capability => true`, options of Puppet 4 to 6.
fn is_capability_option(file: &RubyFile<'_>, option: &Range<usize>) -> bool {
    let start = option.start;
    let (key, value) = match file.kind(start) {
        Some(RubyTokenKind::Label(Some(key))) => (key, start + 1),
        Some(RubyTokenKind::Symbol(Some(key))) if file.is_operator(start + 1, "=>") => {
            (key, start + 2)
        }
        _ => return false,
    };
    key == "is_capability" && file.is_keyword(value, Keyword::True)
}

struct TypeBody<'c, 'f, 's> {
    check: &'c mut CodeCheck<'f, 's>,
    builder: ResourceTypeBuilder,
    /// Names of the methods that resources of the type have.
    methods: HashSet<&'s str>,
    /// Size of the code that loops repeated so far.
    loop_bytes: usize,
}

impl TypeBody<'_, '_, '_> {
    fn statement(&mut self, statement: Range<usize>) -> Result<(), RubyFault> {
        let file = self.check.file;
        let start = statement.start;
        match (file.kind(start), file.text(start)) {
            (Some(RubyTokenKind::Identifier), "newparam" | "newproperty") => {
                self.declare(&statement, None)
            }
            (Some(RubyTokenKind::Identifier), "ensurable") => self.ensurable(&statement),
            (Some(RubyTokenKind::Identifier), "provide") => self.provide(statement),
            (Some(RubyTokenKind::Keyword(Keyword::Def)), _) => self.method(statement),
            (Some(RubyTokenKind::Variable), "@isomorphic") => self.isomorphism(&statement),
            _ => match self.loop_over_literals(&statement)? {
                true => Ok(()),
                false => self.check.check_body_statement(statement),
            },
        }
    }

    fn declare(
        &mut self,
        statement: &Range<usize>,
        variable: Option<LoopVariable<'_>>,
    ) -> Result<(), RubyFault> {
        let Declaration {
            name,
            is_property,
            is_name_variable,
        } = self.check.declaration(statement, variable)?;
        let is_known = self.builder.has_property(&name) || self.builder.has_parameter(&name);
        if is_known {
            let reason = format!("the attribute {name} is declared twice");
            return self.check.fault(statement.start, &reason);
        }
        match is_property {
            true => self.builder.add_property(&name, is_name_variable),
            false => self.builder.add_parameter(&name, is_name_variable),
        }
        Ok(())
    }

    fn ensurable(&mut self, statement: &Range<usize>) -> Result<(), RubyFault> {
        let start = statement.start;
        let CallParts { arguments, block } = self.check.call_parts(start, statement)?;
        if !arguments.is_empty() || self.builder.has_property("ensure") {
            return self.check.fault(start, "an unusual call of `ensurable`");
        }
        for statement in block.map_or_else(Vec::new, |it| self.check.file.statements(it)) {
            self.check.check_statement(statement)?;
        }
        self.builder.add_property("ensure", false);
        Ok(())
    }

    /// A provider within the type adds the parameter `provider` at this place.
    fn provide(&mut self, statement: Range<usize>) -> Result<(), RubyFault> {
        let start = statement.start;
        let CallParts { arguments, .. } = self.check.call_parts(start, &statement)?;
        self.check.check_statement(statement)?;
        if arguments.is_empty() {
            return self.check.fault(start, "a provider without a name");
        }
        if !self.builder.has_parameter("provider") {
            self.builder.add_parameter("provider", false);
        }
        Ok(())
    }

    fn method(&mut self, statement: Range<usize>) -> Result<(), RubyFault> {
        let file = self.check.file;
        let start = statement.start;
        let is_singleton =
            file.is_keyword(start + 1, Keyword::SelfObject) && file.is_operator(start + 2, ".");
        let name = match is_singleton {
            true => file.text(start + 3),
            false => file.text(start + 1),
        };
        if is_singleton && name == "title_patterns" {
            let patterns = self.check.title_patterns(&statement)?;
            self.builder.set_title_patterns(patterns);
            return Ok(());
        }
        if !is_singleton {
            self.methods.insert(name);
        }
        self.check.check_statement(statement)
    }

    fn isomorphism(&mut self, statement: &Range<usize>) -> Result<(), RubyFault> {
        let file = self.check.file;
        let start = statement.start;
        let value = file.kind(start + 2).filter(|_| statement.len() == 3);
        match (file.is_operator(start + 1, "="), value) {
            (true, Some(RubyTokenKind::Keyword(Keyword::True))) => {
                self.builder.set_isomorphic(true);
            }
            (true, Some(RubyTokenKind::Keyword(Keyword::False))) => {
                self.builder.set_isomorphic(false);
            }
            _ => return self.check.fault(start, "an unusual use of @isomorphic"),
        }
        Ok(())
    }

    /// Reads `[:a, :b].each do |name| newparam(name) … end`. False if the statement is no such loop,
    /// or declares nothing.
    fn loop_over_literals(&mut self, statement: &Range<usize>) -> Result<bool, RubyFault> {
        let file = self.check.file;
        let declares = statement.clone().any(|index| {
            let token = file.token(index);
            token.is_some_and(|token| find_name(file, token, DECLARING).is_some())
        });
        let start = statement.start;
        let Some(values) = self.literal_names(start).filter(|_| declares) else {
            return Ok(false);
        };
        let dot = file.end_of(start) + 1;
        if !file.is_operator(dot, ".") || !file.is_identifier(dot + 1, "each") {
            return Ok(false);
        }
        let CallParts { arguments, block } = self.check.call_parts(dot + 1, statement)?;
        let Some(block) = block.filter(|_| arguments.is_empty()) else {
            return Ok(false);
        };
        let has_one_variable = file.is_operator(dot + 3, "|")
            && file.kind(dot + 4) == Some(&RubyTokenKind::Identifier)
            && block.start == dot + 6;
        let repeated = values.len().saturating_mul(file.size_of(&block));
        self.loop_bytes = self.loop_bytes.saturating_add(repeated);
        if !has_one_variable || self.loop_bytes > MAX_LOOP_BYTES {
            return self.check.fault(start, "an unusual loop");
        }
        let name = file.text(dot + 4);
        for value in &values {
            for statement in file.statements(block.clone()) {
                match file.text(statement.start) {
                    "newparam" | "newproperty" => {
                        self.declare(&statement, Some(LoopVariable { name, value }))?;
                    }
                    _ => self.check.check_body_statement(statement)?,
                }
            }
        }
        Ok(true)
    }

    /// The names in `[:a, 'b']` or `%w[a b]`.
    fn literal_names(&self, start: usize) -> Option<Vec<String>> {
        let file = self.check.file;
        if let RubyTokenKind::Words(words) = file.kind(start)? {
            return words.clone();
        }
        if !file.is_operator(start, "[") {
            return None;
        }
        let items = file.items(file.inside(start));
        let names = items.into_iter().map(|item| match file.kind(item.start) {
            Some(RubyTokenKind::Symbol(Some(name)) | RubyTokenKind::Text(Some(name)))
                if item.len() == 1 =>
            {
                Some(name.clone())
            }
            _ => None,
        });
        names.collect()
    }

    fn finish(mut self, call: usize) -> Result<ResourceType, RubyFault> {
        let is_implied = ["exists?", "create", "destroy"]
            .iter()
            .all(|name| self.methods.contains(name));
        if is_implied && !self.builder.has_property("ensure") {
            return self
                .check
                .fault(call, "the type is ensurable because of its methods");
        }
        if !self.builder.has_parameter("provider")
            && has_provider(self.check.library, self.check.type_name)?
        {
            self.builder.add_parameter("provider", false);
        }
        let line = self.check.file.line(call);
        self.builder.build().map_err(|error| RubyFault {
            line,
            reason: error.to_string(),
        })
    }
}
