//! A small identity provider on loopback: [`Provider`]. It checks what a provider must: codes are
//! good once, for the redirect URI and the PKCE challenge that they were given for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RsaKeyPair};
use axum::extract::State;
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

/// What a token is like before it is signed.
pub(crate) type Twist = Arc<dyn Fn(&mut Value) + Send + Sync>;

pub(crate) struct Provider {
    pub(crate) issuer: String,
    pub(crate) shared: Arc<Shared>,
    serving: tokio::task::JoinHandle<()>,
}

/// Makes a token of claims.
pub(crate) type Forge = Arc<dyn Fn(&Value) -> String + Send + Sync>;

#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) issuer: Mutex<String>,
    pub(crate) keys: Mutex<Vec<Arc<Key>>>,
    codes: Mutex<HashMap<String, Grant>>,
    pub(crate) twist: Mutex<Option<Twist>>,
    /// Instead of the signed token.
    pub(crate) forge: Mutex<Option<Forge>>,
    /// The token endpoint sends elsewhere.
    pub(crate) redirects: Mutex<Option<String>>,
    pub(crate) key_requests: Mutex<usize>,
}

struct Grant {
    nonce: String,
    challenge: String,
    redirect_uri: String,
}

pub(crate) struct Key {
    pub(crate) kid: String,
    algorithm: Algorithm,
    encoding: EncodingKey,
}

// === impl Key ===

impl Key {
    pub(crate) fn es256(kid: &str) -> Arc<Self> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        Arc::new(Self {
            kid: kid.to_owned(),
            algorithm: Algorithm::ES256,
            encoding: EncodingKey::from_ec_der(pair.unwrap().as_ref()),
        })
    }

    pub(crate) fn rs256(kid: &str) -> Arc<Self> {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
        // PKCS#1 begins behind the head of PKCS#8, which is always as long for 2048 bits.
        Arc::new(Self {
            kid: kid.to_owned(),
            algorithm: Algorithm::RS256,
            encoding: EncodingKey::from_rsa_der(&der.as_ref()[26..]),
        })
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        let mut header = Header::new(self.algorithm);
        header.kid = Some(self.kid.clone());
        jsonwebtoken::encode(&header, claims, &self.encoding).unwrap()
    }

    pub(crate) fn public(&self) -> Value {
        let mut key = Jwk::from_encoding_key(&self.encoding, self.algorithm).unwrap();
        key.common.key_id = Some(self.kid.clone());
        serde_json::to_value(key).unwrap()
    }
}

// === impl Provider ===

impl Provider {
    pub(crate) async fn start(key: Arc<Key>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared::default());
        shared.issuer.lock().unwrap().clone_from(&issuer);
        shared.keys.lock().unwrap().push(key);
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(document))
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

    /// What happens in the browser: somebody logs in at `url`, and comes back with a code.
    pub(crate) fn browse(&self, url: &str) -> String {
        let url = Url::parse(url).unwrap();
        let pairs: HashMap<String, String> = url.query_pairs().into_owned().collect();
        assert_eq!(url.path(), "/authorize");
        assert_eq!(pairs["response_type"], "code");
        assert_eq!(pairs["code_challenge_method"], "S256");
        assert_eq!(pairs["client_id"], "tutti");
        assert!(pairs["scope"].split(' ').any(|scope| scope == "openid"));
        let mut codes = self.shared.codes.lock().unwrap();
        let code = format!("code&=+{}", codes.len());
        let grant = Grant {
            nonce: pairs["nonce"].clone(),
            challenge: pairs["code_challenge"].clone(),
            redirect_uri: pairs["redirect_uri"].clone(),
        };
        codes.insert(code.clone(), grant);
        code
    }

    pub(crate) fn stop(&self) {
        self.serving.abort();
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.stop();
    }
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
