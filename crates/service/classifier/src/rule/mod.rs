//! Rules: which nodes belong to a group. Main type: [`Rule`].
//!
//! The grammar, as Puppet Enterprise's node classifier has it: a condition is `["and"|"or", C, C…]`,
//! `["not", C]` or `[operator, path, value]`; an operator is one of `= ~ > >= < <=`; a path is
//! `"name"`, `["fact", key, …]` or `["trusted", key, …]`, where a later step may be an index; a
//! value is a text. The rule of this module: what is not of the grammar is refused with its place,
//! and nothing else is ever evaluated, written or translated.

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
    /// All of them.
    And(Vec<Rule>),
    /// At least one of them.
    Or(Vec<Rule>),
    /// The opposite.
    Not(Box<Rule>),
    /// One comparison.
    Compare(Comparison),
}

/// A value of a node beside a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// How they are compared.
    pub operator: Operator,
    /// Which value of the node.
    pub path: Path,
    /// The text.
    pub value: String,
}

/// How a comparison compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The same text.
    Equal,
    /// The pattern is found somewhere in the text.
    Match,
    /// Numbers; whatever is no number makes the comparison false.
    Greater,
    /// See [`Operator::Greater`].
    GreaterOrEqual,
    /// See [`Operator::Greater`].
    Less,
    /// See [`Operator::Greater`].
    LessOrEqual,
}

/// Where a value of a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Path {
    /// The certname.
    Name,
    /// A fact, or something in a structured one. The first step is a key.
    Fact(Vec<Step>),
    /// The same in what the node's certificate says.
    Trusted(Vec<Step>),
}

/// One step into a structured value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into an object.
    Key(String),
    /// Into an array, from 0.
    Index(u32),
}

// === impl Rule ===

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    /// What is wrong and where; also a pattern that cannot be compiled.
    pub fn parse(json: &Value) -> Result<Self, RuleError> {
        parse::parse(json)
    }

    /// The rule as JSON; [`Rule::parse`] gives the same back.
    pub fn to_json(&self) -> Value {
        write::rule(self)
    }

    /// The rule that every node fulfils: `["~", "name", ".*"]`, which the root has.
    pub fn everything() -> Self {
        Self::Compare(Comparison {
            operator: Operator::Match,
            path: Path::Name,
            value: ".*".to_owned(),
        })
    }

    /// As a query of `PuppetDB` in its AST form.
    ///
    /// # Errors
    /// Which condition cannot be expressed, and why.
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
    /// Every operator with its sign.
    pub(crate) const ALL: &[(&str, Self)] = &[
        ("=", Self::Equal),
        ("~", Self::Match),
        (">", Self::Greater),
        (">=", Self::GreaterOrEqual),
        ("<", Self::Less),
        ("<=", Self::LessOrEqual),
    ];

    /// The sign, for example `>=`.
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
