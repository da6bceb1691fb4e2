//! A server with versions of one environment, and real agents that it alone configures.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::json;
use testkit::client::Client;
use testkit::control_repository::ControlRepository;
use testkit::installation::{Installation, Programs};
use testkit::peers::PuppetAgent;
use testkit::service::Service;

/// The group "All Environments", whose children choose environments.
const ALL_ENVIRONMENTS: &str = "7b1d1d4c-9f6e-4c5b-8f3a-2b640e516a01";

/// The server, which is the only one that its agents know.
pub(crate) struct AgentSite {
    pub(crate) installation: Installation,
    /// `None` while it is started again.
    server: Option<Service>,
}

impl AgentSite {
    pub(crate) async fn start(configuration: &str) -> Self {
        let installation = Installation::new(programs(), configuration).unwrap();
        Self::of(installation).await
    }

    /// A server that deploys code from a control repository.
    pub(crate) async fn with_control_repository() -> (Self, ControlRepository) {
        let installation = Installation::new(programs(), "").unwrap();
        let control = ControlRepository::create(&installation).unwrap();
        (Self::of(installation).await, control)
    }

    /// A server with this installation, whose CA may be another one.
    pub(crate) async fn of(installation: Installation) -> Self {
        let server = installation.server().start().await.unwrap();
        Self {
            installation,
            server: Some(server),
        }
    }

    /// Ends the server as a power cut does, and starts it again.
    pub(crate) async fn kill_and_restart(&mut self) {
        let running = self.server.take().unwrap();
        running.kill().await.unwrap();
        self.server = Some(self.installation.server().start().await.unwrap());
    }

    pub(crate) async fn stop(self) {
        self.server.unwrap().stop().await.unwrap();
    }

    pub(crate) fn agent(&self, certname: &str) -> PuppetAgent {
        PuppetAgent::new(
            &self.installation,
            certname,
            self.installation.puppet_api_port(),
        )
        .unwrap()
    }

    /// The directory on which the agents work.
    pub(crate) fn target(&self) -> PathBuf {
        self.installation.root().join("target")
    }

    /// Assigns an environment to a node, by a node group.
    pub(crate) async fn assign_environment(&self, certname: &str, environment: &str) {
        let client = Client::login(&self.installation).await.unwrap();
        let group = json!({
            "name": "moved", "parent": ALL_ENVIRONMENTS, "classes": {},
            "environment": environment, "environment_trumps": true, "rule": ["=", "name", certname],
        });
        client
            .post("/classifier-api/v1/groups", &group)
            .await
            .unwrap();
    }

    /// Runs `tutti ca` for a node: `revoke`, or `clean`.
    pub(crate) async fn certificate(&self, action: &str, certname: &str) {
        let mut command = tokio::process::Command::new(self.installation.tutti());
        command.args(["ca", action, certname, "--config"]);
        let config = self.installation.root().join("tutti.toml");
        let ran = command.arg(config).output().await.unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }

    /// Gives an agent a certificate that ends in a day.
    pub(crate) fn short_certificate(&self, agent: &PuppetAgent) {
        let ca = pki::CertificateAuthority::open(&self.installation.ca_dir()).unwrap();
        let options = pki::ca::GenerateOptions {
            lifetime: Some(std::time::Duration::from_secs(24 * 60 * 60)),
            key_type: pki::KeyType::Rsa2048,
            ..pki::ca::GenerateOptions::default()
        };
        let made = ca.generate(agent.certname(), &options).unwrap();
        let ssl = agent.home().join("ssl");
        let name = format!("{}.pem", agent.certname());
        write(&ssl.join("certs").join(&name), &made.cert_pem);
        write(&ssl.join("private_keys").join(&name), &made.key_pem);
    }

    /// Writes a version of an environment and makes it live. `TARGET` in a file stands for the directory on
    /// which the agents work.
    pub(crate) fn deploy(&self, environment: &str, digit: char, files: &[(&str, &str)]) {
        let code = self.installation.code_dir();
        let signature = String::from(digit).repeat(40);
        let version = code
            .join("versions")
            .join(format!("{environment}_{signature}"));
        let target = self.target().display().to_string();
        for (path, text) in files {
            write(&version.join(path), &text.replace("TARGET", &target));
        }
        let live = code.join("environments").join(environment);
        let new = code.join("environments/.new");
        std::os::unix::fs::symlink(&version, &new).unwrap();
        if live.is_dir() && !live.is_symlink() {
            std::fs::remove_dir_all(&live).unwrap();
        }
        std::fs::rename(new, live).unwrap();
    }

    /// Number of catalogs that the server compiled for agents.
    pub(crate) fn compiled_catalogs(&self) -> usize {
        self.server
            .as_ref()
            .unwrap()
            .log_text()
            .matches("catalog compiled")
            .count()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.target().join(path)).unwrap()
    }
}

/// The programs that Cargo built beside this test program.
pub(crate) fn programs() -> Programs {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap();
    Programs::beside(built.join("tutti")).unwrap()
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Exit code and all that was printed.
pub(crate) fn outcome(output: &Output) -> (Option<i32>, String) {
    let printed = [&output.stdout[..], &output.stderr[..]].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&printed).into_owned(),
    )
}
