//! Policies (B48), and the matcher against a model of it.

use broker::authorization::{AuthorizationClient as Asking, AuthorizationRequest};
use broker::{AuthorizationPolicy, ShippedPolicy};
use pcp::PcpUri;
use proptest::prelude::*;
use serde_json::json;

use crate::support::{Client, World, message, text_of};

fn rules(rules: &str) -> Result<AuthorizationPolicy, broker::AuthorizationPolicyError> {
    AuthorizationPolicy::parse(&format!(
        "authorization: {{ version: 1, rules: [{rules}] }}"
    ))
}

/// A rule over the parameters given, with an allowance.
fn rule(name: &str, order: u32, parameters: &str, allow: &str) -> String {
    format!(
        "{{ name: \"{name}\", sort-order: {order}, {allow}, match-request: {{ type: path, \
         path: \"/pcp-broker/send\", method: post, query-params: {{ {parameters} }} }} }}"
    )
}

fn may(policy: &AuthorizationPolicy, certname: &str, message_type: &str, target: &str) -> bool {
    let sender = PcpUri::new(certname, "agent").unwrap();
    let target: PcpUri = target.parse().unwrap();
    let client = Asking {
        certname,
        extensions: None,
    };
    policy
        .decide(
            client,
            AuthorizationRequest {
                sender: &sender,
                target: &target,
                message_type,
            },
        )
        .allowed
}

#[tokio::test]
async fn b48_default_deny_and_the_shipped_policy() {
    let shipped = ShippedPolicy {
        orchestrators: vec!["orch.example".to_owned()],
    };
    let broker = World::shared().broker(|config| config.policy = shipped.policy().unwrap());
    let mut node = Client::connect(&broker, "a.example").await;
    let mut orch = Client::at(&broker, "orch.example", "/pcp2/controller").await;
    let request = "http://puppetlabs.com/rpc_blocking_request";
    let response = "http://puppetlabs.com/rpc_blocking_response";
    node.send(message(
        1,
        request,
        "pcp://orch.example/controller",
        json!({}),
    ))
    .await;
    assert_eq!(text_of(&node.recv().await), "Message not authorized.");
    node.send(message(
        2,
        "test/other",
        "pcp://orch.example/controller",
        json!({}),
    ))
    .await;
    assert_eq!(text_of(&node.recv().await), "Message not authorized.");
    orch.send(message(
        3,
        request,
        "pcp://a.example/agent",
        json!({"a": 1}),
    ))
    .await;
    assert_eq!(node.recv().await["message_type"], request);
    for (id, message_type) in [(4, response), (5, "http://puppetlabs.com/error_message")] {
        node.send(message(
            id,
            message_type,
            "pcp://orch.example/controller",
            json!("x"),
        ))
        .await;
        assert_eq!(orch.recv().await["message_type"], message_type);
    }
}

#[test]
fn b48_a_rule_on_the_target_decides_and_so_does_one_on_targets() {
    // In other brokers a rule on `targets` never matches, although it is the documented spelling.
    for key in ["target", "targets"] {
        let deny = rule(
            "deny",
            1,
            &format!("{key}: \"pcp://b/agent\""),
            "deny: \"*\"",
        );
        let allow = rule("allow", 2, "", "allow: \"*\"");
        let policy = rules(&format!("{allow}, {deny}")).unwrap();
        assert!(!may(&policy, "a", "t", "pcp://b/agent"), "{key}");
        assert!(may(&policy, "a", "t", "pcp://c/agent"), "{key}");
    }
}

#[test]
fn names_domains_patterns_and_denials() {
    for (allow, allowed, refused) in [
        ("allow: \"web.example\"", "web.example", "web.example.org"),
        ("allow: \"web.example\"", "web.example", "WEB.example"),
        ("allow: \"*.example\"", "web.example", "web.EXAMPLE"),
        ("allow: [\"x\", \"*.example\"]", "a.example", "example"),
        ("allow: { certname: \"a\" }", "a", "b"),
        (r#"allow: "/^web\\d+$/""#, "web12", "web12.org"),
        ("allow: \"*\", deny: [\"b\"]", "a", "b"),
    ] {
        let policy = rules(&rule("r", 1, "", allow)).unwrap();
        assert!(may(&policy, allowed, "t", "pcp:///server"), "{allow}");
        assert!(!may(&policy, refused, "t", "pcp:///server"), "{allow}");
    }
}

#[test]
fn extensions_must_all_fit() {
    let allow = "allow: { extensions: { pp_role: [web, db], pp_cli_auth: \"true\" } }";
    let policy = rules(&rule("r", 1, "", allow)).unwrap();
    let uri = PcpUri::broker();
    let request = AuthorizationRequest {
        sender: &uri,
        target: &uri,
        message_type: "t",
    };
    let asks = |pairs: &[(&str, &str)]| {
        let extensions = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        policy
            .decide(
                Asking {
                    certname: "a",
                    extensions: Some(&extensions),
                },
                request,
            )
            .allowed
    };
    assert!(asks(&[("pp_role", "db"), ("pp_cli_auth", "true")]));
    assert!(!asks(&[("pp_role", "db")]));
    assert!(!asks(&[("pp_role", "other"), ("pp_cli_auth", "true")]));
    assert!(
        !policy
            .decide(
                Asking {
                    certname: "a",
                    extensions: None
                },
                request
            )
            .allowed
    );
}

#[test]
fn what_could_never_work_is_refused_with_its_place() {
    let error = |text: &str| rules(text).unwrap_err().to_string();
    let ok = rule("r", 1, "", "allow: \"*\"");
    for (text, place) in [
        (
            ok.replace("sort-order: 1", "sort-order: 1000"),
            "rules[0].sort-order",
        ),
        (ok.replace("name: \"r\",", ""), "rules[0].name"),
        (
            ok.replace("type: path", "type: glob"),
            "rules[0].match-request.type",
        ),
        (ok.replace("allow: \"*\"", "allow: 5"), "rules[0].allow"),
        (ok.replace("allow: \"*\"", "alow: \"*\""), "rules[0].alow"),
        (
            ok.replace("allow: \"*\"", "allow: \"/(/\""),
            "rules[0].allow",
        ),
        (
            rule("r", 1, "colour: red", "allow: \"*\""),
            "query-params.colour",
        ),
        (
            rule("r", 1, "", "allow: { extensions: { role: x } }"),
            "allow.extensions.role",
        ),
        (format!("{ok}, {ok}"), "authorization.rules"),
    ] {
        let message = error(&text);
        assert!(message.contains(place), "{place} in {message}");
    }
    assert!(AuthorizationPolicy::parse("authorization: { version: 2, rules: [] }").is_err());
    assert!(AuthorizationPolicy::parse("{}").is_err());
    let inert = rules(&rule("r", 1, "destination_report: true", "deny: \"*\"")).unwrap();
    assert_eq!(inert.inert_rules().count(), 1);
}

#[derive(Clone, Debug)]
struct Model {
    order: u32,
    message_types: Vec<&'static str>,
    allow: Vec<&'static str>,
    deny: Vec<&'static str>,
}

const TYPES: [&str; 3] = ["t/a", "t/b", "t/c"];
const NAMES: [&str; 3] = ["n1", "n2", "n3"];

fn model() -> impl Strategy<Value = Model> {
    let some = |all: [&'static str; 3]| proptest::sample::subsequence(all.to_vec(), 0..=3);
    (1u32..999, some(TYPES), some(NAMES), some(NAMES)).prop_map(
        |(order, message_types, allow, deny)| Model {
            order,
            message_types,
            allow,
            deny,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The first rule by order and name whose parameters fit decides; a denial within it wins.
    #[test]
    fn the_matcher_is_its_model(models in proptest::collection::vec(model(), 0..6)) {
        let text: Vec<String> = models.iter().enumerate().map(|(index, model)| {
            let parameters = if model.message_types.is_empty() { String::new() } else {
                format!("message_type: {}", json!(model.message_types))
            };
            let allow = format!("allow: {}, deny: {}", json!(model.allow), json!(model.deny));
            rule(&format!("r{index}"), model.order, &parameters, &allow)
        }).collect();
        let policy = rules(&text.join(",")).unwrap();
        let mut ordered: Vec<(u32, String, &Model)> = models.iter().enumerate()
            .map(|(index, model)| (model.order, format!("r{index}"), model)).collect();
        ordered.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        for message_type in TYPES {
            for certname in NAMES {
                let expected = ordered.iter()
                    .find(|(_, _, m)| m.message_types.is_empty() || m.message_types.contains(&message_type))
                    .is_some_and(|(_, _, m)| !m.deny.contains(&certname) && m.allow.contains(&certname));
                prop_assert_eq!(may(&policy, certname, message_type, "pcp:///server"), expected);
            }
        }
    }
}
