//! The node classifier: node groups, and the classification that they give to nodes. Main type:
//! [`Classifier`].
//!
//! Groups form a tree below "All Nodes"; each has a rule, an environment, classes, configuration
//! data and variables, as in Puppet Enterprise's node classifier. Invariants: all groups at one
//! moment are one immutable tree in memory, so that classifying never waits; every write is
//! committed before the tree is exchanged and before its caller is answered; groups that disagree
//! are a [`GroupConflict`] with names and are never resolved silently.

mod classifier;
pub mod defaults;
mod edit;
mod facts;
mod group;
mod known_code;
mod rights;
mod rule;
mod tree;

pub use classifier::{
    Classifier, ClassifierOpenError, EditedGroup, RecordedCheckIn, UnknownGroup, UnpinResult,
};
pub use edit::EditError;
pub use facts::{ClassifiedNode, FactSource, FactSourceError, NodeFacts};
pub use group::{
    AGENT_SPECIFIED, ClassesDelta, ClassifierGroup, DEFAULT_ENVIRONMENT, GroupClasses, GroupDelta,
    GroupId, GroupInput, GroupParameters, InvalidGroupId, ParametersDelta, SchemaError,
    parse_import,
};
pub use known_code::{
    AnnounceError, ClassRefresh, ClassSource, ClassSourceError, KnownCode, KnownEnvironment,
    PuppetClass, PuppetserverClasses,
};
pub use rights::{GroupEditor, NodeGroupRight, UnrestrictedEditor};
pub use rule::{
    FactPath, FactPathStep, NodeGroupRule, PatternError, QueryFormat, RuleComparison, RuleError,
    RuleOperator, UntranslatableRule, find_below, find_text_below,
};
pub use tree::{
    ClassifyExplanation, ConflictClaim, GroupConflict, GroupRef, GroupRule, HierarchyError,
    LeafContribution, NodeClassification,
};
