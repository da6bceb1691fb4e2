//! The certnames to which a policy grants privileges, for the registry of privileged names.
//!
//! Invariant: a privilege is the right to send requests to agents or to read the inventory. A rule
//! that is always preceded by another one grants nothing.

use pcp::types::INVENTORY_REQUEST;
use pki::{CertnamePrivilege, NamePattern, PrivilegedNames};

use super::AuthorizationPolicy;
use super::name::PolicySubject;
use super::rule::AuthorizationRule;

/// Message types that run something on a node or list the connected nodes.
const ORDERS: &[&str] = &[
    INVENTORY_REQUEST,
    "http://puppetlabs.com/rpc_blocking_request",
    "http://puppetlabs.com/rpc_non_blocking_request",
];

/// Message types about transactions that run already. Policies made for other brokers let every
/// node send them, since they name only the types that those brokers know.
const CONTROL: &[&str] = &[
    "urn:tutti:pxp:outcome_ack",
    "urn:tutti:pxp:output_credit",
    "urn:tutti:pxp:cancel",
];

impl AuthorizationPolicy {
    /// Adds to `names` the certnames with privileges by this policy; `origin` describes the
    /// policy's source.
    pub fn grant_to(&self, names: &mut PrivilegedNames, origin: &str) {
        for (index, rule) in self.rules.iter().enumerate() {
            let decides = |message_type: &&str| self.has_effect(index, message_type);
            let orders = ORDERS.iter().any(&decides);
            if !orders && !CONTROL.iter().any(decides) {
                continue;
            }
            let origin = format!("{origin}, the rule {:?}", rule.name());
            grant(rule, orders, names, &origin);
        }
    }

    /// True if the rule at `index` decides messages of this type that no earlier rule decides.
    fn has_effect(&self, index: usize, message_type: &str) -> bool {
        let (before, from) = self.rules.split_at(index);
        from.first().is_some_and(|it| it.may_decide(message_type))
            && !before.iter().any(|it| it.always_decides(message_type))
    }
}

fn grant(rule: &AuthorizationRule, orders: bool, names: &mut PrivilegedNames, origin: &str) {
    if rule.allow_unauthenticated && orders {
        names.grant(CertnamePrivilege::Controller, origin, NamePattern::Any);
    }
    for entry in &rule.allow {
        match entry {
            PolicySubject::Anyone if orders => {
                names.grant(CertnamePrivilege::Controller, origin, NamePattern::Any)
            }
            PolicySubject::Anyone => {}
            PolicySubject::Name(pattern) => {
                names.grant(CertnamePrivilege::Controller, origin, pattern.clone())
            }
            PolicySubject::Extensions(wanted) => {
                for oid in wanted.iter().filter_map(|(key, _)| pki::extension_id(key)) {
                    names.grant_extension(origin, &oid);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShippedPolicy;

    fn names(policy: &AuthorizationPolicy) -> PrivilegedNames {
        let mut names = PrivilegedNames::default();
        policy.grant_to(&mut names, "broker.authorization");
        names
    }

    fn rule(name: &str, sort_order: u16, types: &[&str], allow: &str) -> String {
        let parameters = match types {
            [] => String::new(),
            types => format!("query-params: {{ message_type: {types:?} }}"),
        };
        format!(
            r#"{{ name: "{name}", sort-order: {sort_order}, allow: {allow}, match-request: {{
                type: path, path: "/pcp-broker/send", method: post, {parameters} }} }}"#
        )
    }

    fn policy(rules: &[String]) -> AuthorizationPolicy {
        let rules = rules.join(", ");
        let text = format!("authorization: {{ version: 1, rules: [{rules}] }}");
        AuthorizationPolicy::parse(&text).expect("a policy")
    }

    #[test]
    fn the_shipped_policy_gives_rights_to_orchestrators_only() {
        let shipped = ShippedPolicy {
            orchestrators: vec!["orch.example".to_owned()],
        };
        let names = names(&shipped.policy().expect("it loads"));
        let orchestrator = names
            .find_privileged("orch.example")
            .expect("it gives orders");
        assert_eq!(
            orchestrator.origin,
            "broker.authorization, the rule \"orchestrators give orders\""
        );
        assert!(names.find_privileged("node.example").is_none());
        assert!(names.find_match_all().is_none());
    }

    #[test]
    fn names_domains_expressions_and_extensions_of_rules_have_rights() {
        let allow = r#"["ops", "*.ops.example", "/^orch/", { extensions: { pp_role: "orch" } }]"#;
        let names = names(&policy(&[rule("orders", 400, ORDERS, allow)]));
        for name in ["ops", "OPS", "a.ops.example", "orch1"] {
            assert!(names.find_privileged(name).is_some(), "{name}");
        }
        assert!(names.find_privileged("web1").is_none());
        assert!(
            names
                .find_extension_origin("1.3.6.1.4.1.34380.1.1.13")
                .is_some()
        );
    }

    #[test]
    fn what_an_earlier_rule_decides_gives_no_rights() {
        // As policies of the field have it: orders for some, the rest for all.
        let orders = rule("orders", 400, ORDERS, r#"["orch"]"#);
        let rest = rule("rest", 420, &[], r#""*""#);
        let names = names(&policy(&[orders, rest]));
        assert!(names.find_match_all().is_none());
        assert!(names.find_privileged("orch").is_some() && names.find_privileged("web1").is_none());
    }

    #[test]
    fn orders_for_everyone_are_rights_of_every_name() {
        let everyone = names(&policy(&[rule("all", 400, &[], r#""*""#)]));
        assert!(everyone.find_match_all().is_some());
        let answers = ["http://puppetlabs.com/rpc_blocking_response"];
        let nodes = names(&policy(&[rule("nodes", 400, &answers, r#"["*.example"]"#)]));
        assert!(nodes.find_privileged("web1.example").is_none());
    }
}
