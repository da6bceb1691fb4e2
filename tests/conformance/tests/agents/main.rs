//! Real agents that are configured by this server alone.
#![cfg(test)]

mod again;
mod again_ruby;
mod applications;
mod availability;
mod convergence;
mod direct;
mod fleet;
mod passes;
mod pinned;
mod puppetserver_ca;
mod quickstart;
mod site;
mod terminus;

use testkit::peers::puppet_agent::PUPPET;
use testkit::peers::{Puppet8, PuppetAgent};

use crate::site::{AgentSite, outcome};

const MANIFEST: &str = r#"
filebucket { 'main': path => false }
File { backup => 'main' }
node default {
  file { 'TARGET': ensure => directory }
  file { 'TARGET/plain': content => "hello ${facts['demo']}\n" }
  file { 'TARGET/sourced': source => 'puppet:///modules/demo/sourced', mode => '0600' }
  file { 'TARGET/tree':
    ensure  => directory,
    recurse => true,
    purge   => true,
    source  => 'puppet:///modules/demo/tree',
  }
  demo_note { 'a note': path => 'TARGET/note' }
}
"#;

const FACT: &str = "Facter.add(:demo) { setcode { 'world' } }\n";

/// A type and provider that the agent gets by pluginsync.
const TYPE: &str = r"
Puppet::Type.newtype(:demo_note) do
  newparam(:name, namevar: true)
  newparam(:path)
  newproperty(:written) do
    defaultto :yes
    newvalue(:yes) { File.write(resource[:path], resource[:name]) }
    def retrieve
      File.exist?(resource[:path]) ? :yes : :no
    end
  end
end
";

fn code(changed: &'static str) -> Vec<(&'static str, &'static str)> {
    vec![
        ("manifests/site.pp", MANIFEST),
        ("modules/demo/lib/facter/demo.rb", FACT),
        ("modules/demo/lib/puppet/type/demo_note.rb", TYPE),
        ("modules/demo/facts.d/extra.txt", "extra=1\n"),
        ("modules/demo/files/sourced", changed),
        ("modules/demo/files/tree/a", "a\n"),
        ("modules/demo/files/tree/sub/b", "b\n"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_of_puppet_7_is_configured_by_this_server_alone() {
    if !std::path::Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    let site = AgentSite::start("").await;
    let agent = site.agent("node1.test");
    is_configured(site, agent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_of_puppet_8_is_configured_by_this_server_alone() {
    if let Some(obstacle) = Puppet8::obstacle() {
        eprintln!("SKIPPED: no Puppet 8: {obstacle}");
        return;
    }
    let site = AgentSite::start("").await;
    let agent = PuppetAgent::new_puppet8(&site.installation, "node1.test").unwrap();
    let version = outcome(&agent.run(&["agent", "--version"]).await.unwrap());
    assert!(version.1.contains("8.10."), "{version:?}");
    is_configured(site, agent).await;
}

/// The checksum of `sourced` before it was corrected, as the agent prints it.
fn replaced_content(printed: &str) -> String {
    let line = printed
        .lines()
        .find(|line| line.contains("/sourced]/content: content changed"));
    let line = line.unwrap_or_else(|| panic!("{printed}"));
    let (_, sum) = line.split_once("'{sha256}").unwrap();
    sum.split('\'').next().unwrap().to_owned()
}

/// First run, unchanged run, drift, deployment.
async fn is_configured(site: AgentSite, agent: PuppetAgent) {
    site.deploy("production", 'a', &code("first\n"));
    let run = || async {
        let ran = agent.run(&["agent", "--test"]).await.unwrap();
        outcome(&ran)
    };

    let (status, printed) = run().await;
    assert_eq!(status, Some(2), "{printed}");
    assert_eq!(site.read("plain"), "hello world\n", "{printed}");
    assert_eq!(site.read("sourced"), "first\n");
    assert_eq!(site.read("tree/sub/b"), "b\n");
    assert_eq!(site.read("note"), "a note");

    let compiled = site.compiled_catalogs();
    assert_eq!(compiled, 1, "{printed}");

    // facts that the code does not read change with every run
    let (status, printed) = run().await;
    assert_eq!(status, Some(0), "{printed}");
    assert_eq!(site.compiled_catalogs(), 1, "{printed}");

    // drift
    std::fs::write(site.target().join("sourced"), "drift").unwrap();
    std::fs::write(site.target().join("tree/other"), "other").unwrap();
    let (status, printed) = run().await;
    assert_eq!(status, Some(2), "{printed}");
    assert_eq!(site.read("sourced"), "first\n");
    assert!(!site.target().join("tree/other").exists());
    assert_eq!(site.compiled_catalogs(), 1, "{printed}");

    // the files that the agent replaced are in the bucket of the server
    let sum = replaced_content(&printed);
    let (status, printed) = outcome(&agent.run(&["filebucket", "get", &sum]).await.unwrap());
    assert_eq!(status, Some(0), "{printed}");
    assert!(printed.contains("drift"), "{printed}");

    // a deployment
    site.deploy("production", 'b', &code("second\n"));
    let (status, printed) = run().await;
    assert_eq!(status, Some(2), "{printed}");
    assert_eq!(site.read("sourced"), "second\n");
    assert_eq!(site.compiled_catalogs(), 2, "{printed}");
    site.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_enrols_is_moved_to_its_environment_and_is_revoked() {
    if !std::path::Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    let site = AgentSite::start("[ca]\nautosign = [\"*.nodes.test\"]\n").await;
    site.deploy(
        "production",
        'a',
        &[("manifests/site.pp", "notify { 'production': }")],
    );
    site.deploy(
        "other",
        'b',
        &[
            ("manifests/site.pp", "notify { \"${facts['of_other']}\": }"),
            (
                "modules/m/lib/facter/of_other.rb",
                "Facter.add(:of_other) { setcode { 'of other' } }\n",
            ),
        ],
    );
    let agent = site.agent("node2.nodes.test");
    // neither the agent nor the server has a certificate of it
    site.certificate("clean", "node2.nodes.test").await;
    std::fs::remove_dir_all(agent.home().join("ssl")).unwrap();
    let run = || async { outcome(&agent.run(&["agent", "--test"]).await.unwrap()) };

    let (status, printed) = run().await;
    assert_eq!(status, Some(2), "{printed}");
    assert!(
        printed.contains("Downloaded certificate for node2.nodes.test"),
        "{printed}"
    );
    assert!(printed.contains("Notify[production]"), "{printed}");

    // plugins of the new environment are there before its catalog is compiled
    site.assign_environment("node2.nodes.test", "other").await;
    let (status, printed) = run().await;
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.contains("Notify[of other]"), "{printed}");

    site.certificate("revoke", "node2.nodes.test").await;
    let (status, printed) = run().await;
    assert_eq!(status, Some(1), "{printed}");
    assert!(!printed.contains("Applied catalog"), "{printed}");
    site.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_of_puppet_8_renews_its_certificate() {
    if let Some(obstacle) = Puppet8::obstacle() {
        eprintln!("SKIPPED: no Puppet 8: {obstacle}");
        return;
    }
    let site = AgentSite::start("").await;
    site.deploy(
        "production",
        'a',
        &[("manifests/site.pp", "notify { 'x': }")],
    );
    let agent = PuppetAgent::new_puppet8(&site.installation, "node3.test").unwrap();
    let certificate = agent.home().join("ssl/certs/node3.test.pem");
    let first = std::fs::read_to_string(&certificate).unwrap();
    let run = || async { outcome(&agent.run(&["agent", "--test"]).await.unwrap()) };
    let (status, printed) = run().await;
    assert_eq!(status, Some(2), "{printed}");
    assert_eq!(std::fs::read_to_string(&certificate).unwrap(), first);

    // one that ends in a day
    site.certificate("clean", "node3.test").await;
    site.short_certificate(&agent);
    let short = std::fs::read_to_string(&certificate).unwrap();
    let (status, printed) = run().await;
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.contains("Renewed client certificate"), "{printed}");
    let renewed = std::fs::read_to_string(&certificate).unwrap();
    assert_ne!(renewed, short);
    let (status, printed) = run().await;
    assert_eq!(status, Some(2), "{printed}");
    assert!(!printed.contains("Renewed client certificate"), "{printed}");

    // revocation concerns all certificates of the node
    site.certificate("revoke", "node3.test").await;
    let (status, printed) = run().await;
    assert_eq!(status, Some(1), "{printed}");
    site.stop().await;
}
