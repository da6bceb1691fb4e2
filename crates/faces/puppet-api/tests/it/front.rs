//! A server in front of a puppetserver, which here only tells what it was asked.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use catalogs::{CatalogCompiler, ChosenCompiler, CompilerChoices};
use futures_util::{StreamExt as _, stream};
use http_body_util::BodyExt as _;
use pki::{CertificateAuthority, ClientAuth, ServerTls, TlsFiles};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::agents::{facts_of, form, post};
use crate::site::{Client, Site, SiteOptions, files, new_ca};

/// A puppetserver that answers with the request that it got.
struct EchoPuppetserver {
    _dir: tempfile::TempDir,
    ca: CertificateAuthority,
    /// Its certificate, which the server in front of it has too.
    tls: TlsFiles,
    address: SocketAddr,
    state: Arc<EchoState>,
    stop: CancellationToken,
}

#[derive(Default)]
struct EchoState {
    requests: AtomicUsize,
    /// It takes all requests for those of the server in front of it.
    ignores_headers: AtomicBool,
    /// Requests for `/puppet/v3/held/…` wait for a permit.
    held: Option<Semaphore>,
}

impl Drop for EchoPuppetserver {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl EchoPuppetserver {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ca = new_ca(dir.path());
        let files = files(dir.path(), &ca, "localhost", false);
        let tls = Arc::new(ServerTls::load(files.clone(), ClientAuth::Optional).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(EchoState {
            held: Some(Semaphore::new(0)),
            ..EchoState::default()
        });
        let stop = CancellationToken::new();
        let router = axum::Router::new()
            .fallback(echo)
            .with_state(Arc::clone(&state));
        let config = https::Config::default();
        tokio::spawn(https::serve(listener, tls, router, config, stop.clone()));
        Self {
            _dir: dir,
            ca,
            tls: files,
            address,
            state,
            stop,
        }
    }

    /// A server in front of it, with the same CA, that compiles the catalogs of `native` itself.
    async fn behind(&self, native: &str, has_ca: bool) -> Site {
        let choices = CompilerChoices {
            by_certname: [(native.to_owned(), chosen(CatalogCompiler::Native))].into(),
            ..CompilerChoices::default()
        };
        self.behind_with(choices, has_ca).await
    }

    /// The same with other choices than the puppetserver.
    async fn behind_with(&self, choices: CompilerChoices, has_ca: bool) -> Site {
        Site::with(SiteOptions {
            has_agents: true,
            has_ca,
            ca: Some(self.ca.clone()),
            own_tls: Some(self.tls.clone()),
            choices: CompilerChoices {
                default: chosen(CatalogCompiler::Puppetserver),
                ..choices
            },
            puppetserver: Some(
                format!("https://localhost:{}", self.address.port())
                    .parse()
                    .unwrap(),
            ),
            ..SiteOptions::default()
        })
        .await
    }

    fn requests(&self) -> usize {
        self.state.requests.load(Ordering::Relaxed)
    }
}

fn chosen(compiler: CatalogCompiler) -> ChosenCompiler {
    ChosenCompiler {
        compiler,
        reason: "test".to_owned(),
    }
}

async fn echo(State(state): State<Arc<EchoState>>, request: Request) -> Response {
    let is_unknown = request
        .headers()
        .get("x-client-verify")
        .is_none_or(|it| it != "SUCCESS");
    let is_open = request.uri().path().starts_with("/puppet-ca/");
    if is_unknown && !is_open && !state.ignores_headers.load(Ordering::Relaxed) {
        return StatusCode::FORBIDDEN.into_response();
    }
    state.requests.fetch_add(1, Ordering::Relaxed);
    let (parts, body) = request.into_parts();
    if let Some(held) = &state.held
        && parts.uri.path().starts_with("/puppet/v3/held/")
    {
        held.acquire().await.unwrap().forget();
    }
    if parts.uri.path() == "/puppet/v3/broken/x" {
        let broken = async move {
            state
                .held
                .as_ref()
                .unwrap()
                .acquire()
                .await
                .unwrap()
                .forget();
            Err(std::io::Error::other("broken"))
        };
        let chunks = stream::once(async { Ok("a part") }).chain(stream::once(broken));
        return Body::from_stream(chunks).into_response();
    }
    let Ok(body) = body.collect().await else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let body = body.to_bytes();
    let headers: serde_json::Map<String, Value> = parts
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), json!(value.to_str().unwrap())))
        .collect();
    let told = json!({
        "method": parts.method.as_str(),
        "uri": parts.uri.to_string(),
        "headers": headers,
        "bytes": body.len(),
        "body": String::from_utf8_lossy(&body[..body.len().min(4_000)]),
    });
    let mut response = axum::Json(told).into_response();
    *response.status_mut() = match parts.uri.path().contains("teapot") {
        true => StatusCode::IM_A_TEAPOT,
        false => StatusCode::OK,
    };
    let mut more = HeaderMap::new();
    more.insert("x-puppet-version", "7.23.0".parse().unwrap());
    more.insert("x-of-puppetserver", "yes".parse().unwrap());
    response.headers_mut().extend(more);
    response
}

async fn told(client: &Client, path: &str) -> Value {
    let (status, body) = client.get(path).await;
    assert_eq!(status, StatusCode::OK, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

#[tokio::test]
async fn catalogs_are_those_of_the_compiler_that_the_configuration_chooses() {
    let puppetserver = EchoPuppetserver::start().await;
    let site = puppetserver.behind("new1", true).await;
    let manifests = site
        .dir
        .path()
        .join("code/environments/production/manifests");
    fs::create_dir_all(&manifests).unwrap();
    fs::write(manifests.join("site.pp"), "notify { 'native': }").unwrap();

    let (status, body) = post(
        &site.node("new1"),
        "new1",
        form("production", &facts_of("new1")),
    )
    .await;
    assert!(status.is_success() && body.contains("Notify"), "{body}");
    assert_eq!(puppetserver.requests(), 0);

    let sent = form("production", &facts_of("old1"));
    let (status, body) = post(&site.node("old1"), "old1", sent.clone()).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let got: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(got["method"], "POST");
    assert_eq!(got["uri"], "/puppet/v3/catalog/old1?environment=production");
    assert_eq!(got["body"], json!(sent), "the body is that of the agent");
    assert_eq!(got["headers"]["x-client-verify"], "SUCCESS");
    assert_eq!(got["headers"]["x-client-dn"], "CN=old1");
    let cert = got["headers"]["x-client-cert"].as_str().unwrap();
    assert!(cert.starts_with("-----BEGIN%20CERTIFICATE-----"), "{cert}");
    // the facts are known here too
    let facts = site
        .inventory
        .facts(&"old1".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(json!(facts.unwrap().facts["kernel"]), "Linux");

    // nobody gets another node's catalog through the puppetserver
    let asked = puppetserver.requests();
    for client in [&site.node("new1"), &site.nobody()] {
        let (status, _) = post(client, "old1", form("production", &facts_of("old1"))).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
    }
    assert_eq!(puppetserver.requests(), asked);
}

#[tokio::test]
async fn a_client_cannot_name_itself() {
    let puppetserver = EchoPuppetserver::start().await;
    let site = puppetserver.behind("new1", false).await;
    let forged = async |client: &Client, path: &str| {
        let request = client
            .request(Method::GET, path)
            .header("x-client-verify", "SUCCESS")
            .header("X-Client-DN", "CN=admin")
            .header("x_client_dn", "CN=admin")
            .header("x-client-cert", "x");
        let response = request.send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    };
    let (_, body) = forged(&site.node("old1"), "/puppet/v3/environments").await;
    let got: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(got["headers"]["x-client-dn"], "CN=old1");
    assert!(!body.contains("admin"), "{body}");

    // only the CA is open to clients without a certificate
    let (status, _) = forged(&site.nobody(), "/puppet/v3/environments").await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let (status, body) = forged(&site.nobody(), "/puppet-ca/v1/certificate/ca").await;
    assert_eq!(status, StatusCode::OK);
    let got: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(got["headers"]["x-client-verify"], "NONE");
    assert_eq!(got["headers"].get("x-client-dn"), None);
    assert_eq!(got["headers"].get("x-client-cert"), None);
}

#[tokio::test]
async fn the_nodes_of_a_group_are_moved_with_their_next_catalogs() {
    let puppetserver = EchoPuppetserver::start().await;
    let choices = CompilerChoices {
        by_group: [("moved".to_owned(), chosen(CatalogCompiler::Native))].into(),
        ..CompilerChoices::default()
    };
    let site = puppetserver.behind_with(choices, true).await;
    let group = json!({
        "name": "moved", "parent": "00000000-0000-4000-8000-000000000000", "classes": {},
        "rule": ["=", ["fact", "role"], "web"],
    });
    let group = classifier::GroupInput::parse(&group).unwrap();
    let creating = site
        .classifier
        .create(group, classifier::UnrestrictedEditor);
    creating.await.unwrap();
    let files = [
        ("manifests/site.pp", "notify { 'native': }"),
        ("modules/demo/files/a", "native\n"),
    ];
    site.deploy_version('a', &files);
    let node = site.node("node1");
    let catalog = async |role: &str| {
        let facts = json!({"name": "node1", "values": {"role": role}}).to_string();
        let (status, body) = post(&node, "node1", form("production", &facts)).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        body.contains("Notify")
    };
    let file = "/puppet/v3/file_content/modules/demo/a?environment=production";
    let has_native_files = async || node.get(file).await.1 == "native\n";

    assert!(!has_native_files().await, "nothing is known of the node");
    for (role, is_moved) in [("db", false), ("web", true), ("db", false)] {
        assert_eq!(catalog(role).await, is_moved, "{role}");
        assert_eq!(has_native_files().await, is_moved, "{role}");
    }
    // facts of another program move nothing
    let facts = json!({"role": "web"}).as_object().unwrap().clone();
    let record = inventory::NodeRecord {
        facts: Arc::new(facts),
        trusted: Arc::default(),
        environment: Some("production".to_owned()),
        timestamp: jiff::Timestamp::now(),
    };
    let certname = "node1".parse().unwrap();
    let recording = site.inventory.record_facts(&certname, record);
    recording.await.unwrap();
    let question = json!({"environment": "production", "catalog_uuid": "x"});
    let check = node.request(Method::POST, "/tutti/v1/catalogs/node1/check");
    let answer = check.body(question.to_string()).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(!has_native_files().await);
}

#[tokio::test]
async fn files_come_from_the_compiler_of_the_node_or_from_where_the_environment_is() {
    let puppetserver = EchoPuppetserver::start().await;
    let site = puppetserver.behind("new1", true).await;
    fs::write(site.module_file("files/a"), "native\n").unwrap();
    let file = "/puppet/v3/file_content/modules/demo/a?environment=production";
    let (new, old) = (site.node("new1"), site.node("old1"));
    assert_eq!(new.get(file).await.1, "native\n");
    assert_eq!(told(&old, file).await["uri"], file);
    let elsewhere = "/puppet/v3/file_metadatas/plugins?recurse=true&environment=only_there";
    assert_eq!(told(&new, elsewhere).await["uri"], elsewhere);
    for path in [
        "/puppet/v3/node/old1?environment=production",
        "/puppet/v3/environment_classes?environment=production",
        "/puppet/v3/static_file_content/modules/demo/files/a?environment=production&code_id=x",
    ] {
        assert_eq!(told(&old, path).await["uri"], path);
    }
    // what a job or a catalog of this server names is always here
    let asked = puppetserver.requests();
    let hash = "0".repeat(64);
    for path in [
        format!("/puppet/v3/file_content/tasks/demo/x?sha256={hash}"),
        format!(
            "/puppet/v3/static_file_content/by-hash/sha256/{hash}?environment=production&code_id=x"
        ),
    ] {
        assert_eq!(old.get(&path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    for path in [
        "/puppet-admin-api/v1/environment-cache",
        "/puppet-ca/v1/certificate/none",
    ] {
        assert_eq!(old.get(path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(puppetserver.requests(), asked);
}

#[tokio::test]
async fn hostile_paths_do_not_leave_the_api() {
    let puppetserver = EchoPuppetserver::start().await;
    let site = puppetserver.behind("new1", true).await;
    let node = site.node("old1");
    for path in [
        "/puppet/v3/..%2f/x",
        "/puppet/v3/%2e%2e/%2e%2e/puppet-admin-api/v1/environment-cache",
        "/puppet/v3/%2E./%2e%2E/puppet-admin-api/v1/environment-cache",
    ] {
        // the client library would resolve the dots
        let answer = raw_get(&site, "old1", path).await;
        let is_passed = answer.contains("x-of-puppetserver");
        let stays = answer.contains(&format!("\"uri\":\"{path}\""));
        assert!(!is_passed || stays, "{path}: {answer}");
        if path.contains("%2e%2e/") || path.contains("%2E./") {
            assert!(answer.starts_with("HTTP/1.1 400"), "{path}: {answer}");
        }
    }
    let got = told(&node, "/puppet/v3/a%00b%252e%252e?q=%00").await;
    assert_eq!(got["uri"], "/puppet/v3/a%00b%252e%252e?q=%00");
}

/// Sends a request line as it is, and returns the response.
async fn raw_get(site: &Site, certname: &str, path: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let files = files(site.dir.path(), &site.ca, certname, false);
    let tls = pki::ClientTls::load(&files).unwrap();
    let stream = tokio::net::TcpStream::connect(site.address).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(tls);
    let name = "localhost".try_into().unwrap();
    let mut stream = connector.connect(name, stream).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn status_headers_and_large_bodies_pass() {
    let puppetserver = EchoPuppetserver::start().await;
    let site = puppetserver.behind("new1", true).await;
    let node = site.node("old1");
    let request = node.request(Method::GET, "/puppet/v3/teapot?environment=x");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::IM_A_TEAPOT);
    assert_eq!(response.headers()["x-of-puppetserver"], "yes");
    assert_eq!(response.headers()["x-puppet-version"], "7.23.0");

    let path = "/puppet/v3/file_bucket_file/sha256/0/etc/large?environment=x";
    let large = vec![7_u8; 40 * 1024 * 1024];
    let request = node.request(Method::PUT, path).body(large);
    let got: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(got["bytes"], 40 * 1024 * 1024);

    // a response that breaks off is not taken for a whole one
    let broken = node.request(Method::GET, "/puppet/v3/broken/x").send();
    let broken = broken.await.unwrap();
    assert_eq!(broken.status(), StatusCode::OK);
    puppetserver.state.held.as_ref().unwrap().add_permits(1);
    assert!(broken.text().await.is_err());
}

#[tokio::test]
async fn reports_and_facts_are_recorded_here_too() {
    let puppetserver = EchoPuppetserver::start().await;
    let site = puppetserver.behind("new1", true).await;
    let node = site.node("old1");
    for (path, body) in [
        (
            "/puppet/v3/facts/old1?environment=production",
            facts_of("old1"),
        ),
        (
            "/puppet/v3/report/old1?environment=production",
            "{\"odd\": 1}".to_owned(),
        ),
    ] {
        let request = node
            .request(Method::PUT, path)
            .header("content-type", "application/json")
            .body(body.clone());
        let got: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(got["uri"], path);
        assert_eq!(got["body"], json!(body));
    }
    let facts = site
        .inventory
        .facts(&"old1".parse().unwrap())
        .await
        .unwrap();
    assert!(facts.is_some());
}

#[tokio::test]
async fn an_unreachable_puppetserver_is_an_error_that_ends_the_request() {
    let puppetserver = EchoPuppetserver::start().await;
    let unreachable = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = unreachable.local_addr().unwrap();
    drop(unreachable);
    let gone = EchoPuppetserver {
        address,
        _dir: tempfile::tempdir().unwrap(),
        ca: puppetserver.ca.clone(),
        tls: puppetserver.tls.clone(),
        state: Arc::default(),
        stop: CancellationToken::new(),
    };
    let before = gone.behind("new1", true).await;
    let response = before
        .node("old1")
        .request(Method::GET, "/puppet/v3/environments")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(response.headers().get("retry-after").is_none());
    let error: Value = response.json().await.unwrap();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("cannot be reached"), "{message}");
    // the nodes of this server are not concerned
    let native = before.node("new1");
    let path = "/puppet/v3/node/new1?environment=production";
    assert_eq!(native.get(path).await.0, StatusCode::OK);
}

#[tokio::test]
async fn one_node_does_not_take_the_turns_of_others() {
    let puppetserver = EchoPuppetserver::start().await;
    let site = Arc::new(puppetserver.behind("new1", true).await);
    let greedy: Vec<_> = (0..20)
        .map(|number| {
            let node = site.node("old1");
            let path = format!("/puppet/v3/held/{number}");
            tokio::spawn(async move { node.get(&path).await.0 })
        })
        .collect();
    while puppetserver.requests() < 4 {
        tokio::task::yield_now().await;
    }
    told(&site.node("old2"), "/puppet/v3/other").await;
    assert_eq!(
        puppetserver.requests(),
        5,
        "four of one node, and one of another"
    );
    puppetserver.state.held.as_ref().unwrap().add_permits(20);
    for request in greedy {
        assert_eq!(request.await.unwrap(), StatusCode::OK);
    }
}

#[tokio::test]
async fn nothing_is_passed_to_a_puppetserver_that_ignores_who_asks() {
    let puppetserver = EchoPuppetserver::start().await;
    let ignores = &puppetserver.state.ignores_headers;
    ignores.store(true, Ordering::Relaxed);
    let site = puppetserver.behind("new1", false).await;
    let node = site.node("old1");
    for path in [
        "/puppet/v3/environments",
        "/puppet/v3/node/old1?environment=production",
        "/puppet-ca/v1/certificate_statuses/all",
    ] {
        let (status, body) = node.get(path).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{path}: {body}");
        assert!(body.contains("allow-header-cert-info"), "{body}");
    }
    let (status, body) = post(&node, "old1", form("production", &facts_of("old1"))).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{body}");
    ignores.store(false, Ordering::Relaxed);
    let (status, body) = node.get("/puppet/v3/environments").await;
    assert_eq!(status, StatusCode::OK, "{body}");
}
