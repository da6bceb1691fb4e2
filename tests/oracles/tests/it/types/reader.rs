//! Reads the cases: literals, conversions, aliases, and the two operators that they use. Main type:
//! [`World`].

use std::collections::HashMap;
use std::sync::Arc;

use pcore::{
    Hash, NamedTypeAlias, ObjectTypeDefinition, Regexp, Timespan, Type, Value, new_instance,
};
use serde_json::{Value as Json, json};
use syntax::ast::{Ast, BinaryOp, Expr, ExprId, UnaryOp};
use syntax::{DiagnosticSeverity, SourceText, SyntaxOptions};

/// Aliases and object types by their names in small letters.
pub(super) struct World(HashMap<String, Type>);

impl World {
    /// Defines lines of the form `type Name = ..`.
    pub(super) fn new(lines: &[String]) -> Self {
        let mut world = Self(HashMap::new());
        for line in lines {
            let definition = line.strip_prefix("type ").expect("a definition of a type");
            let (name, body) = definition.split_once(" = ").expect("a name and a body");
            world.define(name, body);
        }
        world
    }

    fn define(&mut self, name: &str, body: &str) {
        let key = name.to_lowercase();
        if let Some(init) = body.strip_prefix("Object[") {
            let object = ObjectTypeDefinition::declare(Some(name.into()));
            self.0.insert(key, object.clone().into());
            let init = self
                .value(init.strip_suffix(']').expect("a bracket"))
                .unwrap();
            object.define(init.as_hash().expect("a hash")).unwrap();
        } else {
            let alias = NamedTypeAlias::declare(name);
            self.0.insert(key, alias.clone().into());
            alias.resolve(&self.ty(body)).unwrap();
        }
    }

    fn find(&self, name: &str) -> Option<Type> {
        self.0.get(&name.to_lowercase()).cloned()
    }

    pub(super) fn ty(&self, text: &str) -> Type {
        let value = self
            .value(text)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        value.as_type().expect("a type").clone()
    }

    pub(super) fn value(&self, text: &str) -> Result<Value, String> {
        let source = Arc::new(SourceText::new(None, text));
        let parsed = syntax::parse(&source, SyntaxOptions::default());
        let fault = parsed
            .diagnostics
            .iter()
            .find(|fault| fault.severity == DiagnosticSeverity::Error);
        if let Some(fault) = fault {
            return Err(fault.message.clone());
        }
        let body = parsed.ast.body().ok_or("nothing to read")?;
        self.read(&parsed.ast, body)
    }

    /// The value as a program writes it, or its error.
    pub(super) fn answer(&self, text: &str) -> Json {
        self.answered(text, |value| Ok(json!(shown(&value))))
    }

    pub(super) fn answered(
        &self,
        text: &str,
        make: impl FnOnce(Value) -> Result<Json, String>,
    ) -> Json {
        match self.value(text).and_then(make) {
            Ok(json) => json!({"ok": json}),
            Err(error) => json!({"error": error}),
        }
    }

    fn read(&self, ast: &Ast, id: ExprId) -> Result<Value, String> {
        let all = |ids: &[ExprId]| -> Result<Vec<Value>, String> {
            ids.iter().map(|id| self.read(ast, *id)).collect()
        };
        Ok(match ast.expr(id) {
            Expr::Undef => Value::Undef,
            Expr::Default => Value::Default,
            Expr::Bool(flag) => flag.into(),
            Expr::Int { value, .. } => value.into(),
            Expr::Float(number) => number.into(),
            Expr::Str(sym) | Expr::QName(sym) => Value::Str(ast.text(sym).clone()),
            Expr::Regex(sym) => Value::Regexp(Regexp::new(&**ast.text(sym))),
            Expr::QRef(sym) => Type::named(ast.text(sym), &|name| self.find(name)).into(),
            Expr::Paren(inner) => self.read(ast, inner)?,
            Expr::Array(values) => all(ast.get(values))?.into(),
            Expr::Hash(entries) => {
                let mut hash = Hash::new();
                for entry in ast.get(entries) {
                    hash.insert(self.read(ast, entry.key)?, self.read(ast, entry.value)?);
                }
                hash.into()
            }
            Expr::Unary {
                op: UnaryOp::Minus,
                operand,
            } => negative(&self.read(ast, operand)?)?,
            Expr::Access { left, keys } => match self.read(ast, left)? {
                Value::Type(ty) => ty
                    .parameterize(&all(ast.get(keys))?)
                    .map_err(|error| error.to_string())?,
                other => return Err(format!("{other} has no elements here")),
            },
            Expr::Call(call) => {
                let call = ast.call(call);
                let arguments = all(ast.get(call.args))?;
                match self.read(ast, call.functor)? {
                    Value::Type(ty) => {
                        new_instance(&ty, &arguments).map_err(|error| error.to_string())?
                    }
                    Value::Str(name) if &*name == "type" => Type::infer(&arguments[0]).into(),
                    other => return Err(format!("{other} is not called here")),
                }
            }
            Expr::Binary { op, left, right } => {
                let (left, right) = (self.read(ast, left)?, self.read(ast, right)?);
                match (op, &right) {
                    (BinaryOp::Eq, _) => left.equals(&right).into(),
                    (BinaryOp::Match, Value::Type(ty)) => ty.is_instance(&left).into(),
                    _ => return Err(format!("{op:?} is not read here")),
                }
            }
            other => return Err(format!("{other:?} is not read here")),
        })
    }
}

fn negative(value: &Value) -> Result<Value, String> {
    match value {
        Value::Int(number) => Ok(Value::Int(-number)),
        Value::Float(number) => Ok(Value::Float(-number)),
        Value::Timespan(span) => Timespan::from_nanos(-span.nanos())
            .map(Value::Timespan)
            .ok_or_else(|| "too long".to_owned()),
        other => Err(format!("{other} has no negative")),
    }
}

/// As a program writes it, with what is hidden shown.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Sensitive(inner) => format!("Sensitive({})", shown(inner)),
        Value::Binary(bytes) => format!("Binary({bytes})"),
        other => other.to_program_string(),
    }
}
