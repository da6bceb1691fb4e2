//! Tutti's server and agents beside a real puppetserver and PuppetDB. Main type: [`Site`].

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use testkit::client::Client;
use testkit::closable_port::ClosablePort;
use testkit::installation::{Installation, Programs};
use testkit::peers::{PuppetAgent, PuppetDb, Puppetserver, PuppetserverOptions};
use testkit::service::Service;

use crate::cli::{self, Said};
use crate::enc::Enc;
use crate::ran::Ran;

/// What a site has.
#[derive(Clone, Debug, Default)]
pub struct SiteOptions {
    /// Nodes with a `tutti-agent` and a `puppet agent` each.
    pub nodes: Vec<String>,
    /// More of the server's configuration (TOML).
    pub server: String,
}

/// A running site.
#[derive(Debug)]
pub struct Site {
    /// Directories, ports and certificates.
    pub installation: Installation,
    /// Logged in as `admin`.
    pub client: Client,
    /// Compiles catalogs of the installation's code.
    pub puppetserver: Puppetserver,
    /// The port of puppetserver that nodes know.
    pub puppetserver_port: ClosablePort,
    /// Has facts and reports.
    pub puppetdb: PuppetDb,
    /// The port of PuppetDB that the server and puppetserver know.
    pub puppetdb_port: ClosablePort,
    /// `tutti server`.
    pub server: Option<Service>,
    /// What puppetserver asks for classes.
    pub enc: Enc,
    /// By certname.
    pub nodes: BTreeMap<String, Node>,
}

/// A node.
#[derive(Debug)]
pub struct Node {
    /// `tutti-agent`.
    pub agent: Service,
    /// What it runs.
    pub puppet: PuppetAgent,
}

// === impl Site ===

impl Site {
    /// Starts all of it and waits until the agents are connected.
    pub async fn start(options: &SiteOptions) -> Result<Self> {
        let installation = Installation::new(programs()?, &options.server)?;
        manifest(&installation, "production", "")?;
        let mut puppetdb = PuppetDb::new(&installation)?;
        let mut puppetdb_port = ClosablePort::new(puppetdb.port())?;
        let puppetdb_url = puppetdb_port.https_url();
        installation.configure(&puppetdb_section(&installation, &puppetdb_url)?)?;
        let enc = Enc::new(&installation)?;
        let with_both = PuppetserverOptions {
            puppetdb: Some(puppetdb_url),
            external_nodes: Some(enc.program()),
            ..PuppetserverOptions::default()
        };
        let puppetserver = Puppetserver::start(&installation, &with_both);
        let (puppetserver, ()) = tokio::try_join!(puppetserver, puppetdb.resume())?;
        let mut puppetserver_port = ClosablePort::new(puppetserver.port())?;
        puppetdb_port.open().await?;
        puppetserver_port.open().await?;
        let server = installation.server().start().await?;
        let client = Client::login(&installation).await?;
        cli::keep_token(&installation, &client)?;
        let mut nodes = BTreeMap::new();
        for certname in &options.nodes {
            let puppet = PuppetAgent::new(&installation, certname, puppetserver_port.number())?;
            installation.puppet_program(certname, &puppet.program())?;
            let spec = installation.agent(certname, installation.broker_port(), "")?;
            let agent = spec.start().await?;
            nodes.insert(certname.clone(), Node { agent, puppet });
        }
        client.connected(nodes.len()).await?;
        Ok(Self {
            installation,
            client,
            puppetserver,
            puppetserver_port,
            puppetdb,
            puppetdb_port,
            server: Some(server),
            enc,
            nodes,
        })
    }

    /// Posts `command/deploy` for `nodes` in `production`, with `more` keys; answers the job.
    pub async fn deploy(&self, nodes: &[&str], more: Value) -> u64 {
        let mut body = json!({"environment": "production", "scope": {"nodes": nodes}});
        let keys = more.as_object().cloned().unwrap_or_default();
        body.as_object_mut().expect("it is one").extend(keys);
        let path = "/orchestrator/v1/command/deploy";
        let made = self.client.post(path, &body).await;
        let made = made.expect("the command is taken");
        let name = made["job"]["name"].as_str().map(str::parse);
        name.expect("a job has a name").expect("it is a number")
    }

    /// The same, to its end.
    pub async fn run(&self, nodes: &[&str], more: Value) -> Ran {
        self.ended(self.deploy(nodes, more).await).await
    }

    /// Waits for the job's end, watching it as a person does.
    pub async fn ended(&self, job: u64) -> Ran {
        Ran::of(self, job).await
    }

    /// What PuppetDB answers to PQL.
    pub async fn query(&self, pql: &str) -> Value {
        let answer = self
            .client
            .post("/pdb/query/v4", &json!({ "query": pql }))
            .await;
        answer.expect("PuppetDB answers")
    }

    /// Gives the node a fact, and waits until PuppetDB knows it.
    pub async fn give_fact(&self, certname: &str, name: &str, value: &str) {
        let query = format!(
            "inventory[certname] {{ certname = '{certname}' and facts.{name} = '{value}' }}"
        );
        let unknown = json!([]);
        if self.query(&query).await != unknown {
            return;
        }
        let puppet = self.puppet(certname);
        puppet
            .facts(&[(name, value)])
            .expect("the node can be changed");
        let ran = puppet.run(&["agent", "--test", "--noop"]).await;
        assert!(ran.expect("puppet runs").status.success());
        // PuppetDB takes facts in a queue.
        while self.query(&query).await == unknown {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Makes a node group with these keys below the group that is called `parent`; answers its id.
    pub async fn group(&self, parent: &str, mut group: Value) -> String {
        let groups = self.client.get("/classifier-api/v1/groups").await;
        let groups = groups.expect("the server answers");
        let mut groups = groups.as_array().into_iter().flatten();
        let parent = groups.find(|group| group["name"] == parent);
        group["parent"] = parent.expect("there is such a group")["id"].clone();
        let keys = group.as_object_mut().expect("it is one");
        keys.entry("classes").or_insert_with(|| json!({}));
        let made = self.client.post("/classifier-api/v1/groups", &group).await;
        let made = made.expect("the group is made");
        made["id"].as_str().expect("a group has an id").to_owned()
    }

    /// Deletes it.
    pub async fn drop_group(&self, id: &str) {
        let path = format!("/classifier-api/v1/groups/{id}");
        let request = self.client.request(reqwest::Method::DELETE, &path);
        let gone = request.send().await.expect("the server answers");
        assert!(gone.status().is_success(), "{}", gone.status());
    }

    /// `tutti arguments…`.
    pub async fn cli(&self, arguments: &[&str]) -> Said {
        let said = cli::run(&self.installation, arguments).await;
        said.expect("tutti can be run")
    }

    /// Ends `tutti server` as a power cut does.
    pub async fn kill_server(&mut self) {
        let running = self.server.take().expect("the server runs");
        running.kill().await.expect("it can be killed");
    }

    /// Starts it again.
    pub async fn resume_server(&mut self) {
        let started = self.installation.server().start().await;
        self.server = Some(started.expect("the server starts again"));
    }

    /// A path below the site's directory for a file that runs of Puppet make.
    pub fn target(&self, name: &str) -> std::path::PathBuf {
        let directory = self.installation.root().join("made");
        std::fs::create_dir_all(&directory).expect("the site can be written");
        directory.join(name)
    }

    /// Makes this the manifest of all nodes of an environment.
    pub fn manifest(&self, environment: &str, text: &str) {
        manifest(&self.installation, environment, text).expect("the code directory can be written");
    }

    /// The node's `puppet agent`.
    ///
    /// # Panics
    /// When there is no such node: a mistake of the scenario.
    pub fn puppet(&self, certname: &str) -> &PuppetAgent {
        &self.nodes[certname].puppet
    }

    /// The ends of the logs, for a failure.
    pub fn logs(&self) -> String {
        let server = self.server.as_ref().map(Service::log_text);
        let mut texts = vec![("server", server.unwrap_or_default())];
        texts.push(("puppetserver", self.puppetserver.log_text()));
        let nodes = self.nodes.iter();
        texts.extend(nodes.map(|(name, node)| (name.as_str(), node.agent.log_text())));
        let ends = texts.into_iter().map(|(name, text)| {
            let lines: Vec<_> = text.lines().collect();
            let last = lines.len().saturating_sub(LOG_LINES);
            format!("--- {name}\n{}\n", lines[last..].join("\n"))
        });
        ends.collect()
    }

    /// Ends all of it.
    pub async fn stop(mut self) -> Result<()> {
        for node in self.nodes.into_values() {
            node.agent.stop().await?;
        }
        if let Some(server) = self.server {
            server.stop().await?;
        }
        self.puppetserver.stop().await?;
        self.puppetdb.stop().await
    }
}

/// Between two looks at what tells nobody that it changed.
const LOOK: std::time::Duration = std::time::Duration::from_millis(100);
/// How much of each log is shown after a failure.
const LOG_LINES: usize = 60;

fn manifest(installation: &Installation, environment: &str, text: &str) -> Result<()> {
    let directory = installation
        .code_dir()
        .join("environments")
        .join(environment)
        .join("manifests");
    std::fs::create_dir_all(&directory)?;
    std::fs::write(directory.join("site.pp"), text)?;
    Ok(())
}

fn puppetdb_section(installation: &Installation, url: &str) -> Result<String> {
    // The server makes its own certificate at its first start.
    let (cert, key) = installation.certificate("tutti.test")?;
    Ok(format!(
        "\n[puppetdb]\nserver_urls = [{url:?}]\ncacert = {:?}\ncert = {cert:?}\nkey = {key:?}\n",
        installation.ca_dir().join("ca_crt.pem"),
    ))
}

/// The programs that Cargo built beside this test program.
fn programs() -> Result<Programs> {
    let test = std::env::current_exe()?;
    let built = test.parent().and_then(std::path::Path::parent);
    Programs::beside(
        built
            .context("a test stands in target/PROFILE/deps")?
            .join("tutti"),
    )
}
