//! The operators of the language, each with its text.

/// Operators with two operands that return a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    ShiftLeft,
    ShiftRight,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Match,
    NoMatch,
    In,
    And,
    Or,
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `!`
    Not,
    /// `-`
    Minus,
    /// `*`, the splat operator
    Unfold,
}

/// `=`, and the two operators that are parsed only to be refused by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AssignOp {
    Set,
    Append,
    Delete,
}

/// Relationship operators between resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EdgeOp {
    /// `->`
    Before,
    /// `~>`
    Notify,
    /// `<-`
    Require,
    /// `<~`
    Subscribe,
}

/// The operator between an attribute and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttributeOpKind {
    /// `=>`
    Set,
    /// `+>`
    Append,
    /// `* =>`: the attributes come from a hash
    Splat,
}

/// The form of a resource: regular, virtual or exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ResourceForm {
    #[default]
    Regular,
    /// `@`
    Virtual,
    /// `@@`
    Exported,
}

// === impl BinaryOp ===

impl BinaryOp {
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Mod => "%",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Match => "=~",
            Self::NoMatch => "!~",
            Self::In => "in",
            Self::And => "and",
            Self::Or => "or",
        }
    }

    /// True for the operators `== != < <= > >=`.
    #[must_use]
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge
        )
    }
}

impl UnaryOp {
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Not => "!",
            Self::Minus => "-",
            Self::Unfold => "*",
        }
    }
}

impl AssignOp {
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Set => "=",
            Self::Append => "+=",
            Self::Delete => "-=",
        }
    }
}

impl EdgeOp {
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Before => "->",
            Self::Notify => "~>",
            Self::Require => "<-",
            Self::Subscribe => "<~",
        }
    }
}

impl AttributeOpKind {
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Set => "=>",
            Self::Append => "+>",
            Self::Splat => "* =>",
        }
    }
}
