//! Rules that select the nodes of a group. Main type: [`Rule`].
//!
//! The grammar is that of Puppet Enterprise's node classifier: a condition is `["and"|"or", C,
//! C…]`, `["not", C]` or `[operator, path, value]`; an operator is one of `= ~ > >= < <=`; a path
//! is `"name"`, `["fact", key, …]` or `["trusted", key, …]`, where a later step may be an index; a
//! value is a text. Invariant: input outside of the grammar is refused with its position, and is
//! never evaluated, written or translated.

mod compiled;
mod explain;
mod inherit;
mod number;
mod parse;
mod pattern;
mod pins;
mod text;
mod translate;
mod write;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub(crate) use compiled::Compiled;
pub(crate) use explain::explain;
pub(crate) use inherit::with_inherited;
pub use parse::RuleError;
pub use pattern::PatternError;
pub(crate) use text::found;
pub use translate::{Format, Untranslatable};

/// A condition on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// True if all conditions are true.
    And(Vec<Rule>),
    /// True if at least one condition is true.
    Or(Vec<Rule>),
    /// True if the condition is false.
    Not(Box<Rule>),
    /// A comparison of a value of the node with a text.
    Compare(Comparison),
}

/// A comparison of a value of a node with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Operator of the comparison.
    pub operator: Operator,
    /// Path of the node's value.
    pub path: Path,
    /// The text that the value is compared with.
    pub value: String,
}

/// An operator of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The texts are equal.
    Equal,
    /// The pattern matches somewhere in the text.
    Match,
    /// Numeric comparison; false if either side is not a number.
    Greater,
    /// See [`Operator::Greater`].
    GreaterOrEqual,
    /// See [`Operator::Greater`].
    Less,
    /// See [`Operator::Greater`].
    LessOrEqual,
}

/// The path of a value of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Path {
    /// Certname of the node.
    Name,
    /// A fact, or a value inside a structured fact. The first step is a key.
    Fact(Vec<Step>),
    /// A trusted fact from the node's certificate, with steps as in [`Path::Fact`].
    Trusted(Vec<Step>),
}

/// One step into a structured value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Key of an object.
    Key(String),
    /// Index of an array, from 0.
    Index(u32),
}

// === impl Rule ===

impl Rule {
    /// Parses a rule.
    ///
    /// # Errors
    /// The rule is invalid, or one of its patterns cannot be compiled; the error has the position
    /// and the reason.
    pub fn parse(json: &Value) -> Result<Self, RuleError> {
        parse::parse(json)
    }

    /// The rule as JSON; [`Rule::parse`] gives the same back.
    pub fn to_json(&self) -> Value {
        write::rule(self)
    }

    /// The rule of the root group, `["~", "name", ".*"]`, which every node matches.
    pub fn everything() -> Self {
        Self::Compare(Comparison {
            operator: Operator::Match,
            path: Path::Name,
            value: ".*".to_owned(),
        })
    }

    /// Translates the rule into a query of `PuppetDB` in its AST form.
    ///
    /// # Errors
    /// A condition cannot be expressed; the error has the condition and the reason.
    pub fn to_puppetdb(&self, format: Format) -> Result<Value, Untranslatable> {
        translate::translate(self, format)
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let json = Value::deserialize(from)?;
        Self::parse(&json).map_err(D::Error::custom)
    }
}

// === impl Operator ===

impl Operator {
    /// Every operator with its symbol.
    pub(crate) const ALL: &[(&str, Self)] = &[
        ("=", Self::Equal),
        ("~", Self::Match),
        (">", Self::Greater),
        (">=", Self::GreaterOrEqual),
        ("<", Self::Less),
        ("<=", Self::LessOrEqual),
    ];

    /// The symbol of the operator, for example `>=`.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Match => "~",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
        }
    }
}
