//! The handle of a block that runs in parallel to a plan. Main type: [`PlanFuture`].
//!
//! Invariant: a future only identifies its branch; the result is stored in `PlanEvaluation`.

use std::any::Any;
use std::sync::Arc;

use pcore::{Hash, PuppetObject, Type, Value};
use plans::BranchId;

use crate::types;

/// The language's `Future`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlanFuture {
    branch: BranchId,
    name: Arc<str>,
}

impl PlanFuture {
    pub(crate) fn new(branch: BranchId, name: &str) -> Self {
        let name = name.into();
        Self { branch, name }
    }

    pub(crate) fn branch(&self) -> &BranchId {
        &self.branch
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl PuppetObject for PlanFuture {
    fn object_type(&self) -> Type {
        types::future()
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        match name {
            "name" => Some(Value::Str(self.name.clone())),
            "id" => Some(Value::from(self.branch.to_string().as_str())),
            _ => None,
        }
    }

    fn equals(&self, other: &dyn PuppetObject) -> bool {
        other.as_any().downcast_ref::<Self>() == Some(self)
    }

    fn init_hash(&self) -> Hash {
        let id = self.branch.to_string();
        [("id", id.as_str()), ("name", self.name())]
            .into_iter()
            .collect()
    }

    fn text(&self) -> Option<String> {
        Some(self.name.to_string())
    }

    fn is_of_host(&self) -> bool {
        true
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
