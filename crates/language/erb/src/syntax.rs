//! Syntax trees of the Ruby code in a template. Main type: [`Node`].

use std::sync::Arc;

use ruby_regex::{Regex, RegexFlags};

/// Number of a local variable, unique in its template.
pub(crate) type Slot = usize;

/// An expression with the line of the code in which it begins.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) line: u32,
    pub(crate) node: Node,
}

#[derive(Debug)]
pub(crate) enum Node {
    /// Literal text, put out.
    Text(usize),
    /// `<%= … %>`
    Insert(Body),
    Body(Body),
    Nil,
    True,
    False,
    Int(i64),
    Float(f64),
    Str(Vec<StrPart>),
    Symbol(Arc<str>),
    Regex(Regex),
    /// A regular expression with interpolations.
    RegexParts(Vec<StrPart>, RegexFlags),
    Array(Vec<Expr>),
    Hash(Vec<(Expr, Expr)>),
    Range {
        low: Box<Expr>,
        high: Option<Box<Expr>>,
        is_exclusive: bool,
    },
    Local(Slot),
    InstanceVariable(Arc<str>),
    /// `$1` and so on.
    MatchGroup(usize),
    Assign(Target, Box<Expr>),
    /// `||=`, `&&=` and those with an operator.
    OperatorAssign(Target, AssignOperator, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    If {
        condition: Box<Expr>,
        then: Body,
        otherwise: Body,
    },
    Case {
        subject: Option<Box<Expr>>,
        branches: Vec<(Vec<Expr>, Body)>,
        otherwise: Body,
    },
    Call(Box<MethodCall>),
    /// `Array(x)` and other conversions.
    Convert(Conversion, Box<Expr>),
    /// `Regexp.escape(x)`
    RegexpEscape(Box<Expr>),
    /// `x.is_a?(Class)`
    IsA(Box<Expr>, RubyClass),
    /// A class as the pattern of a `when`.
    Class(RubyClass),
    /// `scope['name']`
    ScopeVariable(Box<Expr>),
    /// `scope.function_name([…])`
    LegacyCall(String, Box<Expr>),
    /// `scope.call_function('name', […])`
    ModernCall(Box<Expr>, Box<Expr>),
    HasVariable(Box<Expr>),
    /// `defined?(@x)`
    DefinedInstanceVariable(Arc<str>),
    Next(Option<Box<Expr>>),
    Break,
}

pub(crate) type Body = Vec<Expr>;

#[derive(Debug)]
pub(crate) enum StrPart {
    Text(String),
    Code(Body),
}

#[derive(Debug)]
pub(crate) enum Target {
    Local(Slot),
    InstanceVariable(Arc<str>),
    Index(Box<Expr>, Box<Expr>),
}

#[derive(Debug)]
pub(crate) enum AssignOperator {
    Or,
    And,
    Method(&'static str),
}

#[derive(Debug)]
pub(crate) struct MethodCall {
    pub(crate) receiver: Expr,
    pub(crate) name: &'static str,
    pub(crate) arguments: Vec<Expr>,
    pub(crate) block: Option<Block>,
    /// `&.`
    pub(crate) is_safe: bool,
}

#[derive(Debug)]
pub(crate) enum Block {
    Code {
        parameters: Vec<Parameter>,
        /// Variables that begin as `nil` at each call.
        locals: Vec<Slot>,
        body: Body,
        /// True for `|a,|` and for more than one parameter or a nested one: an array is taken apart.
        takes_apart: bool,
    },
    /// `&:name`
    Method(&'static str),
}

#[derive(Debug)]
pub(crate) enum Parameter {
    Slot(Slot),
    /// `(a, b)`
    Nested(Vec<Parameter>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conversion {
    Array,
    Integer,
    String,
    Float,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RubyClass {
    Array,
    Hash,
    String,
    Symbol,
    Integer,
    Float,
    Numeric,
    True,
    False,
    Nil,
    Regexp,
    Enumerable,
    Comparable,
    Object,
}

// === impl RubyClass ===

impl RubyClass {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "Array" => Self::Array,
            "Hash" => Self::Hash,
            "String" => Self::String,
            "Symbol" => Self::Symbol,
            "Integer" => Self::Integer,
            "Float" => Self::Float,
            "Numeric" => Self::Numeric,
            "TrueClass" => Self::True,
            "FalseClass" => Self::False,
            "NilClass" => Self::Nil,
            "Regexp" => Self::Regexp,
            "Enumerable" => Self::Enumerable,
            "Comparable" => Self::Comparable,
            "Object" => Self::Object,
            _ => return None,
        })
    }
}

// === impl Conversion ===

impl Conversion {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "Array" => Self::Array,
            "Integer" => Self::Integer,
            "String" => Self::String,
            "Float" => Self::Float,
            _ => return None,
        })
    }
}
