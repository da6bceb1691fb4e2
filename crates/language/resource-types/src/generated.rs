//! Files that `puppet generate types` writes to `.resource_types`: [`read_generated_type`].
//!
//! Such a file is one expression of the Puppet language, `Puppet::Resource::ResourceType3.new(name,
//! properties, parameters, title patterns, isomorphic, capability)`. Only literals are accepted, so
//! nothing is evaluated.
//!
//! Invariant: a file becomes a type or an error with its line.

use std::sync::Arc;

use ruby_regex::RegexFlags;
use syntax::ast::{Ast, CallExpr, Expr, ExprId};
use syntax::{SourceText, SyntaxOptions};

use crate::{
    InvalidResourceType, ResourceType, ResourceTypeBuilder, ResourceTypeOrigin, TitlePattern,
};

/// Number of arguments that [`TYPE_CLASS`] takes.
const TYPE_ARGUMENTS: usize = 6;

const TYPE_CLASS: &str = "Puppet::Resource::ResourceType3";
const ATTRIBUTE_CLASS: &str = "Puppet::Resource::Param";

/// A file that cannot be read. The message ends with the way to write it again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{fault} (file: {file}, line: {line}); run `puppet generate types --environment ENVIRONMENT --force` again"
)]
pub struct GeneratedTypeError {
    /// Name of the file, as its [`SourceText`] has it.
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Description of the fault.
    pub fault: String,
}

/// Reads a file that `puppet generate types` wrote.
pub fn read_generated_type(source: &Arc<SourceText>) -> Result<ResourceType, GeneratedTypeError> {
    let error_at = |offset: u32, fault: String| GeneratedTypeError {
        file: source.name().map_or("unknown", |it| it).to_owned(),
        line: source.line(offset),
        fault,
    };
    let parsed = syntax::parse(source, SyntaxOptions::default());
    if let Some(fault) = parsed.diagnostics.iter().find(|it| it.is_error()) {
        return Err(error_at(fault.span.start, fault.message.clone()));
    }
    let file = GeneratedFile { ast: &parsed.ast };
    let built = file.read();
    built.map_err(|Fault { at, message }| {
        let offset = at.map_or(0, |at| parsed.ast.span(at).start);
        error_at(offset, message)
    })
}

struct Fault {
    /// `None` for the whole file.
    at: Option<ExprId>,
    message: String,
}

fn fault<T>(at: ExprId, message: impl Into<String>) -> Result<T, Fault> {
    let (at, message) = (Some(at), message.into());
    Err(Fault { at, message })
}

struct GeneratedFile<'a> {
    ast: &'a Ast,
}

impl GeneratedFile<'_> {
    fn read(&self) -> Result<ResourceType, Fault> {
        let statements = self.ast.statements(self.ast.body());
        let &[statement] = &*statements else {
            let message = format!("expected one call of {TYPE_CLASS}.new");
            return Err(Fault { at: None, message });
        };
        let call = self.type_call(statement)?;
        let arguments = self.ast.get(call.args);
        let Some((&name, rest)) = arguments.split_first() else {
            return fault(statement, "the type has no name");
        };
        if arguments.len() > TYPE_ARGUMENTS {
            let message = format!("the type has more than {TYPE_ARGUMENTS} arguments");
            return fault(statement, message);
        }
        let name = self.text(name, "the name of the type")?;
        let mut builder = ResourceTypeBuilder::new(name, ResourceTypeOrigin::Generated);
        for (index, &argument) in rest.iter().enumerate() {
            match index {
                0 => self.attributes(argument, |name, is_name_variable| {
                    builder.add_property(name, is_name_variable);
                })?,
                1 => self.attributes(argument, |name, is_name_variable| {
                    builder.add_parameter(name, is_name_variable);
                })?,
                2 => {
                    if let Some(patterns) = self.title_patterns(argument)? {
                        builder.set_title_patterns(patterns);
                    }
                }
                3 => builder.set_isomorphic(self.boolean(argument)?),
                _ => builder.set_capability(self.boolean(argument)?),
            }
        }
        builder.build().map_err(|cause: InvalidResourceType| Fault {
            at: Some(statement),
            message: cause.to_string(),
        })
    }

    /// The call that creates the type: `CLASS.new(…)` or `CLASS(…)`.
    fn type_call(&self, at: ExprId) -> Result<&CallExpr, Fault> {
        let (class, call) = match self.ast.expr(at) {
            Expr::MethodCall(call) => match self.ast.expr(self.ast.call(call).functor) {
                Expr::NamedAccess { left, name } if self.is_name(name, "new") => (left, call),
                _ => return fault(at, format!("expected a call of {TYPE_CLASS}.new")),
            },
            Expr::Call(call) => (self.ast.call(call).functor, call),
            _ => return fault(at, format!("expected a call of {TYPE_CLASS}.new")),
        };
        if !self.is_class(class, TYPE_CLASS) {
            return fault(at, format!("expected a call of {TYPE_CLASS}.new"));
        }
        Ok(self.ast.call(call))
    }

    fn attributes(&self, list: ExprId, mut add: impl FnMut(&str, bool)) -> Result<(), Fault> {
        let Expr::Array(items) = self.ast.expr(list) else {
            return fault(list, "expected an array of attributes");
        };
        let items = self.ast.get(items);
        for &item in items {
            let (name, is_name_variable) = self.attribute(item)?;
            add(name, is_name_variable);
        }
        Ok(())
    }

    fn attribute(&self, at: ExprId) -> Result<(&str, bool), Fault> {
        let Expr::Call(call) = self.ast.expr(at) else {
            return fault(at, format!("expected a call of {ATTRIBUTE_CLASS}"));
        };
        let call = self.ast.call(call);
        if !self.is_class(call.functor, ATTRIBUTE_CLASS) {
            return fault(at, format!("expected a call of {ATTRIBUTE_CLASS}"));
        }
        let (name, is_name_variable) = match *self.ast.get(call.args) {
            [_, name] => (name, false),
            [_, name, is_name_variable] => (name, self.boolean(is_name_variable)?),
            _ => return fault(at, format!("{ATTRIBUTE_CLASS} takes a type and a name")),
        };
        Ok((
            self.text(name, "the name of the attribute")?,
            is_name_variable,
        ))
    }

    /// `None` for `undef`.
    fn title_patterns(&self, at: ExprId) -> Result<Option<Vec<TitlePattern>>, Fault> {
        let entries = match self.ast.expr(at) {
            Expr::Undef => return Ok(None),
            Expr::Hash(entries) => self.ast.get(entries),
            _ => return fault(at, "expected a hash of title patterns"),
        };
        let mut patterns = Vec::new();
        for entry in entries {
            let Expr::Regex(source) = self.ast.expr(entry.key) else {
                return fault(entry.key, "a title pattern is not a regular expression");
            };
            let Expr::Array(names) = self.ast.expr(entry.value) else {
                return fault(entry.value, "expected an array of attribute names");
            };
            let names = self.ast.get(names).iter();
            let names: Vec<&str> = names
                .map(|&name| self.text(name, "an attribute of a title pattern"))
                .collect::<Result<_, _>>()?;
            let source = self.ast.text(source);
            match TitlePattern::new(source, RegexFlags::default(), &names) {
                Ok(pattern) => patterns.push(pattern),
                Err(error) => return fault(entry.key, error.to_string()),
            }
        }
        Ok(Some(patterns))
    }

    fn boolean(&self, at: ExprId) -> Result<bool, Fault> {
        match self.ast.expr(at) {
            Expr::Bool(value) => Ok(value),
            _ => fault(at, "expected true or false"),
        }
    }

    fn text(&self, at: ExprId, role: &str) -> Result<&str, Fault> {
        match self.ast.expr(at) {
            Expr::Str(text) if !self.ast.text(text).is_empty() => Ok(self.ast.text(text)),
            _ => fault(at, format!("{role} is not a text")),
        }
    }

    fn is_class(&self, at: ExprId, class: &str) -> bool {
        matches!(self.ast.expr(at), Expr::QRef(name)
            if self.ast.text(name).trim_start_matches("::").eq_ignore_ascii_case(class))
    }

    fn is_name(&self, at: ExprId, name: &str) -> bool {
        matches!(self.ast.expr(at), Expr::QName(text) if &**self.ast.text(text) == name)
    }
}
