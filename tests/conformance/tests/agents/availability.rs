//! Checks of services by the shipped module `availability`: its Ruby code without Puppet (`ruby/availability.rb`), with
//! the Ruby of both versions and a real PostgreSQL, and in runs of real agents.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pki::ca::{GenerateOptions, InitOptions};
use pki::{CertificateAuthority, KeyType};
use tempfile::TempDir;
use testkit::peers::puppet_agent::PUPPET;
use testkit::peers::{Puppet8, PuppetAgent};
use testkit::postgres::{Postgres, PostgresSetup};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::site::{AgentSite, outcome, write};

const ROLES: &str = "
SET password_encryption = 'scram-sha-256';
CREATE ROLE scram LOGIN PASSWORD 'söß 1';
CREATE ROLE plain LOGIN PASSWORD 'söß 1';
CREATE ROLE refused LOGIN;
SET password_encryption = 'md5';
CREATE ROLE md5 LOGIN PASSWORD 'söß 1';
";

/// Authentication of these roles; others are trusted.
const METHODS: [&str; 4] = [
    "host all plain 127.0.0.1/32 password",
    "host all md5 127.0.0.1/32 md5",
    "host all scram 127.0.0.1/32 scram-sha-256",
    "host all refused 127.0.0.1/32 reject",
];

/// A PostgreSQL that is ready, and one that starts and never becomes ready.
struct Databases {
    ready: Postgres,
    starting: Postgres,
}

impl Databases {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = InitOptions {
            common_name: "CA of databases".to_owned(),
            key_type: KeyType::EcP256,
        };
        let authority = CertificateAuthority::init(directory.path(), &options).unwrap();
        let issued = authority
            .generate("database.test", &GenerateOptions::default())
            .unwrap();
        let files = [("tls.crt", issued.cert_pem), ("tls.key", issued.key_pem)];
        let settings = ["ssl=on", "ssl_cert_file=tls.crt", "ssl_key_file=tls.key"];
        let ready = Postgres::start_as(PostgresSetup {
            address: Some("127.0.0.1".to_owned()),
            settings: settings.map(str::to_owned).to_vec(),
            hba: METHODS.map(str::to_owned).to_vec(),
            files: files.map(|(name, text)| (name.to_owned(), text)).to_vec(),
        })
        .unwrap();
        ready.psql("postgres", "CREATE DATABASE app").unwrap();
        ready.psql("postgres", ROLES).unwrap();
        let starting = Postgres::start_on_tcp().unwrap();
        starting.stop().unwrap();
        starting.resume_without_getting_ready().unwrap();
        Self { ready, starting }
    }

    /// The ports as arguments of the checks.
    fn arguments(&self) -> String {
        let port = |server: &Postgres| {
            let place = server.tcp_place().unwrap();
            place.rsplit(':').next().unwrap().to_owned()
        };
        format!(
            "'ready={}', 'starting={}'",
            port(&self.ready),
            port(&self.starting)
        )
    }
}

/// Copies the module and the checks into a directory, and returns the program.
fn place_checks(directory: &Path, databases: &Databases) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = "lib/puppet_x/availability";
    for file in std::fs::read_dir(here.join("../../modules/availability").join(library)).unwrap() {
        let file = file.unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        let name = file.file_name().into_string().unwrap();
        write(&directory.join("module").join(library).join(name), &text);
    }
    let checks = std::fs::read_to_string(here.join("ruby/availability.rb")).unwrap();
    write(&directory.join("availability.rb"), &checks);
    std::fs::create_dir(directory.join("work")).unwrap();
    let start = format!(
        "#!/usr/bin/ruby\nARGV.replace(['{0}/module', '{0}/work', {1}])\nload '{0}/availability.rb'\n",
        directory.display(),
        databases.arguments()
    );
    let program = directory.join("start.rb");
    write(&program, &start);
    program
}

fn passes(output: &Output) {
    let (status, printed) = outcome(output);
    assert_eq!(status, Some(0), "{printed}");
    let passed = printed.matches("ok      ").count();
    assert!(passed > 24, "{printed}");
    assert_eq!(printed.matches("ok      PostgreSQL: ").count(), 4);
}

#[test]
fn the_ruby_code_withstands_hostile_servers_with_puppet_7() {
    if !Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    let (directory, databases) = (tempfile::tempdir().unwrap(), Databases::start());
    let program = place_checks(directory.path(), &databases);
    let output = std::process::Command::new("ruby").arg(program).output();
    passes(&output.unwrap());
}

#[test]
fn the_ruby_code_withstands_hostile_servers_with_puppet_8() {
    if let Some(obstacle) = Puppet8::obstacle() {
        eprintln!("SKIPPED: no Puppet 8: {obstacle}");
        return;
    }
    let (directory, databases): (TempDir, _) = (tempfile::tempdir().unwrap(), Databases::start());
    let program = place_checks(directory.path(), &databases);
    let puppet = Puppet8::new().unwrap();
    passes(&puppet.run_ruby(directory.path(), &program, b"").unwrap());
}

/// A web service that is ready when it is told so.
struct WebService {
    port: u16,
    is_ready: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl WebService {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_ready = Arc::new(AtomicBool::new(false));
        let ready = Arc::clone(&is_ready);
        let task = tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut request = [0; 4096];
                // the answer needs no request, and a peer that has gone needs no answer
                let _ = socket.read(&mut request).await;
                let status = match ready.load(Ordering::SeqCst) {
                    true => "200 OK",
                    false => "503 Service Unavailable",
                };
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                let _ = socket.write_all(answer.as_bytes()).await;
            }
        });
        Self {
            port,
            is_ready,
            task,
        }
    }
}

const SITE: &str = r"
file { 'TARGET/unrelated': content => 'unrelated' }
site {
  shop { 's':
    nodes => {
      Node['app.test']   => Shop::App['s'],
      Node['front.test'] => Shop::Front['s'],
    },
  }
}
";

const SHOP: &str = r"
application shop() {
  shop::app { $name: port => PORT, export => Http_service[$name] }
  shop::front { $name: consume => Http_service[$name] }
}
";

const APP: &str = r"
define shop::app(Integer $port) {
  notify { 'the app': }
}
Shop::App produces Http_service { host => '127.0.0.1', base_path => '/health', timeout => 2 }
";

const FRONT: &str = r#"
define shop::front(String $host, Integer $port) {
  file { 'TARGET/front': content => "${host}:${port}\n" }
}
Shop::Front consumes Http_service { }
"#;

async fn is_checked(agent: impl Fn(&AgentSite, &str) -> PuppetAgent) {
    let site = AgentSite::start("").await;
    let service = WebService::start().await;
    let shop = SHOP.replace("PORT", &service.port.to_string());
    site.deploy(
        "production",
        'a',
        &[
            ("environment.conf", "applications = true\n"),
            ("manifests/site.pp", SITE),
            ("modules/shop/manifests/init.pp", &shop),
            ("modules/shop/manifests/app.pp", APP),
            ("modules/shop/manifests/front.pp", FRONT),
        ],
    );
    std::fs::create_dir_all(site.target()).unwrap();
    let (app, front) = (agent(&site, "app.test"), agent(&site, "front.test"));
    let run = async |agent: &PuppetAgent, more: &[&str]| {
        let arguments = [&["agent", "--test"], more].concat();
        outcome(&agent.run(&arguments).await.unwrap())
    };

    // the producer does not wait for itself
    let (status, printed) = run(&app, &[]).await;
    assert_eq!(status, Some(2), "{printed}");
    assert!(!printed.contains("not available"), "{printed}");
    std::fs::remove_file(site.target().join("unrelated")).unwrap();

    let cause =
        "the status is 503, and not 200. Make it available to this node and run Puppet again";
    let place = format!("http://127.0.0.1:{}/health is not available", service.port);
    let (_, printed) = run(&front, &["--noop"]).await;
    let is_warning = |line: &&str| line.starts_with("Warning:") && line.contains(&place);
    let warning = printed.lines().find(is_warning);
    let warning = warning.unwrap_or_else(|| panic!("{printed}"));
    assert!(warning.contains("at the only attempt of a noop run: the status is 503"));
    assert!(!site.target().join("unrelated").exists());

    let (status, printed) = run(&front, &[]).await;
    assert_eq!(status, Some(6), "{printed}");
    let failure = "Http_service[s]/ensure: change from 'absent' to 'present' failed";
    assert!(printed.contains(failure), "{printed}");
    assert!(printed.contains(&place), "{printed}");
    assert!(printed.contains(cause), "{printed}");
    let skipped = "File[TARGET/front]: Skipping because of failed dependencies";
    let skipped = skipped.replace("TARGET", &site.target().display().to_string());
    assert!(printed.contains(&skipped), "{printed}");
    assert!(!site.target().join("front").exists());
    assert_eq!(site.read("unrelated"), "unrelated");

    service.is_ready.store(true, Ordering::SeqCst);
    let (status, printed) = run(&front, &[]).await;
    assert_eq!(status, Some(2), "{printed}");
    assert_eq!(site.read("front"), format!("127.0.0.1:{}\n", service.port));
    let (status, printed) = run(&front, &[]).await;
    assert_eq!(status, Some(0), "{printed}");
    service.task.abort();
    site.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_of_puppet_7_skips_components_whose_service_is_not_available() {
    if !Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    is_checked(|site, certname| site.agent(certname)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_of_puppet_8_skips_components_whose_service_is_not_available() {
    if let Some(obstacle) = Puppet8::obstacle() {
        eprintln!("SKIPPED: no Puppet 8: {obstacle}");
        return;
    }
    is_checked(|site, certname| PuppetAgent::new_puppet8(&site.installation, certname).unwrap())
        .await;
}
