//! Lowering of the AST of a file to the evaluated form: [`unit`].
//!
//! Variables get slots: a name that a function, block or plan assigns, or takes as a parameter, is
//! a slot in its frame. A name is read from the innermost frame whose slot is set, then from scopes
//! without slots: the frame around an evaluated text, and the top scope.
//!
//! Invariant: names are declared in the order of the text, which is the order of evaluation.

mod applications;
mod calls;
mod catalog;
mod expressions;
mod lexical_scopes;

use std::sync::Arc;

use pcore::Value;
use syntax::ast::{Ast, AstSlice, DefinitionKind, Expr, ExprId, Param};

pub(crate) use self::catalog::BUILT_IN_VARIABLES;
use self::lexical_scopes::LexicalScopes;
use crate::budget::StackBudget;
use crate::catalog_code::NodeBlock;
use crate::code::{
    AssignmentSlot, CodeBody, CodeParameter, DefinitionCode, LoweredDefinition, LoweredNode,
    LoweredUnit, NodeId, NodeKind, UnitCode,
};
use crate::defaults::SEARCHED_VARIABLES_MAX;
use crate::error::{BUDGET_EXHAUSTED, EvalError, EvalResult};
use crate::source_language::FileScope;

/// Lowers a parsed file to a unit.
pub(crate) fn unit(
    ast: Arc<Ast>,
    scope: FileScope,
    stack: StackBudget,
) -> EvalResult<Arc<LoweredUnit>> {
    let mut lowering = AstLowering {
        ast: Arc::clone(&ast),
        nodes: Vec::with_capacity(ast.len()),
        codes: Vec::new(),
        names: LexicalScopes::default(),
        stack,
    };
    let main = lowering.main(scope)?;
    let definitions = lowering.definitions()?;
    let node_blocks = lowering.node_blocks()?;
    let sites = lowering.sites()?;
    let mappings = lowering.mappings()?;
    Ok(LoweredUnit::new(UnitCode {
        ast,
        nodes: lowering.nodes,
        codes: lowering.codes,
        definitions,
        node_blocks,
        sites,
        mappings,
        main,
    }))
}

/// Lowers the statements of an `apply` block to a unit, as those of a manifest. Variables that the
/// block assigns are in the top scope.
pub(crate) fn apply_block(
    ast: Arc<Ast>,
    expression: ExprId,
    stack: StackBudget,
) -> EvalResult<Arc<LoweredUnit>> {
    let mut lowering = AstLowering {
        ast: Arc::clone(&ast),
        nodes: Vec::new(),
        codes: Vec::new(),
        names: LexicalScopes::default(),
        stack,
    };
    let statements = match ast.expr(expression) {
        Expr::Apply { body, .. } => body,
        _ => None,
    };
    let name: Arc<str> = "main".into();
    lowering.names.open(Arc::clone(&name), true);
    let body = lowering.optional(statements, ast.span(expression).start)?;
    let main = lowering.finish(name, Vec::new(), body, None);
    let node_blocks = lowering.node_blocks_of(statements)?;
    Ok(LoweredUnit::new(UnitCode {
        ast,
        nodes: lowering.nodes,
        codes: lowering.codes,
        definitions: Vec::new(),
        node_blocks,
        sites: Vec::new(),
        mappings: Vec::new(),
        main,
    }))
}

struct AstLowering {
    ast: Arc<Ast>,
    nodes: Vec<LoweredNode>,
    codes: Vec<CodeBody>,
    names: LexicalScopes,
    stack: StackBudget,
}

/// Parts of a definition or lambda that are lowered to code.
struct UnitParts {
    name: Arc<str>,
    parameters: AstSlice<Param>,
    returns: Option<ExprId>,
    body: Option<ExprId>,
    at: u32,
}

impl AstLowering {
    fn push(&mut self, kind: NodeKind, at: u32) -> NodeId {
        let id = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(LoweredNode { kind, at });
        NodeId(id)
    }

    fn main(&mut self, scope: FileScope) -> EvalResult<u32> {
        let ast = Arc::clone(&self.ast);
        let Some(epp) = ast.epp() else {
            let name: Arc<str> = "main".into();
            self.names.open(Arc::clone(&name), scope == FileScope::Top);
            let body = self.optional(ast.body(), 0)?;
            return Ok(self.finish(name, Vec::new(), body, None));
        };
        let name: Arc<str> = "lambda".into();
        self.names.open(Arc::clone(&name), false);
        let parameters = self.parameters(epp.params)?;
        let body = self.optional(ast.body(), 0)?;
        let body = self.push(NodeKind::Epp(body), 0);
        let code = self.finish(name, parameters, body, None);
        if let Some(code) = self.codes.last_mut() {
            code.declares_parameters = epp.params_given;
        }
        Ok(code)
    }

    fn definitions(&mut self) -> EvalResult<Vec<LoweredDefinition>> {
        let ast = Arc::clone(&self.ast);
        let mut definitions = Vec::new();
        for (index, definition) in ast.definitions().iter().enumerate() {
            let at = definition.span.start;
            let what = match &definition.kind {
                DefinitionKind::Function(body) | DefinitionKind::Plan(body) => {
                    let code = self.code(
                        false,
                        &UnitParts {
                            name: Arc::clone(ast.text(body.name)),
                            parameters: body.params,
                            returns: body.return_type,
                            body: body.body,
                            at,
                        },
                    )?;
                    match definition.kind {
                        DefinitionKind::Plan(_) => DefinitionCode::Plan { code },
                        _ => DefinitionCode::Function { code },
                    }
                }
                DefinitionKind::TypeAlias(alias) => {
                    self.names.open("type".into(), true);
                    let body = self.lower(alias.type_expr)?;
                    self.names.close();
                    DefinitionCode::Alias { body }
                }
                DefinitionKind::Class(class) => DefinitionCode::Class {
                    code: self.class_code(&class.body, at)?,
                },
                DefinitionKind::ResourceType(body) => DefinitionCode::DefinedType {
                    code: self.class_code(body, at)?,
                },
                DefinitionKind::TypeDefinition(_) => DefinitionCode::TypeDefinition,
                DefinitionKind::Application(body) => DefinitionCode::Application {
                    code: self.application_code(body, at)?,
                },
                DefinitionKind::Capability(body) => DefinitionCode::Capability {
                    code: self.class_code(body, at)?,
                },
                DefinitionKind::Node(_)
                | DefinitionKind::TypeMapping(_)
                | DefinitionKind::Site(_)
                | DefinitionKind::CapabilityMapping(_) => continue,
            };
            if let Some(name) = definition.name() {
                definitions.push(LoweredDefinition {
                    name: Arc::clone(ast.text(name)),
                    what,
                    index,
                });
            }
        }
        Ok(definitions)
    }

    fn node_blocks(&mut self) -> EvalResult<Vec<NodeBlock>> {
        let ast = Arc::clone(&self.ast);
        let definitions = ast.definitions().iter();
        definitions
            .filter_map(|definition| match &definition.kind {
                DefinitionKind::Node(node) => Some((node, definition.span.start)),
                _ => None,
            })
            .map(|(node, at)| self.node_block(node, at))
            .collect()
    }

    /// The node blocks among the statements of an `apply` block.
    fn node_blocks_of(&mut self, body: Option<ExprId>) -> EvalResult<Vec<NodeBlock>> {
        let ast = Arc::clone(&self.ast);
        let statements = ast.statements(body).into_iter();
        statements
            .filter_map(|statement| ast.as_definition(statement))
            .filter_map(|definition| match &definition.kind {
                DefinitionKind::Node(node) => Some((node, definition.span.start)),
                _ => None,
            })
            .map(|(node, at)| self.node_block(node, at))
            .collect()
    }

    /// Lowers a definition or lambda. A lambda sees the names around it, a definition does not.
    fn code(&mut self, is_lambda: bool, parts: &UnitParts) -> EvalResult<u32> {
        let outer = (!is_lambda).then(|| std::mem::take(&mut self.names));
        self.names.open(Arc::clone(&parts.name), false);
        let parameters = self.parameters(parts.parameters)?;
        let returns = match parts.returns {
            Some(ty) => Some(self.lower(ty)?),
            None => None,
        };
        let body = self.optional(parts.body, parts.at)?;
        let code = self.finish(Arc::clone(&parts.name), parameters, body, returns);
        if let Some(outer) = outer {
            self.names = outer;
        }
        Ok(code)
    }

    fn parameters(&mut self, parameters: AstSlice<Param>) -> EvalResult<Vec<CodeParameter>> {
        let ast = Arc::clone(&self.ast);
        let given = ast.get(parameters);
        let slots: Vec<u16> = given
            .iter()
            .map(|it| match self.names.declare(ast.text(it.name)) {
                AssignmentSlot::Slot(slot) => slot,
                AssignmentSlot::Global | AssignmentSlot::Forbidden => u16::MAX,
            })
            .collect();
        let mut lowered = Vec::with_capacity(given.len());
        for (index, parameter) in given.iter().enumerate() {
            let ty = match parameter.type_expr {
                Some(ty) => Some(self.lower(ty)?),
                None => None,
            };
            let default = match parameter.default {
                Some(value) => {
                    self.names.enter_default(index, given.len());
                    let value = self.lower(value)?;
                    self.names.leave_default();
                    Some(value)
                }
                None => None,
            };
            lowered.push(CodeParameter {
                name: Arc::clone(ast.text(parameter.name)),
                slot: slots[index],
                ty,
                default,
                is_rest: parameter.captures_rest,
                at: parameter.span.start,
            });
        }
        Ok(lowered)
    }

    fn finish(
        &mut self,
        name: Arc<str>,
        parameters: Vec<CodeParameter>,
        body: NodeId,
        returns: Option<NodeId>,
    ) -> u32 {
        let variables = self.names.close();
        let is_plain = returns.is_none()
            && parameters.iter().enumerate().all(|(index, it)| {
                it.ty.is_none()
                    && it.default.is_none()
                    && !it.is_rest
                    && usize::from(it.slot) == index
            });
        let index = u32::try_from(self.codes.len()).unwrap_or(u32::MAX);
        self.codes.push(CodeBody {
            name,
            parameters,
            body,
            returns,
            slots_by_name: (variables.len() > SEARCHED_VARIABLES_MAX).then(|| {
                let names = variables.iter().cloned();
                names.enumerate().map(|(slot, name)| (name, slot)).collect()
            }),
            variables,
            is_plain,
            declares_parameters: false,
        });
        index
    }

    fn optional(&mut self, id: Option<ExprId>, at: u32) -> EvalResult<NodeId> {
        match id {
            Some(id) => self.lower(id),
            None => Ok(self.push(NodeKind::Nop, at)),
        }
    }

    fn constant(&mut self, value: Value, at: u32) -> NodeId {
        self.push(NodeKind::Const(value), at)
    }

    /// The expression inside any parentheses.
    fn unwind(&self, mut id: ExprId) -> ExprId {
        while let Expr::Paren(inner) = self.ast.expr(id) {
            id = inner;
        }
        id
    }

    fn check_depth(&self, at: u32) -> EvalResult<()> {
        self.stack.check().map_err(|_| {
            let position = self.ast.source().position(at);
            EvalError::with_location(
                BUDGET_EXHAUSTED,
                "expressions are too deep inside each other",
                crate::error::SourceLocation {
                    file: self.ast.source().name().cloned(),
                    line: position.line,
                    column: position.column,
                },
            )
            .into()
        })
    }
}
