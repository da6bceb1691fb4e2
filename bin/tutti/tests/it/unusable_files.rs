//! Unusable files of the configuration: those with which the server starts, and those with which it
//! does not.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::identity_provider::{Key, Provider};

use crate::world::{World, until};

const NODE: &str = "one.test";
const SERVICES: [&str; 4] = [
    "ldap-service",
    "oidc-service",
    "puppetdb-service",
    "traces-service",
];
const OIDC_START: &str = "/rbac-api/v1/auth/oidc/start";
const LDAP_TEST: &str = "/rbac-api/v1/command/ldap/test";
const QUERY: &str = "/pdb/query/v4";

fn settings(provider: &Provider) -> String {
    let issuer = &provider.issuer;
    format!(
        "[puppetdb]\nconf = \"puppetdb.conf\"\n\
         [telemetry]\notlp_endpoint = \"not an address\"\n\
         [[directories.ldap]]\npassword_file = \"ldap-password\"\n\
         [directories.ldap.settings]\nhostname = \"localhost\"\nport = 1\nlogin = \"cn=x\"\n\
         base_dn = \"dc=test\"\nuser_lookup_attr = \"uid\"\n\
         [[directories.ldap]]\nca_file = \"ldap-ca.pem\"\n\
         [directories.ldap.settings]\nhostname = \"second.test\"\n\
         base_dn = \"dc=test\"\nuser_lookup_attr = \"uid\"\n\
         [directories.oidc]\nissuer = {issuer:?}\nclient_id = \"tutti\"\n\
         client_secret_file = \"oidc-secret\"\n"
    )
}

impl World {
    /// All services, regardless of the status.
    async fn services(&self) -> Value {
        let request = self.client.request(Method::GET, "/status/v1/services");
        request.send().await.unwrap().json().await.unwrap()
    }

    async fn refusal(&self, path: &str, body: &Value) -> String {
        format!("{:#}", self.client.post(path, body).await.unwrap_err())
    }

    /// The answer to a push of a forge with neither a token nor a signature.
    async fn pushed(&self, path: &str) -> String {
        let request = self.client.request(Method::POST, path);
        let request = request.header("x-github-event", "push").body("{}");
        let (http, request) = request.build_split();
        let mut request = request.unwrap();
        request.headers_mut().remove("x-authentication").unwrap();
        http.execute(request).await.unwrap().text().await.unwrap()
    }

    fn path(&self, name: &str) -> String {
        self.root().join(name).display().to_string()
    }

    /// Waits until the service is running.
    async fn heals(&self, service: &str) {
        until(service, || async {
            self.services().await[service]["state"] == "running"
        })
        .await;
    }
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}

/// Directories, identity provider, PuppetDB and traces become unavailable one by one, each with its
/// reason, and recover with their files.
#[tokio::test]
async fn unusable_files_of_features_stop_neither_orchestrator_nor_broker() {
    let provider = Provider::start(Key::es256("one")).await;
    let installation = crate::installation(&settings(&provider));
    std::fs::write(installation.root().join("ldap-ca.pem"), "no certificate").unwrap();
    let world = World::of(installation, &[NODE]).await;
    // The orchestrator and the broker work.
    world.shell("hello", &[], "echo '{}'");
    let row = world.run("hello", NODE, json!({})).await;
    assert_eq!(row["state"], "finished", "{row:#}");

    let services = world.services().await;
    for service in SERVICES {
        let told = &services[service];
        assert_eq!(told["state"], "error", "{service}: {services:#}");
        let error = told["status"]["error"].as_str().unwrap();
        assert!(error.contains("the server's log says why"), "{error}");
    }
    // The route needs no token, so its answer names no path; and load balancers see that the server
    // works.
    assert!(
        !services.to_string().contains(&world.path("")),
        "{services}"
    );
    let simple = world.client.request(Method::GET, "/status/v1/simple");
    assert_eq!(simple.send().await.unwrap().status(), 200);

    directories_keep_their_places(&world).await;
    let refused = world
        .refusal(QUERY, &json!({"query": "nodes[certname] {}"}))
        .await;
    has(
        &refused,
        &[
            "puppetdb.conf",
            &world.path("puppetdb.conf"),
            "mend the file",
        ],
    );
    let start = json!({"redirect_uri": "http://127.0.0.1:49152/callback"});
    let refused = world.refusal(OIDC_START, &start).await;
    has(
        &refused,
        &["503", "identity provider", "the server's log says why"],
    );
    let log = world.server.as_ref().unwrap().log_text();
    has(
        &log,
        &[
            "directories.oidc.client_secret_file",
            &world.path("oidc-secret"),
        ],
    );
    has(&log, &["telemetry.otlp_endpoint"]);

    std::fs::write(world.path("oidc-secret"), "secret\n").unwrap();
    std::fs::write(world.path("ldap-password"), "secret\n").unwrap();
    let conf = "[main]\nserver_urls = https://localhost:1\n";
    std::fs::write(world.path("puppetdb.conf"), conf).unwrap();
    world.heals("oidc-service").await;
    let started = world.client.post(OIDC_START, &start).await.unwrap();
    assert!(started["authorization_url"].is_string(), "{started}");
    world.heals("puppetdb-service").await;
    let refused = world
        .refusal(QUERY, &json!({"query": "nodes[certname] {}"}))
        .await;
    has(&refused, &["https://localhost:1", "not reachable"]);
    // One of two directories still has no CA.
    let services = world.services().await;
    assert_eq!(services["ldap-service"]["state"], "error", "{services:#}");
    world.stop().await;
}

/// A directory that was left out would lose its imported groups to the others.
async fn directories_keep_their_places(world: &World) {
    let listed = world.client.get("/rbac-api/v2/ldap").await.unwrap();
    let hosts: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["hostname"])
        .collect();
    assert_eq!(hosts, ["localhost", "second.test"], "{listed:#}");
    let files = [
        (
            "directories.ldap[0].password_file",
            "ldap-password",
            "name another",
        ),
        ("directories.ldap[1].ca_file", "ldap-ca.pem", "as PEM"),
    ];
    for (directory, (key, file, remedy)) in listed.as_array().unwrap().iter().zip(files) {
        let told = world
            .refusal(LDAP_TEST, &json!({"id": directory["id"]}))
            .await;
        has(&told, &[key, &world.path(file), remedy]);
    }
    // A user of no directory must not learn the server's files.
    let login = json!({"login": "rita", "password": "wrong"});
    let told = world.refusal("/rbac-api/v1/auth/token", &login).await;
    has(
        &told,
        &[
            "directory-unavailable",
            "localhost",
            "the server's log says why",
        ],
    );
    assert!(!told.contains(&world.path("")), "{told}");
}

/// Deployments do not depend on the secret of webhooks and the token of a forge.
#[tokio::test]
async fn unusable_secrets_of_forges_stop_no_deployments() {
    let statuses = "commit_statuses = { main = { type = \"github\", token_file = \"forge-token\", \
                    api = \"https://localhost:1\", repository = \"a/b\" } }\n";
    let (mut world, _control) = crate::code::start_with(&[], statuses).await;
    world.kill_server().await;
    let secret = world.path("webhook-secret");
    std::fs::write(&secret, "").unwrap();
    world.start_server().await;

    world.deploy().await;
    // Observers are notified after a deployment.
    let token = world.path("forge-token");
    until(
        "the deployment notes why the forge was not told",
        || async {
            let history = world.client.get("/tutti/v1/code/history").await.unwrap();
            let notes = history["items"][0]["notes"].to_string();
            notes.contains(&token) && notes.contains("code.commit_statuses.main.token_file")
        },
    )
    .await;
    let services = world.services().await;
    for (service, state) in [
        ("code-manager-service", "running"),
        ("code-webhook-service", "error"),
        ("commit-status-service", "error"),
    ] {
        assert_eq!(services[service]["state"], state, "{services:#}");
    }
    // A forge has no token, so no path is named.
    let webhook = "/code-manager/v1/webhook?type=github";
    let refused = world.pushed(webhook).await;
    has(
        &refused,
        &[
            "tutti/code-unavailable",
            "webhooks",
            "the server's log says why",
        ],
    );
    assert!(!refused.contains(&secret), "{refused}");

    std::fs::write(&secret, "a secret of webhooks\n").unwrap();
    world.heals("code-webhook-service").await;
    let refused = world.pushed(webhook).await;
    assert!(!refused.contains("code-unavailable"), "{refused}");
    world.stop().await;
}

/// Files that decide about access are not optional: the server refuses to start without them.
#[tokio::test]
async fn unusable_files_that_security_rests_on_stop_the_start() {
    for (settings, file) in [
        // The preceding section is that of the broker.
        ("authorization = \"rules.conf\"\n", "rules.conf"),
        (
            "[tls]\ncert = \"no.pem\"\nkey = \"no.pem\"\nca = \"no.pem\"\nno_crl = true\n",
            "no.pem",
        ),
    ] {
        let installation = crate::installation(settings);
        let refused = installation.server().start().await;
        let refused = format!("{:#}", refused.expect_err("the server must not start"));
        assert!(refused.contains(file), "{refused}");
    }
}
