//! Graphs of applications.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::site::{Site, SiteOptions};

const OPEN: &str = r#"
authorization: {
    version: 1
    rules: [{ match-request: { path: "/puppet/v3/environment/", type: path }, allow: "*.mcollective",
        sort-order: 500, name: "graph" }]
}
"#;

const MANIFEST: &str = "
capability sql($host = 'h') { }
define db() { }
Db produces Sql { }
define web($host) { }
Web consumes Sql { }
application pair() {
  web { 'w': consume => Sql['d'] }
  db { 'd': export => Sql['d'] }
}
site { pair { 'one': nodes => { Node['N1'] => Db['d'], Node['n2'] => Web['w'] } } }
";

fn files(manifest: &str) -> [(&str, &str); 2] {
    [
        ("environment.conf", "applications = true\n"),
        ("manifests/site.pp", manifest),
    ]
}

#[tokio::test]
async fn orchestrators_get_the_graph_of_an_environment() {
    let site = Site::with(SiteOptions {
        auth_conf: Some(OPEN.to_owned()),
        ..SiteOptions::default()
    })
    .await;
    let client = site.node("ann.mcollective");
    let first = site.deploy_version('a', &files(MANIFEST));
    let (status, body) = client.get("/puppet/v3/environment/production").await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let graph: Value = serde_json::from_str(&body).unwrap();
    let expected = json!({
        "environment": "production",
        "applications": { "Pair[one]": {
            "Web[w]": { "produces": [], "consumes": ["Sql[d]"], "node": "n2" },
            "Db[d]": { "produces": ["Sql[d]"], "consumes": [], "node": "N1" },
        } },
        "code_id": first,
    });
    assert_eq!(graph.to_string(), expected.to_string());

    site.deploy_version('b', &files("site { notify { 'x': } }"));
    let (status, body) = client.get("/puppet/v3/environment/production").await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    let error: Value = serde_json::from_str(&body).unwrap();
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "Server Error: Only application components can appear inside a site - Notify[x] is not allowed"
        ),
        "{message}"
    );
    assert!(message.ends_with("in environment production"), "{message}");
    let url = format!("/puppet/v3/environment/production?code_id={first}");
    let (status, body) = client.get(&url).await;
    assert_eq!(status, StatusCode::OK, "{body}");

    for name in ["nosuch", "a%2Fb", "%00", "Ü"] {
        let url = format!("/puppet/v3/environment/{name}");
        let (status, body) = client.get(&url).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{body}");
        assert!(body.contains("is not a known environment"), "{body}");
    }
    let other = site.node("web1");
    let (status, _) = other.get("/puppet/v3/environment/production").await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn without_rules_the_graph_is_for_no_client() {
    let site = Site::start().await;
    site.deploy_version('a', &files(MANIFEST));
    let client = site.node("web1");
    let (status, _) = client.get("/puppet/v3/environment/production").await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}
