//! Repositories accessed by a GitHub App, at a simulated GitHub.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use code_sources::git::GitProgram;
use code_sources::git::{GitAccess, GithubApps};

use crate::github_server::{GitHub, Key, pem};
use crate::world::source_error;

fn app(id: &str, key: PathBuf) -> GitAccess {
    GitAccess {
        github_app_id: Some(id.to_owned()),
        github_app_key: Some(key),
        github_app_ttl: Some(std::time::Duration::from_secs(90)),
        // The proxy of the test machine's environment is not used.
        proxy: Some(String::new()),
        ..GitAccess::default()
    }
}

/// Returns settings with the App for all repositories, and for one at this server.
fn git(github: &GitHub, app: GitAccess) -> GitProgram {
    let named = HashMap::from([(github.remote("ops/named"), app.clone())]);
    GitProgram {
        access: app,
        repositories: Arc::new(named),
        ..GitProgram::default()
    }
}

/// Returns the error about a repository that does not exist.
async fn refused(git: &GitProgram, remote: &str) -> String {
    source_error(git, remote).await.error.to_string()
}

fn basic(token: &str) -> Option<String> {
    let pair = STANDARD.encode(format!("x-access-token:{token}"));
    Some(format!("Basic {pair}"))
}

const INSTALLED: &str = "GET orgs/ops/installation";
const MADE: &str = "POST app/installations/7/access_tokens";

#[tokio::test]
async fn a_token_is_made_when_it_is_needed_and_anew_before_it_ends() {
    let key = Key::new();
    let github = GitHub::start(&key).await;
    let git = git(&github, app("12345", key.pkcs1()));
    let said = refused(&git, &github.remote("ops/one")).await;
    assert!(
        !said.contains("ghs_") && !said.contains("GitHub App"),
        "{said}"
    );
    assert_eq!(github.login("ops/one"), basic("ghs_1"));
    refused(&git, &github.remote("Ops/two")).await;
    assert_eq!(github.login("Ops/two"), basic("ghs_1"));
    assert_eq!(
        github.asked(),
        [INSTALLED, MADE],
        "one is for all of an owner"
    );
    // A token that could expire while git uses it.
    github.set(|known| known.lasts = 300);
    let fresh = GitProgram {
        apps: GithubApps::default(),
        ..git
    };
    for _ in 0..2 {
        let before = github.login("ops/one");
        refused(&fresh, &github.remote("ops/one")).await;
        assert_ne!(github.login("ops/one"), before);
    }
    let asked = github.asked();
    assert!(asked.chunks(2).all(|pair| pair == [INSTALLED, MADE]));
}

#[tokio::test]
async fn where_it_is_not_installed_or_not_meant_git_goes_without() {
    let key = Key::new();
    let github = GitHub::start(&key).await;
    let app = app("12345", key.pkcs8());
    let git = git(&github, app.clone());
    let said = refused(&git, &github.remote("other/public")).await;
    assert!(said.contains("the GitHub App 12345"), "{said}");
    assert!(said.contains("is not installed at its owner"), "{said}");
    assert_eq!(github.login("other/public"), None);
    refused(&git, &github.remote("other/second")).await;
    let absent = ["orgs", "users"].map(|kind| format!("GET {kind}/other/installation"));
    assert_eq!(github.asked(), absent);
    refused(&git, &github.remote("anna/own")).await;
    assert_eq!(github.login("anna/own"), basic("ghs_1"));
    assert_eq!(github.asked().len(), 3);
    // A Puppetfile may name any host, and the App's JWT permits everything that the App may do.
    let elsewhere = github.remote("ops/evil").replace("127.0.0.1", "localhost");
    let said = refused(&git, &elsewhere).await;
    assert!(said.contains("is not meant for its server"), "{said}");
    assert_eq!(github.login("ops/evil"), None);
    assert_eq!(github.asked(), Vec::<String>::new());
    // A configured token takes precedence.
    let token = key.write("token", "0auth");
    let own = GitAccess {
        oauth_token: Some(token),
        ..app
    };
    let remote = github.remote("ops/own");
    let git = GitProgram {
        repositories: Arc::new(HashMap::from([(remote.clone(), own)])),
        ..GitProgram::default()
    };
    refused(&git, &remote).await;
    let pair = STANDARD.encode("x-oauth-token:0auth");
    assert_eq!(github.login("ops/own"), Some(format!("Basic {pair}")));
    assert_eq!(github.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_wrong_is_told() {
    let (key, other) = (Key::new(), Key::new());
    let github = GitHub::start(&key).await;
    let elliptic = elliptic_key();
    let said = async |id: &str, path: PathBuf| {
        let git = git(&github, app(id, path));
        refused(&git, &github.remote("ops/x")).await
    };
    let gone = said("12345", key.directory.path().join("gone.pem")).await;
    assert!(
        gone.contains("gone.pem") && gone.contains("No such file"),
        "{gone}"
    );
    for (name, text) in [
        ("ec.pem", elliptic.as_str()),
        ("empty.pem", ""),
        (
            "other.pem",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ),
        ("cut.pem", "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n"),
        (
            "wrong.pem",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\n",
        ),
    ] {
        let said = said("12345", key.write(name, text)).await;
        assert!(
            said.contains(name) && said.contains("no private key of RSA"),
            "{said}"
        );
        assert!(!said.contains("MIIB"), "{said}");
    }
    assert_eq!(github.asked(), Vec::<String>::new());
    for (id, path) in [("12345", other.pkcs1()), ("999", key.pkcs1())] {
        let said = said(id, path.clone()).await;
        let begin = format!(
            "the GitHub App {id} gets no token for {}: ",
            github.remote("ops/x")
        );
        assert!(said.starts_with(&begin), "{said}");
        assert!(
            said.contains("401 Unauthorized: A JSON web token could not"),
            "{said}"
        );
        assert!(said.contains(&path.display().to_string()), "{said}");
        assert!(!said.contains("eyJ"), "{said}");
        assert_eq!(github.asked(), [INSTALLED], "it would say the same again");
    }
    let wrong = |status: StatusCode, body: &str| (status, body.to_owned());
    let busy = wrong(StatusCode::SERVICE_UNAVAILABLE, "");
    for (answers, expected, asked) in [
        (
            vec![busy.clone(), busy.clone(), busy],
            "503 Service Unavailable",
            3,
        ),
        (
            vec![wrong(StatusCode::FORBIDDEN, r#"{"message": "suspended"}"#)],
            "403 Forbidden: suspended",
            1,
        ),
        (
            vec![wrong(StatusCode::OK, "<html>")],
            "answers what GitHub does not",
            1,
        ),
        (
            vec![wrong(StatusCode::OK, r#"{"id": "../x"}"#)],
            "answers what GitHub does not",
            1,
        ),
        (
            vec![
                wrong(StatusCode::OK, r#"{"id": 7}"#),
                wrong(
                    StatusCode::OK,
                    r#"{"token": "ghs_secret", "expires_at": "soon"}"#,
                ),
            ],
            "answers what GitHub does not",
            2,
        ),
        (
            vec![wrong(StatusCode::OK, &"x".repeat(2 << 20))],
            "more than 1048576 bytes",
            1,
        ),
    ] {
        github.set(|known| known.wrong = answers);
        let said = said("12345", key.pkcs1()).await;
        assert!(said.contains(expected) && !said.contains("ghs_"), "{said}");
        assert_eq!(github.asked().len(), asked, "{said}");
    }
    // A temporary error is retried.
    github.set(|known| known.wrong = vec![(StatusCode::BAD_GATEWAY, String::new())]);
    let said = said("12345", key.pkcs1()).await;
    assert!(!said.contains("GitHub App"), "{said}");
    assert_eq!(github.login("ops/x"), basic("ghs_1"));
}

/// Returns a private key that is not RSA.
fn elliptic_key() -> String {
    let pair = aws_lc_rs::signature::EcdsaKeyPair::generate_pkcs8(
        &aws_lc_rs::signature::ECDSA_P256_SHA256_FIXED_SIGNING,
        &aws_lc_rs::rand::SystemRandom::new(),
    );
    pem("PRIVATE KEY", pair.unwrap().as_ref())
}
