//! Names visible to the code being lowered. Main type: [`LexicalScopes`].

use std::sync::Arc;

use crate::code::{AssignmentSlot, ParameterDefault, VariableSlot};

/// The scopes around the expression that is being lowered, the innermost last.
#[derive(Default)]
pub(super) struct LexicalScopes {
    scopes: Vec<ScopeNames>,
}

struct ScopeNames {
    /// Name of the code in error texts.
    callee: Arc<str>,
    /// True if the variables are in the top scope and have no slots.
    is_top: bool,
    variables: Vec<Arc<str>>,
    /// The parameter whose default is being lowered, and how many parameters there are.
    default: Option<(usize, usize)>,
}

impl LexicalScopes {
    pub(super) fn open(&mut self, callee: Arc<str>, is_top: bool) {
        self.scopes.push(ScopeNames {
            callee,
            is_top,
            variables: Vec::new(),
            default: None,
        });
    }

    /// Closes the innermost scope; returns the names that have slots, in their order.
    pub(super) fn close(&mut self) -> Vec<Arc<str>> {
        self.scopes
            .pop()
            .map(|scope| scope.variables)
            .unwrap_or_default()
    }

    pub(super) fn enter_default(&mut self, parameter: usize, parameters: usize) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.default = Some((parameter, parameters));
        }
    }

    pub(super) fn leave_default(&mut self) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.default = None;
        }
    }

    /// Declares an assigned name and returns its storage.
    pub(super) fn declare(&mut self, name: &Arc<str>) -> AssignmentSlot {
        let Some(scope) = self.scopes.last_mut() else {
            return AssignmentSlot::Global;
        };
        if scope.default.is_some() {
            return AssignmentSlot::Forbidden;
        }
        if scope.is_top {
            return AssignmentSlot::Global;
        }
        let index = scope
            .variables
            .iter()
            .position(|it| it == name)
            .unwrap_or_else(|| {
                scope.variables.push(Arc::clone(name));
                scope.variables.len() - 1
            });
        // variables beyond 65,535 in one scope share the last slot
        AssignmentSlot::Slot(u16::try_from(index).unwrap_or(u16::MAX))
    }

    /// Candidate slots of a name that is read, the innermost first.
    pub(super) fn find(&self, name: &str) -> (Box<[VariableSlot]>, Option<ParameterDefault>) {
        let mut slots = Vec::new();
        let mut default_of = None;
        for (up, scope) in self.scopes.iter().rev().filter(|it| !it.is_top).enumerate() {
            let Some(index) = scope.variables.iter().position(|it| **it == *name) else {
                continue;
            };
            if let (Ok(up), Ok(index)) = (u16::try_from(up), u16::try_from(index)) {
                slots.push(VariableSlot { up, index });
            }
            if let Some((parameter, parameters)) = scope.default
                && index < parameters
            {
                default_of = Some(ParameterDefault {
                    callee: Arc::clone(&scope.callee),
                    parameter: Arc::clone(&scope.variables[parameter]),
                    is_earlier: index < parameter,
                });
                break;
            }
        }
        (slots.into(), default_of)
    }
}
