//! Logins by an identity provider.

use std::sync::Arc;
use std::time::Duration;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use external_directories::{
    OidcConfig, OidcError, OidcProvider, OidcRedirect, OidcSecrets, StartedLogin,
};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use optional_feature::Feature;
use rbac::RemoteUser;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use testkit::identity_provider::{Key, Provider};

const CALLBACK: &str = "http://127.0.0.1:49152/callback";

fn oidc_of(config: OidcConfig) -> OidcProvider {
    let secrets = OidcSecrets::new(None, None).unwrap();
    OidcProvider::new(config, Feature::with_value(secrets)).unwrap()
}

fn client(provider: &Provider) -> OidcProvider {
    oidc_of(OidcConfig::new(&provider.issuer, "tutti"))
}

async fn start(oidc: &OidcProvider) -> StartedLogin {
    let redirect = OidcRedirect::Loopback(CALLBACK.to_owned());
    oidc.start(redirect).await.unwrap()
}

async fn finish(
    oidc: &OidcProvider,
    started: &StartedLogin,
    code: &str,
) -> Result<RemoteUser, OidcError> {
    let code = SecretString::from(code.to_owned());
    oidc.finish(&started.state, &started.handle, &code).await
}

async fn login(oidc: &OidcProvider, provider: &Provider) -> Result<RemoteUser, OidcError> {
    let started = start(oidc).await;
    let code = provider.browse(&started.authorization_url);
    finish(oidc, &started, &code).await
}

async fn world() -> (OidcProvider, Provider) {
    let provider = Provider::start(Key::es256("one")).await;
    (client(&provider), provider)
}

/// Result of a login whose token is changed before it is signed.
async fn twisted(
    change: impl Fn(&mut Value) + Send + Sync + 'static,
) -> Result<RemoteUser, OidcError> {
    let (oidc, provider) = world().await;
    *provider.shared.twist.lock().unwrap() = Some(Arc::new(change));
    login(&oidc, &provider).await
}

fn refused(result: Result<RemoteUser, OidcError>, words: &str) {
    match result {
        Err(OidcError::Token(what)) => assert!(what.contains(words), "{words}: {what}"),
        other => panic!("{words}: {other:?}"),
    }
}

#[tokio::test]
async fn a_user_logs_in_with_either_kind_of_key() {
    for key in [Key::es256("e"), Key::rs256("r")] {
        let provider = Provider::start(key).await;
        let rita = login(&client(&provider), &provider).await.unwrap();
        let expected = RemoteUser {
            origin: format!("oidc:{}", provider.issuer),
            subject: "subject-1".to_owned(),
            login: "rita".to_owned(),
            display_name: "Rita Example".to_owned(),
            email: "rita@example.test".to_owned(),
            groups: vec!["staff".to_owned(), "ops".to_owned()],
        };
        assert_eq!(rita, expected);
    }
}

#[tokio::test]
async fn a_token_of_another_login_client_or_issuer_is_refused() {
    refused(
        twisted(|claims| claims["nonce"] = json!("other")).await,
        "nonce",
    );
    refused(
        twisted(|claims| {
            claims.as_object_mut().unwrap().remove("nonce");
        })
        .await,
        "nonce",
    );
    refused(
        twisted(|claims| claims["aud"] = json!("other")).await,
        "InvalidAudience",
    );
    refused(
        twisted(|claims| claims["iss"] = json!("https://evil.example")).await,
        "InvalidIssuer",
    );
    refused(
        twisted(|claims| claims["aud"] = json!(["tutti", "other"])).await,
        "another client",
    );
    refused(
        twisted(|claims| claims["azp"] = json!("other")).await,
        "another client",
    );
    let both = twisted(|claims| {
        claims["aud"] = json!(["tutti", "other"]);
        claims["azp"] = json!("tutti");
    });
    both.await.unwrap();
    for missing in ["aud", "iss", "exp", "sub", "iat"] {
        let without = twisted(move |claims| {
            claims.as_object_mut().unwrap().remove(missing);
        });
        let without = without.await;
        assert!(
            matches!(without, Err(OidcError::Token(_))),
            "{missing}: {without:?}"
        );
    }
}

#[tokio::test]
async fn a_token_is_good_in_its_time_give_or_take_a_minute() {
    let at = |claim: &'static str, seconds: i64| {
        twisted(move |claims| claims[claim] = json!(jiff::Timestamp::now().as_second() + seconds))
    };
    refused(at("exp", -120).await, "ExpiredSignature");
    at("exp", -30).await.unwrap();
    refused(at("nbf", 120).await, "ImmatureSignature");
    at("nbf", 30).await.unwrap();
    refused(at("iat", 120).await, "future");
    at("iat", 30).await.unwrap();
    refused(at("iat", -3_600).await, "too long ago");
}

#[tokio::test]
async fn a_token_that_nobody_signed_is_refused() {
    let (oidc, provider) = world().await;
    let text = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let public = provider.shared.keys.lock().unwrap()[0].public();
    let unsigned = move |claims: &Value| {
        format!(
            "{}.{}.",
            text(&json!({"alg": "none", "kid": "one"})),
            text(claims)
        )
    };
    // The public key as if it were a shared secret.
    let confused = move |claims: &Value| {
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some("one".to_owned());
        let secret = BASE64_URL_SAFE_NO_PAD
            .decode(public["x"].as_str().unwrap())
            .unwrap();
        jsonwebtoken::encode(&header, claims, &EncodingKey::from_secret(&secret)).unwrap()
    };
    let another = Key::es256("one");
    let foreign = move |claims: &Value| another.sign(claims);
    let wrong_kind = Key::rs256("one");
    let wrong_kind = move |claims: &Value| wrong_kind.sign(claims);
    let key = Arc::clone(&provider.shared.keys.lock().unwrap()[0]);
    let altered = move |claims: &Value| {
        let token = key.sign(claims);
        let parts: Vec<&str> = token.split('.').collect();
        let mut claims = claims.clone();
        claims["preferred_username"] = json!("admin");
        format!("{}.{}.{}", parts[0], text(&claims), parts[2])
    };
    let garbage = |_: &Value| "a.b".to_owned();
    type Forge = Arc<dyn Fn(&Value) -> String + Send + Sync>;
    let forgeries: [(&str, Forge); 6] = [
        ("none", Arc::new(unsigned)),
        ("HS256", Arc::new(confused)),
        ("another key", Arc::new(foreign)),
        ("another kind", Arc::new(wrong_kind)),
        ("altered", Arc::new(altered)),
        ("garbage", Arc::new(garbage)),
    ];
    for (name, forge) in forgeries {
        *provider.shared.forge.lock().unwrap() = Some(forge);
        let got = login(&oidc, &provider).await;
        assert!(matches!(got, Err(OidcError::Token(_))), "{name}: {got:?}");
    }
    *provider.shared.forge.lock().unwrap() = None;
    login(&oidc, &provider).await.unwrap();
}

#[tokio::test]
async fn a_login_ends_once_and_for_who_began_it() {
    let (oidc, provider) = world().await;
    let first = start(&oidc).await;
    let code = provider.browse(&first.authorization_url);
    finish(&oidc, &first, &code).await.unwrap();
    let again = finish(&oidc, &first, &code).await;
    assert_eq!(again, Err(OidcError::Flow));
    // The code itself is good once, and for its own login only.
    let second = start(&oidc).await;
    let replayed = finish(&oidc, &second, &code).await;
    assert!(
        matches!(replayed, Err(OidcError::Refused(_))),
        "{replayed:?}"
    );
    let (mine, yours) = (start(&oidc).await, start(&oidc).await);
    let stolen = provider.browse(&yours.authorization_url);
    let injected = finish(&oidc, &mine, &stolen).await;
    assert!(
        matches!(injected, Err(OidcError::Refused(_))),
        "{injected:?}"
    );
    // A handle of another login completes nothing, and invalidates the login.
    let third = start(&oidc).await;
    let code = provider.browse(&third.authorization_url);
    let thief = StartedLogin {
        handle: SecretString::from(mine.handle.expose_secret().to_owned()),
        state: third.state.clone(),
        authorization_url: String::new(),
    };
    assert_eq!(finish(&oidc, &thief, &code).await, Err(OidcError::Flow));
    assert_eq!(finish(&oidc, &third, &code).await, Err(OidcError::Flow));
}

#[tokio::test]
async fn keys_may_change_and_unknown_ones_make_no_hammer() {
    let (oidc, provider) = world().await;
    login(&oidc, &provider).await.unwrap();
    login(&oidc, &provider).await.unwrap();
    let requests = || *provider.shared.key_requests.lock().unwrap();
    assert_eq!(requests(), 1);
    *provider.shared.keys.lock().unwrap() = vec![Key::rs256("two")];
    login(&oidc, &provider).await.unwrap();
    assert_eq!(requests(), 2);
    let invented = Key::es256("invented");
    *provider.shared.forge.lock().unwrap() = Some(Arc::new(move |claims| invented.sign(claims)));
    for _ in 0..5 {
        refused(login(&oidc, &provider).await, "not one of the provider's");
    }
    assert_eq!(requests(), 2);
}

#[tokio::test]
async fn a_provider_that_is_down_or_another_or_sends_elsewhere_is_told() {
    let (oidc, provider) = world().await;
    let started = start(&oidc).await;
    let code = provider.browse(&started.authorization_url);
    // A15: code and client secret are not sent to the redirect's target.
    let elsewhere = Provider::start(Key::es256("one")).await;
    let target = format!("{}/token", elsewhere.issuer);
    *provider.shared.redirects.lock().unwrap() = Some(target);
    let sent = finish(&oidc, &started, &code).await;
    assert!(matches!(sent, Err(OidcError::Unavailable(_))), "{sent:?}");
    let other = client(&provider);
    "https://id.example".clone_into(&mut provider.shared.issuer.lock().unwrap());
    let redirect = OidcRedirect::Loopback(CALLBACK.to_owned());
    let wrong = other.start(redirect.clone()).await.unwrap_err();
    assert!(wrong.to_string().contains("another issuer"), "{wrong}");
    let down = oidc_of(OidcConfig::new("http://127.0.0.1:1", "tutti"));
    let down = tokio::time::timeout(Duration::from_secs(20), down.start(redirect)).await;
    let down = down.unwrap().unwrap_err();
    assert!(matches!(down, OidcError::Unavailable(_)), "{down}");
}

#[tokio::test]
async fn what_a_token_says_of_a_user_is_checked() {
    for login in [
        json!(""),
        json!(" "),
        json!("a\nb"),
        json!("x".repeat(300)),
        json!(7),
    ] {
        let twist = twisted(move |claims| claims["preferred_username"] = login.clone());
        refused(twist.await, "login");
    }
    let one = twisted(|claims| claims["groups"] = json!("staff"))
        .await
        .unwrap();
    assert_eq!(one.groups, ["staff"]);
    let none = twisted(|claims| claims["groups"] = Value::Null)
        .await
        .unwrap();
    assert!(none.groups.is_empty());
    refused(
        twisted(|claims| claims["groups"] = json!({"a": 1})).await,
        "groups",
    );
    let many = twisted(|claims| claims["groups"] = json!(vec!["g"; 5_000])).await;
    refused(many, "too many");
    // An e-mail address that is not verified must not be a login.
    let (_, provider) = world().await;
    let mut config = OidcConfig::new(&provider.issuer, "tutti");
    "email".clone_into(&mut config.login_claim);
    let oidc = oidc_of(config);
    refused(login(&oidc, &provider).await, "not verified");
    let verified = |claims: &mut Value| claims["email_verified"] = json!(true);
    *provider.shared.twist.lock().unwrap() = Some(Arc::new(verified));
    assert_eq!(
        login(&oidc, &provider).await.unwrap().login,
        "rita@example.test"
    );
}
