//! Interface between an evaluation and the compiler of a catalog. Main type: [`CatalogHost`].
//!
//! The evaluator evaluates titles, attributes and queries; the compiler keeps the resources.
//! Invariant: the compiler gets values only, never expressions, and the scope of the code that
//! contains the expression.

use std::any::Any;
use std::sync::Arc;

use pcore::{Hash, PuppetObject, Type, Value};
use syntax::ast::ResourceForm;

use crate::Evaluator;
use crate::error::{EvalResult, SourceLocation};
use crate::frame::CatalogScopeId;
use crate::variable_scope::VariableScope;

/// Compiler of a catalog, which receives the effects of expressions that need one.
pub trait CatalogHost {
    /// Adds resources to the catalog and returns their references in order.
    fn declare(
        &self,
        evaluator: &mut Evaluator<'_>,
        declaration: ResourceDeclaration,
    ) -> EvalResult<Vec<Value>>;

    /// Sets defaults for resources that are declared later.
    fn set_defaults(
        &self,
        evaluator: &mut Evaluator<'_>,
        defaults: ResourceChange,
    ) -> EvalResult<()>;

    /// Changes attributes of a resource, which may be declared later.
    fn override_attributes(
        &self,
        evaluator: &mut Evaluator<'_>,
        title: &str,
        changes: ResourceChange,
    ) -> EvalResult<()>;

    /// Adds a collector and returns its index.
    fn collect(
        &self,
        evaluator: &mut Evaluator<'_>,
        collector: CollectorDeclaration,
    ) -> EvalResult<u32>;

    /// Adds a relationship from each source to each target.
    fn relate(&self, relationship: CatalogRelationship) -> EvalResult<()>;

    /// Makes a collector stand for other operands where it has collected nothing: the operands on
    /// its left in a chain.
    fn set_alternative(&self, collector: u32, operands: &[RelationshipOperand]);

    /// Value of an attribute of a declared resource or class.
    fn attribute(
        &self,
        evaluator: &mut Evaluator<'_>,
        type_name: &str,
        title: &str,
        name: &str,
    ) -> EvalResult<AttributeLookup>;

    /// Variables of a class that was evaluated; `None` if it was not.
    fn class_variables(&self, name: &str) -> Option<VariableScope>;

    /// Reference to a resource type; `None` if there is no native or defined type with that name.
    fn resource_type(&self, evaluator: &mut Evaluator<'_>, name: &str) -> EvalResult<Option<Type>>;

    /// Result of `defined` for a name, a reference or a type.
    fn is_defined(&self, evaluator: &mut Evaluator<'_>, what: &Value) -> EvalResult<bool>;
}

/// Result of [`CatalogHost::attribute`]: the value, or what is not there.
#[derive(Debug)]
pub enum AttributeLookup {
    /// The resource is not declared, or not declared yet.
    UnknownResource,
    /// The resource's type has no attribute with that name.
    UnknownAttribute,
    Value(Value),
}

/// An evaluated resource expression.
#[derive(Debug)]
pub struct ResourceDeclaration {
    pub form: ResourceForm,
    /// Name of the type as written.
    pub type_name: Arc<str>,
    pub bodies: Vec<EvaluatedResourceBody>,
    pub scope: CatalogScopeId,
    pub location: SourceLocation,
}

/// Titles, and the attributes that all of them get.
#[derive(Debug)]
pub struct EvaluatedResourceBody {
    pub titles: Vec<Arc<str>>,
    /// True if the titles are the texts of other values, such as the keys of a hash from data. They
    /// are no tags then.
    pub are_converted: bool,
    pub attributes: Vec<ResourceAttribute>,
}

/// An attribute with its value.
#[derive(Debug, Clone)]
pub struct ResourceAttribute {
    pub name: Arc<str>,
    pub value: Value,
    /// True for `+>`, which adds to the value that the resource has.
    pub is_added: bool,
    pub location: SourceLocation,
}

/// Attributes of an override or of resource defaults.
#[derive(Debug)]
pub struct ResourceChange {
    pub type_name: Arc<str>,
    pub attributes: Vec<ResourceAttribute>,
    pub scope: CatalogScopeId,
    pub location: SourceLocation,
}

/// An evaluated collector: its type, query and overrides.
#[derive(Debug)]
pub struct CollectorDeclaration {
    /// Name of the type in lower case.
    pub type_name: String,
    pub is_exported: bool,
    /// The query; `None` collects all resources of the type.
    pub query: Option<CollectorQuery>,
    /// Attributes that the collected resources get.
    pub attributes: Vec<ResourceAttribute>,
    pub scope: CatalogScopeId,
    pub location: SourceLocation,
}

/// A query of a collector, with its values. `a or b or c` is one list, so a long query is not deep.
#[derive(Debug, Clone)]
pub enum CollectorQuery {
    And(Vec<CollectorQuery>),
    Or(Vec<CollectorQuery>),
    Compare {
        is_equal: bool,
        attribute: Arc<str>,
        value: Value,
    },
}

/// Relationships between all sources and all targets.
#[derive(Debug)]
pub struct CatalogRelationship {
    pub sources: Vec<RelationshipOperand>,
    pub targets: Vec<RelationshipOperand>,
    /// True for `~>` and `<~`.
    pub is_subscription: bool,
    pub location: SourceLocation,
}

/// An operand of a relationship.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RelationshipOperand {
    /// A reference such as `File['/x']` or `Class['x']`.
    Reference(Type),
    /// A collector, by its index.
    Collector(u32),
}

/// The value of a collector expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectorReference {
    pub index: u32,
    pub is_exported: bool,
}

impl PuppetObject for CollectorReference {
    fn object_type(&self) -> Type {
        Type::any()
    }

    fn attribute(&self, _: &str) -> Option<Value> {
        None
    }

    fn equals(&self, other: &dyn PuppetObject) -> bool {
        other.as_any().downcast_ref::<Self>() == Some(self)
    }

    fn init_hash(&self) -> Hash {
        Hash::new()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
