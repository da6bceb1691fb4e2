//! The definitions of a file: [`Definition`].
//!
//! Invariant: names are fully qualified, so a class or define inside a class has the outer names
//! before its own.

use super::{Ast, AstSlice, CapabilityMapping, Expr, ExprId, Param, SiteDefinition, Sym};
use crate::SourceSpan;

/// One definition of a file: a class, define, plan, function, node or type, or a part of
/// applications.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Definition {
    pub kind: DefinitionKind,
    /// The range from the keyword to the closing brace.
    pub span: SourceSpan,
    /// The span of the name as written; for a node, of its first host.
    pub name_span: SourceSpan,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DefinitionKind {
    Class(ClassDefinition),
    /// `define`
    ResourceType(DefinitionBody),
    Plan(DefinitionBody),
    Function(DefinitionBody),
    Node(NodeDefinition),
    TypeAlias(TypeAlias),
    /// `type Runtime[…] = …`
    TypeMapping(TypeMapping),
    /// `type X inherits Y { }`: parsed and always refused, as in Puppet.
    TypeDefinition(TypeDefinition),
    Application(DefinitionBody),
    /// `capability name($attribute, …) { }`: a type of capabilities, without a body.
    Capability(DefinitionBody),
    Site(SiteDefinition),
    CapabilityMapping(CapabilityMapping),
}

/// Name, parameters and body of a definition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DefinitionBody {
    pub name: Sym,
    pub params: AstSlice<Param>,
    /// The declared return type; only functions have one.
    pub return_type: Option<ExprId>,
    /// `None` if the braces are empty.
    pub body: Option<ExprId>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassDefinition {
    pub body: DefinitionBody,
    /// The name after `inherits`, as written.
    pub parent: Option<Sym>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeDefinition {
    /// The hosts: strings, regular expressions and `default`.
    pub hosts: AstSlice<ExprId>,
    /// The parent after `inherits`, which is parsed only to be refused.
    pub parent: Option<ExprId>,
    pub body: Option<ExprId>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TypeAlias {
    pub name: Sym,
    /// The aliased type. The short forms `= { … }` and `= Parent { … }` are already expanded to
    /// `Object[{ … }]`.
    pub type_expr: ExprId,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TypeMapping {
    pub from: ExprId,
    pub to: ExprId,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TypeDefinition {
    pub name: Sym,
    pub parent: Option<Sym>,
    pub body: Option<ExprId>,
}

/// Index of a [`Definition`] in its file's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DefinitionId(pub(super) u32);

// === impl Definition ===

impl Definition {
    /// The name of the definition; `None` for nodes, sites and mappings.
    #[must_use]
    pub fn name(&self) -> Option<Sym> {
        match self.kind {
            DefinitionKind::Class(class) => Some(class.body.name),
            DefinitionKind::ResourceType(body)
            | DefinitionKind::Plan(body)
            | DefinitionKind::Function(body)
            | DefinitionKind::Application(body)
            | DefinitionKind::Capability(body) => Some(body.name),
            DefinitionKind::TypeAlias(alias) => Some(alias.name),
            DefinitionKind::TypeDefinition(definition) => Some(definition.name),
            DefinitionKind::Node(_)
            | DefinitionKind::TypeMapping(_)
            | DefinitionKind::Site(_)
            | DefinitionKind::CapabilityMapping(_) => None,
        }
    }

    /// Name, parameters and body of a class, define, plan, function, application or capability;
    /// `None` for others.
    #[must_use]
    pub fn body(&self) -> Option<&DefinitionBody> {
        match &self.kind {
            DefinitionKind::Class(class) => Some(&class.body),
            DefinitionKind::ResourceType(body)
            | DefinitionKind::Plan(body)
            | DefinitionKind::Function(body)
            | DefinitionKind::Application(body)
            | DefinitionKind::Capability(body) => Some(body),
            _ => None,
        }
    }
}

impl Ast {
    /// All definitions of the file, nested ones included, in the order in which they end.
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// The definition that the expression stands for, if any.
    pub fn as_definition(&self, id: ExprId) -> Option<&Definition> {
        match self.expr(id) {
            Expr::Definition(id) => Some(self.definition(id)),
            _ => None,
        }
    }
}
