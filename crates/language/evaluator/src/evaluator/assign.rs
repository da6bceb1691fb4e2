//! `=`: to a variable, to a list of them from a list or a hash.

use pcore::Value;

use super::{EvalContext, Evaluator};
use crate::catalog_host::CatalogHost;
use crate::code::{AssignmentSlot, AssignmentTarget, LoweredNode, NodeId};
use crate::error::{EvalResult, raise};

/// Variables that only the host may set.
const RESERVED: [&str; 2] = ["trusted", "facts"];

impl Evaluator<'_> {
    #[inline(never)]
    pub(super) fn assign(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        target: &AssignmentTarget,
        value: NodeId,
    ) -> EvalResult {
        let value = self.eval(cx, value)?;
        self.assign_to(cx, node.at, target, &value)?;
        Ok(value)
    }

    fn assign_to(
        &mut self,
        cx: EvalContext<'_>,
        at: u32,
        target: &AssignmentTarget,
        value: &Value,
    ) -> EvalResult<()> {
        match target {
            AssignmentTarget::Variable {
                name,
                place,
                at: left,
            } => {
                if name.contains("::") {
                    let text = format!(
                        "Illegal attempt to assign to '{name}'. Cannot assign to variables in other namespaces"
                    );
                    return Err(self.fail(cx, *left, "CROSS_SCOPE_ASSIGNMENT", text));
                }
                self.set_variable(cx, at, name, *place, value.clone())
            }
            AssignmentTarget::List(targets) => self.assign_list(cx, at, targets, value),
            AssignmentTarget::Number(name, left) => {
                let text = format!(
                    "Illegal attempt to assign to the numeric match result variable '${name}'. Numeric variables are not assignable"
                );
                Err(self.fail(cx, *left, "ILLEGAL_NUMERIC_ASSIGNMENT", text))
            }
            AssignmentTarget::Illegal { label, at: left } => {
                let text =
                    format!("Illegal attempt to assign to '{label}'. Not an assignable reference");
                Err(self.fail(cx, *left, "ILLEGAL_ASSIGNMENT", text))
            }
        }
    }

    fn assign_list(
        &mut self,
        cx: EvalContext<'_>,
        at: u32,
        targets: &[AssignmentTarget],
        value: &Value,
    ) -> EvalResult<()> {
        if let Value::Hash(entries) = value {
            for target in targets {
                let name = match target {
                    AssignmentTarget::Variable { name, .. } => name.as_ref(),
                    _ => "",
                };
                let Some(value) = entries.get_str(name) else {
                    let text = format!(
                        "No value for required key '{name}' in assignment to variables from hash"
                    );
                    return Err(self.fail(cx, at, "MISSING_MULTI_ASSIGNMENT_KEY", text));
                };
                self.assign_to(cx, at, target, value)?;
            }
            return Ok(());
        }
        if let Value::Type(ty) = value
            && let pcore::TypeKind::Class(name) = ty.kind()
        {
            if let Some(catalog) = self.host.catalog() {
                let name = name.as_deref().unwrap_or_default();
                return self.assign_from_class(cx, at, targets, catalog, name);
            }
            let text = "The catalog operation 'multi var assignment from class' is only available when compiling a catalog";
            return Err(self.fail(
                cx,
                at,
                "CATALOG_OPERATION_NOT_SUPPORTED_WHEN_SCRIPTING",
                text,
            ));
        }
        if self.looks_ahead && value.is_unknown() {
            self.depends_on(&[value]);
            return targets
                .iter()
                .try_for_each(|target| self.assign_to(cx, at, target, value));
        }
        let single = std::slice::from_ref(value);
        let values = value.as_array().unwrap_or(single);
        if values.len() != targets.len() {
            let text = format!(
                "Mismatched number of assignable entries and values, expected {}, got {}",
                targets.len(),
                values.len()
            );
            return Err(self.fail(cx, at, "ILLEGAL_MULTI_ASSIGNMENT_SIZE", text));
        }
        for (target, value) in targets.iter().zip(values) {
            self.assign_to(cx, at, target, value)?;
        }
        Ok(())
    }

    /// `[$a, $b] = Class['c']`: the variables of a class by their names.
    fn assign_from_class(
        &mut self,
        cx: EvalContext<'_>,
        at: u32,
        targets: &[AssignmentTarget],
        catalog: &dyn CatalogHost,
        class: &str,
    ) -> EvalResult<()> {
        let Some(variables) = catalog.class_variables(class) else {
            let text = format!("Resource not found: Class['{class}']");
            return Err(self.fail(cx, at, "UNKNOWN_RESOURCE", text));
        };
        for target in targets {
            let (name, left) = match target {
                AssignmentTarget::Variable { name, at, .. } => (name.as_ref(), *at),
                _ => ("", at),
            };
            let Some(value) = variables.own(name) else {
                let text = format!(
                    "No value for required variable '${class}::{name}' in assignment to variables from class reference"
                );
                return Err(self.fail(cx, left, "MISSING_MULTI_ASSIGNMENT_VARIABLE", text));
            };
            self.assign_to(cx, at, target, &value)?;
        }
        Ok(())
    }

    fn set_variable(
        &mut self,
        cx: EvalContext<'_>,
        at: u32,
        name: &std::sync::Arc<str>,
        place: AssignmentSlot,
        value: Value,
    ) -> EvalResult<()> {
        let is_set = match place {
            AssignmentSlot::Slot(index) => cx.frame.is_some_and(|frame| frame.is_set(index)),
            AssignmentSlot::Global => self.shared.globals.is_set(name),
            AssignmentSlot::Forbidden => {
                return raise(format!(
                    "Attempt to assign variable {name} when evaluating parameters"
                ));
            }
        };
        if RESERVED.contains(&name.as_ref()) || &**name == "server_facts" {
            if self.host.catalog().is_some() && matches!(place, AssignmentSlot::Slot(_)) {
                return raise(format!(
                    "Attempt to assign to a reserved variable name: '{name}'"
                ));
            }
            let text = format!("Attempt to assign to a reserved variable name: '${name}'");
            return Err(self.fail(cx, at, "ILLEGAL_RESERVED_ASSIGNMENT", text));
        }
        if is_set {
            return Err(self.reassigned(cx, at, name));
        }
        match (place, cx.frame) {
            (AssignmentSlot::Slot(index), Some(frame)) => frame.set(index, value),
            _ => self.shared.globals.set(std::sync::Arc::clone(name), value),
        }
        Ok(())
    }

    #[cold]
    fn reassigned(
        &self,
        cx: EvalContext<'_>,
        at: u32,
        name: &str,
    ) -> Box<crate::error::EvalUnwind> {
        let text = if matches!(name, "name" | "title") {
            format!("Cannot reassign built in (or already assigned) variable '${name}'")
        } else {
            format!("Cannot reassign variable '${name}'")
        };
        crate::error::EvalError::with_location(
            "ILLEGAL_REASSIGNMENT",
            text,
            cx.unit.location_at(at),
        )
        .with_hint("a variable has one value in its scope; give the new value a name of its own")
        .into()
    }
}
