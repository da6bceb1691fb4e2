//! A program as it is evaluated: names resolved to slots, literals made values. Main types: [`Unit`],
//! [`Node`].
//!
//! A unit is made of a parsed file by [`crate::lower`]; it is shared by all threads that evaluate it.
//! The rule that must hold: nodes stand in one list and name each other by index, so a unit of any
//! depth is dropped without recursion.

use std::sync::Arc;

use pcore::{Type, Value};
use syntax::ast::{Ast, BinaryOp, ExprId};

use crate::error::SourceLocation;

/// The index of a node in its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeId(pub(crate) u32);

/// A file, or a text that came as a value.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) ast: Arc<Ast>,
    pub(crate) nodes: Vec<Node>,
    /// Bodies of lambdas, functions, plans, and of templates.
    pub(crate) codes: Vec<CodeBody>,
    pub(crate) definitions: Vec<Definition>,
    /// What the file says outside of definitions, as code; a template's has its parameters.
    pub(crate) main: u32,
}

/// What a file defines by name.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(crate) name: Arc<str>,
    pub(crate) what: DefinitionCode,
    /// Which of the tree's definitions it is.
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
    /// A class, a define, a node: what needs a catalog.
    Catalog,
}

/// An expression and the offset that its errors are told for.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) enum NodeKind {
    Const(Value),
    /// Nothing was written: the value is undef.
    Nop,
    Parenthesized(NodeId),
    /// Pieces of a text, in order.
    Interpolated(Box<[NodeId]>),
    /// A heredoc whose text is computed and has a syntax to be checked.
    Heredoc {
        text: NodeId,
        syntax: Arc<str>,
    },
    List(Box<[NodeId]>),
    Hash(Box<[(NodeId, NodeId)]>),
    Variable(Box<VariableNode>),
    /// `$0`, `$1`.
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
    /// The name of a type, in capitals.
    TypeName(Arc<str>),
    /// The body of a template; its value is the text.
    Epp(NodeId),
    RenderText(Value),
    Render(NodeId),
    Apply(Box<ApplyNode>),
    /// What only a catalog can carry out.
    Catalog {
        what: &'static str,
        expression: ExprId,
    },
    /// A word that the language keeps for itself.
    Reserved(Arc<str>),
    /// An expression that stands where it cannot: the issue and its text.
    Illegal(Box<(&'static str, String)>),
}

/// A variable that is read.
#[derive(Debug)]
pub(crate) struct VariableNode {
    pub(crate) name: Arc<str>,
    /// Where it may be, the nearest first. A slot that is not set yet is passed over.
    pub(crate) slots: Box<[VariableSlot]>,
    /// In a parameter's default: the parameter, and whether the one that is read comes before it.
    pub(crate) default_of: Option<ParameterDefault>,
}

/// A place in a frame: how many frames up, and which of its variables.
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

/// What a value is assigned to.
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

/// Where a variable that is assigned lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AssignmentSlot {
    Slot(u16),
    Global,
    /// In a default of a parameter: nothing may be assigned there.
    Nowhere,
}

#[derive(Debug)]
pub(crate) struct CaseNode {
    pub(crate) test: NodeId,
    pub(crate) options: Box<[CaseOption]>,
    /// The value of `default`.
    pub(crate) otherwise: Option<NodeId>,
}

/// Values, splats among them, and what is chosen by them.
#[derive(Debug)]
pub(crate) struct CaseOption {
    pub(crate) values: Box<[NodeId]>,
    pub(crate) then: NodeId,
}

#[derive(Debug)]
pub(crate) struct CallNode {
    pub(crate) name: Arc<str>,
    pub(crate) arguments: Box<[NodeId]>,
    pub(crate) block: Option<u32>,
    /// The core function of that name, if there is one: nothing can stand in front of it.
    pub(crate) native: Option<&'static crate::function::NativeFunction>,
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

/// An `apply` block of a plan: its arguments, and the manifest for the compiler.
#[derive(Debug)]
pub(crate) struct ApplyNode {
    pub(crate) arguments: Box<[NodeId]>,
    pub(crate) expression: ExprId,
}

/// Parameters and a body.
#[derive(Debug)]
pub(crate) struct CodeBody {
    /// `lambda` for one, else the name of the function or plan.
    pub(crate) name: Arc<str>,
    pub(crate) parameters: Vec<CodeParameter>,
    pub(crate) body: NodeId,
    pub(crate) returns: Option<NodeId>,
    /// The names of its variables, parameters first: what slots are for.
    pub(crate) variables: Vec<Arc<str>>,
    /// Nothing but untyped parameters that must be given: the common block.
    pub(crate) is_plain: bool,
    /// For templates: whether it says which parameters it takes.
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

/// What code takes and gives.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    /// The type of each parameter; of a rest parameter, of its elements.
    pub(crate) types: Vec<Type>,
    pub(crate) callable: Type,
    pub(crate) returns: Option<Type>,
    pub(crate) least: usize,
    pub(crate) most: Option<usize>,
}

impl Unit {
    /// A unit without anything, for calls that come from no text.
    pub(crate) fn nowhere() -> Arc<Self> {
        let source = Arc::new(syntax::Source::new(None, ""));
        let parsed = syntax::parse(&source, syntax::Options::default());
        Arc::new(Self {
            ast: Arc::new(parsed.ast),
            nodes: Vec::new(),
            codes: Vec::new(),
            definitions: Vec::new(),
            main: 0,
        })
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(crate) fn code(&self, index: u32) -> &CodeBody {
        &self.codes[index as usize]
    }

    pub(crate) fn place(&self, at: u32) -> SourceLocation {
        let source = self.ast.source();
        let position = source.position(at);
        SourceLocation {
            file: source.name().cloned(),
            line: position.line,
            column: position.column,
        }
    }
}

impl CodeBody {
    pub(crate) fn parameter_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.parameters.iter().map(|parameter| &parameter.name)
    }

    /// How many arguments it must and may have, without looking at types.
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
