//! Values that are known before evaluation: keys of hashes, types of parameters. Main type:
//! [`LiteralTable`].
//!
//! The semantics are those of Puppet 8's literal evaluator, including its oddities: a type with
//! parameters is the list of its parameters, whatever the type is, and a type name is its text in
//! small letters. Equal literals get the same number, and children come before their parents in the
//! arena, so one pass without recursion is enough.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use crate::ast::{Ast, AstSlice, Expr, ExprId, HashEntry, UnaryOp};
use crate::defaults::MAX_LITERAL_TEXT_BYTES;
use crate::ruby::{ruby_float, ruby_inspect};

/// The number of a literal; equal literals have equal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LiteralId(usize);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum LiteralValue<'a> {
    Undef,
    Default,
    Bool(bool),
    Integer(i64),
    /// The bits of a float.
    Float(u64),
    Text(Cow<'a, str>),
    /// The source of a regular expression.
    Regex(&'a str),
    List(Vec<LiteralId>),
    /// Pairs sorted by their numbers, since the order of entries does not matter.
    Hash(Vec<(LiteralId, LiteralId)>),
}

/// The literals of a tree.
#[derive(Debug)]
pub(super) struct LiteralTable<'a> {
    ast: &'a Ast,
    by_expr: Vec<Option<LiteralId>>,
    numbers: HashMap<LiteralValue<'a>, LiteralId>,
}

impl<'a> LiteralTable<'a> {
    pub(super) fn of(ast: &'a Ast) -> Self {
        let mut literals = Self {
            ast,
            by_expr: Vec::with_capacity(ast.len()),
            numbers: HashMap::new(),
        };
        for id in ast.ids() {
            let literal = literals.read(id);
            let number = literal.map(|literal| {
                let next = LiteralId(literals.numbers.len());
                *literals.numbers.entry(literal).or_insert(next)
            });
            literals.by_expr.push(number);
        }
        literals
    }

    /// The literal value of an expression; `None` if its value is not known before evaluation.
    pub(super) fn get(&self, id: ExprId) -> Option<LiteralId> {
        self.by_expr.get(id.index()).copied().flatten()
    }

    fn read(&self, id: ExprId) -> Option<LiteralValue<'a>> {
        let ast = self.ast;
        Some(match ast.expr(id) {
            Expr::Str(text) | Expr::QName(text) => {
                LiteralValue::Text(Cow::Borrowed(ast.text(text)))
            }
            Expr::QRef(name) => LiteralValue::Text(ast.text(name).to_lowercase().into()),
            Expr::Int { value, .. } => LiteralValue::Integer(value),
            Expr::Float(value) => LiteralValue::Float(value.to_bits()),
            Expr::Bool(value) => LiteralValue::Bool(value),
            Expr::Regex(source) => LiteralValue::Regex(ast.text(source)),
            Expr::Undef => LiteralValue::Undef,
            Expr::Default => LiteralValue::Default,
            Expr::Unary {
                op: UnaryOp::Minus,
                operand,
            } => self.read_negated(operand)?,
            Expr::Array(members) => self.list(members)?,
            // `Optional[[a]]` is not a literal
            Expr::Access { keys, .. } => match ast.get(keys) {
                [only] if matches!(ast.expr(*only), Expr::Array(_)) => return None,
                _ => self.list(keys)?,
            },
            Expr::Hash(entries) => self.hash(entries)?,
            _ => return None,
        })
    }

    /// Ruby's `-` of a text is the text. A second sign is not followed.
    fn read_negated(&self, operand: ExprId) -> Option<LiteralValue<'a>> {
        if matches!(self.ast.expr(operand), Expr::Unary { .. }) {
            return None;
        }
        match self.read(operand)? {
            LiteralValue::Integer(value) => value.checked_neg().map(LiteralValue::Integer),
            LiteralValue::Float(bits) => {
                Some(LiteralValue::Float((-f64::from_bits(bits)).to_bits()))
            }
            LiteralValue::Text(text) => Some(LiteralValue::Text(text)),
            _ => None,
        }
    }

    fn list(&self, members: AstSlice<ExprId>) -> Option<LiteralValue<'a>> {
        let members = self.ast.get(members).iter();
        members
            .map(|member| self.get(*member))
            .collect::<Option<_>>()
            .map(LiteralValue::List)
    }

    /// For equal keys the last entry counts.
    fn hash(&self, entries: AstSlice<HashEntry>) -> Option<LiteralValue<'a>> {
        let entries = self.ast.get(entries).iter();
        let pairs: Option<HashMap<LiteralId, LiteralId>> = entries
            .map(|entry| self.get(entry.key).zip(self.get(entry.value)))
            .collect();
        let mut pairs: Vec<_> = pairs?.into_iter().collect();
        pairs.sort_unstable();
        Some(LiteralValue::Hash(pairs))
    }

    /// The literal as Puppet's message shows it: as Ruby's `to_s` prints it, truncated if it is
    /// very long.
    pub(super) fn text(&self, id: ExprId) -> String {
        match self.read(id) {
            Some(LiteralValue::Text(text)) => text.into_owned(),
            Some(LiteralValue::Undef) | None => String::new(),
            Some(LiteralValue::Default) => "default".to_owned(),
            Some(LiteralValue::Regex(source)) => format!("(?-mix:{})", escaped_slashes(source)),
            Some(_) => self.inspect_literal(id),
        }
    }

    /// The literal as Ruby's `inspect` prints it. The walk has its own stack, since lists may be
    /// very deep.
    fn inspect_literal(&self, id: ExprId) -> String {
        let mut text = String::new();
        let mut stack = vec![UnprintedLiteral::Literal(id)];
        while let Some(piece) = stack.pop() {
            if text.len() > MAX_LITERAL_TEXT_BYTES {
                text.push_str("...");
                break;
            }
            match piece {
                UnprintedLiteral::Sign(sign) => text.push_str(sign),
                UnprintedLiteral::Literal(id) => self.push_literal(id, &mut text, &mut stack),
            }
        }
        text
    }

    fn push_literal(&self, id: ExprId, text: &mut String, stack: &mut Vec<UnprintedLiteral>) {
        let ast = self.ast;
        match (ast.expr(id), self.read(id)) {
            (Expr::Array(members) | Expr::Access { keys: members, .. }, _) => {
                text.push('[');
                stack.push(UnprintedLiteral::Sign("]"));
                for (index, member) in ast.get(members).iter().enumerate().rev() {
                    stack.push(UnprintedLiteral::Literal(*member));
                    stack.extend((index > 0).then_some(UnprintedLiteral::Sign(", ")));
                }
            }
            (Expr::Hash(entries), _) => {
                text.push('{');
                stack.push(UnprintedLiteral::Sign("}"));
                for (index, entry) in ast.get(entries).iter().enumerate().rev() {
                    stack.push(UnprintedLiteral::Literal(entry.value));
                    stack.push(UnprintedLiteral::Sign("=>"));
                    stack.push(UnprintedLiteral::Literal(entry.key));
                    stack.extend((index > 0).then_some(UnprintedLiteral::Sign(", ")));
                }
            }
            (_, Some(literal)) => {
                let _ = match literal {
                    LiteralValue::Undef => write!(text, "nil"),
                    LiteralValue::Default => write!(text, ":default"),
                    LiteralValue::Bool(value) => write!(text, "{value}"),
                    LiteralValue::Integer(value) => write!(text, "{value}"),
                    LiteralValue::Float(bits) => {
                        write!(text, "{}", ruby_float(f64::from_bits(bits)))
                    }
                    LiteralValue::Text(value) => write!(text, "{}", ruby_inspect(&value)),
                    LiteralValue::Regex(source) => write!(text, "/{}/", escaped_slashes(source)),
                    LiteralValue::List(_) | LiteralValue::Hash(_) => Ok(()),
                };
            }
            (_, None) => {}
        }
    }
}

/// A part that is not printed yet.
enum UnprintedLiteral {
    Literal(ExprId),
    Sign(&'static str),
}

/// Restores the backslash of `\/`, which the parser removes and Ruby shows.
fn escaped_slashes(source: &str) -> String {
    source.replace('/', "\\/")
}
