//! The default policy of a broker, used when none is configured.
//!
//! Invariant: only orchestrators may send requests to nodes; a node may only answer.

use super::{AuthorizationPolicy, AuthorizationPolicyError};

/// Builds the default policy for the certnames that may send requests to nodes.
#[derive(Clone, Debug, Default)]
pub struct ShippedPolicy {
    /// Certnames of orchestrators that connect as clients. The engine in the broker's own process
    /// and configured controllers need no entry.
    pub orchestrators: Vec<String>,
}

impl ShippedPolicy {
    /// The policy as text, as a starting point for a custom policy file.
    pub fn text(&self) -> String {
        let names: Vec<String> = self
            .orchestrators
            .iter()
            .map(|name| serde_json::Value::from(name.as_str()).to_string())
            .collect();
        TEMPLATE.replace("@ORCHESTRATORS@", &names.join(", "))
    }

    /// Parses the text of this default policy.
    pub fn policy(&self) -> Result<AuthorizationPolicy, AuthorizationPolicyError> {
        AuthorizationPolicy::parse(&self.text())
    }
}

const TEMPLATE: &str = r#"# Who may send what through the broker. The first rule that matches decides;
# what no rule matches is refused. Every message is POST /pcp-broker/send with
# the query-params sender, target and message_type.
authorization: {
  version: 1
  rules: [
    {
      name: "orchestrators see who is connected"
      sort-order: 400
      match-request: {
        type: path
        path: "/pcp-broker/send"
        method: post
        query-params: {
          message_type: "http://puppetlabs.com/inventory_request"
        }
      }
      allow: [@ORCHESTRATORS@]
    },
    {
      name: "orchestrators give orders"
      sort-order: 400
      match-request: {
        type: path
        path: "/pcp-broker/send"
        method: post
        query-params: {
          message_type: [
            "http://puppetlabs.com/rpc_blocking_request",
            "http://puppetlabs.com/rpc_non_blocking_request",
            "urn:tutti:pxp:outcome_ack",
            "urn:tutti:pxp:output_credit",
            "urn:tutti:pxp:cancel"
          ]
        }
      }
      allow: [@ORCHESTRATORS@]
    },
    {
      name: "nodes associate and answer"
      sort-order: 420
      match-request: {
        type: path
        path: "/pcp-broker/send"
        method: post
        query-params: {
          message_type: [
            "http://puppetlabs.com/associate_request",
            "http://puppetlabs.com/error_message",
            "http://puppetlabs.com/rpc_provisional_response",
            "http://puppetlabs.com/rpc_blocking_response",
            "http://puppetlabs.com/rpc_non_blocking_response",
            "http://puppetlabs.com/rpc_error_message",
            "urn:tutti:pxp:output"
          ]
        }
      }
      allow: "*"
    }
  ]
}
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authorization::{AuthorizationClient, AuthorizationRequest};

    #[test]
    fn nodes_answer_and_only_orchestrators_ask() {
        let shipped = ShippedPolicy {
            orchestrators: vec!["orch.example".to_owned()],
        };
        let policy = shipped.policy().expect("the shipped policy loads");
        let sender = pcp::PcpUri::broker();
        let may = |certname, message_type| {
            let request = AuthorizationRequest {
                sender: &sender,
                target: &sender,
                message_type,
            };
            policy
                .decide(
                    AuthorizationClient {
                        certname,
                        extensions: None,
                    },
                    request,
                )
                .allowed
        };
        for order in [
            "http://puppetlabs.com/inventory_request",
            "http://puppetlabs.com/rpc_blocking_request",
            "http://puppetlabs.com/rpc_non_blocking_request",
            "urn:tutti:pxp:cancel",
        ] {
            assert!(may("orch.example", order), "{order}");
            assert!(!may("node.example", order), "{order}");
        }
        for answer in [
            "http://puppetlabs.com/associate_request",
            "http://puppetlabs.com/error_message",
            "http://puppetlabs.com/rpc_non_blocking_response",
            "urn:tutti:pxp:output",
        ] {
            assert!(may("node.example", answer), "{answer}");
        }
        assert!(!may("orch.example", "anything else"));
        assert_eq!(policy.inert_rules().count(), 0);
    }

    #[test]
    fn without_orchestrators_nobody_gives_orders() {
        let policy = ShippedPolicy::default()
            .policy()
            .expect("the shipped policy loads");
        let uri = pcp::PcpUri::broker();
        let message_type = "http://puppetlabs.com/rpc_blocking_request";
        let request = AuthorizationRequest {
            sender: &uri,
            target: &uri,
            message_type,
        };
        let decision = policy.decide(
            AuthorizationClient {
                certname: "x",
                extensions: None,
            },
            request,
        );
        assert!(!decision.allowed);
        assert_eq!(decision.rule, Some("orchestrators give orders"));
    }
}
