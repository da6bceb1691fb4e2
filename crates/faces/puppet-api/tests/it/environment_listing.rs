//! Environments and tasks, as other tools list them.

use std::fs;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::site::{Client, Site};

async fn get(client: &Client, path: &str) -> Value {
    let (status, body) = client.get(path).await;
    assert_eq!(status, StatusCode::OK, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

#[tokio::test]
async fn environments_have_the_settings_that_puppet_lists() {
    let site = Site::start().await;
    let code = site.dir.path().join("code");
    let other = code.join("environments/other");
    fs::create_dir_all(&other).unwrap();
    fs::write(
        other.join("environment.conf"),
        "modulepath = site:$basemodulepath\nmanifest = site.pp\nenvironment_timeout = 5m\nconfig_version = \
         bin/version $environment\n",
    )
    .unwrap();
    let listed = get(&site.node("web1"), "/puppet/v3/environments").await;
    let search_path = format!("file://{}/environments", code.display());
    assert_eq!(listed["search_paths"], json!([search_path]));
    let names: Vec<_> = listed["environments"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["other", "production"]);
    assert_eq!(
        listed["environments"]["other"],
        json!({"settings": {
            "modulepath": [other.join("site"), code.join("modules")],
            "manifest": other.join("site.pp"),
            "environment_timeout": 300,
            "config_version": other.join("bin/version other"),
        }})
    );
    let production = code.join("environments/production");
    assert_eq!(
        listed["environments"]["production"],
        json!({"settings": {
            "modulepath": [production.join("modules"), code.join("modules")],
            "manifest": production.join("manifests"),
            "environment_timeout": 0,
            "config_version": "",
        }})
    );
    // one that cannot be used is left out, and the others stay
    fs::write(
        other.join("environment.conf"),
        "environment_timeout = soon\n",
    )
    .unwrap();
    let listed = get(&site.node("web1"), "/puppet/v3/environments").await;
    let names: Vec<_> = listed["environments"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["production"]);
}

#[tokio::test]
async fn tasks_are_listed_with_their_files() {
    let site = Site::start().await;
    fs::write(site.module_file("tasks/run.sh"), "echo hi\n").unwrap();
    let metadata = r#"{"description": "Runs.", "private": true, "parameters": {}}"#;
    fs::write(site.module_file("tasks/run.json"), metadata).unwrap();
    fs::write(site.module_file("tasks/init.sh"), "").unwrap();
    let node = site.node("web1");
    let listed = get(&node, "/puppet/v3/tasks?environment=production").await;
    let environment = json!([{"name": "production", "code_id": null}]);
    assert_eq!(
        listed,
        json!([
            {"name": "demo", "private": false, "description": "", "environment": environment},
            {"name": "demo::run", "private": true, "description": "Runs.", "environment": environment},
        ])
    );
    let shown = get(&node, "/puppet/v3/tasks/demo/run?environment=production").await;
    assert_eq!(shown["name"], "demo::run");
    assert_eq!(
        shown["metadata"],
        serde_json::from_str::<Value>(metadata).unwrap()
    );
    let file = &shown["files"][0];
    assert_eq!(
        (&file["filename"], &file["size_bytes"]),
        (&json!("run.sh"), &json!(8))
    );
    let path = file["uri"]["path"].as_str().unwrap();
    let content = node.get(&format!("{path}?environment=production")).await;
    assert_eq!(content, (StatusCode::OK, "echo hi\n".to_owned()));
    let shown = get(&node, "/puppet/v3/tasks/demo/init?environment=production").await;
    assert_eq!(
        (&shown["name"], &shown["metadata"]),
        (&json!("demo"), &json!({}))
    );
}

#[tokio::test]
async fn unknown_and_hostile_names_are_errors() {
    let site = Site::start().await;
    fs::write(site.module_file("tasks/run.sh"), "echo hi\n").unwrap();
    fs::write(site.dir.path().join("secret.json"), "{\"secret\": 1}").unwrap();
    let node = site.node("web1");
    for (path, status, text) in [
        (
            "tasks?environment=none",
            404,
            "Could not find environment 'none'",
        ),
        (
            "tasks/demo/run?environment=none",
            404,
            "Could not find environment 'none'",
        ),
        (
            "tasks/none/run?environment=production",
            404,
            "Could not find module 'none'",
        ),
        (
            "tasks/demo/none?environment=production",
            404,
            "Could not find task 'none'",
        ),
        (
            "tasks/demo/..%2F..%2F..%2Fsecret?environment=production",
            404,
            "Could not find task",
        ),
        (
            "tasks/demo/run%00?environment=production",
            404,
            "Could not find task",
        ),
        (
            "tasks/demo/Run?environment=production",
            404,
            "Could not find task",
        ),
        (
            "tasks/..%2Fdemo/run?environment=production",
            404,
            "Could not find module",
        ),
        (
            "tasks/demo/run?environment=..%2Fproduction",
            400,
            "environment",
        ),
        ("tasks/demo/run", 400, "environment"),
        ("tasks", 400, "environment"),
    ] {
        let (found, body) = node.get(&format!("/puppet/v3/{path}")).await;
        assert_eq!(found.as_u16(), status, "{path}: {body}");
        assert!(body.contains(text), "{path}: {body}");
        assert!(!body.contains("secret\""), "{path}: {body}");
    }
    for path in [
        "environments",
        "tasks?environment=production",
        "tasks/demo/run?environment=production",
    ] {
        let (status, _) = site.nobody().get(&format!("/puppet/v3/{path}")).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
    }
}
