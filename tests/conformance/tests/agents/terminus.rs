//! Agents with `catalog_terminus = direct_puppet`, which collect no facts while their last catalog is current.

use testkit::peers::puppet_agent::PUPPET;
use testkit::peers::{Puppet8, PuppetAgent};

use crate::site::{AgentSite, outcome, write};

/// Each collection of facts adds a line to a file.
const FACT: &str = r#"Facter.add(:collected) do
  setcode { File.write('TARGET.facts', "collected\n", mode: 'a'); 'yes' }
end
"#;

const MANIFEST: &str = r#"
file { 'TARGET': ensure => directory }
file { 'TARGET/plain': content => "RELEASE ${facts['external']}\n" }
file { 'TARGET/secret': content => Sensitive('hidden') }
"#;

/// A value that is computed from the facts of the node when the catalog is applied.
const DEFERRED: &str = r#"
file { 'TARGET': ensure => directory }
file { 'TARGET/deferred': content => Deferred('inline_epp', ['<%= $facts["external"] %> RELEASE']) }
"#;

struct TerminusSite {
    site: AgentSite,
    agent: PuppetAgent,
}

impl TerminusSite {
    fn deploy(&self, digit: char, manifest: &str, release: &str) {
        let manifest = manifest.replace("RELEASE", release);
        let files = [
            ("manifests/site.pp", manifest.as_str()),
            ("modules/demo/lib/facter/collected.rb", FACT),
        ];
        self.site.deploy("production", digit, &files);
    }

    /// Output of a run that ends well, and the number of times that facts were collected in it.
    async fn run(&self, more: &[&str]) -> (String, usize) {
        let before = self.collections();
        let arguments = [&["agent", "--test"], more].concat();
        let (status, printed) = outcome(&self.agent.run(&arguments).await.unwrap());
        assert!(matches!(status, Some(0 | 2)), "{printed}");
        (printed, self.collections() - before)
    }

    fn collections(&self) -> usize {
        let path = self.site.target().with_extension("facts");
        std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
    }

    /// Sets an external fact of the node.
    fn set_fact(&self, value: &str) {
        self.agent.facts(&[("external", value)]).unwrap();
    }

    /// Lets the last complete run be this long ago.
    fn complete_run_was(&self, seconds_ago: u64) {
        let now = std::time::SystemTime::now();
        let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let state = format!("{{\"complete_at\": {}}}", now - seconds_ago);
        write(&self.agent.state_dir().join("direct_puppet.json"), &state);
    }
}

const CURRENT: &str = "the last catalog is current";

async fn facts_are_collected_only_for_new_catalogs(site: AgentSite, agent: PuppetAgent) {
    let it = TerminusSite { site, agent };
    it.set_fact("one");
    it.deploy('a', MANIFEST, "first");
    // the first run gets the plugin
    it.run(&[]).await;
    it.agent
        .configure("usecacheonfailure = false\ncatalog_terminus = direct_puppet\n")
        .unwrap();
    let (printed, collected) = it.run(&[]).await;
    assert_eq!(
        (printed.contains(CURRENT), collected),
        (false, 1),
        "{printed}"
    );
    let (printed, collected) = it.run(&[]).await;
    assert_eq!(
        (printed.contains(CURRENT), collected),
        (true, 0),
        "{printed}"
    );
    assert_eq!(it.site.compiled_catalogs(), 1);

    // the catalog is applied in each run
    std::fs::write(it.site.target().join("plain"), "drift").unwrap();
    std::fs::write(it.site.target().join("secret"), "drift").unwrap();
    let (printed, collected) = it.run(&[]).await;
    assert_eq!(
        (printed.contains(CURRENT), collected),
        (true, 0),
        "{printed}"
    );
    assert_eq!(it.site.read("plain"), "first one\n");
    assert_eq!(it.site.read("secret"), "hidden");
    assert!(!printed.contains("hidden"), "{printed}");

    // another version
    it.deploy('b', MANIFEST, "second");
    let (printed, collected) = it.run(&[]).await;
    assert!(
        printed.contains("another version of the code is live"),
        "{printed}"
    );
    assert_eq!(collected, 1);
    assert_eq!(it.site.read("plain"), "second one\n");

    // changed facts count when they are sent
    it.set_fact("two");
    assert_eq!(it.run(&[]).await.1, 0);
    it.complete_run_was(14_400);
    assert_eq!(it.run(&[]).await.1, 1);
    assert_eq!(it.site.read("plain"), "second two\n");
    it.complete_run_was(100);
    assert_eq!(it.run(&[]).await.1, 0);
    write(
        &it.agent.home().join("direct_puppet.conf"),
        r#"{"full_run_interval_s": 60}"#,
    );
    it.complete_run_was(100);
    assert_eq!(it.run(&[]).await.1, 1);

    // values that are computed on the node
    it.deploy('c', DEFERRED, "third");
    let (printed, _) = it.run(&[]).await;
    assert_eq!(it.site.read("deferred"), "two third", "{printed}");
    it.set_fact("three");
    let (printed, collected) = it.run(&[]).await;
    assert_eq!(
        (printed.contains(CURRENT), collected),
        (true, 1),
        "{printed}"
    );
    assert_eq!(it.site.read("deferred"), "three third");

    // a state that is no state, and a server that does not answer
    for state in ["[]", r#"{"complete_at": 99999999999}"#] {
        write(&it.agent.state_dir().join("direct_puppet.json"), state);
        assert_eq!(it.run(&[]).await.1, 1, "{state}");
    }
    write(
        &it.agent.home().join("direct_puppet.conf"),
        "full_run_interval_s = 60",
    );
    let (printed, collected) = it.run(&[]).await;
    assert!(
        printed.contains("direct_puppet.conf is not valid"),
        "{printed}"
    );
    assert_eq!(collected, 1);
    it.site.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn facts_are_collected_only_for_new_catalogs_with_puppet_7() {
    if !std::path::Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    let site = AgentSite::start("").await;
    let agent = site.agent("terminus.test");
    facts_are_collected_only_for_new_catalogs(site, agent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn facts_are_collected_only_for_new_catalogs_with_puppet_8() {
    if let Some(obstacle) = Puppet8::obstacle() {
        eprintln!("SKIPPED: no Puppet 8: {obstacle}");
        return;
    }
    let site = AgentSite::start("").await;
    let agent = PuppetAgent::new_puppet8(&site.installation, "terminus.test").unwrap();
    facts_are_collected_only_for_new_catalogs(site, agent).await;
}
