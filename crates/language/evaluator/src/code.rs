//! The evaluated form of a program: names resolved to slots, literals to values. Main types:
//! [`LoweredUnit`], [`LoweredNode`].
//!
//! [`crate::lower`] makes a unit from a parsed file; all threads that evaluate it share it.
//!
//! Invariant: nodes are in one list and refer to each other by index, so a unit of any depth is
//! dropped without recursion.

use std::sync::Arc;

use pcore::{FastHashMap, Type, Value};
use syntax::ast::{Ast, BinaryOp, Expr, ExprId};

use crate::catalog_code::{
    CapabilityMappingCode, CollectorNode, NodeBlock, RelationshipNode, ResourceDefaultsNode,
    ResourceNode, ResourceOverrideNode, SiteCode,
};
use crate::error::SourceLocation;
use crate::fact_reads::FACTS;

/// The index of a node in its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeId(pub(crate) u32);

/// The code of one file, or of a text that is evaluated.
#[derive(Debug)]
pub(crate) struct LoweredUnit {
    code: Arc<UnitCode>,
    /// Path of the file for messages; `None` for a text without a file.
    path: Option<Arc<str>>,
}

/// The lowered code of a unit, which units of equal files share.
#[derive(Debug)]
pub(crate) struct UnitCode {
    pub(crate) ast: Arc<Ast>,
    pub(crate) nodes: Vec<LoweredNode>,
    /// Bodies of lambdas, functions, plans, and of templates.
    pub(crate) codes: Vec<CodeBody>,
    pub(crate) definitions: Vec<LoweredDefinition>,
    /// The node blocks of the file, in order.
    pub(crate) node_blocks: Vec<NodeBlock>,
    /// The sites of the file; an environment has one at most.
    pub(crate) sites: Vec<SiteCode>,
    pub(crate) mappings: Vec<CapabilityMappingCode>,
    /// Index of the code outside of definitions. For a template it has the template's parameters.
    pub(crate) main: u32,
}

/// A named definition in a file.
#[derive(Debug, Clone)]
pub(crate) struct LoweredDefinition {
    pub(crate) name: Arc<str>,
    pub(crate) what: DefinitionCode,
    /// Index in the definitions of the AST.
    pub(crate) index: usize,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum DefinitionCode {
    Function {
        code: u32,
    },
    Plan {
        code: u32,
    },
    Alias {
        body: NodeId,
    },
    Class {
        code: u32,
    },
    /// `define`
    DefinedType {
        code: u32,
    },
    Application {
        code: u32,
    },
    Capability {
        code: u32,
    },
    /// `type X inherits Y { }`, which has no code.
    TypeDefinition,
}

/// An expression and the source offset reported in its errors.
#[derive(Debug)]
pub(crate) struct LoweredNode {
    pub(crate) kind: NodeKind,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) enum NodeKind {
    Const(Value),
    /// An empty expression: the value is undef.
    Nop,
    Parenthesized(NodeId),
    /// String interpolation: the parts of the string in order.
    Interpolated(Box<[NodeId]>),
    /// A heredoc with interpolation and a syntax to check.
    Heredoc {
        text: NodeId,
        syntax: Arc<str>,
    },
    List(Box<[NodeId]>),
    Hash(Box<[(NodeId, NodeId)]>),
    Variable(Box<VariableNode>),
    /// A regular expression group: `$0`, `$1`.
    Group(u64),
    Assign {
        target: Box<AssignmentTarget>,
        value: NodeId,
    },
    Arithmetic {
        operator: BinaryOp,
        left: NodeId,
        right: NodeId,
    },
    Compare {
        operator: BinaryOp,
        left: NodeId,
        right: NodeId,
    },
    Match {
        negated: bool,
        left: NodeId,
        right: NodeId,
    },
    In {
        left: NodeId,
        right: NodeId,
    },
    And {
        left: NodeId,
        right: NodeId,
    },
    Or {
        left: NodeId,
        right: NodeId,
    },
    Not(NodeId),
    Minus(NodeId),
    Splat(NodeId),
    Access {
        left: NodeId,
        keys: Box<[NodeId]>,
    },
    If {
        test: NodeId,
        then: NodeId,
        otherwise: NodeId,
    },
    Unless {
        test: NodeId,
        then: NodeId,
        otherwise: NodeId,
    },
    Case(Box<CaseNode>),
    Selector(Box<CaseNode>),
    Block(Box<[NodeId]>),
    Call(Box<CallNode>),
    /// `Type(..)` and `Type[..](..)`: `new`.
    Construct(Box<ConstructNode>),
    Method(Box<MethodNode>),
    /// A capitalized type name.
    TypeName(Arc<str>),
    /// The body of a template; its value is the rendered text.
    Epp(NodeId),
    RenderText(Value),
    Render(NodeId),
    Apply(Box<ApplyNode>),
    Resource(Box<ResourceNode>),
    ResourceDefaults(Box<ResourceDefaultsNode>),
    ResourceOverride(Box<ResourceOverrideNode>),
    Collector(Box<CollectorNode>),
    Relationship(Box<RelationshipNode>),
    /// A reserved word.
    Reserved(Arc<str>),
    /// An expression that is not allowed here: the issue code and the message.
    Illegal(Box<(&'static str, String)>),
}

/// Read of a variable.
#[derive(Debug)]
pub(crate) struct VariableNode {
    pub(crate) name: Arc<str>,
    /// True if the name has a namespace, so that no frame has it.
    pub(crate) is_qualified: bool,
    /// Candidate slots, the innermost first. A slot that is not set yet is skipped.
    pub(crate) slots: Box<[VariableSlot]>,
    /// Set if the read is in the default of a parameter and reads another parameter of that list.
    pub(crate) default_of: Option<ParameterDefault>,
}

impl VariableNode {
    /// True for `$facts` of the top scope, a name that no other variable may have.
    pub(crate) fn is_all_facts(&self) -> bool {
        self.slots.is_empty() && matches!(&*self.name, FACTS | "::facts")
    }
}

/// Position of a variable: number of frames outwards, and index in that frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VariableSlot {
    pub(crate) up: u16,
    pub(crate) index: u16,
}

/// A default that reads another parameter of the same list.
#[derive(Debug)]
pub(crate) struct ParameterDefault {
    pub(crate) callee: Arc<str>,
    pub(crate) parameter: Arc<str>,
    pub(crate) is_earlier: bool,
}

/// Left side of an assignment.
#[derive(Debug)]
pub(crate) enum AssignmentTarget {
    Variable {
        name: Arc<str>,
        place: AssignmentSlot,
        at: u32,
    },
    List(Vec<AssignmentTarget>),
    /// A literal number, or something that is not a variable: an error when it is assigned to.
    Number(Arc<str>, u32),
    Illegal {
        label: String,
        at: u32,
    },
}

/// Storage of an assigned variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AssignmentSlot {
    Slot(u16),
    Global,
    /// In the default of a parameter, where assignments are not allowed.
    Forbidden,
}

#[derive(Debug)]
pub(crate) struct CaseNode {
    pub(crate) test: NodeId,
    pub(crate) options: Box<[LoweredCaseOption]>,
    /// The value of `default`.
    pub(crate) otherwise: Option<NodeId>,
}

/// One option of a case or selector: the values to match, which may include splats, and the result.
#[derive(Debug)]
pub(crate) struct LoweredCaseOption {
    pub(crate) values: Box<[NodeId]>,
    pub(crate) then: NodeId,
}

/// Number of a core function in their list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CoreFunctionId(pub(crate) u16);

#[derive(Debug)]
pub(crate) struct CallNode {
    pub(crate) name: Arc<str>,
    pub(crate) arguments: Box<[NodeId]>,
    pub(crate) block: Option<u32>,
    /// The core function of that name, if there is one. It cannot be overridden.
    pub(crate) native: Option<CoreFunctionId>,
}

#[derive(Debug)]
pub(crate) struct ConstructNode {
    pub(crate) ty: NodeId,
    pub(crate) arguments: Box<[NodeId]>,
    pub(crate) block: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct MethodNode {
    pub(crate) receiver: NodeId,
    pub(crate) call: CallNode,
}

/// An `apply` block of a plan: its arguments, and the block to compile to a catalog.
#[derive(Debug)]
pub(crate) struct ApplyNode {
    pub(crate) arguments: Box<[NodeId]>,
    pub(crate) expression: ExprId,
}

/// Parameters and body of a function, plan, lambda or template.
#[derive(Debug)]
pub(crate) struct CodeBody {
    /// Name of the function or plan, or `lambda`.
    pub(crate) name: Arc<str>,
    pub(crate) parameters: Vec<CodeParameter>,
    pub(crate) body: NodeId,
    pub(crate) returns: Option<NodeId>,
    /// Names of its variables in the order of their slots, parameters first.
    pub(crate) variables: Vec<Arc<str>>,
    /// Slots by name, if there are too many variables to search their list.
    pub(crate) slots_by_name: Option<FastHashMap<Arc<str>, usize>>,
    /// True if all parameters are untyped and required, as in most blocks.
    pub(crate) is_plain: bool,
    /// For templates: true if it declares its parameters.
    pub(crate) declares_parameters: bool,
}

#[derive(Debug)]
pub(crate) struct CodeParameter {
    pub(crate) name: Arc<str>,
    pub(crate) slot: u16,
    pub(crate) ty: Option<NodeId>,
    pub(crate) default: Option<NodeId>,
    pub(crate) is_rest: bool,
    pub(crate) at: u32,
}

/// Types of the parameters and of the result.
#[derive(Debug, Clone)]
pub(crate) struct LoweredSignature {
    /// Type of each parameter; for a rest parameter, the type of its elements.
    pub(crate) types: Vec<Type>,
    pub(crate) callable: Type,
    pub(crate) returns: Option<Type>,
    pub(crate) least: usize,
    pub(crate) most: Option<usize>,
}

impl std::ops::Deref for LoweredUnit {
    type Target = UnitCode;

    fn deref(&self) -> &UnitCode {
        &self.code
    }
}

impl LoweredUnit {
    /// A unit with the path of its source.
    pub(crate) fn new(code: UnitCode) -> Arc<Self> {
        let path = code.ast.source().name().cloned();
        Arc::new(Self {
            code: Arc::new(code),
            path,
        })
    }

    /// A unit of a file at `path` that is equal to another one.
    pub(crate) fn with_shared_code(code: Arc<UnitCode>, path: &Arc<str>) -> Arc<Self> {
        let path = Some(Arc::clone(path));
        Arc::new(Self { code, path })
    }

    pub(crate) fn shared_code(&self) -> &Arc<UnitCode> {
        &self.code
    }

    /// Path of the file; `None` for a text without a file.
    pub(crate) fn path(&self) -> Option<&Arc<str>> {
        self.path.as_ref()
    }

    /// An empty unit, for calls that do not come from a text.
    pub(crate) fn empty_unit() -> Arc<Self> {
        let source = Arc::new(syntax::SourceText::new(None, ""));
        let parsed = syntax::parse(&source, syntax::SyntaxOptions::default());
        Self::new(UnitCode {
            ast: Arc::new(parsed.ast),
            nodes: Vec::new(),
            codes: Vec::new(),
            definitions: Vec::new(),
            node_blocks: Vec::new(),
            sites: Vec::new(),
            mappings: Vec::new(),
            main: 0,
        })
    }

    pub(crate) fn node(&self, id: NodeId) -> &LoweredNode {
        &self.nodes[id.0 as usize]
    }

    pub(crate) fn code(&self, index: u32) -> &CodeBody {
        &self.codes[index as usize]
    }

    /// True if the file contains nothing but its single definition.
    pub(crate) fn is_only_a_definition(&self) -> bool {
        let body = self.ast.body();
        body.is_some_and(|body| matches!(self.ast.expr(body), Expr::Definition(_)))
    }

    pub(crate) fn location_at(&self, at: u32) -> SourceLocation {
        let position = self.ast.source().position(at);
        SourceLocation {
            file: self.path.clone(),
            line: position.line,
            column: position.column,
        }
    }
}

impl CodeBody {
    /// Slot of a variable.
    pub(crate) fn slot_of(&self, name: &str) -> Option<usize> {
        match &self.slots_by_name {
            Some(slots) => slots.get(name).copied(),
            None => self.variables.iter().position(|it| **it == *name),
        }
    }

    pub(crate) fn parameter_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.parameters.iter().map(|parameter| &parameter.name)
    }

    /// Minimum and maximum number of arguments; the maximum is `None` with a rest parameter.
    pub(crate) fn arity(&self) -> (usize, Option<usize>) {
        let least = self
            .parameters
            .iter()
            .filter(|it| it.default.is_none() && !it.is_rest)
            .count();
        let most = if self.parameters.last().is_some_and(|it| it.is_rest) {
            None
        } else {
            Some(self.parameters.len())
        };
        (least, most)
    }
}
