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
    Literal(Literal),
    Str(Vec<StrPart>),
    /// A string that must not change.
    FrozenStr(Vec<StrPart>),
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
    Scope(ScopeUse),
    /// A function of Ruby or of a library with one argument.
    Library(LibraryFunction, Box<Expr>),
    /// `x.is_a?(Class)`
    IsA(Box<Expr>, RubyClass),
    /// A class as the pattern of a `when`.
    Class(RubyClass),
    /// `defined?(@x)`
    DefinedInstanceVariable(Arc<str>),
    Next(Option<Box<Expr>>),
    Break,
    /// `return`, in the methods of a function.
    Return(Option<Box<Expr>>),
    /// `require` of a library whose loading changes nothing else.
    Require,
    /// Code that is read and left to Ruby where it is reached, with its reason: `raise`, and methods and
    /// constants that are not native.
    Refused(Box<str>),
    Begin {
        body: Body,
        rescues: Vec<Rescue>,
    },
    /// `while`, or `until` with a negated condition.
    While {
        condition: Box<Expr>,
        body: Body,
    },
    /// `a, b = list`
    AssignAll(Vec<Slot>, Box<Expr>),
    /// `call_function('name', …)`, in the methods of a function.
    FunctionCall(Vec<Expr>),
    /// A call of another method of the same function.
    OwnCall(Arc<str>, Vec<Expr>),
    /// `closure_scope`
    ClosureScope,
}

/// A value that is written as it is.
#[derive(Debug)]
pub(crate) enum Literal {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Symbol(Arc<str>),
    Regex(Regex),
}

/// A use of Puppet's scope.
#[derive(Debug)]
pub(crate) enum ScopeUse {
    /// `scope['name']`
    Variable(Box<Expr>),
    /// `has_variable?('name')`
    HasVariable(Box<Expr>),
    /// `scope.setvar('name', value)`
    SetVariable(Box<Expr>, Box<Expr>),
    /// `scope.function_name([…])`
    LegacyCall(String, Box<Expr>),
    /// `scope.call_function('name', […])`
    ModernCall(Box<Expr>, Box<Expr>),
}

#[derive(Debug)]
pub(crate) enum LibraryFunction {
    /// `Array(x)` and other conversions.
    Convert(Conversion),
    /// `Regexp.escape(x)`
    RegexpEscape,
    /// `Digest::MD5.hexdigest(x)` and the like.
    Digest(DigestCall),
    /// `Base64.strict_encode64(x)`
    Base64,
    /// `IPAddr.new(x)`
    IpAddress,
}

/// A `rescue` of a `begin`.
#[derive(Debug)]
pub(crate) struct Rescue {
    pub(crate) classes: Vec<ExceptionClass>,
    pub(crate) body: Body,
}

/// Exceptions that native code can rescue, from the most special one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExceptionClass {
    InvalidAddress,
    AddressError,
    ArgumentError,
    StandardError,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DigestAlgorithm {
    Md5,
    Sha1,
    Sha256,
}

/// A digest, and whether it is written in hexadecimal digits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DigestCall {
    pub(crate) algorithm: DigestAlgorithm,
    pub(crate) is_hexadecimal: bool,
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

// === impl ExceptionClass ===

impl ExceptionClass {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "IPAddr::InvalidAddressError" => Self::InvalidAddress,
            "IPAddr::Error" => Self::AddressError,
            "ArgumentError" => Self::ArgumentError,
            "StandardError" => Self::StandardError,
            _ => return None,
        })
    }

    /// True if a `rescue` of this class rescues an exception of the other class.
    pub(crate) fn rescues(self, raised: Self) -> bool {
        self as u8 >= raised as u8
    }
}

// === impl DigestAlgorithm ===

impl DigestAlgorithm {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "Digest::MD5" => Self::Md5,
            "Digest::SHA1" => Self::Sha1,
            "Digest::SHA256" => Self::Sha256,
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
