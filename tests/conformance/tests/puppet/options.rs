//! What a run is told to do, and not to do.

use conformance::site::Site;
use serde_json::json;

use crate::{NODE1, file};

pub(crate) async fn noop_and_no_noop(site: &mut Site) {
    let path = site.target("noop");
    site.manifest("production", &file(&path, "x"));
    let ran = site.run(&[NODE1], json!({"noop": true})).await;
    let result = ran.ended(NODE1, "finished");
    assert!(!path.exists());
    assert_eq!(result["status"], "unchanged", "{result:#}");
    assert_eq!(
        result["noop"],
        json!({"noop": 1, "no_noop": 0}),
        "{result:#}"
    );
    assert_eq!(ran.job["options"]["noop"], true);
    let started = ran
        .events
        .iter()
        .find(|event| event["type"] == "node_running");
    assert_eq!(started.unwrap()["details"]["detail"]["noop"], true);
    ran.said.expect(0, &["1 would change"]);

    site.puppet(NODE1)
        .configure("usecacheonfailure = false\nnoop = true\n")
        .unwrap();
    let as_configured = site.run(&[NODE1], json!({})).await;
    let unheeded = site.run(&[NODE1], json!({"no_noop": true})).await;
    site.puppet(NODE1)
        .configure("usecacheonfailure = false\n")
        .unwrap();
    let result = as_configured.ended(NODE1, "finished");
    assert_eq!(
        result["noop"],
        json!({"noop": 1, "no_noop": 0}),
        "{result:#}"
    );
    let result = unheeded.ended(NODE1, "finished");
    assert_eq!(result["status"], "changed", "{result:#}");
    assert_eq!(
        result["noop"],
        json!({"noop": 0, "no_noop": 1}),
        "{result:#}"
    );
    assert!(path.exists());
}

pub(crate) async fn tags_choose_resources(site: &mut Site) {
    let (web, db) = (site.target("web"), site.target("db"));
    let resource = |path: &std::path::Path, tag: &str| {
        let path = path.display();
        format!("file {{ '{path}': content => 'x', tag => '{tag}' }}\n")
    };
    site.manifest(
        "production",
        &(resource(&web, "web") + &resource(&db, "db")),
    );
    let ran = site.run(&[NODE1], json!({"tags": "web,other"})).await;
    ran.ended(NODE1, "finished");
    assert!(web.exists() && !db.exists());
    assert_eq!(ran.job["options"]["tags"], "web,other");
    std::fs::remove_file(&web).unwrap();
    let ran = site.run(&[NODE1], json!({"skip_tags": "web"})).await;
    ran.ended(NODE1, "finished");
    assert!(!web.exists() && db.exists());
}
