//! Agents of a puppetserver whose CA this server has taken over: those with certificates of before, and new ones.

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::installation::Installation;
use testkit::peers::puppet_agent::PUPPET;
use testkit::peers::{Puppet8, PuppetAgent};

use crate::site::{AgentSite, outcome, programs, write};

/// The program of puppetserver's package.
const PUPPETSERVER: &str = "/usr/bin/puppetserver";

/// Nodes with certificates of the puppetserver, of Puppet 7 and 8.
const OLD: [&str; 2] = ["old7.test", "old8.test"];

/// Shorter keys than Puppet's default, which take seconds.
const KEYS: &str = "keylength = 2048\n";

/// A CA as `puppetserver ca` makes it: a root and an intermediate CA, with RSA keys.
struct PuppetserverCa {
    home: PathBuf,
}

impl PuppetserverCa {
    fn set_up(home: PathBuf) -> Self {
        let text = format!(
            "[main]\ncertname = puppet.test\nconfdir = {home}\nvardir = {home}/var\nssldir = {home}/ssl\n\
             cadir = {home}/ca\n{KEYS}",
            home = home.display()
        );
        write(&home.join("puppet.conf"), &text);
        let ca = Self { home };
        ca.run(&["setup", "--subject-alt-names", "localhost,puppet.test"]);
        ca
    }

    /// Runs `puppetserver ca` for a puppetserver that is stopped.
    fn run(&self, arguments: &[&str]) {
        let (verb, others) = arguments.split_first().unwrap();
        let mut command = Command::new(PUPPETSERVER);
        command.args(["ca", verb, "--config"]);
        command.arg(self.home.join("puppet.conf")).args(others);
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }

    fn issue(&self, certname: &str) {
        self.run(&["generate", "--ca-client", "--force", "--certname", certname]);
    }

    /// Copies certificate and key to where those of the installation's nodes are.
    fn give_to(&self, installation: &Installation, certname: &str) {
        let to = installation.root().join("certificates");
        std::fs::create_dir_all(&to).unwrap();
        for (directory, ending) in [("certs", "pem"), ("private_keys", "key")] {
            let from = self.home.join("ssl").join(directory);
            let to = to.join(format!("{certname}.{ending}"));
            std::fs::copy(from.join(format!("{certname}.pem")), to).unwrap();
        }
    }
}

/// A server that has taken over the CA of a puppetserver.
async fn start() -> AgentSite {
    let installation = Installation::new(programs(), "[ca]\nautosign = [\"*.new.test\"]\n");
    let installation = installation.unwrap();
    let theirs = PuppetserverCa::set_up(installation.root().join("theirs"));
    for certname in OLD {
        theirs.issue(certname);
        theirs.give_to(&installation, certname);
    }
    std::fs::remove_dir_all(installation.ca_dir()).unwrap();
    let imported = tutti_ca(&installation, &["import", "theirs/ca"]);
    // the certificates of the puppetserver and of the nodes
    assert!(imported.contains("3 entries"), "{imported}");
    let site = AgentSite::of(installation).await;
    let manifest = "notify { \"${trusted['certname']} ${trusted['authenticated']}\": }";
    site.deploy("production", 'a', &[("manifests/site.pp", manifest)]);
    site
}

fn tutti_ca(installation: &Installation, arguments: &[&str]) -> String {
    let mut command = Command::new(installation.tutti());
    let command = command.current_dir(installation.root());
    let ran = command
        .arg("ca")
        .args(arguments)
        .args(["--config", "tutti.toml"]);
    let (status, printed) = outcome(&ran.output().unwrap());
    assert_eq!(status, Some(0), "{printed}");
    printed
}

/// A node that has nothing but its name.
async fn without_certificate(site: &AgentSite, agent: &PuppetAgent) {
    site.certificate("clean", agent.certname()).await;
    std::fs::remove_dir_all(agent.home().join("ssl")).unwrap();
    let settings = format!("usecacheonfailure = false\n{KEYS}");
    agent.configure(&settings).unwrap();
}

async fn run(agent: &PuppetAgent) -> (Option<i32>, String) {
    outcome(&agent.run(&["agent", "--test"]).await.unwrap())
}

/// A run of an agent that gets its catalog by its name.
async fn is_configured(agent: &PuppetAgent) -> String {
    let (status, printed) = run(agent).await;
    assert_eq!(status, Some(2), "{printed}");
    let notice = format!("Notify[{} remote]", agent.certname());
    assert!(printed.contains(&notice), "{printed}");
    printed
}

/// A run with a certificate of before, an enrolment, and the revocation of both.
async fn agents_go_on(site: &AgentSite, old: &PuppetAgent, new: &PuppetAgent) {
    let before = certificate(old);
    is_configured(old).await;
    assert_eq!(certificate(old), before);
    without_certificate(site, new).await;
    is_configured(new).await;
    assert!(verifies(site, new));
    for agent in [old, new] {
        site.certificate("revoke", agent.certname()).await;
        let (status, printed) = run(agent).await;
        assert_eq!(status, Some(1), "{printed}");
    }
}

fn certificate(agent: &PuppetAgent) -> String {
    let file = format!("ssl/certs/{}.pem", agent.certname());
    std::fs::read_to_string(agent.home().join(file)).unwrap()
}

/// True if the certificate is one of the puppetserver's CA, for a program that has that of before.
fn verifies(site: &AgentSite, agent: &PuppetAgent) -> bool {
    let ca = site.installation.root().join("theirs/ca/ca_crt.pem");
    let file = format!("ssl/certs/{}.pem", agent.certname());
    let mut openssl = Command::new("openssl");
    let openssl = openssl.args(["verify", "-CAfile"]).arg(ca);
    let verified = openssl.arg(agent.home().join(file)).output().unwrap();
    verified.status.success()
}

fn obstacle() -> Option<String> {
    let missing = |path: &str| !Path::new(path).exists();
    let missing = [PUPPETSERVER, PUPPET]
        .into_iter()
        .find(|path| missing(path));
    missing.map(|path| format!("there is no {path}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_go_on_with_the_ca_of_their_puppetserver() {
    if let Some(obstacle) = obstacle() {
        eprintln!("SKIPPED: {obstacle}");
        return;
    }
    let site = start().await;
    agents_go_on(&site, &site.agent(OLD[0]), &site.agent("web7.new.test")).await;
    if let Some(obstacle) = Puppet8::obstacle() {
        eprintln!("SKIPPED: Puppet 8: {obstacle}");
        site.stop().await;
        return;
    }
    let puppet8 = |certname| PuppetAgent::new_puppet8(&site.installation, certname).unwrap();
    agents_go_on(&site, &puppet8(OLD[1]), &puppet8("web8.new.test")).await;

    let agent = puppet8("db8.new.test");
    site.certificate("clean", agent.certname()).await;
    site.short_certificate(&agent);
    let before = certificate(&agent);
    let printed = is_configured(&agent).await;
    assert!(printed.contains("Renewed client certificate"), "{printed}");
    assert_ne!(certificate(&agent), before);
    assert!(verifies(&site, &agent));
    site.stop().await;
}
