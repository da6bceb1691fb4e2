//! Lowering of expressions that need a catalog, and of classes, defined types and node blocks.
//!
//! Invariant: nothing is evaluated; an expression keeps its place in the manifest.

use std::sync::Arc;

use pcore::{Regexp, Type};
use syntax::ast::{
    AstSlice, AttributeOp, AttributeOpKind, BinaryOp, CollectId, DefinitionBody, Expr, ExprId,
    NodeDefinition, Param, ResourceId,
};

use super::AstLowering;
use crate::catalog_code::{
    AttributeNode, CollectorNode, CollectorQueryNode, NodeBlock, NodeHost, RelationshipNode,
    RelationshipStep, ResourceBodyNode, ResourceDefaultsNode, ResourceNode, ResourceOverrideNode,
    ResourceTypeNode,
};
use crate::code::{NodeId, NodeKind};
use crate::error::EvalResult;
use crate::label;

/// Variables that every class and defined type has besides its parameters, in the order of their
/// slots, which follow those of the parameters.
pub(crate) const BUILT_IN_VARIABLES: [&str; 4] =
    ["title", "name", "module_name", "caller_module_name"];

impl AstLowering {
    /// Lowers a resource, defaults, an override, a collector or a relationship.
    pub(super) fn catalog(&mut self, id: ExprId, at: u32) -> EvalResult<NodeId> {
        let kind = match self.ast.expr(id) {
            Expr::Resource(resource) => NodeKind::Resource(Box::new(self.resource(resource)?)),
            Expr::ResourceDefaults { type_ref, ops, .. } => {
                let defaults = ResourceDefaultsNode {
                    type_ref: self.lower(type_ref)?,
                    attributes: self.attributes(ops)?,
                };
                NodeKind::ResourceDefaults(Box::new(defaults))
            }
            Expr::ResourceOverride { resources, ops, .. } => {
                let changes = ResourceOverrideNode {
                    resources: self.lower(resources)?,
                    attributes: self.attributes(ops)?,
                };
                NodeKind::ResourceOverride(Box::new(changes))
            }
            Expr::Collect(collect) => NodeKind::Collector(Box::new(self.collector(collect)?)),
            Expr::Relationship { .. } => NodeKind::Relationship(Box::new(self.relationship(id)?)),
            _ => {
                let text = format!(
                    "Illegal expression. {} is unacceptable here",
                    label::with_capital_article(&self.ast.label(id))
                );
                NodeKind::Illegal(Box::new(("ILLEGAL_EXPRESSION", text)))
            }
        };
        Ok(self.push(kind, at))
    }

    fn resource(&mut self, id: ResourceId) -> EvalResult<ResourceNode> {
        let resource = *self.ast.resource(id);
        let type_name = match self.ast.expr(resource.type_name) {
            Expr::QName(name) => ResourceTypeNode::Name(Arc::clone(self.ast.text(name))),
            expr => ResourceTypeNode::Expression {
                is_reference: match expr {
                    Expr::QRef(_) => true,
                    Expr::Access { left, .. } => matches!(self.ast.expr(left), Expr::QRef(_)),
                    _ => false,
                },
                type_expr: self.lower(resource.type_name)?,
            },
        };
        let ast = Arc::clone(&self.ast);
        let mut bodies = Vec::new();
        for body in ast.get(resource.bodies) {
            bodies.push(ResourceBodyNode {
                title: self.lower(body.title)?,
                attributes: self.attributes(body.ops)?,
            });
        }
        Ok(ResourceNode {
            form: resource.form,
            type_name,
            bodies: bodies.into(),
        })
    }

    fn attributes(&mut self, ops: AstSlice<AttributeOp>) -> EvalResult<Box<[AttributeNode]>> {
        let ast = Arc::clone(&self.ast);
        let lower = |op: &AttributeOp| {
            Ok(AttributeNode {
                kind: op.kind,
                name: match (op.kind, op.name) {
                    (AttributeOpKind::Splat, _) | (_, None) => "".into(),
                    (_, Some(name)) => Arc::clone(ast.text(name)),
                },
                value: self.lower(op.value)?,
                at: op.span.start,
            })
        };
        ast.get(ops).iter().map(lower).collect()
    }

    fn collector(&mut self, id: CollectId) -> EvalResult<CollectorNode> {
        let collect = *self.ast.collect(id);
        let type_name = match self.ast.expr(collect.type_expr) {
            Expr::QRef(name) => Some(Arc::clone(self.ast.text(name))),
            _ => None,
        };
        let query = match collect.query {
            Some(query) if self.ast.expr(query) != Expr::Nop => Some(self.query(query)?),
            _ => None,
        };
        Ok(CollectorNode {
            type_name,
            is_exported: collect.exported,
            query,
            attributes: self.attributes(collect.ops)?,
        })
    }

    fn query(&mut self, id: ExprId) -> EvalResult<CollectorQueryNode> {
        self.check_depth(self.ast.span(id).start)?;
        let id = self.unwind(id);
        let (op, left, right) = match self.ast.expr(id) {
            Expr::Binary { op, left, right } => (op, left, right),
            _ => return Ok(CollectorQueryNode::Illegal(self.ast.label(id))),
        };
        Ok(match op {
            BinaryOp::And => CollectorQueryNode::And(self.query_operands(id, op)?),
            BinaryOp::Or => CollectorQueryNode::Or(self.query_operands(id, op)?),
            BinaryOp::Eq | BinaryOp::Ne => CollectorQueryNode::Compare {
                is_equal: op == BinaryOp::Eq,
                attribute: self.lower(left)?,
                value: self.lower(right)?,
            },
            other => CollectorQueryNode::Illegal(label::operator_label(other.text())),
        })
    }

    /// The operands of an operator that is repeated, from the left.
    fn query_operands(
        &mut self,
        id: ExprId,
        op: BinaryOp,
    ) -> EvalResult<Box<[CollectorQueryNode]>> {
        let mut operands = Vec::new();
        let mut leftmost = id;
        while let Expr::Binary {
            op: repeated,
            left,
            right,
        } = self.ast.expr(leftmost)
            && repeated == op
        {
            operands.push(right);
            leftmost = self.unwind(left);
        }
        operands.push(leftmost);
        operands
            .into_iter()
            .rev()
            .map(|operand| self.query(operand))
            .collect()
    }

    /// Lowers a chain, which leans to the left and may be long, without recursion.
    fn relationship(&mut self, id: ExprId) -> EvalResult<RelationshipNode> {
        let mut chain = Vec::new();
        let mut leftmost = id;
        while let Expr::Relationship { op, left, right } = self.ast.expr(leftmost) {
            chain.push((op, right, self.ast.span(leftmost).start));
            leftmost = left;
        }
        let first = self.lower(leftmost)?;
        let mut rest = Vec::with_capacity(chain.len());
        for (operator, right, at) in chain.into_iter().rev() {
            let right = self.lower(right)?;
            rest.push(RelationshipStep {
                operator,
                right,
                at,
            });
        }
        Ok(RelationshipNode {
            first,
            rest: rest.into(),
        })
    }

    /// Lowers a class or defined type: its parameters have the first slots, then the
    /// [`BUILT_IN_VARIABLES`].
    pub(super) fn class_code(&mut self, body: &DefinitionBody, at: u32) -> EvalResult<u32> {
        let name = Arc::clone(self.ast.text(body.name));
        self.scope_code(name, (body.params, Vec::new()), body.body, at)
    }

    /// Lowers code that has a scope in the catalog. The parameters of the source have the first
    /// slots, then those that every such definition has.
    pub(super) fn scope_code(
        &mut self,
        name: Arc<str>,
        (parameters, implicit): (AstSlice<Param>, Vec<(Arc<str>, Type)>),
        body: Option<ExprId>,
        at: u32,
    ) -> EvalResult<u32> {
        let outer = std::mem::take(&mut self.names);
        self.names.open(Arc::clone(&name), false);
        let mut parameters = self.parameters(parameters)?;
        for (name, ty) in implicit {
            parameters.push(self.implicit_parameter(name, ty, at));
        }
        for name in BUILT_IN_VARIABLES {
            self.names.declare(&name.into());
        }
        let body = self.optional(body, at)?;
        let code = self.finish(name, parameters, body, None);
        self.names = outer;
        Ok(code)
    }

    pub(super) fn node_block(&mut self, node: &NodeDefinition, at: u32) -> EvalResult<NodeBlock> {
        let ast = Arc::clone(&self.ast);
        let hosts = ast.get(node.hosts).iter().map(|host| self.host(*host));
        let hosts = hosts.collect();
        let code = self.scope_code("node".into(), (AstSlice::EMPTY, Vec::new()), node.body, at)?;
        Ok(NodeBlock { hosts, code, at })
    }

    fn host(&self, id: ExprId) -> NodeHost {
        match self.ast.expr(id) {
            Expr::Default => NodeHost::Default,
            Expr::Regex(source) => NodeHost::Pattern(Regexp::new(&**self.ast.text(source))),
            Expr::Str(name) | Expr::QName(name) => {
                NodeHost::Name(self.ast.text(name).to_lowercase().into())
            }
            _ => NodeHost::Name("".into()),
        }
    }
}
