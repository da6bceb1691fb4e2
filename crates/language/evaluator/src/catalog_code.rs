//! The evaluated form of expressions that need a catalog: resources, defaults, overrides,
//! collectors, relationships, node blocks, sites and mappings of capabilities.
//!
//! Invariant: a query of a collector has only comparisons, `and` and `or`; every other expression in
//! it is refused when the collector is evaluated.

use std::sync::Arc;

use pcore::Regexp;
use syntax::ast::{AttributeOpKind, CapabilityRole, EdgeOp, ResourceForm};

use crate::code::NodeId;

/// `type { titles: attributes; … }`
#[derive(Debug)]
pub(crate) struct ResourceNode {
    pub(crate) form: ResourceForm,
    pub(crate) type_name: ResourceTypeNode,
    pub(crate) bodies: Box<[ResourceBodyNode]>,
}

/// The type of a resource expression.
#[derive(Debug)]
pub(crate) enum ResourceTypeNode {
    /// A bare name, as in `file { … }`.
    Name(Arc<str>),
    /// An expression whose value is the type. `is_reference` is true for `File` and
    /// `Resource['file']`, the only forms that Puppet accepts.
    Expression {
        type_expr: NodeId,
        is_reference: bool,
    },
}

/// `title: attributes` of a resource expression.
#[derive(Debug)]
pub(crate) struct ResourceBodyNode {
    pub(crate) title: NodeId,
    pub(crate) attributes: Box<[AttributeNode]>,
}

/// `name => value`, `name +> value` or `* => hash`.
#[derive(Debug)]
pub(crate) struct AttributeNode {
    pub(crate) kind: AttributeOpKind,
    /// Name of the attribute; empty for a splat.
    pub(crate) name: Arc<str>,
    pub(crate) value: NodeId,
    pub(crate) at: u32,
}

/// `File { mode => … }`
#[derive(Debug)]
pub(crate) struct ResourceDefaultsNode {
    pub(crate) type_ref: NodeId,
    pub(crate) attributes: Box<[AttributeNode]>,
}

/// `File['/x'] { mode => … }`
#[derive(Debug)]
pub(crate) struct ResourceOverrideNode {
    pub(crate) resources: NodeId,
    pub(crate) attributes: Box<[AttributeNode]>,
}

/// `Type <| query |> { attributes }`, and with `<<| |>>` for exported resources.
#[derive(Debug)]
pub(crate) struct CollectorNode {
    /// The type name as written; `None` if the expression is not a type name.
    pub(crate) type_name: Option<Arc<str>>,
    pub(crate) is_exported: bool,
    pub(crate) query: Option<CollectorQueryNode>,
    pub(crate) attributes: Box<[AttributeNode]>,
}

/// A query of a collector. `a or b or c` is one list, so only parentheses make it deep, which the
/// parser bounds.
#[derive(Debug)]
pub(crate) enum CollectorQueryNode {
    And(Box<[CollectorQueryNode]>),
    Or(Box<[CollectorQueryNode]>),
    Compare {
        is_equal: bool,
        attribute: NodeId,
        value: NodeId,
    },
    /// An expression that is not a query, by its label.
    Illegal(String),
}

/// A chain `a -> b ~> c`, which is evaluated from the left.
#[derive(Debug)]
pub(crate) struct RelationshipNode {
    pub(crate) first: NodeId,
    pub(crate) rest: Box<[RelationshipStep]>,
}

/// One operator of a chain and the operand at its right.
#[derive(Debug)]
pub(crate) struct RelationshipStep {
    pub(crate) operator: EdgeOp,
    pub(crate) right: NodeId,
    pub(crate) at: u32,
}

/// `node hosts { … }`
#[derive(Debug)]
pub(crate) struct NodeBlock {
    pub(crate) hosts: Box<[NodeHost]>,
    pub(crate) code: u32,
    pub(crate) at: u32,
}

/// One host of a node block.
#[derive(Debug, Clone)]
pub enum NodeHost {
    /// A certname in lower case.
    Name(Arc<str>),
    Pattern(Regexp),
    Default,
}

/// `site { … }`
#[derive(Debug)]
pub(crate) struct SiteCode {
    pub(crate) code: u32,
    pub(crate) at: u32,
}

/// `Component produces Capability { … }` or `Component consumes Capability { … }`
#[derive(Debug)]
pub(crate) struct CapabilityMappingCode {
    pub(crate) role: CapabilityRole,
    pub(crate) component: MappedComponent,
    /// Type name of the capability as written.
    pub(crate) capability: Arc<str>,
    /// Names of the attributes or parameters that the mapping sets.
    pub(crate) names: Box<[Arc<str>]>,
    /// Code whose value is a hash of these names and their values.
    pub(crate) code: u32,
    pub(crate) at: u32,
}

/// The component of a mapping, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MappedComponent {
    /// Resources of a type: `Foo::Bar`.
    Type(Arc<str>),
    /// A class: `Class[foo]`.
    Class(Arc<str>),
}
