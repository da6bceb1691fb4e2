//! Lowering of expressions, by kind.

use std::sync::Arc;

use pcore::{Regexp, Value};
use syntax::ast::{
    AssignOp, AstSlice, BinaryOp, CaseOption as SyntaxCaseOption, Expr, ExprId, SelectorEntry, Sym,
    UnaryOp,
};

use super::AstLowering;
use crate::code::{
    ApplyNode, AssignmentSlot, AssignmentTarget, CaseNode, LoweredCaseOption, NodeId, NodeKind,
    VariableNode,
};
use crate::error::EvalResult;
use crate::label;

impl AstLowering {
    pub(super) fn lower(&mut self, id: ExprId) -> EvalResult<NodeId> {
        let at = self.ast.span(id).start;
        self.check_depth(at)?;
        match self.ast.expr(id) {
            Expr::Nop => Ok(self.push(NodeKind::Nop, at)),
            Expr::Undef => Ok(self.constant(Value::Undef, at)),
            Expr::Default => Ok(self.constant(Value::Default, at)),
            Expr::Bool(flag) => Ok(self.constant(Value::Bool(flag), at)),
            Expr::Int { value, .. } => Ok(self.constant(Value::Int(value), at)),
            Expr::Float(number) => Ok(self.constant(Value::Float(number), at)),
            Expr::Str(text) | Expr::QName(text) => {
                let text = Arc::clone(self.ast.text(text));
                Ok(self.constant(Value::Str(text), at))
            }
            Expr::Regex(source) => {
                let regexp = Regexp::new(&**self.ast.text(source));
                Ok(self.constant(Value::Regexp(regexp), at))
            }
            Expr::QRef(name) => {
                let name = Arc::clone(self.ast.text(name));
                Ok(self.push(NodeKind::TypeName(name), at))
            }
            Expr::Variable(name) => Ok(self.variable(name, at)),
            Expr::Reserved(word) => {
                let word = Arc::clone(self.ast.text(word));
                Ok(self.push(NodeKind::Reserved(word), at))
            }
            Expr::Text(inner) => self.lower(inner),
            Expr::RenderString(text) => {
                let text = Value::Str(Arc::clone(self.ast.text(text)));
                Ok(self.push(NodeKind::RenderText(text), at))
            }
            _ => self.compound(id, at),
        }
    }

    /// Lowers expressions that contain other expressions.
    fn compound(&mut self, id: ExprId, at: u32) -> EvalResult<NodeId> {
        match self.ast.expr(id) {
            Expr::Concat(pieces) => {
                let pieces = self.list(pieces)?;
                Ok(self.push(NodeKind::Interpolated(pieces), at))
            }
            Expr::Heredoc { syntax, text } => self.heredoc(syntax, text, at),
            Expr::Array(items) => {
                let items = self.items(items)?;
                Ok(self.push(NodeKind::List(items), at))
            }
            Expr::Hash(entries) => {
                let ast = Arc::clone(&self.ast);
                let mut lowered = Vec::new();
                for entry in ast.get(entries) {
                    lowered.push((self.lower(entry.key)?, self.lower(entry.value)?));
                }
                Ok(self.push(NodeKind::Hash(lowered.into()), at))
            }
            Expr::Paren(inner) => {
                let inner = self.lower(inner)?;
                Ok(self.push(NodeKind::Parenthesized(inner), at))
            }
            Expr::Unary { op, operand } => self.unary(op, operand, at),
            Expr::Binary { .. } => self.binary_chain(id),
            Expr::Assign { op, left, right } => self.assign(op, left, right, at),
            Expr::Access { left, keys } => {
                let left = self.lower(left)?;
                let keys = self.list(keys)?;
                Ok(self.push(NodeKind::Access { left, keys }, at))
            }
            Expr::NamedAccess { .. } => {
                let text = "A '.' expression is unacceptable here".to_owned();
                Ok(self.push(
                    NodeKind::Illegal(Box::new(("ILLEGAL_EXPRESSION", text))),
                    at,
                ))
            }
            Expr::Call(call) => self.call(call, at),
            Expr::MethodCall(call) => self.method(call, at),
            Expr::Block(statements) => {
                let statements = self.list(statements)?;
                Ok(self.push(NodeKind::Block(statements), at))
            }
            Expr::RenderExpr(inner) => {
                let inner = self.lower(inner)?;
                Ok(self.push(NodeKind::Render(inner), at))
            }
            _ => self.control(id, at),
        }
    }

    /// Lowers control flow and expressions that need a catalog.
    fn control(&mut self, id: ExprId, at: u32) -> EvalResult<NodeId> {
        match self.ast.expr(id) {
            Expr::If {
                test,
                then,
                otherwise,
            } => {
                let test = self.lower(test)?;
                let then = self.optional(then, at)?;
                let otherwise = self.optional(otherwise, at)?;
                Ok(self.push(
                    NodeKind::If {
                        test,
                        then,
                        otherwise,
                    },
                    at,
                ))
            }
            Expr::Unless {
                test,
                then,
                otherwise,
            } => {
                let test = self.lower(test)?;
                let then = self.optional(then, at)?;
                let otherwise = self.optional(otherwise, at)?;
                Ok(self.push(
                    NodeKind::Unless {
                        test,
                        then,
                        otherwise,
                    },
                    at,
                ))
            }
            Expr::Case { test, options } => self.case(test, options, at),
            Expr::Selector { left, entries } => self.selector(left, entries, at),
            Expr::Definition(_) => Ok(self.push(NodeKind::Nop, at)),
            Expr::Apply { args, .. } => {
                let arguments = self.items(args)?;
                let apply = ApplyNode {
                    arguments,
                    expression: id,
                };
                Ok(self.push(NodeKind::Apply(Box::new(apply)), at))
            }
            _ => self.catalog(id, at),
        }
    }

    pub(super) fn list(&mut self, list: AstSlice<ExprId>) -> EvalResult<Box<[NodeId]>> {
        let ast = Arc::clone(&self.ast);
        ast.get(list).iter().map(|id| self.lower(*id)).collect()
    }

    /// Lowers a list in which splats are unfolded, even in parentheses.
    pub(super) fn items(&mut self, list: AstSlice<ExprId>) -> EvalResult<Box<[NodeId]>> {
        let ast = Arc::clone(&self.ast);
        ast.get(list).iter().map(|id| self.item(*id)).collect()
    }

    pub(super) fn item(&mut self, id: ExprId) -> EvalResult<NodeId> {
        let inner = self.unwind(id);
        match self.ast.expr(inner) {
            Expr::Unary {
                op: UnaryOp::Unfold,
                ..
            } => self.lower(inner),
            _ => self.lower(id),
        }
    }

    fn variable(&mut self, name: Sym, at: u32) -> NodeId {
        let name = Arc::clone(self.ast.text(name));
        if let Ok(group) = name.parse::<u64>() {
            return self.push(NodeKind::Group(group), at);
        }
        let (slots, default_of) = self.names.find(&name);
        let variable = VariableNode {
            is_qualified: name.contains("::"),
            name,
            slots,
            default_of,
        };
        self.push(NodeKind::Variable(Box::new(variable)), at)
    }

    fn heredoc(&mut self, syntax: Option<Sym>, text: ExprId, at: u32) -> EvalResult<NodeId> {
        let is_static = matches!(self.ast.expr(text), Expr::Str(_));
        let lowered = self.lower(text)?;
        match syntax {
            Some(syntax) if !is_static => {
                let syntax = Arc::clone(self.ast.text(syntax));
                Ok(self.push(
                    NodeKind::Heredoc {
                        text: lowered,
                        syntax,
                    },
                    at,
                ))
            }
            _ => Ok(lowered),
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: ExprId, at: u32) -> EvalResult<NodeId> {
        let literal = self.ast.expr(operand);
        if op == UnaryOp::Minus {
            match literal {
                Expr::Int { value, .. } => return Ok(self.constant(Value::Int(-value), at)),
                Expr::Float(number) => return Ok(self.constant(Value::Float(-number), at)),
                _ => {}
            }
        }
        let operand = self.lower(operand)?;
        let kind = match op {
            UnaryOp::Not => NodeKind::Not(operand),
            UnaryOp::Minus => NodeKind::Minus(operand),
            UnaryOp::Unfold => NodeKind::Splat(operand),
        };
        Ok(self.push(kind, at))
    }

    /// Lowers a chain such as `$a + $b + $c`, which leans to the left and may be long, without
    /// recursion.
    fn binary_chain(&mut self, id: ExprId) -> EvalResult<NodeId> {
        let mut chain = Vec::new();
        let mut leftmost = id;
        while let Expr::Binary { op, left, right } = self.ast.expr(leftmost) {
            chain.push((op, right, self.ast.span(leftmost).start));
            leftmost = left;
        }
        let mut left = self.lower(leftmost)?;
        for (op, right, at) in chain.into_iter().rev() {
            let right = self.lower(right)?;
            left = self.push(binary(op, left, right), at);
        }
        Ok(left)
    }

    fn assign(&mut self, op: AssignOp, left: ExprId, right: ExprId, at: u32) -> EvalResult<NodeId> {
        if op != AssignOp::Set {
            let text = format!("The operator '{}' is not supported.", op.text());
            return Ok(self.push(
                NodeKind::Illegal(Box::new(("UNSUPPORTED_OPERATOR", text))),
                at,
            ));
        }
        // the value is evaluated before the name is set, so it is lowered before it is declared
        let value = self.lower(right)?;
        let target = Box::new(self.target(left));
        Ok(self.push(NodeKind::Assign { target, value }, at))
    }

    fn target(&mut self, id: ExprId) -> AssignmentTarget {
        let at = self.ast.span(id).start;
        match self.ast.expr(id) {
            Expr::Variable(name) => {
                let name = Arc::clone(self.ast.text(name));
                if name.bytes().all(|it| it.is_ascii_digit()) {
                    return AssignmentTarget::Number(name, at);
                }
                let place = if name.contains("::") {
                    AssignmentSlot::Global
                } else {
                    self.names.declare(&name)
                };
                AssignmentTarget::Variable { name, place, at }
            }
            Expr::Array(items) => {
                let ast = Arc::clone(&self.ast);
                let targets = ast.get(items).iter().map(|it| self.target(*it)).collect();
                AssignmentTarget::List(targets)
            }
            _ => AssignmentTarget::Illegal {
                label: label::with_article(&self.ast.label(id)),
                at,
            },
        }
    }

    fn case(
        &mut self,
        test: ExprId,
        options: AstSlice<SyntaxCaseOption>,
        at: u32,
    ) -> EvalResult<NodeId> {
        let test = self.lower(test)?;
        let ast = Arc::clone(&self.ast);
        let mut choices = Vec::new();
        let mut otherwise = None;
        for option in ast.get(options) {
            let mut values = Vec::new();
            let mut has_default = false;
            for value in ast.get(option.values) {
                if ast.expr(self.unwind(*value)) == Expr::Default {
                    has_default = true;
                } else {
                    values.push(self.item(*value)?);
                }
            }
            let then = self.optional(option.then, option.span.start)?;
            if has_default {
                otherwise = Some(then);
            }
            choices.push(LoweredCaseOption {
                values: values.into(),
                then,
            });
        }
        let case = CaseNode {
            test,
            options: choices.into(),
            otherwise,
        };
        Ok(self.push(NodeKind::Case(Box::new(case)), at))
    }

    fn selector(
        &mut self,
        test: ExprId,
        entries: AstSlice<SelectorEntry>,
        at: u32,
    ) -> EvalResult<NodeId> {
        let test = self.lower(test)?;
        let ast = Arc::clone(&self.ast);
        let mut choices = Vec::new();
        let mut otherwise = None;
        for entry in ast.get(entries) {
            if ast.expr(self.unwind(entry.matching)) == Expr::Default {
                otherwise = Some(self.lower(entry.value)?);
                continue;
            }
            choices.push(LoweredCaseOption {
                values: Box::new([self.item(entry.matching)?]),
                then: self.lower(entry.value)?,
            });
        }
        let case = CaseNode {
            test,
            options: choices.into(),
            otherwise,
        };
        Ok(self.push(NodeKind::Selector(Box::new(case)), at))
    }
}

fn binary(op: BinaryOp, left: NodeId, right: NodeId) -> NodeKind {
    match op {
        BinaryOp::And => NodeKind::And { left, right },
        BinaryOp::Or => NodeKind::Or { left, right },
        BinaryOp::In => NodeKind::In { left, right },
        BinaryOp::Match | BinaryOp::NoMatch => NodeKind::Match {
            negated: op == BinaryOp::NoMatch,
            left,
            right,
        },
        operator if operator.is_comparison() => NodeKind::Compare {
            operator,
            left,
            right,
        },
        operator => NodeKind::Arithmetic {
            operator,
            left,
            right,
        },
    }
}
