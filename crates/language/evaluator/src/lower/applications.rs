//! Lowering of applications, sites and mappings of capabilities.
//!
//! Invariant: the code of a mapping has no variables of its own, so it reads those of the scope that
//! it is evaluated in by their names.

use std::sync::Arc;

use pcore::{Type, TypeKind, Value};
use syntax::ast::{AstSlice, CapabilityMapping, DefinitionBody, DefinitionKind, Expr, ExprId};

use super::AstLowering;
use crate::catalog_code::{CapabilityMappingCode, MappedComponent, SiteCode};
use crate::code::{AssignmentSlot, CodeParameter, NodeKind};
use crate::error::EvalResult;

/// The parameter that every application has: its components by node.
const NODES: &str = "nodes";

impl AstLowering {
    /// Lowers an application, which has the parameter `nodes` after its own.
    pub(super) fn application_code(&mut self, body: &DefinitionBody, at: u32) -> EvalResult<u32> {
        let name = Arc::clone(self.ast.text(body.name));
        let nodes = vec![(NODES.into(), nodes_type())];
        self.scope_code(name, (body.params, nodes), body.body, at)
    }

    /// A parameter that the source does not declare.
    pub(super) fn implicit_parameter(
        &mut self,
        name: Arc<str>,
        ty: Type,
        at: u32,
    ) -> CodeParameter {
        let slot = match self.names.declare(&name) {
            AssignmentSlot::Slot(slot) => slot,
            AssignmentSlot::Global | AssignmentSlot::Forbidden => u16::MAX,
        };
        CodeParameter {
            name,
            slot,
            ty: Some(self.constant(Value::Type(ty), at)),
            default: None,
            is_rest: false,
            at,
        }
    }

    pub(super) fn sites(&mut self) -> EvalResult<Vec<SiteCode>> {
        let ast = Arc::clone(&self.ast);
        let definitions = ast.definitions().iter();
        definitions
            .filter_map(|definition| match definition.kind {
                DefinitionKind::Site(site) => Some((site, definition.span.start)),
                _ => None,
            })
            .map(|(site, at)| {
                let parameters = (AstSlice::EMPTY, Vec::new());
                let code = self.scope_code("site".into(), parameters, site.body, at)?;
                Ok(SiteCode { code, at })
            })
            .collect()
    }

    pub(super) fn mappings(&mut self) -> EvalResult<Vec<CapabilityMappingCode>> {
        let ast = Arc::clone(&self.ast);
        let definitions = ast.definitions().iter();
        definitions
            .filter_map(|definition| match definition.kind {
                DefinitionKind::CapabilityMapping(mapping) => {
                    Some((mapping, definition.span.start))
                }
                _ => None,
            })
            .map(|(mapping, at)| self.mapping(&mapping, at))
            .collect()
    }

    fn mapping(
        &mut self,
        mapping: &CapabilityMapping,
        at: u32,
    ) -> EvalResult<CapabilityMappingCode> {
        let ast = Arc::clone(&self.ast);
        let outer = std::mem::take(&mut self.names);
        let name: Arc<str> = mapping.role.text().into();
        self.names.open(Arc::clone(&name), false);
        let mut names = Vec::new();
        let mut entries = Vec::new();
        for op in ast.get(mapping.ops) {
            let Some(attribute) = op.name else {
                continue;
            };
            let attribute = Arc::clone(ast.text(attribute));
            let key = self.constant(Value::Str(Arc::clone(&attribute)), op.span.start);
            entries.push((key, self.lower(op.value)?));
            names.push(attribute);
        }
        let values = self.push(NodeKind::Hash(entries.into()), at);
        let code = self.finish(name, Vec::new(), values, None);
        self.names = outer;
        Ok(CapabilityMappingCode {
            role: mapping.role,
            component: self.mapped_component(mapping.component),
            capability: Arc::clone(ast.text(mapping.capability)),
            names: names.into(),
            code,
            at,
        })
    }

    fn mapped_component(&self, id: ExprId) -> MappedComponent {
        let text = |id| match self.ast.expr(id) {
            Expr::Str(name) | Expr::QName(name) | Expr::QRef(name) => {
                Arc::clone(self.ast.text(name))
            }
            _ => "".into(),
        };
        match self.ast.expr(id) {
            Expr::Access { keys, .. } => MappedComponent::Class(
                self.ast
                    .get(keys)
                    .first()
                    .map_or("".into(), |key| text(*key)),
            ),
            _ => MappedComponent::Type(text(id)),
        }
    }
}

/// `Hash[Type[Node], Variant[C, Array[C]]]` where `C` is `Variant[Type[Resource], Type[Class]]`.
fn nodes_type() -> Type {
    let node = Type::type_of(Type::resource_of("Node", None));
    let resource = TypeKind::Resource {
        type_name: None,
        title: None,
    };
    let kinds = [resource, TypeKind::Class(None)].map(|kind| Type::type_of(kind.into()));
    let component = Type::variant_of(kinds.to_vec());
    let components = Type::array_of(component.clone());
    Type::hash_of(node, Type::variant(vec![component, components]))
}
