//! Metadata of a plan in the Puppet language: its parameters, and the comment above it.
//!
//! Invariant: a file that Puppet would not load is an error with Puppet's message and the position.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use syntax::ast::{Ast, DefinitionKind, Expr, ExprId, Param};
use syntax::{Diagnostic, SourceSpan, SourceText, SyntaxOptions, comments};

use super::tags::CommentTags;
use super::{PlanMetadata, PlanName, PlanParameter, plan_error};
use crate::CodeError;

const SENSITIVE: &str = "Sensitive";

pub(super) fn parse_metadata(
    name: &PlanName,
    path: &Path,
    text: &Arc<str>,
) -> Result<PlanMetadata, CodeError> {
    let source = Arc::new(SourceText::new(None, Arc::clone(text)));
    let options = SyntaxOptions {
        tasks: true,
        ..SyntaxOptions::default()
    };
    let parsed = syntax::parse(&source, options);
    if let Some(fault) = parsed.diagnostics.iter().find(|one| one.is_error()) {
        let place = source.position(fault.span.start);
        let position = Some((place.line, place.column));
        return Err(plan_error(
            path,
            format_diagnostic(&source, fault),
            position,
        ));
    }
    let ast = &parsed.ast;
    let plans = ast.definitions().iter();
    let mut plans = plans.filter_map(|definition| match &definition.kind {
        DefinitionKind::Plan(body) => Some((definition, body)),
        _ => None,
    });
    let Some((definition, body)) = plans.next() else {
        return Err(plan_error(
            path,
            format!("it defines no plan; expected `{name}`"),
            None,
        ));
    };
    let defined = ast.text(body.name);
    if **defined != *name.as_str() {
        let what =
            format!("it defines the plan `{defined}`; a file of this name must define `{name}`");
        return Err(plan_error(path, what, None));
    }
    let tags = CommentTags::parse(&comments::doc_lines(ast, definition));
    let parameters = ast.get(body.params).iter();
    Ok(PlanMetadata {
        description: tags.description(),
        private: tags.private,
        parameters: parameters
            .map(|one| to_plan_parameter(ast, one, &tags))
            .collect(),
    })
}

fn to_plan_parameter(ast: &Ast, parameter: &Param, tags: &CommentTags) -> PlanParameter {
    let written = |text: SourceSpan| ast.source().slice(text);
    let name = ast.text(parameter.name).to_string();
    let kind = parameter.type_expr;
    let default = parameter.default.map(|_| parameter.default_text);
    PlanParameter {
        kind: kind
            .map_or("Any", |_| written(parameter.type_text))
            .to_owned(),
        default: default.map(|text| Value::from(written(text))),
        description: tags.parameters.get(&name).cloned(),
        sensitive: kind.is_some_and(|id| is_sensitive(ast, id)),
        name,
    }
}

/// True if the type is `Sensitive` or `Sensitive[…]`.
fn is_sensitive(ast: &Ast, id: ExprId) -> bool {
    match ast.expr(id) {
        Expr::QRef(name) => **ast.text(name) == *SENSITIVE,
        Expr::Access { left, .. } => is_sensitive(ast, left),
        _ => false,
    }
}

fn format_diagnostic(source: &SourceText, fault: &Diagnostic) -> String {
    let place = source.position(fault.span.start);
    format!(
        "{} (line: {}, column: {})",
        fault.message, place.line, place.column
    )
}
