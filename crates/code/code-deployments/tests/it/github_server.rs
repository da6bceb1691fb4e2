//! A simulated GitHub with one App, [`GitHub`], and the App's private key, [`Key`].

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey,
};
use axum::Router;
use axum::extract::State as Shared;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

/// A simulated GitHub that knows one App.
pub(crate) struct GitHub {
    address: String,
    state: Arc<Mutex<Known>>,
    task: tokio::task::JoinHandle<()>,
}

pub(crate) struct Known {
    public: Vec<u8>,
    /// Validity of tokens, in seconds.
    pub(crate) lasts: i64,
    made: u32,
    /// Answers to the next requests of the API, instead of the regular ones.
    pub(crate) wrong: Vec<(StatusCode, String)>,
    /// The requests of the API.
    asked: Vec<String>,
    /// The credentials that git sent, by path.
    logins: HashMap<String, Option<String>>,
}

/// An App's private key, in the two file formats.
pub(crate) struct Key {
    pair: RsaKeyPair,
    pub(crate) directory: tempfile::TempDir,
}

// === impl Key ===

impl Key {
    pub(crate) fn new() -> Self {
        Self {
            pair: RsaKeyPair::generate(KeySize::Rsa2048).unwrap(),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn pkcs8(&self) -> PathBuf {
        self.write("pkcs8.pem", &pem("PRIVATE KEY", &self.der()))
    }

    /// The PKCS#1 key follows the PKCS#8 header, which has the same length for every 2048-bit key.
    pub(crate) fn pkcs1(&self) -> PathBuf {
        let text = pem("RSA PRIVATE KEY", &self.der()[26..]);
        self.write("pkcs1.pem", &text)
    }

    fn der(&self) -> Vec<u8> {
        let der: Pkcs8V1Der<'_> = self.pair.as_der().unwrap();
        der.as_ref().to_vec()
    }
}

pub(crate) fn pem(kind: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n")
}

// === impl GitHub ===

impl GitHub {
    /// Starts a server that knows the App 12345 with this key, installed at `ops`.
    pub(crate) async fn start(key: &Key) -> Self {
        let state = Arc::new(Mutex::new(Known {
            public: key.pair.public_key().as_ref().to_vec(),
            lasts: 3_600,
            made: 0,
            wrong: Vec::new(),
            asked: Vec::new(),
            logins: HashMap::new(),
        }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&state));
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            address,
            state,
            task,
        }
    }

    pub(crate) fn remote(&self, path: &str) -> String {
        format!("{}/{path}.git", self.address)
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.state.lock().unwrap());
    }

    /// Returns the requests of the API since the last call.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().asked)
    }

    /// Returns the credentials that git sent for a repository.
    pub(crate) fn login(&self, path: &str) -> Option<String> {
        let state = self.state.lock().unwrap();
        state.logins[&format!("/{path}.git/info/refs")].clone()
    }
}

impl Drop for GitHub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    Shared(state): Shared<Arc<Mutex<Known>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> (StatusCode, [(HeaderName, &'static str); 1], String) {
    let (status, body) = answered(&mut state.lock().unwrap(), &method, &uri, &headers);
    // Git sends credentials only after a server has requested them.
    (
        status,
        [(header::WWW_AUTHENTICATE, "Basic realm=\"x\"")],
        body,
    )
}

/// The header that git sends without a name and a password.
pub(crate) const EMPTY: &str = "Basic Og==";

fn answered(
    state: &mut Known,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> (StatusCode, String) {
    let shown = headers.get("authorization");
    let shown = shown.map(|it| it.to_str().unwrap().to_owned());
    let Some(path) = uri.path().strip_prefix("/api/v3/") else {
        // Repositories do not exist here; only git's credentials are recorded.
        let status = match shown {
            None => StatusCode::UNAUTHORIZED,
            Some(_) => StatusCode::NOT_FOUND,
        };
        let shown = shown.filter(|shown| shown != EMPTY);
        state.logins.insert(uri.path().to_owned(), shown);
        return (status, String::new());
    };
    state.asked.push(format!("{method} {path}"));
    if !state.wrong.is_empty() {
        return state.wrong.remove(0);
    }
    if !state.is_signed(shown.as_deref()) {
        let body = json!({"message": "A JSON web token could not be decoded"});
        return (StatusCode::UNAUTHORIZED, body.to_string());
    }
    let body = match (method.as_str(), path) {
        ("GET", "orgs/ops/installation" | "users/anna/installation") => {
            json!({"id": 7, "account": {"login": "ops"}})
        }
        ("POST", "app/installations/7/access_tokens") => {
            state.made += 1;
            let end = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(state.lasts);
            json!({"token": format!("ghs_{}", state.made), "expires_at": end.to_string()})
        }
        _ => {
            let body = json!({"message": "Not Found"});
            return (StatusCode::NOT_FOUND, body.to_string());
        }
    };
    (StatusCode::OK, body.to_string())
}

// === impl Known ===

impl Known {
    /// Returns true if the App signed this JWT, and it is valid now, for 90 s.
    fn is_signed(&self, shown: Option<&str>) -> bool {
        let token = shown.and_then(|it| it.strip_prefix("Bearer ")).unwrap();
        let (text, signature) = token.rsplit_once('.').unwrap();
        let part = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
        let json = |text: &str| serde_json::from_slice::<Value>(&part(text)).unwrap();
        let (header, claims) = text.split_once('.').unwrap();
        assert_eq!(json(header)["alg"], "RS256");
        let claims = json(claims);
        let now = jiff::Timestamp::now().as_second();
        let (issued, end) = (
            claims["iat"].as_i64().unwrap(),
            claims["exp"].as_i64().unwrap(),
        );
        assert!(
            issued <= now && end > now && end - issued == 60 + 90,
            "{claims}"
        );
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.public);
        let is_whole = key.verify(text.as_bytes(), &part(signature)).is_ok();
        is_whole && claims["iss"] == "12345"
    }
}
