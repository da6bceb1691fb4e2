//! A control repository, a server that deploys it, and a puppetserver on the same code. Main type: [`World`].
//!
//! The rule: each release says of itself which it is wherever a compile looks, and nothing else is different.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::installation::{Installation, Programs};
use testkit::peers::puppetserver::Versioned;
use testkit::peers::{Puppetserver, PuppetserverOptions};
use testkit::service::{Service, ServiceSpec};

pub(crate) const NODE: &str = "node1.test";

/// The certificates of the server and of a follower, which the puppetserver's `auth.conf` names.
const SERVER: &str = "localhost";
const COMPILER: &str = "compiler.follow.test";
const LOOK: Duration = Duration::from_millis(50);

/// The class is loaded, its data looked up and its file's checksum taken only after a while, in which another
/// release may become live.
const SITE: &str = "
$site = 'RELEASE'
generate('/bin/sleep', '0.2')
include web
";

const CLASS: &str = "
class web(String $release) {
  notify { 'all': message => \"${site} RELEASE ${release}\" }
  exec { 'gate':
    provider => shell,
    command  => 'touch GATE/came; while [ -e GATE/shut ]; do sleep 0.1; done',
  }
  -> file { 'MOTD': source => 'puppet:///modules/web/motd' }
  TYPE
}
";

const TYPE: &str = "
Puppet::Type.newtype(:web_page) do
  newparam(:name, namevar: true)
end
";

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) installation: Installation,
    pub(crate) puppetserver: Puppetserver,
    server: Option<Service>,
    follower: Option<Service>,
    pub(crate) client: Client,
    control: PathBuf,
}

// === impl World ===

impl World {
    /// The puppetserver is not started yet.
    pub(crate) async fn new() -> Self {
        let test = std::env::current_exe().unwrap();
        let built = test.parent().unwrap().parent().unwrap();
        let programs = Programs::beside(built.join("tutti")).unwrap();
        let installation = Installation::new(programs, "").unwrap();
        fs::remove_dir_all(installation.code_dir()).unwrap();
        let root = installation.root().to_owned();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(root.join("gate")).unwrap();
        let versioned = Versioned {
            code_id: command(&installation, "code-id", "id --wait"),
            code_content: command(&installation, "code-content", "content"),
            certnames: [SERVER, COMPILER].map(str::to_owned).to_vec(),
        };
        let options = PuppetserverOptions {
            versioned: Some(versioned),
            ..PuppetserverOptions::default()
        };
        let puppetserver = Puppetserver::new(&installation, &options).unwrap();
        let config = root.join("tutti.toml");
        let text = fs::read_to_string(&config).unwrap();
        let code = "[code]\ndirectory = \"versions\"\nr10k_config = \"r10k.yaml\"\n";
        let url = format!("https://localhost:{}", puppetserver.port());
        let named = format!("\n[puppetserver]\nurl = {url:?}\ncode_ids = true\n");
        fs::write(config, text.replacen("[code]\n", code, 1) + &named).unwrap();
        let control = root.join("control");
        fs::create_dir(&control).unwrap();
        git(
            &control,
            &["init", "--quiet", "--initial-branch=production"],
        );
        r10k(&installation, &control, false);
        commit(&installation, &control, 0);
        let server = installation.server().start().await.unwrap();
        let client = Client::login(&installation).await.unwrap();
        Self {
            installation,
            puppetserver,
            server: Some(server),
            follower: None,
            client,
            control,
        }
    }

    /// Makes a release and deploys it; answers the deployment.
    pub(crate) async fn deploy(&self, release: u32) -> Value {
        commit(&self.installation, &self.control, release);
        let body = json!({"environments": ["production"], "wait": true});
        let told = self.deploys(&body).await;
        assert_eq!(told[0]["status"], "complete", "{told:#}");
        told[0]["deployment"].clone()
    }

    pub(crate) async fn deploy_all(&self) {
        let told = self
            .deploys(&json!({"deploy-all": true, "wait": true}))
            .await;
        for told in told.as_array().unwrap() {
            assert_eq!(told["status"], "complete", "{told:#}");
        }
    }

    async fn deploys(&self, body: &Value) -> Value {
        let told = self.client.post("/code-manager/v1/deploys", body).await;
        told.unwrap()
    }

    /// Starts the server anew; `certificate` is shown to the puppetserver in place of its own.
    pub(crate) async fn restart_server(&mut self, certificate: Option<(PathBuf, PathBuf)>) {
        self.server.take().unwrap().stop().await.unwrap();
        let config = self.installation.root().join("tutti.toml");
        let text = fs::read_to_string(&config).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.retain(|line| !line.starts_with("cert = ") && !line.starts_with("key = "));
        if let Some((cert, key)) = certificate {
            lines.extend([format!("cert = {cert:?}"), format!("key = {key:?}")]);
        }
        fs::write(config, lines.join("\n") + "\n").unwrap();
        self.server = Some(self.installation.server().start().await.unwrap());
    }

    /// From now on, the server deploys elsewhere, and the puppetserver reads what a follower of it has.
    pub(crate) async fn follow(&mut self) {
        self.server.take().unwrap().stop().await.unwrap();
        let root = self.installation.root().to_owned();
        let elsewhere = root.join("elsewhere");
        let basedir = elsewhere.join("environments");
        let sources = json!({"main": {"remote": self.control, "basedir": basedir}});
        write_r10k(&self.installation, &json!({"sources": sources}));
        let config = root.join("tutti.toml");
        let text = fs::read_to_string(&config).unwrap();
        let (text, puppetserver) = text.split_once("\n[puppetserver]\n").unwrap();
        let ours = ["codedir", "directory"];
        let is_ours = |line: &&str| {
            ours.iter()
                .any(|key| line.starts_with(&format!("{key} = ")))
        };
        let kept: Vec<&str> = text.lines().filter(|line| !is_ours(line)).collect();
        let code = format!(
            "[code]\ncodedir = {elsewhere:?}\ndirectory = {:?}\nfollowers = [\"*.follow.test\"]\n\
             followers_timeout_s = 60\n",
            elsewhere.join("versions"),
        );
        let text = kept.join("\n").replacen("[code]\n", &code, 1) + "\n";
        fs::write(&config, text).unwrap();
        self.server = Some(self.installation.server().start().await.unwrap());
        self.client = Client::login(&self.installation).await.unwrap();
        self.follower = Some(follower(&self.installation, puppetserver).await);
    }

    pub(crate) fn live_directory(&self) -> PathBuf {
        let link = self.installation.code_dir().join("environments/production");
        fs::read_link(link).unwrap()
    }

    /// The release that is live.
    pub(crate) fn live(&self) -> String {
        fs::read_to_string(self.live_directory().join("RELEASE")).unwrap()
    }

    /// The release of a code id.
    pub(crate) fn release_of(&self, code_id: &str) -> Option<String> {
        let (signature, environment) = code_id.rsplit(':').next()?.split_once(';')?;
        let versions = self.installation.root().join("versions/versions");
        fs::read_to_string(versions.join(format!("{environment}_{signature}/RELEASE"))).ok()
    }

    pub(crate) fn motd(&self) -> PathBuf {
        self.installation.root().join("motd")
    }

    pub(crate) fn shut_gate(&self) {
        // It is there when somebody came before.
        let _ = fs::remove_file(self.gate("came"));
        fs::write(self.gate("shut"), "").unwrap();
    }

    pub(crate) fn open_gate(&self) {
        fs::remove_file(self.gate("shut")).unwrap();
    }

    pub(crate) async fn agent_at_gate(&self) {
        let came = async {
            // A shell script can tell by a file only.
            while !self.gate("came").exists() {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(120), came)
            .await
            .unwrap();
    }

    fn gate(&self, name: &str) -> PathBuf {
        self.installation.root().join("gate").join(name)
    }

    /// From the next start of the server on.
    pub(crate) fn generate_types(&self) {
        r10k(&self.installation, &self.control, true);
    }

    pub(crate) fn branch(&self, name: &str) {
        git(&self.control, &["branch", name]);
    }

    pub(crate) fn remove_branch(&self, name: &str) {
        git(&self.control, &["branch", "--quiet", "-D", name]);
    }

    pub(crate) async fn stop(mut self) {
        self.puppetserver.stop().await.unwrap();
        self.follower.take().unwrap().stop().await.unwrap();
        self.server.take().unwrap().stop().await.unwrap();
    }
}

/// Follows the server, and tells the puppetserver.
async fn follower(installation: &Installation, puppetserver: &str) -> Service {
    let (cert, key) = installation.certificate(COMPILER).unwrap();
    let (ca, root) = (installation.ca_dir(), installation.root());
    let text = format!(
        "certname = {COMPILER:?}\n\n[tls]\ncert = {cert:?}\nkey = {key:?}\nca = {:?}\ncrl = {:?}\n\n[code]\n\
         codedir = {:?}\ndirectory = {:?}\n\n[follow]\nserver = \"https://localhost:{}\"\n\n\
         [puppetserver]\n{puppetserver}",
        ca.join("ca_crt.pem"),
        ca.join("ca_crl.pem"),
        installation.code_dir(),
        root.join("versions"),
        installation.api_port(),
    );
    let config = root.join("follow.toml");
    fs::write(&config, text).unwrap();
    let arguments = ["follow".into(), "--config".into(), config.into_os_string()];
    let log = root.join("follow.log");
    let spec = ServiceSpec::new(COMPILER, installation.tutti(), arguments, &log);
    spec.start().await.unwrap()
}

/// What a puppetserver runs, as `tutti code puppetserver-setup` prints it.
fn command(installation: &Installation, name: &str, verb: &str) -> PathBuf {
    let root = installation.root();
    let text = format!(
        "#!/bin/sh\nexec '{}' code {verb} --codedir '{}' --directory '{}' -- \"$@\"\n",
        installation.tutti().display(),
        installation.code_dir().display(),
        root.join("versions").display(),
    );
    let path = root.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn r10k(installation: &Installation, control: &Path, generate_types: bool) {
    let basedir = installation.code_dir().join("environments");
    let settings = json!({
        "sources": {"main": {"remote": control, "basedir": basedir}},
        "deploy": {"generate_types": generate_types, "puppet_path": "/usr/bin/puppet"},
    });
    write_r10k(installation, &settings);
}

fn write_r10k(installation: &Installation, settings: &Value) {
    fs::write(installation.root().join("r10k.yaml"), settings.to_string()).unwrap();
}

fn commit(installation: &Installation, control: &Path, release: u32) {
    let root = installation.root();
    let (release, made) = (release.to_string(), release >= 2000);
    let class = CLASS
        .replace("RELEASE", &release)
        .replace("GATE", &root.join("gate").display().to_string())
        .replace("MOTD", &root.join("motd").display().to_string())
        .replace("TYPE", if made { "web_page { 'made': }" } else { "" })
        .replace("${site}", "${::site}");
    let hierarchy = "version: 5\nhierarchy:\n  - name: all\n    path: common.yaml\n";
    for (path, text) in [
        ("RELEASE", release.clone()),
        ("environment.conf", "modulepath = modules\n".to_owned()),
        ("hiera.yaml", hierarchy.to_owned()),
        ("data/common.yaml", format!("web::release: '{release}'\n")),
        ("manifests/site.pp", SITE.replace("RELEASE", &release)),
        ("modules/web/manifests/init.pp", class),
        ("modules/web/files/motd", format!("motd of {release}\n")),
        ("modules/web/lib/puppet/type/web_page.rb", TYPE.to_owned()),
    ] {
        let path = control.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    git(control, &["add", "--all"]);
    git(control, &["commit", "--quiet", "--message=release"]);
}

fn git(directory: &Path, arguments: &[&str]) {
    let ran = Command::new("git")
        .current_dir(directory)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(arguments)
        .status();
    assert!(ran.unwrap().success(), "git {arguments:?}");
}
