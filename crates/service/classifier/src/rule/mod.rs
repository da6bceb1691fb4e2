//! Rules that select the nodes of a group. Main type: [`NodeGroupRule`].
//!
//! The grammar is that of Puppet Enterprise's node classifier: a condition is `["and"|"or", C,
//! C…]`, `["not", C]` or `[operator, path, value]`; an operator is one of `= ~ > >= < <=`; a path
//! is `"name"`, `["fact", key, …]` or `["trusted", key, …]`, where a later step may be an index; a
//! value is a text. Invariant: input outside of the grammar is refused with its position, and is
//! never evaluated, written or translated.

mod compiled;
mod explain;
mod fact_lookup;
mod inherit;
mod number;
mod parse;
mod pattern;
mod pins;
mod translate;
mod write;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub(crate) use compiled::CompiledGroupRule;
pub(crate) use explain::explain;
pub(crate) use fact_lookup::find_text;
pub use fact_lookup::{find_below, find_text_below};
pub(crate) use inherit::and_inherited;
pub use parse::RuleError;
pub use pattern::PatternError;
pub use translate::{QueryFormat, UntranslatableRule};

/// A condition on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeGroupRule {
    /// True if all conditions are true.
    And(Vec<NodeGroupRule>),
    /// True if at least one condition is true.
    Or(Vec<NodeGroupRule>),
    /// True if the condition is false.
    Not(Box<NodeGroupRule>),
    /// A comparison of a value of the node with a text.
    Compare(RuleComparison),
}

/// A comparison of a value of a node with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleComparison {
    /// Operator of the comparison.
    pub operator: RuleOperator,
    /// Path of the node's value.
    pub path: FactPath,
    /// The text that the value is compared with.
    pub value: String,
}

/// An operator of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleOperator {
    /// The texts are equal.
    Equal,
    /// The pattern matches somewhere in the text.
    Match,
    /// The fact's number is greater; false if either side is not a number.
    Greater,
    /// The fact's number is greater or equal; false if either side is not a number.
    GreaterOrEqual,
    /// The fact's number is less; false if either side is not a number.
    Less,
    /// The fact's number is less or equal; false if either side is not a number.
    LessOrEqual,
}

/// The path of a value of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactPath {
    /// Certname of the node.
    Name,
    /// A fact, or a value inside a structured fact. The first step is a key.
    Fact(Vec<FactPathStep>),
    /// A trusted fact from the node's certificate, with steps as in [`FactPath::Fact`].
    Trusted(Vec<FactPathStep>),
}

/// One step into a structured value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactPathStep {
    /// Key of an object.
    Key(String),
    /// Index of an array, from 0.
    Index(u32),
}

// === impl NodeGroupRule ===

impl NodeGroupRule {
    /// Parses a rule.
    ///
    /// # Errors
    /// The rule is invalid, or one of its patterns cannot be compiled; the error has the position
    /// and the reason.
    pub fn parse(json: &Value) -> Result<Self, RuleError> {
        parse::parse(json)
    }

    /// The rule as JSON; [`NodeGroupRule::parse`] gives the same back.
    pub fn to_json(&self) -> Value {
        write::rule_to_json(self)
    }

    /// The rule of the root group, `["~", "name", ".*"]`, which every node matches.
    pub fn match_all() -> Self {
        Self::Compare(RuleComparison {
            operator: RuleOperator::Match,
            path: FactPath::Name,
            value: ".*".to_owned(),
        })
    }

    /// Translates the rule into a query of `PuppetDB` in its AST form.
    ///
    /// # Errors
    /// A condition cannot be expressed; the error has the condition and the reason.
    pub fn to_puppetdb(&self, format: QueryFormat) -> Result<Value, UntranslatableRule> {
        translate::translate(self, format)
    }
}

impl Serialize for NodeGroupRule {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(to)
    }
}

impl<'de> Deserialize<'de> for NodeGroupRule {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let json = Value::deserialize(from)?;
        Self::parse(&json).map_err(D::Error::custom)
    }
}

// === impl RuleOperator ===

impl RuleOperator {
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
    pub fn as_str(self) -> &'static str {
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
