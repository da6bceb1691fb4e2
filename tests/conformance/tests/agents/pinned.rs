//! Runs that a job pins to a version of the code, with a real agent whose only Puppet server is this one.

use conformance::cli::{self, Said};
use serde_json::Value;
use testkit::client::Client;
use testkit::control_repository::{CommittedFiles, ControlRepository, PRODUCTION};
use testkit::peers::PuppetAgent;
use testkit::peers::puppet_agent::PUPPET;
use testkit::service::Service;

use crate::site::{AgentSite, outcome};

const PINNED: &str = "pinned.test";
const OTHER: &str = "other.test";

/// Each node has a directory of its own, so that two nodes can run at the same time.
const MANIFEST: &str = r#"
$directory = "TARGET-${trusted['certname']}"
file { $directory: ensure => directory }
file { "${directory}/code": content => "RELEASE\n" }
file { "${directory}/facts": content => "${facts['of_plugin']} ${facts['of_file']}\n" }
file { "${directory}/sourced": source => 'puppet:///modules/demo/sourced' }
file { "${directory}/tree":
  ensure  => directory,
  recurse => true,
  purge   => true,
  source  => 'puppet:///modules/demo/tree',
}
demo_note { 'note': path => "${directory}/note" }
"#;

/// A type whose code says its release on the node.
const TYPE: &str = r"
Puppet::Type.newtype(:demo_note) do
  newparam(:name, namevar: true)
  newparam(:path)
  newproperty(:written) do
    defaultto 'RELEASE'
    def retrieve
      File.exist?(resource[:path]) ? File.read(resource[:path]) : :absent
    end
    def set(value)
      File.write(resource[:path], value)
    end
  end
end
";

fn files(site: &AgentSite, release: &str) -> CommittedFiles {
    let target = site.target().display().to_string();
    let tree = format!("modules/demo/files/tree/only-in-{release}");
    [
        ("manifests/site.pp", MANIFEST),
        (
            "modules/demo/lib/facter/of_plugin.rb",
            "Facter.add(:of_plugin) { setcode { 'RELEASE' } }\n",
        ),
        ("modules/demo/lib/puppet/type/demo_note.rb", TYPE),
        ("modules/demo/facts.d/of_file.txt", "of_file=RELEASE\n"),
        ("modules/demo/files/sourced", "RELEASE\n"),
        (&tree, "RELEASE\n"),
    ]
    .map(|(path, text)| {
        let text = text.replace("TARGET", &target).replace("RELEASE", release);
        (path.to_owned(), text)
    })
    .to_vec()
}

/// Asserts that all that a run leaves on a node is of a release.
#[track_caller]
fn assert_is_of(site: &AgentSite, node: &str, release: &str, printed: &str) {
    let target = site.target().display().to_string();
    let directory = std::path::PathBuf::from(format!("{target}-{node}"));
    let read = |path: &str| std::fs::read_to_string(directory.join(path)).unwrap_or_default();
    assert_eq!(read("code"), format!("{release}\n"), "{printed}");
    assert_eq!(read("facts"), format!("{release} {release}\n"), "{printed}");
    assert_eq!(read("sourced"), format!("{release}\n"), "{printed}");
    assert_eq!(read("note"), release, "{printed}");
    let entries = std::fs::read_dir(directory.join("tree")).unwrap();
    let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [format!("only-in-{release}").as_str()], "{printed}");
}

/// Two nodes of a server that deploys code.
struct PinnedSite {
    site: AgentSite,
    control: ControlRepository,
    client: Client,
    other: PuppetAgent,
    agent: Service,
}

impl PinnedSite {
    async fn start() -> Self {
        let (site, control) = AgentSite::with_control_repository().await;
        let installation = &site.installation;
        let client = Client::login(installation).await.unwrap();
        cli::keep_token(installation, &client).unwrap();
        let puppet = site.agent(PINNED);
        installation
            .puppet_program(PINNED, &puppet.program())
            .unwrap();
        let agent = installation.agent(PINNED, installation.broker_port(), "");
        let agent = agent.unwrap().start().await.unwrap();
        client.connected(1).await.unwrap();
        let other = site.agent(OTHER);
        Self {
            site,
            control,
            client,
            other,
            agent,
        }
    }

    /// Makes a release live; returns its code id.
    async fn deploy(&self, release: &str) -> String {
        self.control.commit(files(&self.site, release)).unwrap();
        self.control.deploy(&self.client, PRODUCTION).await.unwrap()
    }

    /// Runs Puppet on the node by a job with these options.
    async fn run_job(&self, options: &[&str]) -> Said {
        let arguments = [&["job", "run", "-n", PINNED, "-e", "production"], options].concat();
        let ran = cli::run(&self.site.installation, &arguments).await;
        ran.unwrap()
    }

    /// The result of a job on the node.
    async fn result_of(&self, job: &Said) -> Value {
        let number = job.text.split_once("Job ").unwrap().1;
        let number = number.split_once(':').unwrap().0.parse().unwrap();
        let mut nodes = self.client.nodes(number).await.unwrap();
        nodes.remove(0)["result"].take()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_gives_its_node_exactly_the_version_that_it_names() {
    if !std::path::Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    let pinned = PinnedSite::start().await;
    let site = &pinned.site;
    let old = pinned.deploy("old").await;
    let new = pinned.deploy("new").await;
    assert_ne!(old, new);

    let ran = pinned.run_job(&[]).await;
    ran.expect(0, &[]);
    assert_is_of(site, PINNED, "new", &ran.text);

    // the first digits of the version, as `tutti code versions` shows them
    let digits = old.rsplit(':').next().unwrap().split(';').next().unwrap();
    let named = ["--code-id", &digits[..10]];
    let running = pinned.run_job(&named);
    let other = pinned.other.run(&["agent", "--test"]);
    let (ran, other) = tokio::join!(running, other);
    ran.expect(0, &[]);
    assert_is_of(site, PINNED, "old", &ran.text);
    assert_eq!(pinned.result_of(&ran).await["code_id"], old.as_str());
    let (status, printed) = outcome(&other.unwrap());
    assert_eq!(status, Some(2), "{printed}");
    assert_is_of(site, OTHER, "new", &printed);
    assert_eq!(pinned.control.live_code_id(PRODUCTION).unwrap(), new);

    // a deployment does not change what the job named
    let newest = pinned.deploy("newest").await;
    let ran = pinned.run_job(&["--code-id", &old]).await;
    ran.expect(0, &[]);
    assert_is_of(site, PINNED, "old", &ran.text);

    let ran = pinned.run_job(&[]).await;
    ran.expect(0, &[]);
    assert_is_of(site, PINNED, "newest", &ran.text);
    assert_eq!(pinned.result_of(&ran).await["code_id"], newest.as_str());

    let ran = pinned.run_job(&["--code-id", "0123456789"]).await;
    ran.expect(2, &["0123456789"]);
    assert_is_of(site, PINNED, "newest", &ran.text);

    pinned.agent.stop().await.unwrap();
    pinned.site.stop().await;
}
