//! Catalogs and metadata of files, as agents request them, and hostile requests for them.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use environments::WaitingComponents;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::site::{Client, Site};

/// The form of an agent's request, whose facts are escaped twice.
pub(crate) fn form(environment: &str, facts: &str) -> String {
    let escape = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    format!(
        "environment={environment}&facts_format=application%2Fjson&facts={}&static_catalog=true\
         &checksum_type=sha256.sha384&check_environment=true&transaction_uuid=1",
        escape(&escape(facts))
    )
}

pub(crate) fn facts_of(certname: &str) -> String {
    json!({"name": certname, "values": {"kernel": "Linux"}}).to_string()
}

pub(crate) async fn post(client: &Client, certname: &str, body: String) -> (StatusCode, String) {
    let path = format!("/puppet/v3/catalog/{certname}?environment=production");
    let request = client
        .request(Method::POST, &path)
        .header("content-type", "application/x-www-form-urlencoded")
        .header(
            "accept",
            "application/vnd.puppet.rich+json, application/json",
        )
        .body(body);
    let response = request.send().await.unwrap();
    (response.status(), response.text().await.unwrap())
}

fn manifest(site: &Site, text: &str) {
    let directory = site
        .dir
        .path()
        .join("code/environments/production/manifests");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("site.pp"), text).unwrap();
}

#[tokio::test]
async fn a_node_gets_its_own_catalog_and_no_other() {
    let site = Site::with_agents().await;
    manifest(
        &site,
        "notify { \"${facts['kernel']} of ${trusted['certname']}\": }",
    );
    let node = site.node("web1");
    let (status, body) = post(&node, "web1", form("production", &facts_of("web1"))).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let catalog: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(catalog["name"], "web1");
    assert!(body.contains("Linux of web1"), "{body}");

    for (client, certname, facts, expected) in [
        (&node, "web2", facts_of("web2"), StatusCode::FORBIDDEN),
        (&node, "web1", facts_of("web2"), StatusCode::BAD_REQUEST),
        (&node, "web%31%00", facts_of("web1"), StatusCode::FORBIDDEN),
        (&node, "..%2Fweb1", facts_of("web1"), StatusCode::FORBIDDEN),
        (
            &site.nobody(),
            "web1",
            facts_of("web1"),
            StatusCode::FORBIDDEN,
        ),
        (
            &site.administrator(),
            "web1",
            facts_of("web1"),
            StatusCode::FORBIDDEN,
        ),
    ] {
        let (status, body) = post(client, certname, form("production", &facts)).await;
        assert_eq!(status, expected, "{certname}: {body}");
    }
    let asked = node
        .get("/puppet/v3/node/web2?environment=production")
        .await;
    assert_eq!(asked.0, StatusCode::FORBIDDEN);
    let (status, body) = node
        .get("/puppet/v3/node/web1?environment=production")
        .await;
    assert_eq!(status, StatusCode::OK, "{body}");
}

#[tokio::test]
async fn errors_are_those_that_agents_show() {
    let site = Site::with_agents().await;
    let node = site.node("web1");
    manifest(&site, "fail('no')");
    let (status, body) = post(&node, "web1", form("production", &facts_of("web1"))).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    let error: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(error["issue_kind"], "RUNTIME_ERROR");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with("Server Error: Evaluation Error:"),
        "{message}"
    );
    assert!(message.ends_with(" on node web1"), "{message}");

    let (status, body) = post(&node, "web1", form("nowhere", &facts_of("web1"))).await;
    assert_eq!(
        status,
        StatusCode::BAD_REQUEST,
        "the query names another: {body}"
    );
    for (environment, expected) in [
        ("nowhere", StatusCode::NOT_FOUND),
        ("..", StatusCode::BAD_REQUEST),
        ("a%2F..%2Fb", StatusCode::BAD_REQUEST),
        ("", StatusCode::BAD_REQUEST),
    ] {
        let path =
            format!("/puppet/v3/file_metadatas/plugins?recurse=false&environment={environment}");
        assert_eq!(node.get(&path).await.0, expected, "{environment}");
    }
}

#[tokio::test]
async fn malformed_facts_end_only_their_own_request() {
    let site = Site::with_agents().await;
    manifest(&site, "notify { 'x': }");
    let node = site.node("web1");
    let deep = format!(
        "{{\"name\": \"web1\", \"values\": {{\"a\": {}{}}}}}",
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    let nul = json!({"name": "web1", "values": {"a": "\u{0}"}}).to_string();
    for (facts, expected) in [
        (deep.as_str(), StatusCode::BAD_REQUEST),
        ("{", StatusCode::BAD_REQUEST),
        ("null", StatusCode::BAD_REQUEST),
        (
            r#"{"name": "web1", "values": {"facts": 1}}"#,
            StatusCode::INTERNAL_SERVER_ERROR,
        ),
        (&nul, StatusCode::OK),
    ] {
        let (status, body) = post(&node, "web1", form("production", facts)).await;
        let facts = &facts[..facts.len().min(60)];
        assert_eq!(
            status,
            expected,
            "{facts}: {}",
            &body[..body.len().min(300)]
        );
    }
    let huge = "x".repeat(17 * 1024 * 1024);
    let (status, _) = post(&node, "web1", huge).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    let (status, _) = post(&node, "web1", form("production", &facts_of("web1"))).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn metadata_describes_files_of_modules_and_nothing_else() {
    let site = Site::start().await;
    fs::create_dir_all(site.module_file("files/tree/sub")).unwrap();
    fs::write(site.module_file("files/tree/sub/a"), "hello\n").unwrap();
    fs::write(site.module_file("files/tree/.svn"), "").unwrap();
    fs::write(site.dir.path().join("secret"), "secret").unwrap();
    let out = site.module_file("files/out");
    std::os::unix::fs::symlink(site.dir.path().join("secret"), &out).unwrap();
    let node = site.node("web1");
    let query = "environment=production&links=follow&checksum_type=sha256&ignore=.svn&ignore=CVS";
    let path = format!("/puppet/v3/file_metadatas/modules/demo/tree?recurse=true&{query}");
    let (status, body) = node.get(&path).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let files: Vec<Value> = serde_json::from_str(&body).unwrap();
    let paths: Vec<_> = files
        .iter()
        .map(|file| file["relative_path"].clone())
        .collect();
    assert_eq!(paths, [".", "sub", "sub/a"]);
    let hash = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    assert_eq!(files[2]["checksum"]["value"], format!("{{sha256}}{hash}"));

    let (status, body) = node
        .get("/puppet/v3/file_metadatas/plugins?recurse=false&environment=production")
        .await;
    assert_eq!(status, StatusCode::OK, "{body}");

    for (path, expected) in [
        ("modules/demo/out", StatusCode::NOT_FOUND),
        ("modules/demo/none", StatusCode::NOT_FOUND),
        ("modules/none/x", StatusCode::NOT_FOUND),
        ("modules/demo/..%2F..%2Fsecret", StatusCode::BAD_REQUEST),
        // as in Puppet, that is etc/passwd of the module
        ("modules/demo/%2Fetc%2Fpasswd", StatusCode::NOT_FOUND),
        ("modules/demo/a%00b", StatusCode::BAD_REQUEST),
        ("modules/..%2Fdemo/x", StatusCode::NOT_FOUND),
        ("nowhere/x", StatusCode::NOT_FOUND),
        ("modules/demo/tree/%252e%252e/secret", StatusCode::NOT_FOUND),
    ] {
        let path = format!("/puppet/v3/file_metadata/{path}?{query}");
        let (status, body) = node.get(&path).await;
        assert_eq!(status, expected, "{path}: {body}");
        assert!(!body.contains("secret\""), "{body}");
    }
    let tree = format!("/puppet/v3/file_metadata/modules/demo/tree?{query}");
    assert_eq!(site.nobody().get(&tree).await.0, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn contents_by_hash_are_for_nodes_whose_catalogs_name_them() {
    let site = Site::with_agents().await;
    let version = site.deploy_version('a', &[
        ("manifests/site.pp", "if $trusted['certname'] == 'web1' { file { '/a': source => 'puppet:///modules/m/a' } }"),
        ("modules/m/files/a", "hello\n"),
    ]);
    let (web1, web2) = (site.node("web1"), site.node("web2"));
    for (client, name) in [(&web1, "web1"), (&web2, "web2")] {
        let (status, body) = post(client, name, form("production", &facts_of(name))).await;
        assert_eq!(status, StatusCode::OK, "{body}");
    }
    let hash = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    let query = format!("environment=production&code_id={version}");
    let path = format!("/puppet/v3/static_file_content/by-hash/sha256/{hash}?{query}");
    let response = web1.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(
        response.headers()["cache-control"],
        "private, max-age=31536000, immutable"
    );
    assert_eq!(response.text().await.unwrap(), "hello\n");
    assert_eq!(web2.get(&path).await.0, StatusCode::NOT_FOUND);
    assert_eq!(site.nobody().get(&path).await.0, StatusCode::FORBIDDEN);

    let at = |path: &str| format!("/puppet/v3/static_file_content/{path}?{query}");
    let (status, body) = web2.get(&at("modules/m/files/a")).await;
    assert_eq!((status, body.as_str()), (StatusCode::OK, "hello\n"));
    for (path, expected) in [
        ("modules/m/manifests/init.pp", StatusCode::FORBIDDEN),
        ("manifests/site.pp", StatusCode::FORBIDDEN),
        (
            "modules/m/files/..%2F..%2Fmanifests",
            StatusCode::BAD_REQUEST,
        ),
        ("by-hash/sha256/zz", StatusCode::BAD_REQUEST),
        ("modules/m/files/none", StatusCode::NOT_FOUND),
        ("elsewhere/m/files/a", StatusCode::NOT_FOUND),
    ] {
        assert_eq!(web2.get(&at(path)).await.0, expected, "{path}");
    }
}

#[tokio::test]
async fn a_run_of_a_job_gets_the_version_that_its_job_names() {
    let site = Site::with_agents().await;
    let files = |text| {
        [
            ("manifests/site.pp", "include demo"),
            ("modules/demo/manifests/init.pp", text),
        ]
    };
    let old = site.deploy_version('a', &files("class demo { notify { 'old': } }"));
    site.deploy_version('b', &files("class demo { notify { 'new': } }"));
    let (node, other) = (site.node("web1"), site.node("web2"));
    let run = environments::JobCatalogRun {
        job: "7".to_owned(),
        environment: "production".parse().unwrap(),
        code_id: Some(old.clone()),
        waiting: Arc::default(),
    };
    site.pinned.begin("web1", run);
    let catalog = |certname: &'static str, job: Option<&str>| {
        let client = if certname == "web1" { &node } else { &other };
        let job = job.map_or_else(String::new, |job| format!("&job_uuid={job}"));
        let body = form("production", &facts_of(certname)) + &job;
        async move {
            let (status, body) = post(client, certname, body).await;
            assert_eq!(status, StatusCode::OK, "{body}");
            let catalog: Value = serde_json::from_str(&body).unwrap();
            let notify = |title| body.contains(&format!("\"title\":\"{title}\""));
            assert_ne!(notify("old"), notify("new"), "{body}");
            (
                notify("old"),
                catalog["code_id"].as_str().unwrap().to_owned(),
            )
        }
    };
    assert_eq!(catalog("web1", Some("7")).await, (true, old.clone()));
    for (certname, job) in [("web1", None), ("web1", Some("8")), ("web2", Some("7"))] {
        assert!(!catalog(certname, job).await.0, "{certname} {job:?}");
    }
    // its plugins are of that version, too
    let path = "/puppet/v3/file_content/modules/demo/x?environment=production";
    for (digit, text) in [('a', "old"), ('b', "new")] {
        site.deploy_version(digit, &[("modules/demo/files/x", text)]);
    }
    assert_eq!(node.get(path).await.1, "old");
    assert_eq!(other.get(path).await.1, "new");

    let elsewhere = form("other", &facts_of("web1")) + "&job_uuid=7";
    let elsewhere = elsewhere.replace("environment=production", "environment=other");
    let request = node
        .request(Method::POST, "/puppet/v3/catalog/web1?environment=other")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(elsewhere);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    let message = response.text().await.unwrap();
    assert!(
        message.contains("job 7 names a version of the environment production"),
        "{message}"
    );

    site.pinned.end("web1", "7");
    assert!(!catalog("web1", Some("7")).await.0);
    assert_eq!(node.get(path).await.1, "new");
}

#[tokio::test]
async fn only_the_run_of_a_pass_lacks_components_and_its_catalog_is_not_given_again() {
    let site = Site::with_agents().await;
    let manifest = "
define db() { notify { \"db ${name}\": } }
Db produces Sql { host => $trusted['certname'] }
define web($host) { notify { \"web of ${host}\": } }
Web consumes Sql { }
capability sql(String $host) { }
application pair() {
  ['a', 'b'].each |$it| {
    db { $it: export => Sql[$it] }
    web { $it: consume => Sql[$it] }
  }
}
site { pair { 'one': nodes => { Node['web1'] => [Db['a'], Web['b']], Node['web2'] => [Db['b'], Web['a']] } } }
";
    site.deploy_version(
        'a',
        &[
            ("environment.conf", "applications = true\n"),
            ("manifests/site.pp", manifest),
        ],
    );
    let nodes = [("web1", site.node("web1")), ("web2", site.node("web2"))];
    let catalog = |node: usize, job: &'static str| {
        let (certname, client) = &nodes[node];
        let body = form("production", &facts_of(certname)) + "&job_uuid=" + job;
        async move { post(client, certname, body).await }
    };
    let run = |environment: &str, component: &str| environments::JobCatalogRun {
        job: "7".to_owned(),
        environment: environment.parse().unwrap(),
        code_id: None,
        waiting: Arc::new(WaitingComponents {
            missing: [component.to_owned()].into(),
            present: BTreeSet::new(),
        }),
    };
    site.pinned.begin("web1", run("other", "Web[b]"));
    assert_eq!(catalog(0, "7").await.0, StatusCode::INTERNAL_SERVER_ERROR);
    site.pinned.begin("web1", run("production", "Web[b]"));
    let (status, body) = catalog(0, "8").await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(body.contains("Sql[b] could not be found"), "{body}");
    let (status, body) = catalog(0, "7").await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert!(body.contains("db a") && !body.contains("web of"), "{body}");
    assert_eq!(catalog(0, "8").await.0, StatusCode::INTERNAL_SERVER_ERROR);

    let (status, body) = catalog(1, "9").await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert!(body.contains("web of web1"), "{body}");
    // what web2 produced is there now
    for (job, is_complete) in [("7", false), ("8", true), ("7", false)] {
        let (status, body) = catalog(0, job).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        assert_eq!(body.contains("web of web2"), is_complete, "{body}");
    }

    // a later pass, in which nothing is missing
    let present = |job: &str| environments::JobCatalogRun {
        job: job.to_owned(),
        waiting: Arc::new(WaitingComponents {
            missing: BTreeSet::new(),
            present: ["Web[b]".to_owned()].into(),
        }),
        ..run("production", "")
    };
    site.pinned.begin("web1", present("10"));
    for (job, is_complete) in [("10", false), ("8", true), ("10", true)] {
        let (status, body) = catalog(0, job).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        let is_shown = body.contains("web of web2");
        assert_eq!(is_shown, is_complete, "as the last catalog: {body}");
    }
}

#[tokio::test]
async fn a_node_learns_whether_its_last_catalog_is_current() {
    let site = Site::with_agents().await;
    let files = |title| [("manifests/site.pp", title)];
    site.deploy_version('a', &files("notify { \"${facts['kernel']}\": }"));
    let node = site.node("web1");
    let (_, body) = post(&node, "web1", form("production", &facts_of("web1"))).await;
    let catalog: Value = serde_json::from_str(&body).unwrap();
    let uuid = catalog["catalog_uuid"].as_str().unwrap();
    let check = |client: &Client, certname: &str, question: Value| {
        let path = format!("/tutti/v1/catalogs/{certname}/check");
        let request = client
            .request(Method::POST, &path)
            .body(question.to_string());
        async move {
            let response = request.send().await.unwrap();
            let status = response.status();
            let text = response.text().await.unwrap();
            (status, serde_json::from_str(&text).unwrap_or(Value::Null))
        }
    };
    let question = |uuid: &str| json!({"environment": "production", "catalog_uuid": uuid});
    let current = (StatusCode::OK, json!({"current": true}));
    assert_eq!(check(&node, "web1", question(uuid)).await, current);
    let (status, answer) = check(&node, "web1", question("another")).await;
    assert_eq!(
        (status, &answer["current"]),
        (StatusCode::OK, &json!(false))
    );

    for (client, certname) in [
        (&node, "web2"),
        (&site.nobody(), "web1"),
        (&site.administrator(), "web1"),
    ] {
        assert_eq!(
            check(client, certname, question(uuid)).await.0,
            StatusCode::FORBIDDEN
        );
    }
    for bad in [
        json!({}),
        json!([]),
        json!({"environment": "..", "catalog_uuid": uuid}),
        json!({"environment": "production", "catalog_uuid": uuid, "more": 1}),
        json!({"environment": "production", "catalog_uuid": 1}),
        json!("x".repeat(4_000_000)),
    ] {
        let status = check(&node, "web1", bad).await.0;
        assert!(status.is_client_error(), "{status}");
    }
    let reason = |answer: (StatusCode, Value)| answer.1["reason"].as_str().unwrap().to_owned();
    let elsewhere = json!({"environment": "other", "catalog_uuid": uuid});
    assert_eq!(
        check(&node, "web1", elsewhere).await.0,
        StatusCode::NOT_FOUND
    );

    // other facts count with the next request for a catalog
    let other_facts = json!({"name": "web1", "values": {"kernel": "other"}}).to_string();
    let request = node
        .request(Method::PUT, "/puppet/v3/facts/web1?environment=production")
        .header("content-type", "application/json")
        .body(other_facts);
    let status = request.send().await.unwrap().status();
    assert_eq!(status, StatusCode::OK);
    assert_eq!(check(&node, "web1", question(uuid)).await, current);

    let run = environments::JobCatalogRun {
        job: "7".to_owned(),
        environment: "production".parse().unwrap(),
        code_id: Some(catalog["code_id"].as_str().unwrap().to_owned()),
        waiting: Arc::default(),
    };
    site.pinned.begin("web1", run);
    let answer = check(&node, "web1", question(uuid)).await;
    assert_eq!(
        reason(answer),
        "a job of the node names a version of the code"
    );
    site.pinned.end("web1", "7");

    site.deploy_version('b', &files("notify { 'b': }"));
    let answer = check(&node, "web1", question(uuid)).await;
    assert_eq!(reason(answer), "another version of the code is live");
}

#[tokio::test]
async fn bytes_that_are_no_text_reach_agents_as_puppetserver_writes_them() {
    let site = Site::with_agents().await;
    fs::write(site.module_file("files/bytes"), b"a\xffb\xc3\xa9").unwrap();
    manifest(&site, "file { '/x': content => binary_file('demo/bytes') }");
    let node = site.node("web1");
    for (accepted, media_type, expected) in [
        (
            "application/vnd.puppet.rich+json, application/json, text/pson",
            "application/vnd.puppet.rich+json",
            json!({"__ptype": "Binary", "__pvalue": "Yf9iw6k="}),
        ),
        (
            "application/json, text/pson",
            "application/json",
            json!("Yf9iw6k="),
        ),
        ("text/pson", "text/pson", json!("Yf9iw6k=")),
    ] {
        let request = node
            .request(
                Method::POST,
                "/puppet/v3/catalog/web1?environment=production",
            )
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", accepted)
            .body(form("production", &facts_of("web1")));
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], media_type, "{accepted}");
        let catalog: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        let resources = catalog["resources"].as_array().unwrap();
        let file = resources.iter().find(|it| it["type"] == "File").unwrap();
        assert_eq!(file["parameters"]["content"], expected, "{accepted}");
    }
    manifest(&site, "notify { file('demo/bytes'): }");
    let (status, body) = post(&node, "web1", form("production", &facts_of("web1"))).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(
        body.contains("is not UTF-8: read it with binary_file"),
        "{body}"
    );
}
