//! A puppetserver with code, and facts of its nodes. Main type: [`ShadowSite`].

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use catalogs::{CatalogSettings, Catalogs};
use classifier::Classifier;
use environments::EnvironmentDir;
use pki::{ClientTls, TlsFiles};
use ruby_workers::{RubyWorkerSettings, RubyWorkers};
use serde_json::{Value, json};
use store::{Store, StoreConfig};
use testkit::installation::{Installation, Programs};
use testkit::peers::{Puppetserver, PuppetserverOptions, PuppetserverRelease};

/// Certname of the client that may ask for all catalogs.
const SHADOW: &str = "shadow.test";
/// Data of the node whose code is changed.
const CHANGED_DATA: &str = "data/node/node7.yaml";

/// The environment, by path.
const FILES: [(&str, &str); 12] = [
    ("manifests/site.pp", include_str!("code/site.pp")),
    ("hiera.yaml", include_str!("code/hiera.yaml")),
    ("data/common.yaml", include_str!("code/common.yaml")),
    ("data/role/web.yaml", include_str!("code/web.yaml")),
    (
        "modules/base/manifests/init.pp",
        include_str!("code/base.pp"),
    ),
    ("modules/web/manifests/init.pp", include_str!("code/web.pp")),
    (
        "modules/web/manifests/vhost.pp",
        include_str!("code/vhost.pp"),
    ),
    (
        "modules/web/templates/vhost.epp",
        include_str!("code/vhost.epp"),
    ),
    (
        "modules/listed/manifests/init.pp",
        include_str!("code/listed.pp"),
    ),
    (
        "modules/listed/manifests/defect.pp",
        "class listed::defect( { \n",
    ),
    (
        "modules/listed/lib/puppet/transport/schema/device.rb",
        include_str!("code/device.rb"),
    ),
    (
        "modules/base/lib/puppet/transport/schema/network.rb",
        include_str!("code/network.rb"),
    ),
];

#[derive(Debug)]
pub(crate) struct ShadowSite {
    installation: Installation,
    puppetserver: Puppetserver,
}

/// A list of transports in the order of their names: JRuby lists directories in the order of the file system.
fn sorted_transports(listing: &str) -> Value {
    let mut listing: Value = serde_json::from_str(listing).unwrap();
    let transports = listing["transports"].as_array_mut().unwrap();
    transports.sort_by_cached_key(|transport| transport["name"].to_string());
    listing
}

impl ShadowSite {
    pub(crate) async fn start(release: PuppetserverRelease) -> Self {
        let test = std::env::current_exe().unwrap();
        let built = test.parent().unwrap().parent().unwrap();
        let programs = Programs::beside(built.join("tutti")).unwrap();
        let installation = Installation::new(programs, "").unwrap();
        let root = installation.root().to_owned();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        let options = PuppetserverOptions {
            release,
            catalog_certnames: vec![SHADOW.to_owned()],
            ..PuppetserverOptions::default()
        };
        let environment = installation.code_dir().join("environments/production");
        for (path, text) in FILES {
            write(&environment.join(path), text);
        }
        let schemas =
            environment.with_file_name("broken/modules/listed/lib/puppet/transport/schema");
        write(&schemas.join("device.rb"), include_str!("code/device.rb"));
        write(&schemas.join("raising.rb"), "raise 'no such device'\n");
        for number in 1..=20 {
            let path = format!("nodes/node{number}.example.com.json");
            write(&root.join(path), &facts(number));
        }
        write(&root.join("broken/broken.example.com.json"), &facts(21));
        let puppetserver = Puppetserver::start(&installation, &options).await.unwrap();
        Self {
            installation,
            puppetserver,
        }
    }

    /// The version of the puppetserver.
    pub(crate) async fn version(&self) -> String {
        self.puppetserver.version().await.unwrap()
    }

    pub(crate) async fn stop(&mut self) {
        self.puppetserver.stop().await.unwrap();
    }

    /// The code that the puppetserver compiles.
    pub(crate) fn production(&self) -> PathBuf {
        self.installation.code_dir().join("environments/production")
    }

    /// The same code with other data for one node, and without an error.
    pub(crate) fn changed_code(&self) -> PathBuf {
        let changed = self.installation.root().join("changed");
        for (path, text) in FILES {
            write(&changed.join(path), text);
        }
        let site = fs::read_to_string(changed.join("manifests/site.pp")).unwrap();
        let site = site.replace("fail('", "notice('");
        write(&changed.join("manifests/site.pp"), &site);
        let hiera = "base::motd: \"other\\n\"\nbase::packages: [zsh]\n";
        write(&changed.join(CHANGED_DATA), hiera);
        changed
    }

    /// Compares the classes of the code, and its settings, as both list them.
    pub(crate) async fn classes_are_equal(&self) {
        let (cert, key) = self.installation.client_certificate(SHADOW).unwrap();
        let ca = self.installation.ca_dir().join("ca_crt.pem");
        let files = TlsFiles {
            cert,
            key,
            ca,
            crl: None,
        };
        let tls = ClientTls::load(&files).unwrap();
        let http = http_client::builder(tls).build().unwrap();
        let ask = async |route: &str| {
            let port = self.puppetserver.port();
            let url = format!("https://localhost:{port}/puppet/v3/{route}");
            let response = http.get(url).send().await.unwrap();
            (response.status(), response.text().await.unwrap())
        };
        let list = async |route: &str| {
            let (status, body) = ask(&format!("{route}?environment=production")).await;
            assert_eq!(status, 200, "{route}: {body}");
            body
        };
        let codedir = self.installation.code_dir();
        let store = self.installation.root().join("classes.db");
        let store = Store::open(&StoreConfig::sqlite(store)).await.unwrap();
        let settings = CatalogSettings {
            base_modules: vec![codedir.join("modules")],
            hiera_config: codedir.join("hiera.yaml"),
            codedir: codedir.clone(),
            ruby: Some(RubyWorkers::new(RubyWorkerSettings::default())),
            ..CatalogSettings::default()
        };
        let classifier = Classifier::open(store).await.unwrap();
        let code = Arc::new(EnvironmentDir::new(codedir));
        let catalogs = Catalogs::new(settings, code, classifier);
        let production = "production".parse().unwrap();
        let classes = catalogs.classes(&production).await.unwrap();
        assert_eq!(*classes.body, *list("environment_classes").await);
        let transports = catalogs.transports(&production).await.unwrap();
        let theirs = sorted_transports(&list("environment_transports").await);
        assert_eq!(sorted_transports(&transports.body), theirs);
        // an exception of a schema ends the whole request there, and leaves out its file here
        let (status, body) = ask("environment_transports?environment=broken").await;
        assert_eq!(status, 500, "{body}");
        let broken = catalogs.transports(&"broken".parse().unwrap()).await;
        let listed: Value = serde_json::from_str(&broken.unwrap().body).unwrap();
        assert_eq!(listed["transports"][0]["name"], "device");
        assert_eq!(listed["transports"].as_array().unwrap().len(), 1);
    }

    /// Exit code and output of a comparison of the nodes whose facts are in a directory.
    pub(crate) fn shadow(&self, facts: &str, code: &Path, more: &[&str]) -> (i32, String) {
        self.run(SHADOW, facts, code, more)
    }

    /// The same with another client certificate.
    pub(crate) fn shadow_as(&self, certname: &str, facts: &str, code: &Path) -> (i32, String) {
        self.run(certname, facts, code, &[])
    }

    fn run(&self, certname: &str, facts: &str, code: &Path, more: &[&str]) -> (i32, String) {
        let (cert, key) = self.installation.client_certificate(certname).unwrap();
        let url = format!("https://localhost:{}", self.puppetserver.port());
        let ran = Command::new(self.installation.tutti())
            .args(["catalog", "shadow", "--against", &url, "--code-dir"])
            .arg(code)
            .arg("--facts-dir")
            .arg(self.installation.root().join(facts))
            .arg("--cert")
            .arg(cert)
            .arg("--key")
            .arg(key)
            .arg("--cacert")
            .arg(self.installation.ca_dir().join("ca_crt.pem"))
            .args(more)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
        eprintln!("{printed}{}", String::from_utf8_lossy(&ran.stderr));
        (ran.status.code().unwrap_or(-1), printed)
    }
}

/// Made-up facts of a node: no two nodes have the same.
fn facts(number: usize) -> String {
    let (family, name, release) = match number % 3 {
        0 => ("RedHat", "Rocky", "9"),
        1 => ("Debian", "Debian", "12"),
        _ => ("Debian", "Ubuntu", "24"),
    };
    let roles = ["web", "db", "mail", "none"];
    let vhosts: Vec<String> = (0..number % 5)
        .map(|it| format!("www{it}.example.com"))
        .collect();
    let facts = json!({
        "os": {"family": family, "name": name, "release": {"major": release}},
        "role": roles[number % roles.len()],
        "short": format!("node{number}"),
        "vhosts": vhosts,
        "processors": {"count": number},
        "memory": {"system": {"total_bytes": (number as u64) << 33, "used": 0.5}},
        "is_virtual": number.is_multiple_of(2),
        "note": "ümläut 'quoted' \"twice\" %20 & = + \n$x",
        "puppetversion": "7.23.0",
    });
    facts.to_string()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
