//! Names of variables, parameters and nodes.

use super::{AstPart, AstValidator, children};
use crate::ast::{Expr, ExprId, Param, Sym};
use crate::diagnostic::Diagnostic;

impl AstValidator<'_> {
    pub(super) fn variable(&mut self, id: ExprId, name: Sym) {
        let name = self.ast.text(name);
        let span = self.ast.span(id);
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            if !is_match_variable(name) {
                let message = format!(
                    "Illegal numeric variable name, The given name '{name}' must be a decimal value \
                     if it starts with a digit 0-9"
                );
                self.error("ILLEGAL_NUMERIC_VAR_NAME", span, message);
            }
            return;
        }
        if !is_variable_name(name) {
            let message = format!(
                "Illegal variable name, The given name '{name}' does not conform to the naming rule \
                 /^((::)?[a-z]\\w*)*((::)?[a-z_]\\w*)$/"
            );
            self.error("ILLEGAL_VAR_NAME", span, message);
        }
    }

    pub(super) fn parameter(&mut self, param: &Param) {
        let name = self.ast.text(param.name);
        let digits = name.strip_prefix("0x").unwrap_or(name);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let message = format!(
                "The numeric parameter name '${name}' cannot be used (clashes with numeric match \
                 result variables)"
            );
            self.error("ILLEGAL_NUMERIC_PARAMETER", param.span, message);
        }
        if !is_parameter_name(name) {
            let message = format!(
                "Illegal parameter name. The given name '{name}' does not conform to the naming rule \
                 /^[a-z_]\\w*$/"
            );
            self.error("ILLEGAL_PARAM_NAME", param.span, message);
        }
        if let Some(default) = param.default {
            self.refuse_assignment(default);
        }
    }

    /// A default assigns no variable; a lambda in it may.
    fn refuse_assignment(&mut self, default: ExprId) {
        let mut parts = vec![AstPart::Expr(default)];
        while let Some(part) = parts.pop() {
            match part {
                AstPart::Lambda(_) => continue,
                AstPart::Expr(id) if matches!(self.ast.expr(id), Expr::Assign { .. }) => {
                    self.error(
                        "ILLEGAL_ASSIGNMENT_CONTEXT",
                        self.ast.span(id),
                        "Assignment not allowed here",
                    );
                    continue;
                }
                _ => {}
            }
            children::push(self.ast, part, |child| parts.push(child));
        }
    }

    pub(super) fn hostname(&mut self, host: ExprId) {
        match self.ast.expr(host) {
            Expr::Str(name) => self.hostname_text(host, name),
            Expr::Concat(parts) => {
                let inner =
                    self.ast
                        .get(parts)
                        .iter()
                        .find_map(|part| match self.ast.expr(*part) {
                            Expr::Text(inner) => Some(inner),
                            _ => None,
                        });
                let message = "An interpolated expression is not allowed in a hostname of a node";
                let span = self.ast.span(inner.unwrap_or(host));
                self.error("ILLEGAL_HOSTNAME_INTERPOLATION", span, message);
            }
            Expr::Heredoc { .. } => self.report_illegal(host, "hostname", "Node Definition"),
            _ => {}
        }
    }

    fn hostname_text(&mut self, host: ExprId, name: Sym) {
        let name = self.ast.text(name);
        let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if !name.bytes().all(good) {
            let message = format!(
                "The hostname '{name}' contains illegal characters (only letters, digits, '_', '-', \
                 and '.' are allowed)"
            );
            let fault = Diagnostic::error("ILLEGAL_HOSTNAME_CHARS", self.ast.span(host), message);
            self.report(fault);
        }
    }
}

/// True for `0`, `1`, `12`: variables that a match sets.
pub(super) fn is_match_variable(name: &str) -> bool {
    name == "0"
        || (!name.starts_with('0') && is_word(name, u8::is_ascii_digit) && is_all_digits(name))
}

fn is_all_digits(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parts that begin with a small letter; the last one may begin with `_`.
fn is_variable_name(name: &str) -> bool {
    let name = name.strip_prefix("::").unwrap_or(name);
    let (path, last) = name.rsplit_once("::").unwrap_or(("", name));
    let path_is_good = path.is_empty() && !name.contains("::")
        || !path.is_empty()
            && path
                .split("::")
                .all(|part| is_word(part, u8::is_ascii_lowercase));
    path_is_good && is_parameter_name(last)
}

fn is_parameter_name(name: &str) -> bool {
    is_word(name, |byte| byte.is_ascii_lowercase() || *byte == b'_')
}

fn is_word(name: &str, begins: fn(&u8) -> bool) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(begins)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}
