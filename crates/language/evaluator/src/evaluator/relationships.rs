//! Relationships: `->`, `~>`, `<-` and `<~` between resources, references and collectors.
//!
//! Invariant: a relationship is handed to the host with both operands, from source to target.

use std::collections::HashSet;

use pcore::{Type, TypeKind, Value};
use syntax::ast::EdgeOp;

use super::{EvalContext, Evaluator};
use crate::catalog_code::RelationshipNode;
use crate::catalog_host::{
    CatalogHost, CatalogRelationship, CollectorReference, RelationshipOperand,
};
use crate::code::LoweredNode;
use crate::error::EvalResult;
use crate::label;

impl Evaluator<'_> {
    #[inline(never)]
    pub(super) fn relationship(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        chain: &RelationshipNode,
    ) -> EvalResult {
        let catalog = self.catalog_host(cx, node)?;
        let first = self.eval(cx, chain.first)?;
        let mut left: Option<Vec<RelationshipOperand>> = None;
        for step in &chain.rest {
            let right = self.eval(cx, step.right)?;
            let sources = match left.take() {
                Some(operands) => operands,
                None => self.operands(cx, step.at, &first)?,
            };
            let targets = self.operands(cx, step.at, &right)?;
            left = Some(relate(
                cx,
                step.at,
                catalog,
                step.operator,
                sources,
                targets,
            )?);
        }
        Ok(Value::array(
            left.unwrap_or_default().iter().map(operand_value).collect(),
        ))
    }

    /// The different operands in a value.
    #[expect(
        clippy::mutable_key_type,
        reason = "a type's hash is that of its parts; only compiled patterns are added later"
    )]
    fn operands(
        &mut self,
        cx: EvalContext<'_>,
        at: u32,
        value: &Value,
    ) -> EvalResult<Vec<RelationshipOperand>> {
        let flat = match value {
            Value::Array(elements) => crate::ruby::flatten(elements),
            single => vec![single.clone()],
        };
        self.charge_steps(flat.len())?;
        let mut seen = HashSet::with_capacity(flat.len());
        let mut operands = Vec::with_capacity(flat.len());
        for value in &flat {
            let operand = self.operand(cx, at, value)?;
            if seen.insert(operand.clone()) {
                operands.push(operand);
            }
        }
        Ok(operands)
    }

    fn operand(
        &mut self,
        cx: EvalContext<'_>,
        at: u32,
        value: &Value,
    ) -> EvalResult<RelationshipOperand> {
        if let Some(collector) = value.downcast_object::<CollectorReference>() {
            return Ok(RelationshipOperand::Collector(collector.index));
        }
        let ty = match value {
            Value::Type(ty) => ty.clone(),
            Value::Str(text) => self.parse_type(text, &[])?,
            other => {
                let text = format!(
                    "Illegal relationship operand, can not form a relationship with {}. A Catalog type is required.",
                    label::with_article(&label::value_label(other))
                );
                return Err(self.fail(cx, at, "ILLEGAL_RELATIONSHIP_OPERAND_TYPE", text));
            }
        };
        match ty.kind() {
            TypeKind::Class(_) | TypeKind::Resource { .. } => {
                Ok(RelationshipOperand::Reference(ty))
            }
            _ => {
                let text = format!(
                    "Illegal relationship operand, can not form a relationship with something of type {ty}. A Catalog type is required."
                );
                Err(self.fail(cx, at, "NOT_CATALOG_TYPE", text))
            }
        }
    }
}

/// Adds the relationships of one operator, and returns the operands to which a chain goes on.
fn relate(
    cx: EvalContext<'_>,
    at: u32,
    catalog: &dyn CatalogHost,
    operator: EdgeOp,
    left: Vec<RelationshipOperand>,
    right: Vec<RelationshipOperand>,
) -> EvalResult<Vec<RelationshipOperand>> {
    let is_reverse = matches!(operator, EdgeOp::Require | EdgeOp::Subscribe);
    let (sources, targets) = if is_reverse {
        (&right, &left)
    } else {
        (&left, &right)
    };
    catalog.relate(CatalogRelationship {
        sources: sources.clone(),
        targets: targets.clone(),
        is_subscription: matches!(operator, EdgeOp::Notify | EdgeOp::Subscribe),
        location: cx.unit.location_at(at),
    })?;
    match right.as_slice() {
        [] => return Ok(left),
        [RelationshipOperand::Collector(index)] => catalog.set_alternative(*index, &left),
        _ => {}
    }
    Ok(right)
}

fn operand_value(operand: &RelationshipOperand) -> Value {
    match operand {
        RelationshipOperand::Reference(ty) => Value::Type(Type::clone(ty)),
        RelationshipOperand::Collector(index) => Value::object(CollectorReference {
            index: *index,
            is_exported: false,
        }),
    }
}
