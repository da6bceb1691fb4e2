//! The groups of a new store, modelled on those of Puppet Enterprise: "All Nodes" with every node,
//! and below it "All Environments" with a group for each way to get an environment.
//!
//! Invariant: with these groups alone every node is classified, into `production`, without
//! classes, and without a conflict.

use std::sync::Arc;

use serde_json::json;

use super::{
    AGENT_SPECIFIED, ClassifierGroup, DEFAULT_ENVIRONMENT, GroupClasses, GroupId, GroupParameters,
};
use crate::NodeGroupRule;

const ALL_ENVIRONMENTS: GroupId = GroupId::from_u128(0x7b1d_1d4c_9f6e_4c5b_8f3a_2b64_0e51_6a01);
const PRODUCTION: GroupId = GroupId::from_u128(0x7b1d_1d4c_9f6e_4c5b_8f3a_2b64_0e51_6a02);
const AGENT: GroupId = GroupId::from_u128(0x7b1d_1d4c_9f6e_4c5b_8f3a_2b64_0e51_6a03);

pub(crate) fn default_groups(now_ms: i64) -> Vec<ClassifierGroup> {
    let group = |id, name: &str, description: &str, parent| ClassifierGroup {
        id,
        name: name.to_owned(),
        description: Some(description.to_owned()),
        environment: DEFAULT_ENVIRONMENT.to_owned(),
        environment_trumps: false,
        parent,
        rule: None,
        classes: GroupClasses::new(),
        config_data: GroupClasses::new(),
        variables: GroupParameters::new(),
        last_edited_ms: now_ms,
        serial_number: 1,
    };
    let all_nodes = ClassifierGroup {
        rule: Some(NodeGroupRule::match_all()),
        ..group(GroupId::ROOT, "All Nodes", "Every node", GroupId::ROOT)
    };
    let all_environments = ClassifierGroup {
        rule: Some(NodeGroupRule::match_all()),
        environment_trumps: true,
        ..group(
            ALL_ENVIRONMENTS,
            "All Environments",
            "The parent of groups that only choose an environment, and give no classes",
            GroupId::ROOT,
        )
    };
    let production = ClassifierGroup {
        environment_trumps: true,
        rule: environment_rule(DEFAULT_ENVIRONMENT),
        ..group(
            PRODUCTION,
            "Production environment",
            "Nodes whose certificate says pp_environment=production",
            ALL_ENVIRONMENTS,
        )
    };
    let agent = ClassifierGroup {
        environment: AGENT_SPECIFIED.to_owned(),
        environment_trumps: true,
        ..group(
            AGENT,
            "Agent-specified environment",
            "Nodes that may choose their environment themselves; pin them here",
            ALL_ENVIRONMENTS,
        )
    };
    vec![all_nodes, all_environments, production, agent]
}

/// Returns `true` if these are exactly the shipped groups, so that nothing has been configured
/// yet.
pub(crate) fn are_default_groups(groups: &[Arc<ClassifierGroup>]) -> bool {
    let shipped = default_groups(0);
    let plain = |group: &ClassifierGroup| ClassifierGroup {
        last_edited_ms: 0,
        serial_number: 0,
        ..group.clone()
    };
    groups.len() == shipped.len()
        && groups
            .iter()
            .all(|group| shipped.iter().any(|shipped| plain(shipped) == plain(group)))
}

fn environment_rule(name: &str) -> Option<NodeGroupRule> {
    NodeGroupRule::parse(&json!([
        "=",
        ["trusted", "extensions", "pp_environment"],
        name
    ]))
    .ok()
}
