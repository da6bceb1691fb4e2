//! A server on loopback that answers as it is told and remembers what it was asked.
//! Main type: [`Fake`].

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use clap::Parser as _;
use http::{StatusCode, header};
use pki::ca::{GenerateOptions, InitOptions};
use pki::{CertificateAuthority, ClientAuth, KeyType, ServerTls, TlsFiles};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Arguments;
use crate::{EXIT_ERROR, program_name, say};

pub(super) const TOKEN: &str = "0QX-token_of-a-test";

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// `POST /orchestrator/v1/command/deploy`, without a query.
    pub(super) what: String,
    pub(super) query: String,
    pub(super) body: Value,
    pub(super) token: Option<String>,
}

/// What is answered: JSON, or (a string) a stream of events.
pub(super) type Answers = Vec<(&'static str, u16, Value)>;

#[derive(Debug)]
struct Shared {
    answers: Answers,
    asked: Mutex<Vec<Asked>>,
}

pub(super) struct Fake {
    pub(super) dir: TempDir,
    pub(super) url: String,
    shared: Arc<Shared>,
    _stop: DropGuard,
}

/// How a verb ended.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) code: u8,
    /// What went to standard output, without colours.
    pub(super) printed: String,
    /// What it failed with.
    pub(super) error: String,
}

// === impl Fake ===

impl Fake {
    pub(super) async fn start(answers: Answers) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tls = Arc::new(ServerTls::load(files(&dir), ClientAuth::Optional).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            answers,
            asked: Mutex::default(),
        });
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&shared));
        let stop = CancellationToken::new();
        let config = https::Config {
            drain_deadline: Duration::ZERO,
            ..https::Config::default()
        };
        tokio::spawn(https::serve(listener, tls, router, config, stop.clone()));
        std::fs::write(dir.path().join("token"), TOKEN).unwrap();
        Self {
            dir,
            url: format!("https://localhost:{port}"),
            shared,
            _stop: stop.drop_guard(),
        }
    }

    /// Runs `tutti …`, or a tool by its own name, with the flags that lead here.
    pub(super) async fn run(&self, words: &[&str]) -> Ran {
        self.run_with(words, &[]).await
    }

    /// The same with words behind the flags. A last word `--` of `words` stays in front of them.
    pub(super) async fn run_with(&self, words: &[&str], behind: &[&str]) -> Ran {
        let (words, dashes): (_, &[&str]) = match words.split_last() {
            Some((&"--", words)) => (words, &["--"]),
            _ => (words, &[]),
        };
        let token = self.path("token").display().to_string();
        let ca = self.path("ca.pem").display().to_string();
        let here = [
            "--service-url",
            &self.url,
            "--token-file",
            &token,
            "--cacert",
            &ca,
        ];
        self.run_alone(&[words, &here, dashes, behind].concat())
            .await
    }

    /// The same with these words alone.
    pub(super) async fn run_alone(&self, words: &[&str]) -> Ran {
        let (name, words) =
            program_name::detect_program_name(words.iter().map(std::ffi::OsString::from));
        let Arguments { command } =
            Arguments::try_parse_from(words).unwrap_or_else(|e| panic!("{e}"));
        say::capture();
        let done = Box::pin(crate::dispatch(command, name, no_local_commands)).await;
        let printed = say::captured();
        match done {
            Ok(code) => Ran {
                code,
                printed,
                error: String::new(),
            },
            Err(failure) => {
                let error = anstream::adapter::strip_str(&failure.to_terminal_text()).to_string();
                Ran {
                    code: EXIT_ERROR,
                    printed,
                    error,
                }
            }
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name).display().to_string()
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// The body of the one request to `what`.
    pub(super) fn body(&self, what: &str) -> Value {
        let asked = self.asked();
        let mut fitting = asked.iter().filter(|asked| asked.what == what);
        let found = fitting
            .next()
            .unwrap_or_else(|| panic!("{what} is not in {asked:#?}"));
        assert!(fitting.next().is_none(), "{what} was asked twice");
        found.body.clone()
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body: Bytes = to_bytes(body, 1 << 20).await.unwrap();
    let what = format!("{} {}", head.method, head.uri.path());
    let token = head.headers.get("x-authentication");
    shared.asked.lock().unwrap().push(Asked {
        what: what.clone(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
        token: token.map(|token| token.to_str().unwrap().to_owned()),
    });
    let known = shared.answers.iter().find(|(known, ..)| *known == what);
    let Some((_, status, reply)) = known else {
        let error =
            json!({"kind": "test/unknown", "msg": format!("no {what} here"), "details": {}});
        return (StatusCode::NOT_FOUND, error.to_string()).into_response();
    };
    let status = StatusCode::from_u16(*status).unwrap();
    match reply {
        Value::Null => status.into_response(),
        Value::String(events) => {
            let kind = [(header::CONTENT_TYPE, "text/event-stream")];
            (status, kind, events.clone()).into_response()
        }
        reply => (status, reply.to_string()).into_response(),
    }
}

fn files(dir: &TempDir) -> TlsFiles {
    let options = InitOptions {
        common_name: "Test CA".to_owned(),
        key_type: KeyType::EcP256,
    };
    let ca = CertificateAuthority::init(&dir.path().join("ca"), &options).unwrap();
    let made = ca
        .generate("localhost", &GenerateOptions::default())
        .unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        pki::durable::write_atomic(&path, text.as_bytes(), 0o600).unwrap();
        path
    };
    TlsFiles {
        cert: write("server.pem", &made.cert_pem),
        key: write("server.key", &made.key_pem),
        ca: write("ca.pem", &ca.ca_bundle().unwrap()),
        crl: Some(write("crl.pem", &ca.crl().unwrap().0)),
    }
}

/// A stream of events, as the server writes it.
pub(super) fn stream(events: &[Value]) -> Value {
    let events = events.iter().map(|event| {
        format!(
            "id: {}\nevent: {}\ndata: {event}\n\n",
            event["id"].as_str().unwrap(),
            event["type"].as_str().unwrap()
        )
    });
    events.collect::<String>().into()
}

/// For commands that are left to another crate, whose tests run them.
fn no_local_commands(command: crate::local::LocalCommand) -> crate::local::LocalExit {
    panic!("no server is asked by {command:?}")
}
