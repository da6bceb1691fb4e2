//! Catalogs for services: `POST /puppet/v4/catalog`.

use serde_json::{Value, json};

use crate::site::{Client, Site};

const V4: &str = "/puppet/v4/catalog";

/// Puppet's rule for services, opened for one.
const RULES: &str = r#"
authorization: {
    version: 1
    rules: [
        {
            match-request: { path: "^/puppet/v4/catalog/?$", type: regex, method: post }
            allow: ["console"]
            sort-order: 500
            name: "puppetlabs v4 catalog for services"
        },
    ]
}
"#;

async fn site(auth_conf: Option<&str>) -> Site {
    let manifest = "node 'bad' { fail('no') }\nnode default {\n  notice('said')\n  warning('careful')\n  notify { \
                    \"${facts['os']} ${trusted['certname']}\": message => Sensitive('s') }\n}\n";
    Site::for_services(auth_conf, manifest).await
}

async fn post(client: &Client, path: &str, body: &Value) -> (u16, String) {
    client.post_json(path, body).await
}

fn question() -> Value {
    json!({
        "certname": "web1",
        "persistence": {"facts": false, "catalog": false},
        "environment": "production",
        "facts": {"values": {"os": "Linux"}},
        "trusted_facts": {"values": {"certname": "web1"}},
        "transaction_uuid": "5",
        "job_id": "6",
    })
}

#[tokio::test]
async fn a_service_gets_the_catalog_of_a_node() {
    let site = site(Some(RULES)).await;
    let console = site.node("console");
    let (status, body) = post(&console, V4, &question()).await;
    assert_eq!(status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        answer.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["catalog"]
    );
    let catalog = &answer["catalog"];
    assert_eq!(
        (&catalog["name"], &catalog["environment"]),
        (&json!("web1"), &json!("production"))
    );
    let resources = catalog["resources"].as_array().unwrap();
    let notify = resources.iter().find(|it| it["type"] == "Notify").unwrap();
    assert_eq!(notify["title"], "Linux web1");
    assert_eq!(notify["sensitive_parameters"], json!(["message"]));
    // no trace of the node
    assert!(!site.inventory.has_facts(&"web1".parse().unwrap()));

    let mut logged = question();
    logged["options"] = json!({"capture_logs": true});
    let (_, body) = post(&console, V4, &logged).await;
    let answer: Value = serde_json::from_str(&body).unwrap();
    let messages = |answer: &Value| -> Vec<String> {
        let logs = answer["logs"].as_array().unwrap().iter();
        logs.map(|log| {
            format!(
                "{} {}",
                log["level"].as_str().unwrap(),
                log["message"].as_str().unwrap()
            )
        })
        .collect()
    };
    let logs = messages(&answer);
    assert_eq!(logs.len(), 2, "{logs:?}");
    assert!(logs[0].starts_with("notice said"), "{logs:?}");
    assert!(logs[1].starts_with("warning careful"), "{logs:?}");
    assert_eq!(answer["logs"][0]["tags"], json!(["notice"]));
    logged["options"] = json!({"capture_logs": true, "log_level": "warning"});
    let (_, body) = post(&console, V4, &logged).await;
    assert_eq!(
        messages(&serde_json::from_str(&body).unwrap()).len(),
        1,
        "{body}"
    );

    let mut recorded = question();
    recorded["persistence"]["facts"] = json!(true);
    assert_eq!(post(&console, V4, &recorded).await.0, 200);
    assert!(site.inventory.has_facts(&"web1".parse().unwrap()));
}

#[tokio::test]
async fn only_services_that_a_rule_allows_may_request_it() {
    let opened = site(Some(RULES)).await;
    for name in ["web1", "consoles"] {
        assert_eq!(
            post(&opened.node(name), V4, &question()).await.0,
            403,
            "{name}"
        );
    }
    assert_eq!(post(&opened.nobody(), V4, &question()).await.0, 403);
    let closed = site(None).await;
    for client in [
        closed.node("console"),
        closed.node("web1"),
        closed.administrator(),
    ] {
        let (status, body) = post(&client, V4, &question()).await;
        assert_eq!(status, 403);
        assert!(body.contains("puppet_api.auth_conf"), "{body}");
    }
}

#[tokio::test]
async fn errors_are_plain_texts() {
    let site = site(Some(RULES)).await;
    let console = site.node("console");
    let changed = |key: &str, value: Value| {
        let mut question = question();
        question[key] = value;
        question
    };
    for (body, status, text) in [
        (
            changed("certname", json!("bad")),
            500,
            "Server Error: Evaluation Error:",
        ),
        (
            changed("environment", json!("none")),
            404,
            "there is no environment none",
        ),
        (
            changed("environment", json!("a-b")),
            400,
            "Invalid input: environment",
        ),
        (
            changed("environment", json!("../x")),
            400,
            "Invalid input: environment",
        ),
        (
            changed("certname", json!("../x")),
            400,
            "Invalid input: certname",
        ),
        (changed("certname", json!(5)), 400, "Invalid input: "),
        (changed("extra", json!(1)), 400, "Invalid input: "),
        (
            changed("persistence", json!({"facts": false})),
            400,
            "Invalid input: ",
        ),
        (
            changed("options", json!({"log_level": "x"})),
            400,
            "Invalid input: ",
        ),
        (changed("facts", json!([])), 400, "Invalid input: "),
        (
            changed("job_id", json!("x".repeat(1000))),
            400,
            "Invalid input: job_id",
        ),
        (json!([]), 400, "Invalid input: "),
    ] {
        let (found, answer) = post(&console, V4, &body).await;
        assert_eq!(found, status, "{body}: {answer}");
        assert!(
            answer.contains(text) && !answer.starts_with('{'),
            "{body}: {answer}"
        );
    }
}
