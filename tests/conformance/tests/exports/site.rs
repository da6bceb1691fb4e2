//! A PuppetDB with catalogs, and the compilers that collect from it. Main type: [`ExportSite`].

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use pki::{ClientTls, TlsFiles};
use serde_json::{Value as Json, json};
use testkit::agent_requests;
use testkit::https_connection::HttpsConnection;
use testkit::installation::{Installation, Programs};
use testkit::peers::{PuppetAgent, PuppetDb, Puppetserver, PuppetserverOptions};
use testkit::service::Service;

/// The node whose catalog is compiled.
const CERTNAME: &str = "here.test";
/// Time in which PuppetDB stores a catalog, also on a busy machine.
const STORED_WITHIN: Duration = Duration::from_secs(120);
const PRODUCED: &str = "2026-01-01T00:00:00Z";
const DEACTIVATED: &str = "2026-01-02T00:00:00Z";

#[derive(Debug)]
pub(crate) struct ExportSite {
    installation: Installation,
    pub(crate) puppetdb: PuppetDb,
    puppet: PuppetAgent,
    http: reqwest::Client,
}

impl ExportSite {
    pub(crate) async fn start() -> Self {
        let test = std::env::current_exe().unwrap();
        let built = test.parent().unwrap().parent().unwrap();
        let programs = Programs::beside(built.join("tutti")).unwrap();
        let installation = Installation::new(programs, "").unwrap();
        let puppetdb = PuppetDb::start(&installation).await.unwrap();
        let puppet = PuppetAgent::new(&installation, CERTNAME, 0).unwrap();
        let code = installation.code_dir();
        let settings = format!(
            "storeconfigs = true\nstoreconfigs_backend = puppetdb\nenvironmentpath = \
             {}/environments\nnode_terminus = plain\n",
            code.display()
        );
        puppet.configure(&settings).unwrap();
        // The first queries of a PuppetDB on a busy machine take longer than the 30 seconds of the default.
        let settings = format!(
            "[main]\nserver_urls = {}\nserver_url_timeout = 120\n",
            puppetdb.url()
        );
        fs::write(puppet.home().join("puppetdb.conf"), settings).unwrap();
        let http = http_client(&installation);
        let site = Self {
            installation,
            puppetdb,
            puppet,
            http,
        };
        site.write_manifest(include_str!("code/site.pp"));
        site
    }

    pub(crate) fn write_manifest(&self, text: &str) {
        let directory = self.environment().join("manifests");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("site.pp"), text).unwrap();
    }

    /// Starts a server that forwards its catalogs to the PuppetDB, and reads the capabilities of other servers there.
    pub(crate) async fn start_server(&self) -> Service {
        let installation = &self.installation;
        let (cert, key) = installation.certificate("tutti.test").unwrap();
        let ca = installation.ca_dir().join("ca_crt.pem");
        let section = format!(
            "\n[puppetdb]\nserver_urls = [{:?}]\ncacert = {ca:?}\ncert = {cert:?}\nkey = {key:?}\ncapabilities = true\n",
            self.puppetdb.url()
        );
        installation.configure(&section).unwrap();
        installation.server().start().await.unwrap()
    }

    /// The catalog that a node gets from the server.
    pub(crate) async fn agent_catalog(&self, certname: &str) -> String {
        let port = self.installation.puppet_api_port();
        let from = IpAddr::from(Ipv4Addr::LOCALHOST);
        let tls = self.installation.client_tls(certname).unwrap();
        let opening = HttpsConnection::open(SocketAddr::new(from, port), from, tls);
        let mut connection = opening.await.unwrap();
        let request = agent_requests::catalog_as_text(certname, "production", &json!({}));
        connection.ask(request.as_bytes()).await.unwrap();
        String::from_utf8_lossy(connection.body()).into_owned()
    }

    /// Waits until PuppetDB has a row for this query.
    pub(crate) async fn wait_for_row(&self, query: &str) {
        let url = format!("{}/pdb/query/v4", self.puppetdb.url());
        let until = Instant::now() + STORED_WITHIN;
        loop {
            let body = json!({"query": query});
            let answer = self.http.post(&url).json(&body).send().await.unwrap();
            let answer = answer.text().await.unwrap();
            let rows: Json = serde_json::from_str(&answer).unwrap();
            if rows.as_array().is_some_and(|rows| !rows.is_empty()) {
                return;
            }
            assert!(
                Instant::now() < until,
                "PuppetDB has no row for {query}: {rows}"
            );
            // PuppetDB sends no event
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    pub(crate) fn enable_applications(&self) {
        let settings = self.environment().join("environment.conf");
        fs::write(settings, "applications = true\n").unwrap();
    }

    fn environment(&self) -> PathBuf {
        self.installation.code_dir().join("environments/production")
    }

    /// Gives PuppetDB the catalog of a node, as a puppetserver does.
    pub(crate) async fn store_catalog(&self, certname: &str, resources: &[Json]) {
        let resources: Vec<Json> = resources
            .iter()
            .map(|resource| {
                let mut resource = resource.clone();
                resource["file"] = json!("/site.pp");
                resource["line"] = json!(1);
                resource
            })
            .collect();
        let catalog = json!({
            "certname": certname, "version": "1", "environment": "production",
            "transaction_uuid": "00000000-0000-0000-0000-000000000001",
            "catalog_uuid": "00000000-0000-0000-0000-000000000002",
            "code_id": null, "job_id": null, "producer_timestamp": PRODUCED,
            "producer": "puppet.test", "edges": [], "resources": resources,
        });
        self.submit("replace_catalog&version=9", certname, &catalog)
            .await;
    }

    pub(crate) async fn deactivate(&self, certname: &str) {
        let body = json!({"certname": certname, "producer_timestamp": DEACTIVATED});
        self.submit("deactivate_node&version=3", certname, &body)
            .await;
    }

    /// PuppetDB answers when the command is carried out.
    async fn submit(&self, command: &str, certname: &str, body: &Json) {
        let url = format!(
            "{}/pdb/cmd/v1?command={command}&certname={certname}&secondsToWaitForCompletion=60",
            self.puppetdb.url()
        );
        let answer = self.http.post(url).json(body).send().await.unwrap();
        let answer = answer.text().await.unwrap();
        let answer: Json = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["processed"], true, "{answer}");
    }

    /// The catalog that real Puppet compiles.
    pub(crate) async fn compile_with_puppet(&self) -> String {
        let arguments = ["catalog", "compile", CERTNAME, "--render-as", "json"];
        let ran = self.puppet.run(&arguments).await.unwrap();
        let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
        let begin = printed.find('{').unwrap_or_default();
        let is_catalog = ran.status.success() && printed.contains("\"resources\"");
        assert!(
            is_catalog,
            "{printed}{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        printed[begin..].to_owned()
    }

    /// Exit code, output and errors of `tutti catalog compile`.
    pub(crate) fn compile(&self, more: &[&str]) -> (i32, String, String) {
        let files = self.installation.client_certificate(CERTNAME).unwrap();
        self.run(&files, more)
    }

    pub(crate) fn compile_with_certificate(
        &self,
        files: &(PathBuf, PathBuf),
    ) -> (i32, String, String) {
        self.run(files, &[])
    }

    /// Certificate and key of another installation.
    pub(crate) fn foreign_certificate(&self) -> (PathBuf, PathBuf) {
        let files = self.installation.root().join("foreign");
        fs::create_dir_all(&files).unwrap();
        let programs = Programs::beside(self.installation.tutti()).unwrap();
        let other = Installation::new(programs, "").unwrap();
        let (cert, key) = other.client_certificate(CERTNAME).unwrap();
        let copies = (files.join("cert.pem"), files.join("key.pem"));
        fs::copy(cert, &copies.0).unwrap();
        fs::copy(key, &copies.1).unwrap();
        copies
    }

    fn run(&self, (cert, key): &(PathBuf, PathBuf), more: &[&str]) -> (i32, String, String) {
        let facts = self.installation.root().join("facts.json");
        fs::write(&facts, "{}").unwrap();
        let ran = Command::new(self.installation.tutti())
            .args(["catalog", "compile", CERTNAME, "--no-ruby", "--code-dir"])
            .arg(self.environment())
            .arg("--facts")
            .arg(facts)
            .args(["--puppetdb", &self.puppetdb.url(), "--cert"])
            .arg(cert)
            .arg("--key")
            .arg(key)
            .arg("--cacert")
            .arg(self.installation.ca_dir().join("ca_crt.pem"))
            .args(more)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = ran.status.code().unwrap_or(-1);
        (code, text(&ran.stdout), text(&ran.stderr))
    }

    /// A puppetserver with the same code and PuppetDB, which gives the certificate of [`CERTNAME`] catalogs.
    pub(crate) async fn start_puppetserver(&self) -> Puppetserver {
        let root = self.installation.root();
        fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
        let options = PuppetserverOptions {
            puppetdb: Some(self.puppetdb.url()),
            catalog_certnames: vec![CERTNAME.to_owned()],
            ..PuppetserverOptions::default()
        };
        Puppetserver::start(&self.installation, &options)
            .await
            .unwrap()
    }

    /// Exit code and output of `tutti catalog shadow` for the node.
    pub(crate) fn shadow(&self, puppetserver: &Puppetserver, more: &[&str]) -> (i32, String) {
        let (cert, key) = self.installation.client_certificate(CERTNAME).unwrap();
        let facts = self.installation.root().join("facts.json");
        fs::write(&facts, "{}").unwrap();
        let url = format!("https://localhost:{}", puppetserver.port());
        let ran = Command::new(self.installation.tutti())
            .args(["catalog", "shadow", CERTNAME, "--against", &url])
            .arg("--code-dir")
            .arg(self.environment())
            .arg("--facts")
            .arg(facts)
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
        let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
        (ran.status.code().unwrap_or(-1), printed + &errors)
    }

    /// Exit code and output of `tutti catalog diff` for two catalogs.
    pub(crate) fn difference(&self, real: &str, ours: &str) -> (i32, String) {
        let path = |name: &str| self.installation.root().join(name);
        fs::write(path("real.json"), real).unwrap();
        fs::write(path("ours.json"), ours).unwrap();
        let ran = Command::new(self.installation.tutti())
            .args(["catalog", "diff"])
            .args([path("real.json"), path("ours.json")])
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
        (ran.status.code().unwrap_or(-1), printed)
    }
}

fn http_client(installation: &Installation) -> reqwest::Client {
    let (cert, key) = installation.certificate("puppet.test").unwrap();
    let tls = TlsFiles {
        cert,
        key,
        ca: installation.ca_dir().join("ca_crt.pem"),
        crl: None,
    };
    let tls = ClientTls::load(&tls).unwrap();
    reqwest::Client::builder()
        .no_proxy()
        .tls_backend_preconfigured((*tls).clone())
        .build()
        .unwrap()
}
