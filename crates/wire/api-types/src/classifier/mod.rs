//! Routes under `/classifier-api`: node groups, their rules, and the classification of nodes.
//!
//! Requests about groups are parsed by the classifier itself, which names the path of the error in
//! a rule; the types here only document their shape.

mod code;
mod group;
mod node;

pub use code::{ClassifierClass, ClassifierEnvironment, LastClassUpdate};
pub use group::{
    GroupTree, GroupsQuery, NodeGroup, NodeGroupDelta, NodeGroupInput, NodeGroupRules, PinNodes,
    TranslatedRules, UnpinnedGroup, UnpinnedNode, UnpinnedNodes,
};
pub use node::{
    CheckIn, CheckIns, ClassificationExplanation, Classified, ClassifiedByName, ClassifyNode,
    GroupName,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A condition: `["and"|"or", C, C…]`, `["not", C]` or `[operator, path, value]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(value_type = Vec<Object>)]
pub struct RuleCondition(pub Value);

/// A list of groups, the reply to `GET groups`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeGroups(pub Vec<NodeGroup>);

/// A list of groups with those below them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GroupTrees(pub Vec<GroupTree>);

/// A list of classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClassifierClasses(pub Vec<ClassifierClass>);

/// A list of environments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClassifierEnvironments(pub Vec<ClassifierEnvironment>);

/// A list of nodes that were classified lately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckInList(pub Vec<CheckIns>);
