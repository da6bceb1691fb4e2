//! Classes from a puppetserver: valid answers, and every kind of failure.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use classifier::{ClassSource as _, ClassSourceError, PuppetClass, PuppetserverClasses};
use pki::ca::{GenerateOptions, InitOptions};
use pki::{CertificateAuthority, ClientAuth, KeyType, ServerTls, TlsFiles};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

struct Site {
    dir: TempDir,
    ca: CertificateAuthority,
    _stop: DropGuard,
    source: PuppetserverClasses,
}

fn files(dir: &TempDir, ca: &CertificateAuthority, certname: &str) -> TlsFiles {
    let made = ca.generate(certname, &GenerateOptions::default()).unwrap();
    let write = |name: &str, text: &str| -> PathBuf {
        let path = dir.path().join(name);
        pki::durable::write_atomic(&path, text.as_bytes(), 0o600).unwrap();
        path
    };
    TlsFiles {
        cert: write(&format!("{certname}.crt"), &made.cert_pem),
        key: write(&format!("{certname}.key"), &made.key_pem),
        ca: write("ca.pem", &ca.ca_bundle().unwrap()),
        crl: Some(write("crl.pem", &ca.crl().unwrap().0)),
    }
}

fn authority(dir: &TempDir) -> CertificateAuthority {
    let options = InitOptions {
        common_name: "Test CA".to_owned(),
        key_type: KeyType::EcP256,
    };
    CertificateAuthority::init(&dir.path().join("ca"), &options).unwrap()
}

/// A puppetserver whose only environment is `production`, with this response about its classes.
async fn site(status: StatusCode, answer: String) -> Site {
    let dir = tempfile::tempdir().unwrap();
    let ca = authority(&dir);
    let server = files(&dir, &ca, "localhost");
    let tls = Arc::new(ServerTls::load(server, ClientAuth::Required).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let classes = |State(answer): State<(StatusCode, String)>,
                   Query(asked): Query<Vec<(String, String)>>| async move {
        match asked == [("environment".to_owned(), "production".to_owned())] {
            true => answer,
            false => (
                StatusCode::NOT_FOUND,
                "Could not find environment".to_owned(),
            ),
        }
    };
    let environments = async || {
        let settings = json!({"settings": {"modulepath": ["/x"], "manifest": "/y"}});
        json!({"search_paths": ["/z"], "environments": {"production": settings, "b": settings}})
            .to_string()
    };
    let router = Router::new()
        .route("/puppet/v3/environments", get(environments))
        .route("/puppet/v3/environment_classes", get(classes))
        .with_state((status, answer));
    let stop = CancellationToken::new();
    let config = https::Config {
        drain_deadline: Duration::ZERO,
        ..https::Config::default()
    };
    tokio::spawn(https::serve(listener, tls, router, config, stop.clone()));
    let url = format!("https://localhost:{port}").parse().unwrap();
    let source = PuppetserverClasses::new(url, files(&dir, &ca, "tutti"));
    Site {
        dir,
        ca,
        _stop: stop.drop_guard(),
        source,
    }
}

async fn says(answer: Value) -> Site {
    site(StatusCode::OK, answer.to_string()).await
}

#[tokio::test]
async fn environments_and_classes_are_read_with_their_defaults() {
    let site = says(json!({"name": "production", "files": [
        {"path": "/m/apache.pp", "classes": [
            {"name": "apache", "params": [
                {"name": "port", "type": "Integer", "default_literal": 80, "default_source": "80"},
                {"name": "mods", "default_source": "$apache::params::mods"},
                {"name": "nothing", "default_literal": null, "default_source": "undef"},
                {"name": "required", "type": "String"},
                {"name": "list", "default_literal": ["a", {"b": true}], "default_source": "…"},
            ]},
            {"name": "apache::ssl", "params": []},
        ]},
        {"path": "/m/broken.pp", "error": "Syntax error at '}' (line: 1)"},
        {"path": "/m/empty.pp", "classes": []},
    ]}))
    .await;
    let environments = site.source.environments().await.unwrap();
    assert_eq!(environments, ["production", "b"]);
    let parameters = json!({"port": 80, "mods": "$apache::params::mods", "nothing": null,
        "required": null, "list": ["a", {"b": true}]});
    let Value::Object(parameters) = parameters else {
        unreachable!("an object")
    };
    let expected = [
        PuppetClass {
            name: "apache".to_owned(),
            parameters,
        },
        PuppetClass {
            name: "apache::ssl".to_owned(),
            parameters: serde_json::Map::new(),
        },
    ];
    assert_eq!(site.source.classes("production").await.unwrap(), expected);
    for unknown in ["b", "x&environment=production", "production#"] {
        let told = site.source.classes(unknown).await;
        let expected = ClassSourceError::UnknownEnvironment(unknown.to_owned());
        assert_eq!(told, Err(expected));
    }
}

#[tokio::test]
async fn an_answer_that_is_none_is_told_with_its_begin() {
    let cases = [
        (
            StatusCode::FORBIDDEN,
            "Forbidden request\u{1b}[31m",
            "Forbidden request [31m",
        ),
        (StatusCode::INTERNAL_SERVER_ERROR, "no JRuby", "no JRuby"),
        (StatusCode::FOUND, "", ""),
        (StatusCode::OK, "<html>", "<html>"),
        (
            StatusCode::OK,
            "{\"files\": [{}]}",
            "files[0]: the key \"path\" is missing",
        ),
    ];
    for (status, answer, part) in cases {
        let site = site(status, answer.to_owned()).await;
        let told = site.source.classes("production").await;
        let Err(ClassSourceError::Unexpected {
            url,
            status: seen,
            body,
        }) = told
        else {
            panic!("{told:?}");
        };
        assert_eq!(seen, status.as_u16());
        assert!(url.ends_with("/puppet/v3/environment_classes?environment=production"));
        assert!(body.contains(part), "{body}");
        assert!(body.len() < 2_000);
    }
}

#[tokio::test]
async fn who_cannot_be_asked_is_unreachable() {
    let site = says(json!({"files": []})).await;
    let other = tempfile::tempdir().unwrap();
    let strangers = authority(&other);
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let url = format!("https://localhost:{port}").parse().unwrap();
    let gone = PuppetserverClasses::new(url, files(&site.dir, &site.ca, "again"));
    let mut missing = files(&site.dir, &site.ca, "third");
    missing.key = other.path().join("none.key");
    let url: reqwest::Url = format!("https://localhost:{port}").parse().unwrap();
    let no_key = PuppetserverClasses::new(url, missing);
    // A client with a certificate of another CA, which does not trust this one.
    let url = site.source.url().clone();
    let stranger = PuppetserverClasses::new(url, files(&other, &strangers, "stranger"));
    for source in [gone, no_key, stranger] {
        let told = source.environments().await;
        let Err(ClassSourceError::Unreachable { url, cause }) = told else {
            panic!("{told:?}");
        };
        assert!(url.ends_with("/puppet/v3/environments"), "{url}");
        assert!(!cause.is_empty());
    }
}

#[tokio::test]
async fn an_answer_without_an_end_is_given_up() {
    let padding = " ".repeat(classifier::defaults::CLASSES_BYTES);
    let site = site(StatusCode::OK, format!("{{\"files\": []{padding}}}")).await;
    let told = site.source.classes("production").await;
    let Err(ClassSourceError::Unreachable { cause, .. }) = told else {
        panic!("{told:?}");
    };
    assert!(cause.contains("more than"), "{cause}");
}
