//! The children of a part, in Puppet's order: [`push`].

use super::Part;
use crate::ast::{Ast, DefinitionKind, Expr, ExprId, Param, Pooled, Slice};

/// Calls `give` for each child.
pub(super) fn push(ast: &Ast, part: Part, mut give: impl FnMut(Part)) {
    match part {
        Part::Expr(id) => expr(ast, id, &mut give),
        Part::Lambda(id) => {
            let lambda = ast.lambda(id);
            params(ast, lambda.params, &mut give);
            maybe(lambda.body, &mut give);
            maybe(lambda.return_type, &mut give);
        }
        Part::Param(param) => {
            maybe(param.default, &mut give);
            maybe(param.type_expr, &mut give);
        }
        Part::Entry(entry) => {
            give(Part::Expr(entry.key));
            give(Part::Expr(entry.value));
        }
        Part::Option(option) => {
            exprs(ast, option.values, &mut give);
            maybe(option.then, &mut give);
        }
        Part::Selection(entry) => {
            give(Part::Expr(entry.matching));
            give(Part::Expr(entry.value));
        }
        Part::Body(body) => {
            give(Part::Expr(body.title));
            each(ast, body.ops, Part::Op, &mut give);
        }
        Part::Op(op) => give(Part::Expr(op.value)),
        Part::Query(query) => give(Part::Expr(query)),
    }
}

fn expr(ast: &Ast, id: ExprId, give: &mut impl FnMut(Part)) {
    match ast.expr(id) {
        Expr::Nop
        | Expr::Undef
        | Expr::Default
        | Expr::Bool(_)
        | Expr::Int { .. }
        | Expr::Float(_)
        | Expr::Str(_)
        | Expr::QName(_)
        | Expr::QRef(_)
        | Expr::Variable(_)
        | Expr::Regex(_)
        | Expr::Reserved(_)
        | Expr::RenderString(_) => {}
        Expr::Concat(list) | Expr::Array(list) | Expr::Block(list) => exprs(ast, list, give),
        Expr::Text(inner)
        | Expr::Heredoc { text: inner, .. }
        | Expr::Paren(inner)
        | Expr::Unary { operand: inner, .. }
        | Expr::RenderExpr(inner) => give(Part::Expr(inner)),
        Expr::Hash(entries) => each(ast, entries, Part::Entry, give),
        Expr::Binary { left, right, .. }
        | Expr::Assign { left, right, .. }
        | Expr::Relationship { left, right, .. }
        | Expr::NamedAccess { left, name: right } => {
            give(Part::Expr(left));
            give(Part::Expr(right));
        }
        Expr::Access { left, keys } => {
            give(Part::Expr(left));
            exprs(ast, keys, give);
        }
        Expr::Call(call) | Expr::MethodCall(call) => {
            let call = ast.call(call);
            give(Part::Expr(call.functor));
            exprs(ast, call.args, give);
            if let Some(lambda) = call.lambda {
                give(Part::Lambda(lambda));
            }
        }
        Expr::If {
            test,
            then,
            otherwise,
        }
        | Expr::Unless {
            test,
            then,
            otherwise,
        } => {
            give(Part::Expr(test));
            maybe(then, give);
            maybe(otherwise, give);
        }
        Expr::Case { test, options } => {
            give(Part::Expr(test));
            each(ast, options, Part::Option, give);
        }
        Expr::Selector { left, entries } => {
            give(Part::Expr(left));
            each(ast, entries, Part::Selection, give);
        }
        Expr::Resource(resource) => {
            let resource = ast.resource(resource);
            give(Part::Expr(resource.type_name));
            each(ast, resource.bodies, Part::Body, give);
        }
        Expr::ResourceDefaults {
            type_ref: left,
            ops,
            ..
        }
        | Expr::ResourceOverride {
            resources: left,
            ops,
            ..
        } => {
            give(Part::Expr(left));
            each(ast, ops, Part::Op, give);
        }
        Expr::Collect(collect) => {
            let collect = ast.collect(collect);
            give(Part::Expr(collect.type_expr));
            if let Some(query) = collect.query {
                give(Part::Query(query));
            }
            each(ast, collect.ops, Part::Op, give);
        }
        Expr::Definition(definition) => {
            definition_parts(ast, ast.definition(definition).kind, give)
        }
        Expr::Apply { args, body } => {
            exprs(ast, args, give);
            maybe(body, give);
        }
    }
}

fn definition_parts(ast: &Ast, kind: DefinitionKind, give: &mut impl FnMut(Part)) {
    match kind {
        DefinitionKind::Class(crate::ast::Class { body, .. })
        | DefinitionKind::ResourceType(body)
        | DefinitionKind::Plan(body)
        | DefinitionKind::Function(body) => {
            params(ast, body.params, give);
            maybe(body.body, give);
            maybe(body.return_type, give);
        }
        DefinitionKind::Node(node) => {
            maybe(node.parent, give);
            exprs(ast, node.hosts, give);
            maybe(node.body, give);
        }
        DefinitionKind::TypeAlias(alias) => give(Part::Expr(alias.type_expr)),
        DefinitionKind::TypeMapping(mapping) => {
            give(Part::Expr(mapping.from));
            give(Part::Expr(mapping.to));
        }
        DefinitionKind::TypeDefinition(definition) => maybe(definition.body, give),
    }
}

fn maybe(id: Option<ExprId>, give: &mut impl FnMut(Part)) {
    if let Some(id) = id {
        give(Part::Expr(id));
    }
}

fn exprs(ast: &Ast, list: Slice<ExprId>, give: &mut impl FnMut(Part)) {
    each(ast, list, Part::Expr, give);
}

fn params(ast: &Ast, list: Slice<Param>, give: &mut impl FnMut(Part)) {
    each(ast, list, Part::Param, give);
}

fn each<T: Pooled + Copy>(
    ast: &Ast,
    list: Slice<T>,
    part: fn(T) -> Part,
    give: &mut impl FnMut(Part),
) {
    for member in ast.get(list) {
        give(part(*member));
    }
}
