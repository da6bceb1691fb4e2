//! Sites and mappings of capabilities: [`SiteDefinition`], [`CapabilityMapping`].

use super::{AstSlice, AttributeOp, ExprId, Sym};

/// `site { … }`, which declares the applications of an environment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SiteDefinition {
    /// `None` if the braces are empty.
    pub body: Option<ExprId>,
}

/// `Component produces Capability { … }` or `Component consumes Capability { … }`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapabilityMapping {
    pub role: CapabilityRole,
    /// A type name, or `Class[name]`.
    pub component: ExprId,
    /// Type name of the capability as written.
    pub capability: Sym,
    /// For a producer, values of the capability's attributes; for a consumer, values of the
    /// component's parameters.
    pub ops: AstSlice<AttributeOp>,
}

/// The side on which a component stands in a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CapabilityRole {
    Produces,
    Consumes,
}

impl CapabilityRole {
    /// The word of the mapping.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Produces => "produces",
            Self::Consumes => "consumes",
        }
    }
}
