//! The node classifier: node groups, and the classification that they give to nodes. Main type:
//! [`Classifier`].
//!
//! Groups form a tree below "All Nodes"; each has a rule, an environment, classes, configuration
//! data and variables, as in Puppet Enterprise's node classifier. Invariants: all groups at one
//! moment are one immutable tree in memory, so that classifying never waits; every write is
//! committed before the tree is exchanged and before its caller is answered; groups that disagree
//! are a [`Conflict`] with names and are never resolved silently.

mod classifier;
mod code;
pub mod defaults;
mod edit;
mod facts;
mod group;
mod rights;
mod rule;
mod tree;

pub use classifier::{CheckIn, Classifier, Edited, OpenError, UnknownGroup, Unpinned};
pub use code::{
    AnnounceError, Class, ClassRefresh, ClassSource, ClassSourceError, KnownCode, KnownEnvironment,
    Puppetserver,
};
pub use edit::EditError;
pub use facts::{FactSource, FactSourceError, NodeFacts, Subject};
pub use group::{
    AGENT_SPECIFIED, Classes, ClassesDelta, DEFAULT_ENVIRONMENT, Group, GroupDelta, GroupId,
    GroupInput, InvalidGroupId, Parameters, ParametersDelta, SchemaError, imported,
};
pub use rights::{Editor, Right, Unrestricted};
pub use rule::{
    Comparison, Format, Operator, Path, PatternError, Rule, RuleError, Step, Untranslatable,
};
pub use tree::{
    Claim, Classification, Conflict, Explanation, Gift, GroupRef, GroupRule, HierarchyError,
};
