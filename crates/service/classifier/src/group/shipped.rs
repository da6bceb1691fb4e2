//! The groups of a new store, modelled on those of Puppet Enterprise: "All Nodes" with every node,
//! and below it "All Environments" with a group for each way to get an environment.
//!
//! Invariant: with these groups alone every node is classified, into `production`, without
//! classes, and without a conflict.

use std::sync::Arc;

use serde_json::json;

use super::{AGENT_SPECIFIED, Classes, DEFAULT_ENVIRONMENT, Group, GroupId, Parameters};
use crate::Rule;

const ALL_ENVIRONMENTS: GroupId = GroupId::from_u128(0x7b1d_1d4c_9f6e_4c5b_8f3a_2b64_0e51_6a01);
const PRODUCTION: GroupId = GroupId::from_u128(0x7b1d_1d4c_9f6e_4c5b_8f3a_2b64_0e51_6a02);
const AGENT: GroupId = GroupId::from_u128(0x7b1d_1d4c_9f6e_4c5b_8f3a_2b64_0e51_6a03);

pub(crate) fn shipped(now_ms: i64) -> Vec<Group> {
    let group = |id, name: &str, description: &str, parent| Group {
        id,
        name: name.to_owned(),
        description: Some(description.to_owned()),
        environment: DEFAULT_ENVIRONMENT.to_owned(),
        environment_trumps: false,
        parent,
        rule: None,
        classes: Classes::new(),
        config_data: Classes::new(),
        variables: Parameters::new(),
        last_edited_ms: now_ms,
        serial_number: 1,
    };
    let all_nodes = Group {
        rule: Some(Rule::everything()),
        ..group(GroupId::ROOT, "All Nodes", "Every node", GroupId::ROOT)
    };
    let all_environments = Group {
        rule: Some(Rule::everything()),
        environment_trumps: true,
        ..group(
            ALL_ENVIRONMENTS,
            "All Environments",
            "The parent of groups that only choose an environment, and give no classes",
            GroupId::ROOT,
        )
    };
    let production = Group {
        environment_trumps: true,
        rule: environment_rule(DEFAULT_ENVIRONMENT),
        ..group(
            PRODUCTION,
            "Production environment",
            "Nodes whose certificate says pp_environment=production",
            ALL_ENVIRONMENTS,
        )
    };
    let agent = Group {
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
pub(crate) fn are_as_shipped(groups: &[Arc<Group>]) -> bool {
    let shipped = shipped(0);
    let plain = |group: &Group| Group {
        last_edited_ms: 0,
        serial_number: 0,
        ..group.clone()
    };
    groups.len() == shipped.len()
        && groups
            .iter()
            .all(|group| shipped.iter().any(|shipped| plain(shipped) == plain(group)))
}

fn environment_rule(name: &str) -> Option<Rule> {
    Rule::parse(&json!([
        "=",
        ["trusted", "extensions", "pp_environment"],
        name
    ]))
    .ok()
}
