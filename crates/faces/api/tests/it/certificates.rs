//! The certificate authority over the API: permissions, refusals, and revocations that wait for
//! brokers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use api::ServerAuthority;
use api_types::Route;
use axum::body::Body;
use http::{Request, StatusCode, header};
use https::{PeerCertificate, VerifiedPeer};
use pki::ca::{GenerateOptions, InitOptions};
use pki::{
    CertificateAuthority, CertnamePrivilege, ClientAuth, KeyType, NamePattern, PrivilegedNames,
    ServerTls, TlsFiles,
};
use puppet_api::{AutosignPolicy, CaService};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use crate::agents::Manner;
use crate::matrix::{NOBODY, OPERATORS, VIEWERS, member};
use crate::world::{Reply, World};

const WEB1: &str = "/puppet-ca/v1/certificate_status/web1.example.com";
const ALL: &str = "/puppet-ca/v1/certificate_statuses/all";

/// Longer than any test.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(3_600);

/// A valid request for each route of this file.
pub(crate) fn sample(route: &Route) -> Option<(&'static str, String)> {
    Some(match route.operation_id {
        "certificate_statuses" => (ALL, String::new()),
        "certificate_status" | "clean_certificate" => (WEB1, String::new()),
        "change_certificate_status" => (WEB1, json!({"desired_state": "revoked"}).to_string()),
        _ => return None,
    })
}

/// A server with a CA, whose brokers have `revocation_wait` to end sessions.
pub(crate) async fn world(revocation_wait: Duration) -> (World, CertificateAuthority) {
    let mut world = World::new().await;
    let mut names = PrivilegedNames::default();
    for (privilege, name) in [
        (CertnamePrivilege::CaAdministrator, "ca-admin"),
        (CertnamePrivilege::Program, "ops"),
        (CertnamePrivilege::RemoteBroker, "broker2.example.com"),
    ] {
        names.grant(privilege, "test", NamePattern::Exact(name.to_owned()));
    }
    world.state.info.privileged_names = Arc::new(names);
    let ca = certify(&mut world, revocation_wait);
    (world, ca)
}

/// Adds a CA to the server, with the server's privileged names.
fn certify(world: &mut World, revocation_wait: Duration) -> CertificateAuthority {
    let options = InitOptions {
        common_name: "Puppet CA: test".to_owned(),
        key_type: KeyType::EcP256,
    };
    let names = Arc::clone(&world.state.info.privileged_names);
    let ca = CertificateAuthority::init(&world.dir.path().join("ca"), &options).unwrap();
    let ca = ca.with_privileged_names(names);
    let tls = ServerTls::load(tls_files(world, &ca), ClientAuth::Optional).unwrap();
    let audit = world.state.audit.clone();
    world.state.certificates = Some(ServerAuthority {
        service: CaService::new(ca.clone(), AutosignPolicy::Off, audit).unwrap(),
        tls: Arc::new(tls),
        revocation_wait,
    });
    world.router = api::router(world.state.clone());
    ca
}

/// Adds a CA that has issued the certificate of the sample requests.
pub(crate) fn with_samples(world: &mut World) {
    let ca = certify(world, Duration::ZERO);
    submit(&ca, "web1.example.com", None);
    ca.sign("web1.example.com", &pki::ca::SignOptions::default())
        .unwrap();
}

fn tls_files(world: &World, ca: &CertificateAuthority) -> TlsFiles {
    let made = ca.generate("tutti.example.com", &GenerateOptions::default());
    let made = made.unwrap();
    let write = |name: &str, text: &str| {
        let path = world.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    TlsFiles {
        cert: write("server.pem", &made.cert_pem),
        key: write("server.key", &made.key_pem),
        ca: write("ca.pem", &ca.ca_bundle().unwrap()),
        crl: Some(world.dir.path().join("ca/ca_crl.pem")),
    }
}

pub(crate) fn submit(ca: &CertificateAuthority, certname: &str, alt_name: Option<&str>) {
    let options = GenerateOptions {
        alt_names: alt_name.iter().map(|name| name.parse().unwrap()).collect(),
        ..GenerateOptions::default()
    };
    let made = pki::csr::generate_with(certname, &options).unwrap();
    ca.submit(certname, made.request_pem.as_bytes()).unwrap();
}

pub(crate) async fn ask(
    world: &World,
    method: &str,
    path: &str,
    token: &str,
    body: Value,
) -> Reply {
    let request = Request::builder().method(method).uri(path);
    let request = request.header(header::HOST, "tutti.example.com:8143");
    let request = request.header("X-Authentication", token);
    let request = request.body(Body::from(body.to_string())).unwrap();
    world.send(request).await
}

/// Sends a request with a verified certificate instead of a token.
async fn ask_with(world: &World, method: &str, path: &str, cert: &str, body: Value) -> Reply {
    let request = Request::builder().method(method).uri(path);
    let request = request.header(header::HOST, "tutti.example.com:8143");
    let mut request = request.body(Body::from(body.to_string())).unwrap();
    let der = CertificateDer::from_pem_slice(cert.as_bytes()).unwrap();
    let peer = Arc::new(VerifiedPeer::from_certificate(der).unwrap());
    request.extensions_mut().insert(PeerCertificate(Some(peer)));
    world.send(request).await
}

fn signed() -> Value {
    json!({"desired_state": "signed"})
}

fn revoked() -> Value {
    json!({"desired_state": "revoked"})
}

#[tokio::test]
async fn who_may_accept_requests_signs_plain_names_and_nothing_more() {
    let (world, ca) = world(FOR_EVER).await;
    submit(&ca, "web1.example.com", None);
    submit(&ca, "web2.example.com", Some("tutti.example.com"));
    submit(&ca, "ops", None);
    let operator = member(&world, OPERATORS).await;
    for role in [VIEWERS, NOBODY] {
        let token = member(&world, role).await;
        for (method, path, body) in [
            ("GET", ALL, json!(null)),
            ("PUT", WEB1, signed()),
            ("DELETE", WEB1, json!(null)),
        ] {
            let reply = ask(&world, method, path, &token, body).await;
            assert_eq!(reply.status, StatusCode::FORBIDDEN, "{}", reply.text());
        }
    }
    let all = ask(
        &world,
        "GET",
        &format!("{ALL}?state=requested"),
        &operator,
        json!(null),
    )
    .await;
    let names = all.json();
    let names = names
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].clone());
    let expected = ["ops", "web1.example.com", "web2.example.com"];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    let plain = ask(&world, "PUT", WEB1, &operator, signed()).await;
    assert_eq!(plain.status, StatusCode::OK, "{}", plain.text());
    assert!(
        plain.json()["certificate"]
            .as_str()
            .unwrap()
            .contains("BEGIN CERTIFICATE")
    );
    for (name, key) in [
        ("web2.example.com", "allow_alt_names"),
        ("ops", "allow_privileged_names"),
    ] {
        let path = format!("/puppet-ca/v1/certificate_status/{name}");
        let unasked = ask(&world, "PUT", &path, &operator, signed()).await;
        assert_eq!(unasked.kind(), "tutti/certificate-refused");
        let body = json!({"desired_state": "signed", key: true});
        let asked = ask(&world, "PUT", &path, &operator, body.clone()).await;
        assert_eq!(asked.status, StatusCode::FORBIDDEN, "{}", asked.text());
        let admin = ask(&world, "PUT", &path, &world.token, body).await;
        assert_eq!(admin.status, StatusCode::OK, "{}", admin.text());
    }
}

#[tokio::test]
async fn a_request_that_comes_along_is_signed_or_does_not_stay() {
    let (world, ca) = world(FOR_EVER).await;
    let operator = member(&world, OPERATORS).await;
    let options = GenerateOptions {
        alt_names: vec!["other.example.com".parse().unwrap()],
        ..GenerateOptions::default()
    };
    let made = pki::csr::generate_with("web1.example.com", &options).unwrap();
    let body = json!({"desired_state": "signed", "certificate_request": made.request_pem});
    let refused = ask(&world, "PUT", WEB1, &operator, body.clone()).await;
    assert_eq!(refused.kind(), "tutti/certificate-refused");
    assert!(ca.entry("web1.example.com").unwrap().is_none());
    let mut body = body;
    body["allow_alt_names"] = json!(true);
    let signed = ask(&world, "PUT", WEB1, &world.token, body).await;
    assert_eq!(signed.status, StatusCode::OK, "{}", signed.text());
    let entry = ca.entry("web1.example.com").unwrap().unwrap();
    assert!(
        entry
            .alt_names
            .contains(&"DNS:other.example.com".to_owned())
    );
}

#[tokio::test]
async fn certificates_that_administer_the_ca_do_so_here_too_and_nothing_else() {
    let (world, ca) = world(FOR_EVER).await;
    let certificate = |name: &str, ca_administrator: bool| {
        let options = GenerateOptions {
            ca_administrator,
            ..GenerateOptions::default()
        };
        ca.generate(name, &options).unwrap().cert_pem
    };
    let listed = certificate("ca-admin", false);
    let extended = certificate("puppet-cli", true);
    let plain = certificate("web9.example.com", false);
    let server = ca.certificate("tutti.example.com").unwrap().unwrap();
    for cert in [&listed, &extended, &server] {
        let reply = ask_with(&world, "GET", ALL, cert, json!(null)).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    }
    let reply = ask_with(&world, "GET", ALL, &plain, json!(null)).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
    for cert in [&listed, &extended, &server] {
        let reply = ask_with(&world, "GET", "/orchestrator/v1/jobs", cert, json!(null)).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{}", reply.text());
    }
    // A privileged name is signed for the server's own certificate, as on its command line.
    submit(&ca, "ops", None);
    let path = "/puppet-ca/v1/certificate_status/ops";
    let body = json!({"desired_state": "signed", "allow_privileged_names": true});
    for cert in [&listed, &extended] {
        let reply = ask_with(&world, "PUT", path, cert, body.clone()).await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{}", reply.text());
    }
    let reply = ask_with(&world, "PUT", path, &server, body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let entries = world.ok("/audit/v1/entries?start=1&limit=100").await;
    let text = entries.to_string();
    assert!(
        text.contains("\"ca-admin\"") && text.contains("\"puppet-cli\""),
        "{text}"
    );
}

#[tokio::test]
async fn a_revocation_is_answered_when_the_session_has_ended() {
    let (world, ca) = world(FOR_EVER).await;
    submit(&ca, "web1.example.com", None);
    ask(&world, "PUT", WEB1, &world.token, signed()).await;
    world.agents.add("web1.example.com", Manner::default());
    let answer = ask(&world, "PUT", WEB1, &world.token, revoked());
    tokio::pin!(answer);
    // The response waits until the revocation list is in force and the session has ended.
    let tls = Arc::clone(&world.state.certificates.as_ref().unwrap().tls);
    let mut reloads = tls.subscribe_reloads();
    tokio::select! {
        reply = &mut answer => panic!("answered before the session ended: {}", reply.text()),
        reloaded = reloads.changed() => reloaded.unwrap(),
    }
    let leaf = ca.certificate("web1.example.com").unwrap().unwrap();
    let leaf = CertificateDer::from_pem_slice(leaf.as_bytes()).unwrap();
    assert!(tls.revocations().is_revoked(&leaf));
    world.agents.leaves("web1.example.com");
    let reply = answer.await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let expected =
        json!({"newly_revoked": 1, "still_connected": [], "not_asked": ["broker2.example.com"]});
    assert_eq!(reply.json()["revocation"], expected);
}

#[tokio::test]
async fn a_broker_that_keeps_the_session_is_named() {
    let (world, ca) = world(Duration::ZERO).await;
    submit(&ca, "web1.example.com", None);
    ask(&world, "PUT", WEB1, &world.token, signed()).await;
    world.agents.add("web1.example.com", Manner::default());
    for (method, body) in [("PUT", revoked()), ("DELETE", json!(null))] {
        let reply = ask(&world, method, WEB1, &world.token, body).await;
        assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
        let held = reply.json()["revocation"]["still_connected"].clone();
        assert_eq!(held, json!(["pcp://broker.example.com/server"]));
    }
    let again = ask(&world, "DELETE", WEB1, &world.token, json!(null)).await;
    assert_eq!(again.kind(), "tutti/unknown-certificate");
}

#[tokio::test]
async fn a_list_that_the_server_cannot_read_is_told() {
    let (world, ca) = world(FOR_EVER).await;
    submit(&ca, "web1.example.com", None);
    ask(&world, "PUT", WEB1, &world.token, signed()).await;
    world.agents.add("web1.example.com", Manner::default());
    std::fs::write(world.dir.path().join("server.key"), "no key").unwrap();
    let reply = ask(&world, "PUT", WEB1, &world.token, revoked()).await;
    let revocation = &reply.json()["revocation"];
    let problem = revocation["problem"].as_str().unwrap();
    assert!(problem.contains("server.key"), "{problem}");
    assert_eq!(
        revocation["still_connected"],
        json!(["pcp://broker.example.com/server"])
    );
}

#[tokio::test]
async fn names_that_are_none_reach_no_file() {
    let (world, _ca) = world(FOR_EVER).await;
    let before = files(world.dir.path());
    for name in ["..%2Fca_key", "a%00b", "%2e%2e", "w%C3%A9b", "a%2Fb"] {
        for (method, body) in [
            ("GET", json!(null)),
            ("PUT", signed()),
            ("PUT", revoked()),
            ("DELETE", json!(null)),
        ] {
            let path = format!("/puppet-ca/v1/certificate_status/{name}");
            let reply = ask(&world, method, &path, &world.token, body).await;
            assert!(reply.status.is_client_error(), "{name}: {}", reply.text());
        }
    }
    assert_eq!(files(world.dir.path()), before);
}

/// Names of the CA's files.
fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for sub in ["ca", "ca/signed", "ca/requests"] {
        let entries = std::fs::read_dir(dir.join(sub)).into_iter().flatten();
        found.extend(entries.map(|entry| entry.unwrap().path()));
    }
    found.sort();
    found
}

#[tokio::test]
async fn what_is_done_with_certificates_is_in_the_audit_before_it_is_done() {
    let (world, ca) = world(FOR_EVER).await;
    submit(&ca, "web1.example.com", None);
    ask(&world, "PUT", WEB1, &world.token, signed()).await;
    ask(&world, "PUT", WEB1, &world.token, revoked()).await;
    ask(&world, "DELETE", WEB1, &world.token, json!(null)).await;
    let entries = world
        .ok("/audit/v1/entries?start=1&limit=100")
        .await
        .to_string();
    for part in [
        "change_certificate_status",
        "clean_certificate",
        r#"\"desired_state\":\"revoked\""#,
        "web1.example.com",
        "cert_requests:accept_reject",
    ] {
        assert!(entries.contains(part), "{part}: {entries}");
    }
    assert!(!entries.contains("BEGIN"), "{entries}");
}
