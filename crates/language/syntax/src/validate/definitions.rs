//! Definitions and their parameters.

use super::AstValidator;
use crate::SourceSpan;
use crate::ast::labels::with_article;
use crate::ast::{
    Definition, DefinitionBody, DefinitionId, DefinitionKind, Expr, ExprId, NodeDefinition, Param,
    TypeMapping,
};
use crate::diagnostic::{Diagnostic, DiagnosticSeverity};

/// Names that classes, defines and types cannot have.
const RESERVED_TYPE_NAMES: [&str; 28] = [
    "type",
    "any",
    "unit",
    "scalar",
    "boolean",
    "numeric",
    "integer",
    "float",
    "collection",
    "array",
    "hash",
    "tuple",
    "struct",
    "variant",
    "optional",
    "enum",
    "regexp",
    "pattern",
    "runtime",
    "init",
    "object",
    "sensitive",
    "semver",
    "semverrange",
    "string",
    "timestamp",
    "timespan",
    "typeset",
];

impl AstValidator<'_> {
    pub(super) fn definition(&mut self, id: ExprId, definition: DefinitionId) {
        let definition = *self.ast.definition(definition);
        let label = definition.kind.label();
        match definition.kind {
            DefinitionKind::Class(crate::ast::ClassDefinition { body, .. })
            | DefinitionKind::ResourceType(body) => {
                self.check_named(id, &definition, &body);
                let params = self.ast.get(body.params);
                self.refuse_capture(params, label);
                self.check_unique_params(params);
                self.check_reserved_params(params, label);
                self.no_idle_end(body.body, label);
                if matches!(definition.kind, DefinitionKind::Class(_)) {
                    self.check_literal_types(params);
                }
            }
            DefinitionKind::Function(body) | DefinitionKind::Plan(body) => {
                self.check_named(id, &definition, &body);
                if let Some(return_type) = body.return_type {
                    self.type_reference(return_type, label);
                }
                self.check_unique_params(self.ast.get(body.params));
            }
            DefinitionKind::Node(node) => self.check_node(id, &node),
            DefinitionKind::TypeAlias(alias) => {
                self.at_top(id, definition.kind);
                self.check_alias_name(&definition, self.ast.text(alias.name));
                self.type_reference(alias.type_expr, label);
            }
            DefinitionKind::TypeMapping(mapping) => {
                self.at_top(id, definition.kind);
                self.check_mapping(definition.span, &mapping);
            }
            DefinitionKind::Application(body) => self.check_application(id, &definition, &body),
            DefinitionKind::Capability(body) => self.check_capability(id, &definition, &body),
            DefinitionKind::Site(site) => {
                self.at_top(id, definition.kind);
                self.no_idle_end(site.body, label);
            }
            DefinitionKind::CapabilityMapping(mapping) => {
                self.check_capability_mapping(id, &mapping);
            }
            DefinitionKind::TypeDefinition(_) => {
                self.at_top(id, definition.kind);
                self.report_unsupported(definition.span, label);
            }
        }
    }

    pub(super) fn check_named(
        &mut self,
        id: ExprId,
        definition: &Definition,
        body: &DefinitionBody,
    ) {
        self.at_top(id, definition.kind);
        let name = self.ast.text(body.name).clone();
        if !is_definition_name(&name, u8::is_ascii_lowercase) {
            self.report_bad_name(definition, &name);
        }
        self.in_its_file(definition.span, &name);
        if RESERVED_TYPE_NAMES.contains(&&*name) {
            let message = format!(
                "The name: '{name}' is already defined by Puppet and can not be used as the name of \
                 {}.",
                with_article(definition.kind.label())
            );
            self.error("RESERVED_TYPE_NAME", definition.span, message);
        }
        if &*name == "plan" {
            let message = format!("Use of future reserved word: '{name}'");
            let mut fault = Diagnostic::warning("FUTURE_RESERVED_WORD", definition.span, message);
            fault.severity = DiagnosticSeverity::Deprecation;
            self.report(fault);
        }
    }

    fn check_alias_name(&mut self, definition: &Definition, name: &str) {
        if !is_definition_name(name, u8::is_ascii_uppercase) {
            self.report_bad_name(definition, name);
        }
    }

    fn report_bad_name(&mut self, definition: &Definition, name: &str) {
        let message = format!(
            "Unacceptable name. The name '{name}' is unacceptable as the name of {}",
            with_article(definition.kind.label())
        );
        let fault = Diagnostic::error("ILLEGAL_DEFINITION_NAME", definition.span, message)
            .with_label(definition.name_span, "this name");
        self.report(fault);
    }

    pub(super) fn type_reference(&mut self, id: ExprId, container: &str) {
        let name = match self.ast.expr(id) {
            Expr::Access { left, .. } => left,
            _ => id,
        };
        if !matches!(self.ast.expr(name), Expr::QRef(_)) {
            self.report_illegal(id, "a type reference", container);
        }
    }

    fn check_node(&mut self, id: ExprId, node: &NodeDefinition) {
        for host in self.ast.get(node.hosts) {
            self.hostname(*host);
        }
        let kind = DefinitionKind::Node(*node);
        self.at_top(id, kind);
        self.no_idle_end(node.body, kind.label());
        if let Some(parent) = node.parent {
            let message = "Node inheritance is not supported in Puppet >= 4.0.0. See \
                           http://links.puppet.com/puppet-node-inheritance-deprecation";
            self.error("ILLEGAL_NODE_INHERITANCE", self.ast.span(parent), message);
        }
    }

    /// `type Runtime[ruby, 'X'] = Y`: maps a type to a type, or a pattern to a pattern.
    fn check_mapping(&mut self, span: SourceSpan, mapping: &TypeMapping) {
        let Expr::Access { left, keys } = self.ast.expr(mapping.from) else {
            return;
        };
        let runtime =
            matches!(self.ast.expr(left), Expr::QRef(name) if &**self.ast.text(name) == "Runtime");
        if !runtime {
            return self.report_unsupported(span, "Type Mapping");
        }
        let pattern = match self.ast.get(keys) {
            [_, second] => self.is_replacement(*second),
            _ => false,
        };
        let to = mapping.to;
        let fits = if pattern {
            self.is_replacement(to)
        } else {
            !self.is_replacement(to) && self.is_type(to)
        };
        if fits {
            return;
        }
        let expected = if pattern {
            "Tuple[Regexp,String]"
        } else {
            "Type"
        };
        let message = format!(
            "Illegal type mapping. Expected a {expected} on the left side, got A Type Mapping"
        );
        self.error("ILLEGAL_TYPE_MAPPING", span, message);
    }

    fn is_replacement(&self, id: ExprId) -> bool {
        let Expr::Array(list) = self.ast.expr(id) else {
            return false;
        };
        match self.ast.get(list) {
            [regex, text] => {
                matches!(self.ast.expr(*regex), Expr::Regex(_))
                    && matches!(self.ast.expr(*text), Expr::Str(_))
            }
            _ => false,
        }
    }

    fn is_type(&self, id: ExprId) -> bool {
        match self.ast.expr(id) {
            Expr::Access { left, .. } => matches!(self.ast.expr(left), Expr::QRef(_)),
            other => matches!(other, Expr::QRef(_)),
        }
    }

    fn report_unsupported(&mut self, span: SourceSpan, label: &str) {
        let message = format!(
            "Expressions of type {} are not supported in this version of Puppet",
            with_article(label)
        );
        self.error("UNSUPPORTED_EXPRESSION", span, message);
    }

    // --- parameters ---

    pub(super) fn epp_params(&mut self) {
        let Some(epp) = self.ast.epp() else {
            return;
        };
        let params = self.ast.get(epp.params);
        self.captures_last(params);
        self.refuse_capture(params, "Epp Template");
        self.check_unique_params(params);
    }

    pub(super) fn captures_last(&mut self, params: &[Param]) {
        for param in params.iter().take(params.len().saturating_sub(1)) {
            if param.captures_rest {
                let name = self.ast.text(param.name);
                let message = format!("Parameter ${name} is not last, and has 'captures rest'");
                self.error("CAPTURES_REST_NOT_LAST", param.span, message);
            }
        }
    }

    pub(super) fn refuse_capture(&mut self, params: &[Param], container: &str) {
        for param in params.iter().filter(|param| param.captures_rest) {
            let message = format!(
                "Parameter ${} has 'captures rest' - not supported in {}",
                self.ast.text(param.name),
                with_article(container)
            );
            self.error("CAPTURES_REST_NOT_SUPPORTED", param.span, message);
        }
    }

    pub(super) fn check_unique_params(&mut self, params: &[Param]) {
        let mut seen = std::collections::HashMap::with_capacity(params.len());
        for param in params {
            if let Some(first) = seen.insert(param.name, param.span) {
                let message = format!(
                    "The parameter '{}' is declared more than once in the parameter list",
                    self.ast.text(param.name)
                );
                let fault = Diagnostic::error("DUPLICATE_PARAMETER", param.span, message)
                    .with_label(first, "first declared here");
                self.report(fault);
            }
        }
    }

    /// Types of a class's parameters that must be evaluated are deprecated. The grammar accepts
    /// only type names, with or without parameters, and a name is a literal; so Puppet's message
    /// always names the class of its own tree for these.
    fn check_literal_types(&mut self, params: &[Param]) {
        for param in params {
            let Some(ty) = param.type_expr else {
                continue;
            };
            if self.literals().get(ty).is_some() {
                continue;
            }
            let message = format!(
                "The parameter '${}' must be a literal type, not a \
                 Puppet::Pops::Model::AccessExpression",
                self.ast.text(param.name)
            );
            let mut fault =
                Diagnostic::warning("ILLEGAL_NONLITERAL_PARAMETER_TYPE", param.span, message);
            fault.severity = DiagnosticSeverity::Deprecation;
            self.report(fault);
        }
    }

    pub(super) fn check_reserved_params(&mut self, params: &[Param], container: &str) {
        for param in params {
            let name = self.ast.text(param.name);
            if matches!(&**name, "name" | "title") {
                let message = format!(
                    "The parameter ${name} redefines a built in parameter in the {container}"
                );
                self.error("RESERVED_PARAMETER", param.span, message);
            }
        }
    }
}

/// Parts that begin with such a letter, joined by `::`, without a leading `::`.
pub(super) fn is_definition_name(name: &str, begins: fn(&u8) -> bool) -> bool {
    name.split("::").all(|part| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(begins)
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    })
}
