//! `tutti login --oidc` in a terminal, against a real server and an identity provider on loopback.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Output, Stdio};

use pki::TlsFiles;
use testkit::identity_provider::{Key, Provider};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr};

use crate::world::World;

/// The client while it waits for the browser.
struct Login {
    child: Child,
    shown: Lines<BufReader<ChildStderr>>,
    /// URL for the browser.
    url: String,
}

async fn world() -> (World, Provider) {
    let provider = Provider::start(Key::es256("one")).await;
    let extra = format!(
        "[directories.oidc]\nissuer = {:?}\nclient_id = \"tutti\"\n",
        provider.issuer
    );
    (World::of(crate::installation(&extra), &[]).await, provider)
}

/// Runs `tutti login --oidc …` and waits for the URL.
async fn begin(world: &World, provider: &Provider, more: &[&str]) -> Login {
    let mut command = world.tutti().await;
    let mut child = command
        .args(["login", "--oidc"])
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = BufReader::new(child.stderr.take().unwrap()).lines();
    let url = loop {
        let line = shown
            .next_line()
            .await
            .unwrap()
            .expect("an address is shown");
        if line.starts_with(&provider.issuer) {
            break line;
        }
    };
    Login { child, shown, url }
}

/// Reads all output until the client ends; standard error is returned as lines.
async fn end(mut login: Login) -> (Output, String) {
    let mut errors = String::new();
    while let Some(line) = login.shown.next_line().await.unwrap() {
        errors.push_str(&line);
        errors.push('\n');
    }
    (login.child.wait_with_output().await.unwrap(), errors)
}

/// A browser that follows redirects, also back to the loopback address.
fn browser(world: &World) -> reqwest::Client {
    let (cert, key) = world.installation.certificate("browser.test").unwrap();
    let files = TlsFiles {
        cert,
        key,
        ca: world.installation.ca_dir().join("ca_crt.pem"),
        crl: None,
    };
    let tls = pki::ClientTls::load(&files).unwrap();
    let builder = reqwest::Client::builder().tls_backend_preconfigured((*tls).clone());
    builder.no_proxy().build().unwrap()
}

#[tokio::test]
async fn a_browser_that_comes_back_logs_in_the_terminal() {
    let (world, provider) = world().await;
    let login = begin(&world, &provider, &["--lifetime", "2h"]).await;
    let page = browser(&world).get(&login.url).send().await.unwrap();
    assert_eq!(page.status(), 200);
    let page = page.text().await.unwrap();
    assert!(page.contains("You are logged in to Tutti"), "{page}");
    let (output, errors) = end(login).await;
    assert!(output.status.success(), "{errors}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        printed.starts_with("Logged in as rita; the token is in "),
        "{printed}"
    );
    let token = world.root().join("token");
    let mode = std::fs::metadata(&token).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut show = world.command();
    let shown = show.args(["user", "show", "rita"]).output().await.unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("rita@example.test"), "{shown}");
    world.stop().await;
}

#[tokio::test]
async fn an_address_that_is_pasted_logs_in_the_terminal() {
    let (world, provider) = world().await;
    let mut login = begin(&world, &provider, &["--print"]).await;
    // A browser on another machine is redirected to its own loopback address, where no process
    // listens.
    let code = provider.browse(&login.url);
    let url = reqwest::Url::parse(&login.url).unwrap();
    let given = |name: &str| {
        let mut pairs = url.query_pairs();
        pairs.find(|(key, _)| key == name).unwrap().1.into_owned()
    };
    let mut back = reqwest::Url::parse(&given("redirect_uri")).unwrap();
    back.query_pairs_mut()
        .append_pair("code", &code)
        .append_pair("state", &given("state"));
    let mut typed = login.child.stdin.take().unwrap();
    let lines = format!("not an address\n{back}\n");
    typed.write_all(lines.as_bytes()).await.unwrap();
    let (output, errors) = end(login).await;
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("not the address"), "{errors}");
    let token = String::from_utf8(output.stdout).unwrap();
    let port = world.installation.api_port();
    let me = format!("https://localhost:{port}/rbac-api/v1/users/current");
    let me = browser(&world)
        .get(me)
        .header("x-authentication", token.trim());
    let me = me.send().await.unwrap().text().await.unwrap();
    assert!(me.contains("\"login\":\"rita\""), "{me}");
    // The client ended although its input was still open.
    drop(typed);
    world.stop().await;
}

#[tokio::test]
async fn a_provider_that_refuses_and_a_server_without_one_are_told() {
    let (world, provider) = world().await;
    let login = begin(&world, &provider, &[]).await;
    let url = reqwest::Url::parse(&login.url).unwrap();
    let pairs: std::collections::HashMap<_, _> = url.query_pairs().into_owned().collect();
    let no = format!(
        "{}?state={}&error=access_denied&error_description=not%20today",
        pairs["redirect_uri"], pairs["state"]
    );
    let page = browser(&world).get(no).send().await.unwrap();
    let page = page.text().await.unwrap();
    assert!(page.contains("The terminal shows the reason"), "{page}");
    let (output, errors) = end(login).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(errors.contains("access_denied: not today"), "{errors}");
    world.stop().await;

    let world = World::start(&[]).await;
    let mut command = world.tutti().await;
    let output = command.args(["login", "--oidc"]).stdin(Stdio::null());
    let output = output.output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        errors.contains("no identity provider is configured"),
        "{errors}"
    );
    world.stop().await;
}
