//! Repositories that are accessed with a token, and servers that must not get one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode, Uri, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use code_deployments::Deployer;
use code_settings::DeploymentSettings;
use code_sources::git::GitProgram;
use code_sources::git::{CredentialServers, GitAccess};
use code_sources::source::EnvironmentSource;

use crate::github_server::EMPTY;
use crate::world::{World, name, source_error};

/// A git server that requires credentials and has no repositories.
struct GitServer {
    address: String,
    /// The credentials that it received.
    shown: Arc<Mutex<Vec<String>>>,
    /// The number of requests.
    asked: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl GitServer {
    /// Starts a server at `host`, a name of this machine. Requests for `/moved.git` are redirected
    /// to `elsewhere`.
    async fn start(host: &str, elsewhere: &str) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{host}:{}", listener.local_addr().unwrap().port());
        let shown: Arc<Mutex<Vec<String>>> = Arc::default();
        let (kept, elsewhere) = (Arc::clone(&shown), elsewhere.to_owned());
        let asked: Arc<AtomicUsize> = Arc::default();
        let count = Arc::clone(&asked);
        let app = Router::new().fallback(move |uri: Uri, headers: HeaderMap| async move {
            count.fetch_add(1, Ordering::Relaxed);
            let login = headers.get(header::AUTHORIZATION);
            let login = login.map(|it| it.to_str().unwrap().to_owned());
            let login = login.filter(|login| login != EMPTY);
            kept.lock().unwrap().extend(login.clone());
            let answer = Response::builder();
            let answer = if login.is_none() {
                let answer = answer.status(StatusCode::UNAUTHORIZED);
                answer.header(header::WWW_AUTHENTICATE, "Basic realm=\"x\"")
            } else if uri.path().starts_with("/moved.git/") {
                let answer = answer.status(StatusCode::FOUND);
                answer.header(header::LOCATION, format!("{elsewhere}{uri}"))
            } else {
                answer.status(StatusCode::NOT_FOUND)
            };
            answer.body(Body::empty()).unwrap()
        });
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            address,
            shown,
            asked,
            task,
        }
    }

    fn remote(&self, name: &str) -> String {
        format!("{}/{name}.git", self.address)
    }

    /// Returns the credentials received since the last call, without repetitions.
    fn shown(&self) -> Vec<String> {
        let mut shown = std::mem::take(&mut *self.shown.lock().unwrap());
        shown.dedup();
        shown
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The credentials in which a server receives the token of these tests.
fn token_shown() -> String {
    format!("Basic {}", STANDARD.encode("x-oauth-token:t0ken"))
}

fn with_token(directory: &tempfile::TempDir) -> GitAccess {
    let token = directory.path().join("token");
    std::fs::write(&token, "t0ken").unwrap();
    GitAccess {
        oauth_token: Some(token),
        proxy: Some(String::new()),
        ..GitAccess::default()
    }
}

/// Returns git's message about a control repository that does not exist.
async fn refused(git: &GitProgram, remote: &str) -> String {
    let refused = source_error(git, remote).await;
    std::error::Error::source(&refused).map_or_else(|| refused.to_string(), |it| it.to_string())
}

#[tokio::test]
async fn a_token_is_shown_to_its_repository_and_stands_in_no_error() {
    let server = GitServer::start("127.0.0.1", "").await;
    let directory = tempfile::tempdir().unwrap();
    let own = with_token(&directory);
    let git = GitProgram {
        repositories: Arc::new(HashMap::from([(server.remote("one"), own)])),
        ..GitProgram::default()
    };
    let said = refused(&git, &server.remote("one")).await;
    assert!(!said.contains("t0ken"), "{said}");
    assert_eq!(server.shown(), [token_shown()], "{said}");
    let said = refused(&git, &server.remote("other")).await;
    assert_eq!(server.shown(), [""; 0], "{said}");
    std::fs::remove_file(directory.path().join("token")).unwrap();
    let said = refused(&git, &server.remote("one")).await;
    assert!(said.contains("cannot use the token in"), "{said}");
}

/// A user with push access to a branch can write its Puppetfile, which may name any server.
#[tokio::test]
async fn a_general_token_goes_to_servers_of_the_settings_and_not_to_one_of_a_puppetfile() {
    let ours = GitServer::start("127.0.0.1", "").await;
    let evil = GitServer::start("localhost", "").await;
    let directory = tempfile::tempdir().unwrap();
    let git = GitProgram {
        access: with_token(&directory),
        servers: CredentialServers::from_remotes([&*ours.remote("control")], []),
        ..GitProgram::default()
    };
    refused(&git, &ours.remote("control")).await;
    assert_eq!(ours.shown(), [token_shown()]);
    refused(&git, &ours.remote("module-of-the-same-server")).await;
    assert_eq!(ours.shown(), [token_shown()]);
    // A repository with a Puppetfile that names both servers.
    let world = World::new();
    let (one, two) = (ours.remote("one"), evil.remote("two"));
    world.puppetfile(&format!(
        "mod 'one', git: '{one}', branch: 'main'\nmod 'two', git: '{two}', branch: 'main'\n"
    ));
    let root = directory.path();
    let mut settings = DeploymentSettings::new(root.join("d"), root.join("environments"));
    settings.sources = vec![Arc::new(EnvironmentSource::new(
        "main",
        world.control().address(),
    ))];
    let deployer = Deployer::open(settings, git.clone()).unwrap();
    let round = deployer.start_round();
    let found = deployer.list_environments(&round).await.unwrap();
    let production = &found.by_name[&name("production")];
    let said = deployer.build(production, &round).await.unwrap_err();
    let said = format!("{said:?}");
    assert_eq!(ours.shown(), [token_shown()], "{said}");
    assert_eq!(evil.shown(), [""; 0], "{said}");
    assert!(said.contains("git.credential_hosts"), "{said}");
    // The settings may name the server, or the repository.
    let named = GitProgram {
        servers: CredentialServers::from_remotes([], [evil.address.trim_start_matches("http://")]),
        ..git.clone()
    };
    refused(&named, &evil.remote("two")).await;
    assert_eq!(evil.shown(), [token_shown()]);
    let named = GitProgram {
        repositories: Arc::new(HashMap::from([(evil.remote("two"), GitAccess::default())])),
        ..git
    };
    refused(&named, &evil.remote("two")).await;
    assert_eq!(evil.shown(), [token_shown()]);
}

#[tokio::test]
async fn a_redirect_takes_no_token_to_another_server() {
    let evil = GitServer::start("localhost", "").await;
    let ours = GitServer::start("127.0.0.1", &evil.address).await;
    let directory = tempfile::tempdir().unwrap();
    let git = GitProgram {
        access: with_token(&directory),
        servers: CredentialServers::from_remotes([&*ours.remote("control")], []),
        ..GitProgram::default()
    };
    let said = refused(&git, &ours.remote("moved")).await;
    assert_eq!(ours.shown(), [token_shown()], "{said}");
    assert_eq!(evil.shown(), [""; 0], "{said}");
    let asked = evil.asked.load(Ordering::Relaxed);
    assert!(asked > 0, "git did not follow the redirect: {said}");
}

/// Returns the programs whose arguments contain the text; every user of the machine can read them.
fn called_with(text: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(text)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_in_an_address_are_in_no_argv() {
    const CANARY: &str = "canary-51d7";
    let server = GitServer::start("127.0.0.1", "").await;
    let bare = server.remote("one");
    let remote = bare.replace("://", &format!("://ops:{CANARY}%21@"));
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let looking = {
        let (done, bare) = (Arc::clone(&done), bare.clone());
        std::thread::spawn(move || {
            let (mut git, mut secret) = (Vec::new(), Vec::new());
            while !done.load(Ordering::Relaxed) {
                git.extend(called_with(&bare));
                secret.extend(called_with(CANARY));
            }
            (git, secret)
        })
    };
    let git = GitProgram {
        access: GitAccess {
            proxy: Some(String::new()),
            ..GitAccess::default()
        },
        ..GitProgram::default()
    };
    // Each run starts a new git process, which the other thread observes.
    for _ in 0..20 {
        let said = refused(&git, &remote).await;
        assert!(!said.contains(CANARY), "{said}");
    }
    done.store(true, Ordering::Relaxed);
    let (git, secret) = looking.join().unwrap();
    assert!(!git.is_empty(), "no git was seen");
    assert_eq!(secret, Vec::<String>::new());
    let pair = STANDARD.encode(format!("ops:{CANARY}!"));
    assert_eq!(server.shown(), [format!("Basic {pair}")]);
}
