//! Nodes that one job requests to be reached over SSH: [`OverSsh`].
//!
//! Invariant: the engine carries these connections sealed and cannot read them; the component that
//! sealed them opens them when the run starts.

use std::collections::HashMap;

use pcp::Certname;
use pxp::action;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The connection through which a run's node is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NodeTransport {
    /// Through its agent.
    #[default]
    Agent,
    /// Over SSH, through the fabric.
    Ssh,
}

/// The nodes of a job that are reached over SSH although they might have an agent, with their
/// connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverSsh {
    sealed: Vec<String>,
    /// Indexes into `sealed`: thousands of nodes share one connection.
    nodes: HashMap<Certname, usize>,
}

// === impl OverSsh ===

impl OverSsh {
    /// Adds nodes that are reached by this connection. A node that has one already keeps it.
    pub fn add(&mut self, nodes: impl IntoIterator<Item = Certname>, sealed: String) {
        let place = self.sealed.len();
        self.sealed.push(sealed);
        for node in nodes {
            self.nodes.entry(node).or_insert(place);
        }
    }

    /// True if the node has an SSH connection.
    pub fn contains_node(&self, node: &Certname) -> bool {
        self.nodes.contains_key(node)
    }

    /// The parameters of a request to `node`, with its connection.
    pub(crate) fn params_with_connection(
        &self,
        node: &Certname,
        params: &RawValue,
    ) -> Box<RawValue> {
        let sealed = self
            .nodes
            .get(node)
            .and_then(|place| self.sealed.get(*place));
        let known = sealed.zip(action::decode::<Map<String, Value>>(params).ok());
        let Some((sealed, mut params)) = known else {
            return params.to_owned();
        };
        let key = fabric::CONNECTION_KEY.to_owned();
        params.insert(key, Value::from(sealed.as_str()));
        action::encode(&params)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str) -> Certname {
        name.parse().unwrap()
    }

    #[test]
    fn each_node_is_told_its_own_connection_and_others_none() {
        let mut over_ssh = OverSsh::default();
        over_ssh.add([node("a"), node("b")], "one".to_owned());
        over_ssh.add([node("b"), node("c")], "two".to_owned());
        let text = serde_json::to_string(&over_ssh).unwrap();
        let over_ssh: OverSsh = serde_json::from_str(&text).unwrap();
        let params = action::encode(&json!({"x": 1}));
        let told = |name| -> Value {
            serde_json::from_str(over_ssh.params_with_connection(&node(name), &params).get())
                .unwrap()
        };
        assert_eq!(told("a"), json!({"x": 1, "_connection": "one"}));
        assert_eq!(told("b"), json!({"x": 1, "_connection": "one"}));
        assert_eq!(told("c"), json!({"x": 1, "_connection": "two"}));
        assert_eq!(told("d"), json!({"x": 1}));
        assert!(over_ssh.contains_node(&node("c")) && !over_ssh.contains_node(&node("d")));
    }
}
