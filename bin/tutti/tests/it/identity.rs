//! Access with certificates that are revoked, expired, foreign, shared, or issued for another
//! purpose.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pki::ca::{GenerateOptions, InitOptions};
use pki::{CertificateAuthority, ClientTls, KeyType, TlsFiles};
use reqwest::Method;
use serde_json::json;
use testkit::installation::Programs;
use testkit::service::{Service, ServiceSpec};

use crate::world::{World, logged, until};

const NODES: [&str; 2] = ["node0.test", "node1.test"];

/// Installs a certificate as that of `certname`.
fn give(world: &World, ca: &CertificateAuthority, certname: &str, lifetime: Option<Duration>) {
    let options = GenerateOptions {
        alt_names: vec!["localhost".parse().unwrap()],
        lifetime,
        ..GenerateOptions::default()
    };
    let made = ca.generate(certname, &options).unwrap();
    let home = world.root().join("certificates");
    std::fs::create_dir_all(&home).unwrap();
    let key = home.join(format!("{certname}.key"));
    std::fs::write(&key, made.key_pem).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(home.join(format!("{certname}.pem")), made.cert_pem).unwrap();
}

fn ca(world: &World) -> CertificateAuthority {
    CertificateAuthority::open(&world.installation.ca_dir()).unwrap()
}

/// Waits until the agent has failed to connect at least twice more.
async fn tries_in_vain(agent: &Service, words: &str) {
    tries_in_vain_after(agent, words, agent.log_text().matches(words).count()).await;
}

/// The same for an agent with `before` attempts: pauses between attempts grow, so that two more
/// than now may take minutes.
async fn tries_in_vain_after(agent: &Service, words: &str, before: usize) {
    until(&format!("`{words}` twice in the agent's log"), || async {
        agent.log_text().matches(words).count() >= before + 2
    })
    .await;
}

#[tokio::test]
async fn a_revoked_agent_is_cut_and_does_not_come_back() {
    let mut world = World::start(&NODES).await;
    let other = format!("/orchestrator/v1/inventory/{}", NODES[1]);
    let since = world.client.get(&other).await.unwrap()["timestamp"].clone();
    let told = world.ca(&["revoke", NODES[0]]).await;
    assert!(
        told.starts_with(&format!("revoked {}\n", NODES[0])),
        "{told}"
    );
    // A broker that the configuration names, and that never connected.
    assert!(
        told.contains("note: these brokers are not connected") && told.contains(": broker.test;"),
        "{told}"
    );
    // The answer arrived after its session had ended.
    assert_eq!(world.client.connected_names().await.unwrap(), [NODES[1]]);
    tries_in_vain(&world.agents[NODES[0]], "not connected; next attempt").await;
    world.agents.remove(NODES[0]).unwrap().stop().await.unwrap();
    // Quick attempts: the delay between them grows to minutes otherwise.
    world
        .start_agent(NODES[0], "reconnect-max-delay : 1\n")
        .await;
    tries_in_vain(&world.agents[NODES[0]], "not connected; next attempt").await;
    assert_eq!(world.client.connected_names().await.unwrap(), [NODES[1]]);
    let now = world.client.get(&other).await.unwrap()["timestamp"].clone();
    assert_eq!(now, since, "the other agent's session was left alone");
    // Nor after a restart of the server.
    world.kill_server().await;
    world.start_server().await;
    world.client.connected(1).await.unwrap();
    tries_in_vain(&world.agents[NODES[0]], "not connected; next attempt").await;
    assert_eq!(world.client.connected_names().await.unwrap(), [NODES[1]]);
    world.stop().await;
}

#[tokio::test]
async fn the_ca_is_that_of_the_running_server_and_its_files_where_none_runs() {
    let mut world = World::start(&[]).await;
    let out = world.root().join("made").display().to_string();
    world
        .ca(&[
            "generate",
            "broker2.test",
            "--alt-names",
            "10.0.0.1",
            "--out",
            &out,
        ])
        .await;
    let audit = "/audit/v1/entries?start=1&limit=100";
    let entries = world.client.get(audit).await.unwrap().to_string();
    assert!(entries.contains("change_certificate_status"), "{entries}");
    let local = world.ca(&["revoke", "--local", "broker2.test"]).await;
    assert!(local.contains("note: only the files in"), "{local}");
    world.kill_server().await;
    let listed = world.ca(&["list", "--all"]).await;
    assert!(listed.contains("revoked    broker2.test"), "{listed}");
    assert!(listed.contains("IP:10.0.0.1"), "{listed}");
    let cleaned = world.ca(&["clean", "broker2.test"]).await;
    assert!(
        cleaned.contains("cleaned broker2.test") && cleaned.contains("note: only the files in")
    );
    world.start_server().await;
    let listed = world.ca(&["list", "--all"]).await;
    assert!(!listed.contains("broker2.test"), "{listed}");
    world.stop().await;
}

#[tokio::test]
async fn expired_and_foreign_certificates_do_not_come_in() {
    let mut world = World::start(&[]).await;
    let second = Duration::from_secs(1);
    give(&world, &ca(&world), NODES[0], Some(second));
    let options = InitOptions {
        common_name: "Test CA".to_owned(),
        key_type: KeyType::EcP256,
    };
    let foreign = CertificateAuthority::init(&world.root().join("foreign"), &options).unwrap();
    give(&world, &foreign, NODES[1], None);
    // Its end is an event of the clock.
    tokio::time::sleep(second * 2).await;
    for name in NODES {
        world.start_agent(name, "").await;
    }
    for name in NODES {
        tries_in_vain_after(&world.agents[name], "not connected; next attempt", 0).await;
    }
    let names = world.client.connected_names().await.unwrap();
    assert_eq!(names, Vec::<String>::new());
    world.stop().await;
}

/// A79
#[tokio::test]
async fn agents_that_share_a_certificate_raise_an_alarm_and_run_nothing_twice() {
    let world = World::start(&[NODES[0]]).await;
    let gate = world.gate("slow", "echo run >> \"$PT_begun.ledger\"", "echo genuine");
    let job = world.job("slow", &[NODES[0]], gate.params()).await;
    gate.begun().await;
    let port = world.installation.broker_port();
    let mut doubles = Vec::new();
    for index in 0..4 {
        let home = world.root().join(format!("double{index}"));
        std::fs::create_dir_all(home.join("spool")).unwrap();
        let home = home.display();
        let extra = format!("spool-dir : \"{home}/spool\"\npidfile : \"{home}/pid\"\n");
        let spec = world.installation.agent(NODES[0], port, &extra).unwrap();
        doubles.push(spec.start().await.unwrap());
    }
    let server = world.server.as_ref().unwrap();
    logged(server, "do two machines have the same certificate?").await;
    for double in doubles {
        double.kill().await.unwrap();
    }
    gate.open();
    let nodes = world.ended(job).await;
    let ledger = std::fs::read_to_string(world.root().join("slow-begun.ledger")).unwrap();
    assert_eq!(ledger, "run\n", "it ran once; {nodes:?}");
    // Depending on which of them got the request: either the outcome itself, or an unknown one.
    let known = nodes[0]["state"] == json!("finished");
    let kind = &nodes[0]["result"]["_error"]["kind"];
    assert!(
        known || *kind == json!("tutti/outcome-unknown"),
        "{nodes:?}"
    );
    world.client.connected(1).await.unwrap();
    world.shell("quick", &[], "echo done");
    let run = world.run("quick", NODES[0], json!({})).await;
    assert_eq!(run["state"], json!("finished"), "{run}");
    world.stop().await;
}

#[tokio::test]
async fn a_broker_that_is_not_listed_is_refused() {
    let world = World::start(&[]).await;
    world.installation.standalone_broker().unwrap();
    give(&world, &ca(&world), "rogue.test", None);
    let listed = std::fs::read_to_string(world.root().join("broker.toml")).unwrap();
    let config = world.root().join("rogue.toml");
    std::fs::write(&config, listed.replace("broker.test", "rogue.test")).unwrap();
    let arguments = ["broker".as_ref(), "--config".as_ref(), config.as_os_str()];
    let tutti = Path::new(env!("CARGO_BIN_EXE_tutti"));
    let log = world.root().join("rogue.log");
    let rogue = ServiceSpec::new("rogue", tutti, arguments, &log);
    let rogue = rogue.start().await.unwrap();
    logged(&rogue, "HTTP 403 Forbidden").await;
    let server = world.server.as_ref().unwrap();
    logged(server, "refused as a broker").await;
    let port = world.installation.remote_broker_port();
    // The agent accepts this broker, so only the server is left to refuse it.
    let expects_rogue = "broker-certnames : [\"rogue.test\"]\n";
    let agent = world.installation.agent(NODES[0], port, expects_rogue);
    let agent = agent.unwrap().start().await.unwrap();
    logged(&rogue, "session associated").await;
    logged(&rogue, "HTTP 403 Forbidden").await;
    let names = world.client.connected_names().await.unwrap();
    assert_eq!(names, Vec::<String>::new());
    assert!(agent.stop().await.unwrap().success());
    assert!(rogue.stop().await.unwrap().success());
    world.stop().await;
}

#[tokio::test]
async fn the_certificate_of_an_agent_opens_no_door_of_the_api() {
    let world = World::start(&[NODES[0]]).await;
    let file = |name: &str| world.root().join("certificates").join(name);
    let files = TlsFiles {
        cert: file("node0.test.pem"),
        key: file("node0.test.key"),
        ca: world.installation.ca_dir().join("ca_crt.pem"),
        crl: None,
    };
    let tls = ClientTls::load(&files).unwrap();
    let http = reqwest::Client::builder()
        .tls_backend_preconfigured((*tls).clone())
        .no_proxy()
        .build()
        .unwrap();
    let base = format!("https://localhost:{}", world.installation.api_port());
    let get = |path: &str| http.request(Method::GET, format!("{base}{path}"));
    for path in ["/server", "/server/server"] {
        let upgrade = get(path)
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        let response = upgrade.send().await.unwrap();
        assert_eq!(response.status(), 403, "{path}");
        let text = response.text().await.unwrap();
        assert!(text.contains("node0.test is not on"), "{text}");
    }
    for path in ["/orchestrator/v1/jobs", "/orchestrator/v1/inventory"] {
        assert_eq!(get(path).send().await.unwrap().status(), 401, "{path}");
    }
    world.stop().await;
}

/// Starts `tutti-agent bootstrap`.
fn bootstrap(world: &World, ssl: &Path, log: &str) -> Service {
    let programs = Programs::beside(env!("CARGO_BIN_EXE_tutti")).unwrap();
    let toml = std::fs::read_to_string(world.root().join("tutti.toml")).unwrap();
    let puppet_api = toml.split_once("[puppet_api]").unwrap().1;
    let port: String = puppet_api
        .split_once("127.0.0.1:")
        .unwrap()
        .1
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let server = format!("localhost:{port}");
    let ssl = ssl.to_str().unwrap();
    let arguments = [
        "bootstrap",
        "--server",
        &server,
        "--certname",
        NODES[0],
        "--ssl-dir",
        ssl,
        "--waitforcert",
        "1",
    ];
    let log = world.root().join(log);
    let spec = ServiceSpec::new("bootstrap", &programs.agent, arguments, &log);
    spec.spawn().unwrap()
}

async fn signed(world: &World, ssl: &Path, log: &str) -> [PathBuf; 2] {
    let mut asking = bootstrap(world, ssl, log);
    until("the request in the list", || async {
        world.ca(&["list"]).await.contains(NODES[0])
    })
    .await;
    world.ca(&["sign", NODES[0]]).await;
    let status = asking.ended().await.unwrap();
    assert!(status.success(), "{}", asking.log_text());
    let file = |kind: &str| ssl.join(kind).join(format!("{}.pem", NODES[0]));
    [file("certs"), file("private_keys")]
}

#[tokio::test]
async fn a_new_agent_gets_its_certificate_and_after_clean_another() {
    let mut world = World::start(&[]).await;
    world.shell("quick", &[], "echo done");
    // The installation creates a certificate for agents without one; this agent brings its own.
    let certificates = world.root().join("certificates");
    std::fs::create_dir_all(&certificates).unwrap();
    for kind in ["pem", "key"] {
        std::fs::write(certificates.join(format!("{}.{kind}", NODES[0])), "").unwrap();
    }
    for round in ["first", "second"] {
        let ssl = world.root().join(round);
        let [cert, key] = signed(&world, &ssl, &format!("{round}.log")).await;
        let extra = format!("ssl-cert : {cert:?}\nssl-key : {key:?}\n");
        world.start_agent(NODES[0], &extra).await;
        world.client.connected(1).await.unwrap();
        let run = world.run("quick", NODES[0], json!({})).await;
        assert_eq!(run["state"], json!("finished"), "{round}: {run}");
        world.ca(&["clean", NODES[0]]).await;
        world.until_connected(NODES[0], false).await;
        tries_in_vain(&world.agents[NODES[0]], "not connected; next attempt").await;
        world.agents.remove(NODES[0]).unwrap().stop().await.unwrap();
    }
    world.stop().await;
}
