//! A puppetserver with a server in front of it. Main type: [`FrontSite`].

use std::path::{Path, PathBuf};

use pki::{ClientTls, TlsFiles};
use testkit::installation::{Installation, Programs};
use testkit::peers::{PuppetAgent, Puppetserver, PuppetserverOptions};
use testkit::service::Service;

/// The compilers in the configuration.
pub(crate) const NATIVE: &str = "native";
pub(crate) const PUPPETSERVER: &str = "puppetserver";

/// The title of a `notify` has the certificate's data, and the server that compiled it.
const MANIFEST: &str = r#"
node default {
  notify { "role 'web' of ${trusted['certname']} by Puppet ${server_facts['serverversion']}": }
  notify { "plugin fact: ${facts['of_module']}": }
  file { 'TARGET': ensure => directory }
  file { 'TARGET/sourced': source => 'puppet:///modules/demo/sourced', mode => '0600' }
}
"#;

const FACT: &str = "Facter.add(:of_module) { setcode { 'of the puppetserver' } }\n";

#[derive(Debug)]
pub(crate) struct FrontSite {
    installation: Installation,
    puppetserver: Puppetserver,
    server: Option<Service>,
    /// The configuration of the server without the compilers of nodes.
    configuration: String,
}

impl FrontSite {
    /// Starts both. The puppetserver has the nodes, and one environment more than the server.
    pub(crate) async fn start() -> Self {
        let test = std::env::current_exe().unwrap();
        let programs = test.parent().unwrap().parent().unwrap().join("tutti");
        let programs = Programs::beside(programs).unwrap();
        let installation = Installation::new(programs, "").unwrap();
        let target = installation.root().join("target").display().to_string();
        let write = |path: &str, text: &str| {
            let path = installation.code_dir().join("environments").join(path);
            write_file(&path, &text.replace("TARGET", &target));
        };
        write("production/manifests/site.pp", MANIFEST);
        write("production/modules/demo/lib/facter/of_module.rb", FACT);
        write("production/modules/demo/files/sourced", "first\n");
        let legacy = "notify { \"legacy of ${trusted['certname']}\": }";
        write("legacy/manifests/site.pp", legacy);
        // the server has a code directory of its own, without `legacy`
        let own = installation.root().join("own-code/environments");
        std::fs::create_dir_all(&own).unwrap();
        let production = installation.code_dir().join("environments/production");
        std::os::unix::fs::symlink(production, own.join("production")).unwrap();
        let options = PuppetserverOptions {
            trusts_headers: true,
            ..PuppetserverOptions::default()
        };
        let puppetserver = Puppetserver::start(&installation, &options).await.unwrap();
        let written = std::fs::read_to_string(installation.root().join("tutti.toml")).unwrap();
        let written = written.replace("codedir = \"code\"", "codedir = \"own-code\"");
        let configuration = format!(
            "{written}\n[puppetserver]\nurl = \"https://localhost:{}\"\nfront = true\n\n[catalogs]\ncompiler = \
             \"puppetserver\"\n",
            puppetserver.port()
        );
        let mut site = Self {
            installation,
            puppetserver,
            server: None,
            configuration,
        };
        site.restart(&[]).await;
        site
    }

    /// Starts the server again, with these compilers of nodes.
    pub(crate) async fn restart(&mut self, compilers: &[(&str, &str)]) {
        if let Some(server) = self.server.take() {
            server.stop().await.unwrap();
        }
        let nodes = compilers.iter().map(|(node, compiler)| {
            format!("\n[catalogs.nodes.\"{node}\"]\ncompiler = \"{compiler}\"\n")
        });
        let text = self.configuration.clone() + &nodes.collect::<String>();
        std::fs::write(self.installation.root().join("tutti.toml"), text).unwrap();
        self.server = Some(self.installation.server().start().await.unwrap());
    }

    pub(crate) async fn stop_puppetserver(&mut self) {
        self.puppetserver.stop().await.unwrap();
    }

    pub(crate) async fn stop(self) {
        if let Some(server) = self.server {
            server.stop().await.unwrap();
        }
    }

    /// An agent that knows only the server in front.
    pub(crate) fn agent(&self, certname: &str) -> PuppetAgent {
        let port = self.installation.puppet_api_port();
        PuppetAgent::new(&self.installation, certname, port).unwrap()
    }

    /// Exit code and output of a run.
    pub(crate) async fn run(&self, agent: &PuppetAgent) -> (Option<i32>, String) {
        self.run_with(agent, &["agent", "--test"]).await
    }

    pub(crate) async fn run_with(
        &self,
        agent: &PuppetAgent,
        arguments: &[&str],
    ) -> (Option<i32>, String) {
        let ran = agent.run(arguments).await.unwrap();
        let printed = [&ran.stdout[..], &ran.stderr[..]].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        (ran.status.code(), printed)
    }

    /// Number of reports of a node that the server has.
    pub(crate) async fn reports(&self, certname: &str) -> usize {
        let client = testkit::client::Client::login(&self.installation)
            .await
            .unwrap();
        let path = format!("/tutti/v1/reports?node={certname}");
        let listed = client.get(&path).await.unwrap();
        listed["items"].as_array().map_or(0, Vec::len)
    }

    pub(crate) fn log_text(&self) -> String {
        self.server.as_ref().unwrap().log_text()
    }

    /// Status of a request to the server, perhaps with headers that name another client.
    pub(crate) async fn get(&self, certname: Option<&str>, path: &str, forged: bool) -> u16 {
        let port = self.installation.puppet_api_port();
        self.status(certname, port, path, forged).await
    }

    /// Status of a request to the puppetserver.
    pub(crate) async fn get_directly(&self, certname: &str, path: &str) -> u16 {
        let port = self.puppetserver.port();
        self.status(Some(certname), port, path, false).await
    }

    async fn status(&self, certname: Option<&str>, port: u16, path: &str, forged: bool) -> u16 {
        let ca = self.installation.ca_dir().join("ca_crt.pem");
        let tls = match certname {
            Some(certname) => {
                let (cert, key) = self.installation.client_certificate(certname).unwrap();
                ClientTls::load(&TlsFiles {
                    cert,
                    key,
                    ca,
                    crl: None,
                })
            }
            None => ClientTls::without_certificate(&ca, None),
        };
        let http = http_client::builder(tls.unwrap()).build().unwrap();
        let mut request = http.get(format!("https://localhost:{port}{path}"));
        if forged {
            request = request
                .header("X-Client-Verify", "SUCCESS")
                .header("X-Client-DN", "CN=node1.test");
        }
        request.send().await.unwrap().status().as_u16()
    }

    /// Exit code and output of `tutti catalog shadow` for a node, with the node's own certificate.
    pub(crate) async fn shadow(&self, certname: &str, more: &[&str]) -> (Option<i32>, String) {
        let root = self.installation.root();
        let (cert, key) = self.installation.client_certificate(certname).unwrap();
        let facts = root.join("shadow-facts.json");
        std::fs::write(&facts, r#"{"of_module": "x"}"#).unwrap();
        let against = format!("https://localhost:{}", self.puppetserver.port());
        let mut arguments = vec!["catalog", "shadow", certname, "--against", &against];
        let ca = self.installation.ca_dir().join("ca_crt.pem");
        let code = root.join("own-code/environments/production");
        let files = [("--facts", &facts), ("--cert", &cert), ("--key", &key)];
        let files = files.into_iter();
        for (option, path) in files.chain([("--cacert", &ca), ("--code-dir", &code)]) {
            arguments.extend([option, path.to_str().unwrap()]);
        }
        arguments.extend(more);
        self.tutti(&arguments).await
    }

    /// Exit code and output of a command of the client.
    pub(crate) async fn tutti(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let test = std::env::current_exe().unwrap();
        let program = test.parent().unwrap().parent().unwrap().join("tutti");
        let mut command = tokio::process::Command::new(program);
        command
            .args(arguments)
            .current_dir(self.installation.root());
        let ran = command.output().await.unwrap();
        let printed = [&ran.stdout[..], &ran.stderr[..]].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        (ran.status.code(), printed)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        let target: PathBuf = self.installation.root().join("target");
        std::fs::read_to_string(target.join(path)).unwrap()
    }
}

fn write_file(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
