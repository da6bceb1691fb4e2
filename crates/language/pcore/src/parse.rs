//! Types from text, as metadata of tasks and plans writes them: [`Type::parse`].
//!
//! Invariant: only literals are accepted; an unknown name becomes a type reference, so that the
//! user of the type can report it.

use std::sync::Arc;

use syntax::ast::{Ast, DefinitionKind, Expr, ExprId, TypeAlias, UnaryOp};
use syntax::{DiagnosticSeverity, ParsedSource, SourceText, SyntaxOptions};

use crate::access::AccessError;
use crate::types::{AliasError, NamedTypeAlias, Type, TypeKind};
use crate::value::{Hash, Regexp, Value};

/// A text is not a valid type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeTextError {
    #[error("{0}")]
    Syntax(String),
    #[error("The expression <{0}> is not a valid type specification.")]
    NotAType(String),
    #[error("The text declares no type alias, or more than that")]
    NotAnAlias,
    #[error(transparent)]
    Arguments(#[from] AccessError),
    #[error(transparent)]
    Alias(#[from] AliasError),
}

/// The resource types that exist in every environment.
const RESOURCES: [&str; 15] = [
    "Component",
    "Exec",
    "File",
    "Filebucket",
    "Group",
    "Node",
    "Notify",
    "Package",
    "Resources",
    "Schedule",
    "Service",
    "Stage",
    "Tidy",
    "User",
    "Whit",
];

/// Finds types by names that are not Puppet's own.
pub type TypeLookup<'a> = &'a dyn Fn(&str) -> Option<Type>;

impl Type {
    /// Parses a type that consists of Puppet's own types only.
    pub fn parse(text: &str) -> Result<Self, TypeTextError> {
        Self::parse_with(text, &|_| None)
    }

    /// Parses a type; `lookup` finds the other names.
    pub fn parse_with(text: &str, lookup: TypeLookup<'_>) -> Result<Self, TypeTextError> {
        match Value::parse_literal(text, lookup)? {
            Value::Type(ty) => Ok(ty),
            _ => Err(TypeTextError::NotAType(text.to_owned())),
        }
    }

    /// Finds a type by name: Puppet's own, a resource type, or the result of `lookup`.
    #[must_use]
    pub fn named(name: &str, lookup: TypeLookup<'_>) -> Self {
        if let Some(ty) = Self::builtin(name).or_else(|| lookup(name)) {
            return ty;
        }
        let resource = RESOURCES
            .iter()
            .find(|known| known.eq_ignore_ascii_case(name));
        match resource {
            Some(known) => Self::resource_of(*known, None),
            None => Self::reference(name),
        }
    }
}

impl Value {
    /// Parses a literal: numbers, texts, lists, hashes, types. `lookup` finds names of types that are not
    /// Puppet's own.
    pub fn parse_literal(text: &str, lookup: TypeLookup<'_>) -> Result<Self, TypeTextError> {
        let parsed = parse(text)?;
        let reader = TypeExpressionReader {
            ast: &parsed.ast,
            lookup,
        };
        match parsed.ast.body() {
            Some(body) => reader.value(body),
            None => Err(TypeTextError::NotAType(text.to_owned())),
        }
    }
}

/// A file with one type alias, such as `types/port.pp` of a module, before its type is resolved.
#[derive(Debug)]
pub struct AliasFile {
    parsed: ParsedSource,
    alias: TypeAlias,
}

impl AliasFile {
    /// # Errors
    /// The text has a syntax error, or declares anything other than one type alias.
    pub fn parse(text: &str) -> Result<Self, TypeTextError> {
        let parsed = parse(text)?;
        let [definition] = parsed.ast.definitions() else {
            return Err(TypeTextError::NotAnAlias);
        };
        let DefinitionKind::TypeAlias(alias) = definition.kind else {
            return Err(TypeTextError::NotAnAlias);
        };
        Ok(Self { parsed, alias })
    }

    /// The name as written, such as `Stdlib::Port`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.parsed.ast.text(self.alias.name)
    }

    /// Resolves `alias` to the type of this file; `lookup` may return the alias itself.
    pub fn resolve(
        &self,
        alias: &NamedTypeAlias,
        lookup: TypeLookup<'_>,
    ) -> Result<(), TypeTextError> {
        let reader = TypeExpressionReader {
            ast: &self.parsed.ast,
            lookup,
        };
        match reader.value(self.alias.type_expr)? {
            Value::Type(ty) => Ok(alias.resolve(&ty)?),
            _ => Err(reader.refusal_error()),
        }
    }
}

fn parse(text: &str) -> Result<ParsedSource, TypeTextError> {
    let source = Arc::new(SourceText::new(None, text));
    let parsed = syntax::parse(&source, SyntaxOptions::default());
    let error = parsed
        .diagnostics
        .iter()
        .find(|diagnostic| diagnostic.severity == DiagnosticSeverity::Error);
    match error {
        Some(error) => Err(TypeTextError::Syntax(error.message.clone())),
        None => Ok(parsed),
    }
}

struct TypeExpressionReader<'a> {
    ast: &'a Ast,
    lookup: TypeLookup<'a>,
}

impl TypeExpressionReader<'_> {
    fn value(&self, id: ExprId) -> Result<Value, TypeTextError> {
        let text = |sym| Value::Str(self.ast.text(sym).clone());
        Ok(match self.ast.expr(id) {
            Expr::Undef => Value::Undef,
            Expr::Default => Value::Default,
            Expr::Bool(flag) => Value::Bool(flag),
            Expr::Int { value, .. } => Value::Int(value),
            Expr::Float(number) => Value::Float(number),
            Expr::Str(sym) | Expr::QName(sym) => text(sym),
            Expr::Regex(sym) => Value::Regexp(Regexp::new(&**self.ast.text(sym))),
            Expr::QRef(sym) => Type::named(self.ast.text(sym), self.lookup).into(),
            Expr::Paren(inner) | Expr::Heredoc { text: inner, .. } => self.value(inner)?,
            Expr::Array(elements) => self.values(self.ast.get(elements))?.into(),
            Expr::Hash(entries) => {
                let entries = self.ast.get(entries).iter();
                let read = |entry: &syntax::ast::HashEntry| {
                    Ok((self.value(entry.key)?, self.value(entry.value)?))
                };
                let entries: Hash = entries.map(read).collect::<Result<_, TypeTextError>>()?;
                entries.into()
            }
            Expr::Unary {
                op: UnaryOp::Minus,
                operand,
            } => match self.value(operand)? {
                Value::Int(number) => Value::Int(-number),
                Value::Float(number) => Value::Float(-number),
                _ => return Err(self.refusal_error()),
            },
            Expr::Access { left, keys } => {
                let arguments = self.values(self.ast.get(keys))?;
                match self.value(left)? {
                    Value::Type(ty) => access(&ty, &arguments)?,
                    _ => return Err(self.refusal_error()),
                }
            }
            _ => return Err(self.refusal_error()),
        })
    }

    fn values(&self, ids: &[ExprId]) -> Result<Vec<Value>, TypeTextError> {
        ids.iter().map(|id| self.value(*id)).collect()
    }

    fn refusal_error(&self) -> TypeTextError {
        TypeTextError::NotAType(self.ast.source().text().to_string())
    }
}

/// Applies arguments to a type. An unknown type stays a reference with its arguments.
fn access(ty: &Type, arguments: &[Value]) -> Result<Value, TypeTextError> {
    match ty.kind() {
        TypeKind::Reference(text) => {
            let words: Vec<String> = arguments.iter().map(Value::to_program_string).collect();
            Ok(Type::reference(format!("{text}[{}]", words.join(", "))).into())
        }
        _ => Ok(ty.parameterize(arguments)?),
    }
}
