//! Applications, capabilities and their mappings.

use super::AstValidator;
use super::definitions::is_definition_name;
use crate::ast::{
    AttributeOpKind, CapabilityMapping, Definition, DefinitionBody, Expr, ExprId, Param,
};
use crate::diagnostic::Diagnostic;

/// The parameter that every application has: components by node.
const NODES: &str = "nodes";

impl AstValidator<'_> {
    pub(super) fn check_application(
        &mut self,
        id: ExprId,
        definition: &Definition,
        body: &DefinitionBody,
    ) {
        let label = definition.kind.label();
        self.check_named(id, definition, body);
        let params = self.ast.get(body.params);
        self.check_params(params, label);
        for param in params {
            if &**self.ast.text(param.name) == NODES {
                let message =
                    format!("The parameter ${NODES} redefines a built in parameter in the {label}");
                self.error("RESERVED_PARAMETER", param.span, message);
            }
        }
        self.no_idle_end(body.body, label);
    }

    /// A capability has parameters only.
    pub(super) fn check_capability(
        &mut self,
        id: ExprId,
        definition: &Definition,
        body: &DefinitionBody,
    ) {
        self.check_named(id, definition, body);
        self.check_params(self.ast.get(body.params), definition.kind.label());
        if let Some(statements) = body.body {
            let message = "A Capability has no statements: its parameters are its attributes";
            self.error(
                "ILLEGAL_CAPABILITY_BODY",
                self.ast.span(statements),
                message,
            );
        }
    }

    fn check_params(&mut self, params: &[Param], label: &str) {
        self.refuse_capture(params, label);
        self.check_unique_params(params);
        self.check_reserved_params(params, label);
    }

    pub(super) fn check_capability_mapping(&mut self, id: ExprId, mapping: &CapabilityMapping) {
        self.at_top_or_in_site(id);
        self.check_component(mapping.component);
        let capability = self.ast.text(mapping.capability).clone();
        self.check_type_name(id, &capability);
        let mut seen = std::collections::HashMap::new();
        for op in self.ast.get(mapping.ops) {
            if op.kind == AttributeOpKind::Splat {
                let message = "The operator '* =>' in a Capability Mapping is not supported.";
                self.error("UNSUPPORTED_OPERATOR_IN_CONTEXT", op.span, message);
            }
            let Some(name) = op.name else {
                continue;
            };
            if let Some(first) = seen.insert(name, op.span) {
                let message = format!(
                    "The attribute '{}' is mapped more than once",
                    self.ast.text(name)
                );
                let fault = Diagnostic::error("DUPLICATE_ATTRIBUTE", op.span, message)
                    .with_label(first, "first mapped here");
                self.report(fault);
            }
        }
    }

    /// The component of a mapping is a type name, or `Class[name]`.
    fn check_component(&mut self, component: ExprId) {
        match self.ast.expr(component) {
            Expr::QRef(name) | Expr::QName(name) => {
                let name = self.ast.text(name).clone();
                self.check_type_name(component, &name);
            }
            Expr::Access { left, keys } if matches!(self.ast.get(keys), [_]) => {
                let key = self.ast.expr(self.ast.get(keys)[0]);
                let is_class = matches!(self.ast.expr(left), Expr::QRef(name) if &**self.ast.text(name) == "Class");
                if !is_class || !matches!(key, Expr::Str(_) | Expr::QName(_) | Expr::QRef(_)) {
                    self.report_illegal(component, "a component", "Capability Mapping");
                }
            }
            _ => self.report_illegal(component, "a component", "Capability Mapping"),
        }
    }

    fn check_type_name(&mut self, at: ExprId, name: &str) {
        let own = name.strip_prefix("::").unwrap_or(name);
        if !is_definition_name(own, u8::is_ascii_uppercase) {
            let message = format!(
                "Illegal type reference. The given name '{name}' does not conform to the naming rule"
            );
            self.error("ILLEGAL_CLASSREF", self.ast.span(at), message);
        }
    }
}
