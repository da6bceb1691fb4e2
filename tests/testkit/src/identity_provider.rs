//! A small identity provider on loopback: [`Provider`]. It makes the checks that a provider must
//! make: a code is valid once, for the redirect URI and the PKCE challenge for which it was issued.
#![expect(
    clippy::unwrap_used,
    reason = "a provider that cannot do as a test says is that test's failure"
)]

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RsaKeyPair};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Changes the claims of a token before it is signed.
pub type Twist = Arc<dyn Fn(&mut Value) + Send + Sync>;

/// A running provider; it ends with its handle.
pub struct Provider {
    /// Its address, which is also its issuer.
    pub issuer: String,
    /// The state that a test may change while it runs.
    pub shared: Arc<Shared>,
    serving: tokio::task::JoinHandle<()>,
}

/// Creates a token from claims.
pub type Forge = Arc<dyn Fn(&Value) -> String + Send + Sync>;

/// The state and behaviour of a provider.
#[derive(Default)]
pub struct Shared {
    /// The issuer that it claims to be.
    pub issuer: Mutex<String>,
    /// Its public keys; it signs with the last one.
    pub keys: Mutex<Vec<Arc<Key>>>,
    codes: Mutex<HashMap<String, Grant>>,
    /// A change made to every token.
    pub twist: Mutex<Option<Twist>>,
    /// Creates tokens in place of the signed ones.
    pub forge: Mutex<Option<Forge>>,
    /// The address to which the token endpoint redirects; `None` for no redirect.
    pub redirects: Mutex<Option<String>>,
    /// Number of requests for its keys.
    pub key_requests: Mutex<usize>,
}

struct Grant {
    nonce: String,
    challenge: String,
    redirect_uri: String,
}

/// A key pair with an id.
pub struct Key {
    /// The id of the key.
    pub kid: String,
    algorithm: Algorithm,
    encoding: EncodingKey,
}

// === impl Key ===

impl Key {
    /// Generates an elliptic curve key.
    pub fn es256(kid: &str) -> Arc<Self> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        Arc::new(Self {
            kid: kid.to_owned(),
            algorithm: Algorithm::ES256,
            encoding: EncodingKey::from_ec_der(pair.unwrap().as_ref()),
        })
    }

    /// Generates an RSA key.
    pub fn rs256(kid: &str) -> Arc<Self> {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
        // PKCS#1 begins after the header of PKCS#8, which has a fixed length for 2048 bits.
        Arc::new(Self {
            kid: kid.to_owned(),
            algorithm: Algorithm::RS256,
            encoding: EncodingKey::from_rsa_der(&der.as_ref()[26..]),
        })
    }

    /// Signs a token with these claims.
    pub fn sign(&self, claims: &Value) -> String {
        let mut header = Header::new(self.algorithm);
        header.kid = Some(self.kid.clone());
        jsonwebtoken::encode(&header, claims, &self.encoding).unwrap()
    }

    /// The public key, as a JWK.
    pub fn public(&self) -> Value {
        let mut key = Jwk::from_encoding_key(&self.encoding, self.algorithm).unwrap();
        key.common.key_id = Some(self.kid.clone());
        serde_json::to_value(key).unwrap()
    }
}

// === impl Provider ===

impl Provider {
    /// Starts a provider on a free port.
    pub async fn start(key: Arc<Key>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared::default());
        shared.issuer.lock().unwrap().clone_from(&issuer);
        shared.keys.lock().unwrap().push(key);
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(document))
            .route("/authorize", get(authorize))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .with_state(Arc::clone(&shared));
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.unwrap();
        });
        Self {
            issuer,
            shared,
            serving,
        }
    }

    /// Logs in at `url` in place of a browser; returns the code.
    pub fn browse(&self, url: &str) -> String {
        let url = Url::parse(url).unwrap();
        assert_eq!(url.path(), "/authorize");
        self.shared.grant(&url.query_pairs().into_owned().collect())
    }
}

// === impl Shared ===

impl Shared {
    fn grant(&self, asked: &HashMap<String, String>) -> String {
        assert_eq!(asked["response_type"], "code");
        assert_eq!(asked["code_challenge_method"], "S256");
        assert_eq!(asked["client_id"], "tutti");
        assert!(asked["scope"].split(' ').any(|scope| scope == "openid"));
        let mut codes = self.codes.lock().unwrap();
        let code = format!("code&=+{}", codes.len());
        let grant = Grant {
            nonce: asked["nonce"].clone(),
            challenge: asked["code_challenge"].clone(),
            redirect_uri: asked["redirect_uri"].clone(),
        };
        codes.insert(code.clone(), grant);
        code
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Provider").field(&self.issuer).finish()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.kid).finish()
    }
}

/// Accepts every login at once.
async fn authorize(
    State(shared): State<Arc<Shared>>,
    Query(asked): Query<HashMap<String, String>>,
) -> Response {
    let code = shared.grant(&asked);
    let mut back = Url::parse(&asked["redirect_uri"]).unwrap();
    back.query_pairs_mut()
        .append_pair("code", &code)
        .append_pair("state", &asked["state"]);
    (StatusCode::FOUND, [("location", back.to_string())]).into_response()
}

async fn document(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let issuer = shared.issuer.lock().unwrap().clone();
    Json(
        json!({"issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/keys")}),
    )
}

async fn keys(State(shared): State<Arc<Shared>>) -> Json<Value> {
    *shared.key_requests.lock().unwrap() += 1;
    let keys = shared.keys.lock().unwrap();
    let mut keys: Vec<Value> = keys.iter().map(|key| key.public()).collect();
    keys.push(json!({"kty": "a kind of the future", "kid": "x"}));
    Json(json!({"keys": keys}))
}

async fn token(State(shared): State<Arc<Shared>>, body: String) -> Response {
    if let Some(elsewhere) = &*shared.redirects.lock().unwrap() {
        return (
            StatusCode::TEMPORARY_REDIRECT,
            [("location", elsewhere.clone())],
        )
            .into_response();
    }
    let form = Url::parse(&format!("http://x/?{body}")).unwrap();
    let form: HashMap<String, String> = form.query_pairs().into_owned().collect();
    let refuse =
        |error: &str| (StatusCode::BAD_REQUEST, Json(json!({"error": error}))).into_response();
    let Some(grant) = shared.codes.lock().unwrap().remove(&form["code"]) else {
        return refuse("invalid_grant");
    };
    let challenge = Sha256::digest(form["code_verifier"].as_bytes());
    if BASE64_URL_SAFE_NO_PAD.encode(challenge) != grant.challenge
        || form["redirect_uri"] != grant.redirect_uri
        || form["grant_type"] != "authorization_code"
    {
        return refuse("invalid_request");
    }
    let now = jiff::Timestamp::now().as_second();
    let mut claims = json!({
        "iss": *shared.issuer.lock().unwrap(), "aud": "tutti", "sub": "subject-1",
        "exp": now + 300, "iat": now, "nonce": grant.nonce, "preferred_username": "rita",
        "name": "Rita Example", "email": "rita@example.test", "groups": ["staff", "ops"]});
    if let Some(twist) = &*shared.twist.lock().unwrap() {
        twist(&mut claims);
    }
    let forged = shared
        .forge
        .lock()
        .unwrap()
        .clone()
        .map(|forge| forge(&claims));
    let signed = || shared.keys.lock().unwrap().last().unwrap().sign(&claims);
    let token = forged.unwrap_or_else(signed);
    Json(json!({"access_token": "x", "token_type": "Bearer", "id_token": token})).into_response()
}
