//! The children of a part, in Puppet's order: [`push`].

use super::AstPart;
use crate::ast::{Ast, AstSlice, DefinitionKind, Expr, ExprId, Param, Pooled};

/// Calls `give` for each child.
pub(super) fn push(ast: &Ast, part: AstPart, mut give: impl FnMut(AstPart)) {
    match part {
        AstPart::Expr(id) => expr(ast, id, &mut give),
        AstPart::Lambda(id) => {
            let lambda = ast.lambda(id);
            params(ast, lambda.params, &mut give);
            give_optional(lambda.body, &mut give);
            give_optional(lambda.return_type, &mut give);
        }
        AstPart::Param(param) => {
            give_optional(param.default, &mut give);
            give_optional(param.type_expr, &mut give);
        }
        AstPart::Entry(entry) => {
            give(AstPart::Expr(entry.key));
            give(AstPart::Expr(entry.value));
        }
        AstPart::Option(option) => {
            exprs(ast, option.values, &mut give);
            give_optional(option.then, &mut give);
        }
        AstPart::Selection(entry) => {
            give(AstPart::Expr(entry.matching));
            give(AstPart::Expr(entry.value));
        }
        AstPart::Body(body) => {
            give(AstPart::Expr(body.title));
            each(ast, body.ops, AstPart::Op, &mut give);
        }
        AstPart::Op(op) => give(AstPart::Expr(op.value)),
        AstPart::Query(query) => give(AstPart::Expr(query)),
    }
}

fn expr(ast: &Ast, id: ExprId, give: &mut impl FnMut(AstPart)) {
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
        | Expr::RenderExpr(inner) => give(AstPart::Expr(inner)),
        Expr::Hash(entries) => each(ast, entries, AstPart::Entry, give),
        Expr::Binary { left, right, .. }
        | Expr::Assign { left, right, .. }
        | Expr::Relationship { left, right, .. }
        | Expr::NamedAccess { left, name: right } => {
            give(AstPart::Expr(left));
            give(AstPart::Expr(right));
        }
        Expr::Access { left, keys } => {
            give(AstPart::Expr(left));
            exprs(ast, keys, give);
        }
        Expr::Call(call) | Expr::MethodCall(call) => {
            let call = ast.call(call);
            give(AstPart::Expr(call.functor));
            exprs(ast, call.args, give);
            if let Some(lambda) = call.lambda {
                give(AstPart::Lambda(lambda));
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
            give(AstPart::Expr(test));
            give_optional(then, give);
            give_optional(otherwise, give);
        }
        Expr::Case { test, options } => {
            give(AstPart::Expr(test));
            each(ast, options, AstPart::Option, give);
        }
        Expr::Selector { left, entries } => {
            give(AstPart::Expr(left));
            each(ast, entries, AstPart::Selection, give);
        }
        Expr::Resource(resource) => {
            let resource = ast.resource(resource);
            give(AstPart::Expr(resource.type_name));
            each(ast, resource.bodies, AstPart::Body, give);
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
            give(AstPart::Expr(left));
            each(ast, ops, AstPart::Op, give);
        }
        Expr::Collect(collect) => {
            let collect = ast.collect(collect);
            give(AstPart::Expr(collect.type_expr));
            if let Some(query) = collect.query {
                give(AstPart::Query(query));
            }
            each(ast, collect.ops, AstPart::Op, give);
        }
        Expr::Definition(definition) => {
            definition_parts(ast, ast.definition(definition).kind, give)
        }
        Expr::Apply { args, body } => {
            exprs(ast, args, give);
            give_optional(body, give);
        }
    }
}

fn definition_parts(ast: &Ast, kind: DefinitionKind, give: &mut impl FnMut(AstPart)) {
    match kind {
        DefinitionKind::Class(crate::ast::ClassDefinition { body, .. })
        | DefinitionKind::ResourceType(body)
        | DefinitionKind::Plan(body)
        | DefinitionKind::Function(body)
        | DefinitionKind::Application(body)
        | DefinitionKind::Capability(body) => {
            params(ast, body.params, give);
            give_optional(body.body, give);
            give_optional(body.return_type, give);
        }
        DefinitionKind::Node(node) => {
            give_optional(node.parent, give);
            exprs(ast, node.hosts, give);
            give_optional(node.body, give);
        }
        DefinitionKind::TypeAlias(alias) => give(AstPart::Expr(alias.type_expr)),
        DefinitionKind::TypeMapping(mapping) => {
            give(AstPart::Expr(mapping.from));
            give(AstPart::Expr(mapping.to));
        }
        DefinitionKind::TypeDefinition(definition) => give_optional(definition.body, give),
        DefinitionKind::Site(site) => give_optional(site.body, give),
        DefinitionKind::CapabilityMapping(mapping) => {
            give(AstPart::Expr(mapping.component));
            each(ast, mapping.ops, AstPart::Op, give);
        }
    }
}

fn give_optional(id: Option<ExprId>, give: &mut impl FnMut(AstPart)) {
    if let Some(id) = id {
        give(AstPart::Expr(id));
    }
}

fn exprs(ast: &Ast, list: AstSlice<ExprId>, give: &mut impl FnMut(AstPart)) {
    each(ast, list, AstPart::Expr, give);
}

fn params(ast: &Ast, list: AstSlice<Param>, give: &mut impl FnMut(AstPart)) {
    each(ast, list, AstPart::Param, give);
}

fn each<T: Pooled + Copy>(
    ast: &Ast,
    list: AstSlice<T>,
    part: fn(T) -> AstPart,
    give: &mut impl FnMut(AstPart),
) {
    for member in ast.get(list) {
        give(part(*member));
    }
}
