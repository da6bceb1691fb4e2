//! Rules of an `auth.conf`.

use std::fs;

use puppet_api::AuthorizationRules;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::site::{Site, SiteOptions};

/// The rules that puppetserver ships, shortened, and some of a site.
const RULES: &str = r#"
authorization: {
    version: 1
    rules: [
        {
            match-request: { path: "^/puppet/v3/node/([^/]+)$", type: regex, method: get }
            allow: "$1"
            sort-order: 500
            name: "puppetlabs node"
        },
        {
            match-request: { path: "/puppet/v3/file_content", type: path, method: [get, post] }
            allow: "*"
            sort-order: 500
            name: "puppetlabs file content"
        },
        {
            match-request: { path: "/puppet/v3/file_content/modules/secret", type: path }
            allow: ["*.db.test", { certname: "backup" }]
            deny: ["Old.DB.test", "*.Gone.db.test"]
            sort-order: 400
            name: "secret files"
        },
        {
            match-request: {
                path: "/puppet/v3/environment_modules", type: path, method: get
                query-params: { environment: [production, test] }
            }
            allow: [{ extensions: { pp_cli_auth: "true" } }, "/^tool[0-9]$/"]
            sort-order: 500
            name: "modules"
        },
        {
            match-request: { path: "/puppet/v3/plans", type: path }
            allow: tool1
            sort-order: 500
            name: "plans"
        },
        {
            match-request: { path: "/puppet-ca/v1/certificate/", type: path, method: get }
            allow-unauthenticated: true
            sort-order: 500
            name: "puppetlabs certificate"
        },
        {
            match-request: { path: "/", type: path }
            deny: "*"
            sort-order: 999
            name: "puppetlabs deny all"
        }
    ]
}
"#;

async fn site() -> Site {
    let site = Site::with(SiteOptions {
        has_agents: true,
        auth_conf: Some(RULES.to_owned()),
        ..SiteOptions::default()
    })
    .await;
    let secret = site.module_file("../secret/files");
    fs::create_dir_all(&secret).unwrap();
    fs::write(secret.join("key"), "secret").unwrap();
    fs::write(site.module_file("files/motd"), "hello").unwrap();
    fs::write(site.module_file("metadata.json"), r#"{"version": "1.2.3"}"#).unwrap();
    site
}

#[tokio::test]
async fn a_request_is_decided_by_the_first_rule_that_matches() {
    let site = site().await;
    let file =
        |path: &str| format!("/puppet/v3/file_content/modules/{path}?environment=production");
    for (certname, path, expected) in [
        ("web1", file("demo/motd"), 200),
        ("web1", file("secret/key"), 403),
        ("a.db.test", file("secret/key"), 200),
        ("backup", file("secret/key"), 200),
        ("old.db.test", file("secret/key"), 403),
        ("a.gone.db.test", file("secret/key"), 403),
        ("gone.db.test", file("secret/key"), 403),
        ("bygone.db.test", file("secret/key"), 200),
        ("db.test", file("secret/key"), 403),
        (
            "web1",
            "/puppet/v3/node/web1?environment=production".to_owned(),
            200,
        ),
        (
            "web1",
            "/puppet/v3/node/web2?environment=production".to_owned(),
            403,
        ),
        ("web1", "/puppet/v3/environments".to_owned(), 403),
        ("web1", "/status/v1/simple".to_owned(), 403),
        ("web1", "/puppet-ca/v1/certificate/ca".to_owned(), 200),
    ] {
        let (status, body) = site.node(certname).get(&path).await;
        assert_eq!(status.as_u16(), expected, "{certname} {path}: {body}");
        assert!(expected == 200 || !body.contains("secret\n"), "{body}");
    }
    let unknown = site.nobody();
    assert_eq!(
        unknown.get("/puppet-ca/v1/certificate/ca").await.0,
        StatusCode::OK
    );
    let (status, body) = unknown.get(&file("demo/motd")).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(
        body.starts_with("Forbidden request: /puppet/v3/file_content"),
        "{body}"
    );
    let put = site.node("web1").request(Method::PUT, &file("demo/motd"));
    assert_eq!(put.send().await.unwrap().status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn an_escaped_path_has_no_more_rights() {
    let site = site().await;
    let node = site.node("web1");
    for path in [
        "/puppet/v3/file_content/modules/s%65cret/key",
        "/puppet/v3/file_content/modules/%73%65%63%72%65%74/key",
        "/puppet/v3/file_content/modules%2Fsecret/key",
        "/puppet/v3/file_content/m%6fdules/secret/key",
        "/puppet/v3/file_content/modules//secret/key",
        "/puppet/v3//file_content/modules/secret/key",
        "/puppet/v3/file_content/modules/%2fsecret/key",
        "/puppet/v3/node/web2%00",
        "/puppet/v3/node/*",
        "/puppet/v3/%6eode/web2",
    ] {
        let (status, body) = node.get(&format!("{path}?environment=production")).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}: {body}");
    }
}

#[tokio::test]
async fn a_rule_opens_routes_that_are_closed_without_one() {
    let site = site().await;
    let path = "/puppet/v3/environment_modules?environment=production";
    let expected = json!({"name": "production", "modules": [
        {"name": "demo", "version": "1.2.3"},
        {"name": "secret", "version": null},
    ]});
    for client in [site.node("tool1"), site.administrator()] {
        let (status, body) = client.get(path).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), expected);
    }
    for (certname, path) in [
        ("web1", path),
        ("tool1", "/puppet/v3/environment_modules?environment=other"),
        ("tool1", "/puppet/v3/environment_modules"),
        ("tool12", path),
    ] {
        let (status, _) = site.node(certname).get(path).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{certname} {path}");
    }
    let plans = site.module_file("plans");
    fs::create_dir_all(&plans).unwrap();
    fs::write(plans.join("run.pp"), "plan demo::run() { }").unwrap();
    let tool = site.node("tool1");
    let (_, body) = tool.get("/puppet/v3/plans?environment=production").await;
    let listed: Value = serde_json::from_str(&body).unwrap();
    let environment = json!([{"name": "production", "code_id": null}]);
    assert_eq!(
        listed,
        json!([{"name": "demo::run", "environment": environment}])
    );
    let (_, body) = tool
        .get("/puppet/v3/plans/demo/run?environment=production")
        .await;
    let shown: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(shown, json!({"name": "demo::run", "metadata": {}}));
    let (status, body) = tool
        .get("/puppet/v3/plans/demo/none?environment=production")
        .await;
    assert_eq!(
        (status.as_u16(), body.as_str()),
        (404, "Could not find plan 'none'")
    );

    let without = Site::start().await;
    for path in [
        path,
        "/puppet/v3/plans?environment=production",
        "/puppet/v3/plans/demo/run?environment=production",
        "/puppet/v3/environment_classes?environment=production",
        "/puppet/v3/environment_transports?environment=production",
    ] {
        let (status, body) = without.node("tool1").get(path).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
        assert!(body.contains("puppet_api.auth_conf"), "{body}");
    }
}

#[test]
fn a_defect_is_an_error_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let read = |text: &str| {
        let file = directory.path().join("auth.conf");
        fs::write(&file, text).unwrap();
        let read = AuthorizationRules::read(&file);
        read.map_err(|error| error.to_string())
    };
    read(RULES).unwrap();
    let rule = |rule: &str| format!("authorization: {{ version: 1, rules: [{{ {rule} }}] }}");
    let valid = "match-request: { path: /a, type: path }, allow: a, sort-order: 1, name: n";
    read(&rule(valid)).unwrap();
    for (old, new, expected) in [
        ("allow: a", "alow: a", "rules[0].alow: unknown"),
        ("allow: a", "allow: [a, 1]", "rules[0].allow[1]: "),
        ("allow: a", "allow: \"$1\"", "rules[0].allow: $1"),
        ("allow: a", "allow: \"a*\"", "rules[0].allow: "),
        ("allow: a", "allow: { rbac: x }", "rules[0].allow: "),
        (
            "allow: a",
            "allow: { extensions: { nothing: x } }",
            "rules[0].allow.extensions.nothing",
        ),
        (
            "allow: a",
            "allow: a, allow-unauthenticated: true",
            "rules[0]: allow and deny",
        ),
        ("allow: a,", "", "rules[0]: allow, deny"),
        ("type: path", "type: glob", "rules[0].match-request.type"),
        (
            "type: path",
            "method: patch, type: path",
            "rules[0].match-request.method",
        ),
        (
            "path: /a, type: path",
            "path: \"(\", type: regex",
            "rules[0].match-request.path",
        ),
        ("sort-order: 1", "sort-order: 1000", "rules[0].sort-order"),
        ("name: n", "nam: n", "rules[0].nam"),
    ] {
        let error = read(&rule(&valid.replace(old, new))).unwrap_err();
        assert!(
            error.starts_with(&format!("authorization.{expected}")),
            "{new}: {error}"
        );
    }
    let trusting = "authorization: { version: 1, allow-header-cert-info: true, rules: [] }";
    assert!(
        read(trusting)
            .unwrap_err()
            .contains("allow-header-cert-info")
    );
    for broken in ["", "{", "authorization: { version: 2, rules: [] }"] {
        assert!(read(broken).is_err(), "{broken}");
    }
}

#[test]
fn the_rules_that_puppetserver_ships_are_read() {
    let shipped = std::path::Path::new("/etc/puppet/puppetserver/conf.d/auth.conf");
    if !shipped.exists() {
        eprintln!("SKIPPED: puppetserver is not installed");
        return;
    }
    AuthorizationRules::read(shipped).unwrap();
}
