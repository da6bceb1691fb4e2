//! A server with a CA and an environment, and clients for it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_catalogs::{AgentCatalogSettings, AgentCatalogSources, AgentCatalogs};
use audit::{Audit, AuditConfig};
use axum::Router;
use catalogs::{
    CapabilitySources, CatalogSettings, Catalogs, CompilerChoices, EmbeddedCapabilities,
};
use classifier::Classifier;
use compiler::ExportedResources;
use environments::{BlobStore, CodeReader, EnvironmentDir, JobCatalogs};
use file_bucket::{FileBucket, FileBucketConfig};
use inventory::Inventory;
use pki::ca::{GenerateOptions, InitOptions};
use pki::seal::SealKey;
use pki::{
    CertificateAuthority, CertnamePrivilege, ClientAuth, ClientTls, KeyType, NamePattern,
    PrivilegedNames, ServerTls, TlsFiles,
};
use puppet_api::{
    AgentServer, AuthorizationRules, AutosignPolicy, CaService, FileMounts, PuppetApiState,
    PuppetserverFront,
};
use reqwest::{Method, Response, StatusCode};
use run_reports::{RunReports, RunReportsConfig};
use store::{Store, StoreConfig};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Parts of a site that tests choose.
pub(crate) struct SiteOptions {
    pub(crate) autosign: AutosignPolicy,
    pub(crate) has_agents: bool,
    /// True if the server is the CA.
    pub(crate) has_ca: bool,
    /// Lifetime of renewed certificates.
    pub(crate) renewal: Option<std::time::Duration>,
    /// The text of an `auth.conf`.
    pub(crate) auth_conf: Option<String>,
    /// The CA of the site; a new one if absent.
    pub(crate) ca: Option<CertificateAuthority>,
    /// The certificate of the server; a new one if absent.
    pub(crate) own_tls: Option<TlsFiles>,
    pub(crate) choices: CompilerChoices,
    /// The puppetserver behind the server.
    pub(crate) puppetserver: Option<reqwest::Url>,
    /// Exported resources of other nodes.
    pub(crate) exports: Option<Arc<dyn ExportedResources>>,
    /// True for the mounts `shared` and `own`, in directories of these names.
    pub(crate) fileserver_conf: bool,
    /// Compilations that wait, with one that runs; absent: as many as by default.
    pub(crate) waiting_max: Option<usize>,
}

impl Default for SiteOptions {
    fn default() -> Self {
        Self {
            autosign: AutosignPolicy::Off,
            has_agents: false,
            has_ca: true,
            renewal: None,
            auth_conf: None,
            ca: None,
            own_tls: None,
            choices: CompilerChoices::default(),
            puppetserver: None,
            exports: None,
            fileserver_conf: false,
            waiting_max: None,
        }
    }
}

pub(crate) struct Site {
    pub(crate) dir: TempDir,
    pub(crate) ca: CertificateAuthority,
    pub(crate) blobs: BlobStore,
    pub(crate) tls: Arc<ServerTls>,
    pub(crate) address: SocketAddr,
    pub(crate) store: Store,
    pub(crate) audit: Audit,
    pub(crate) inventory: Inventory,
    pub(crate) run_reports: RunReports,
    pub(crate) pinned: JobCatalogs,
    pub(crate) catalogs: Catalogs,
    pub(crate) classifier: Classifier,
    /// The routes, for requests without a connection.
    pub(crate) router: Router,
    stop: CancellationToken,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Site {
    /// A server of agents with these rules, whose environment has this site manifest.
    pub(crate) async fn for_services(auth_conf: Option<&str>, manifest: &str) -> Self {
        let site = Self::with(SiteOptions {
            has_agents: true,
            auth_conf: auth_conf.map(str::to_owned),
            ..SiteOptions::default()
        })
        .await;
        let manifests = site.module_file("../../manifests");
        fs::create_dir_all(&manifests).unwrap();
        fs::write(manifests.join("site.pp"), manifest).unwrap();
        site
    }
    pub(crate) async fn start() -> Self {
        Self::with_autosign(AutosignPolicy::Off).await
    }

    /// A site whose server compiles catalogs.
    pub(crate) async fn with_agents() -> Self {
        Self::with(SiteOptions {
            has_agents: true,
            ..SiteOptions::default()
        })
        .await
    }

    pub(crate) async fn with_autosign(autosign: AutosignPolicy) -> Self {
        Self::with(SiteOptions {
            autosign,
            ..SiteOptions::default()
        })
        .await
    }

    pub(crate) async fn with(options: SiteOptions) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ca = match options.ca {
            Some(ca) => ca,
            None => new_ca(dir.path()),
        };
        let ca = ca.with_privileged_names(Arc::new(privileged()));
        let blobs = BlobStore::open(dir.path().join("blobs")).unwrap();
        let module = dir.path().join("code/environments/production/modules/demo");
        for sub in ["tasks", "files", "lib"] {
            std::fs::create_dir_all(module.join(sub)).unwrap();
        }
        let own = match options.own_tls {
            Some(own) => own,
            None => files(dir.path(), &ca, "localhost", false),
        };
        let tls = Arc::new(ServerTls::load(own.clone(), ClientAuth::Optional).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let store = StoreConfig::sqlite(dir.path().join("tutti.db"));
        let store = Store::open(&store).await.unwrap();
        let audit = Audit::open(store.clone(), AuditConfig::default()).await;
        let inventory = Inventory::embedded(store.clone()).await.unwrap();
        let settings = RunReportsConfig::new("localhost".parse().unwrap());
        let run_reports = RunReports::start(settings, store.clone(), inventory.clone())
            .await
            .unwrap();
        let code: Arc<dyn CodeReader> = Arc::new(EnvironmentDir::new(dir.path().join("code")));
        let classifier = Classifier::open(store.clone()).await.unwrap();
        let seal = Arc::new(SealKey::open_or_create(&dir.path().join("seal")).unwrap());
        let runtime = tokio::runtime::Handle::current();
        let capabilities = EmbeddedCapabilities::open(store.clone(), seal, runtime, true).await;
        let settings = CatalogSettings {
            capabilities: CapabilitySources {
                embedded: Some(capabilities.unwrap()),
                puppetdb: None,
            },
            codedir: dir.path().join("code"),
            base_modules: vec![dir.path().join("code/modules")],
            hiera_config: dir.path().join("code/hiera.yaml"),
            choices: options.choices,
            exports: options.exports,
            ..CatalogSettings::default()
        };
        let settings = match options.waiting_max {
            Some(waiting_max) => CatalogSettings {
                concurrent_compiles: 1,
                waiting_max,
                ..settings
            },
            None => settings,
        };
        let catalogs = Catalogs::new(settings, Arc::clone(&code), classifier.clone());
        let agents = match options.has_agents {
            true => {
                let sources = AgentCatalogSources {
                    catalogs: catalogs.clone(),
                    inventory: inventory.clone(),
                    run_reports: run_reports.clone(),
                    code: Arc::clone(&code),
                };
                let settings = AgentCatalogSettings::new("build".to_owned());
                let catalogs = AgentCatalogs::start(settings, sources, None).await;
                Some(AgentServer {
                    catalogs: catalogs.unwrap(),
                    code: Arc::clone(&code),
                    name: "localhost".to_owned(),
                })
            }
            false => None,
        };
        let service = CaService::new(ca.clone(), options.autosign, audit.clone()).unwrap();
        let service = service.with_renewal(options.renewal);
        let front = options.puppetserver.map(|url| {
            PuppetserverFront::new(url, &own, catalogs.clone(), Arc::clone(&code)).unwrap()
        });
        let bucket = FileBucketConfig::new(dir.path().join("bucket"));
        let bucket = FileBucket::start(bucket).unwrap();
        let rules = options.auth_conf.map(|text| {
            let file = dir.path().join("auth.conf");
            std::fs::write(&file, text).unwrap();
            AuthorizationRules::read(&file).unwrap()
        });
        let mounts = match options.fileserver_conf {
            true => {
                let conf = dir.path().join("fileserver.conf");
                let (shared, own) = (dir.path().join("shared"), dir.path().join("own"));
                let (shared, own) = (shared.display(), own.display());
                let text = format!("[shared]\n  path {shared}\n[own]\n  path {own}/%H\n");
                std::fs::write(&conf, text).unwrap();
                FileMounts::read(&conf).unwrap()
            }
            false => FileMounts::default(),
        };
        let pinned = JobCatalogs::default();
        let state = PuppetApiState {
            run_reports: run_reports.clone(),
            code,
            codedir: dir.path().join("code"),
            catalogs: catalogs.clone(),
            job_catalogs: pinned.clone(),
            blobs: blobs.clone(),
            mounts,
            ca: options.has_ca.then_some(service),
            agents,
            bucket,
            rules,
            front,
        };
        let stop = CancellationToken::new();
        let router = puppet_api::router(state);
        tokio::spawn(https::serve(
            listener,
            tls.clone(),
            router.clone(),
            https::Config::default(),
            stop.clone(),
        ));
        Self {
            dir,
            ca,
            blobs,
            tls,
            address,
            store,
            audit,
            inventory,
            run_reports,
            pinned,
            catalogs,
            classifier,
            router,
            stop,
        }
    }

    /// Writes a version of `production` with this digit in its signature, makes it live, and returns its code
    /// id.
    pub(crate) fn deploy_version(&self, digit: char, files: &[(&str, &str)]) -> String {
        let signature = String::from(digit).repeat(40);
        let code = self.dir.path().join("code");
        let version = code.join(format!("versions/production_{signature}"));
        for (path, text) in files {
            let path = version.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let live = code.join("environments/production");
        match live.is_symlink() {
            true => std::fs::remove_file(&live).unwrap(),
            false => std::fs::remove_dir_all(&live).unwrap(),
        }
        std::os::unix::fs::symlink(version, live).unwrap();
        format!("urn:puppet:code-id:1:{signature};production")
    }

    /// Writes a file of the module `demo`.
    pub(crate) fn module_file(&self, path: &str) -> PathBuf {
        self.dir
            .path()
            .join("code/environments/production/modules/demo")
            .join(path)
    }

    /// A client without a certificate, which only knows the CA.
    pub(crate) fn nobody(&self) -> Client {
        let ca = self.dir.path().join("ca.pem");
        self.connect(ClientTls::without_certificate(&ca, None).unwrap())
    }

    /// A node with a certificate.
    pub(crate) fn node(&self, certname: &str) -> Client {
        let files = files(self.dir.path(), &self.ca, certname, false);
        self.connect(ClientTls::load(&files).unwrap())
    }

    /// The arguments for a `puppet agent` of the server with this name, whose files are below `home`.
    pub(crate) fn agent_arguments(&self, certname: &str, home: &Path) -> Vec<String> {
        let files = files(self.dir.path(), &self.ca, certname, false);
        let ssl = home.join("ssl");
        for (from, to) in [
            (&files.cert, format!("certs/{certname}.pem")),
            (&files.key, format!("private_keys/{certname}.pem")),
            (&files.ca, "certs/ca.pem".to_owned()),
            (files.crl.as_ref().unwrap(), "crl.pem".to_owned()),
        ] {
            let to = ssl.join(to);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(from, to).unwrap();
        }
        let mut arguments = vec!["agent".to_owned()];
        for (name, value) in [
            ("server", "localhost".to_owned()),
            ("serverport", self.address.port().to_string()),
            ("certname", certname.to_owned()),
            ("confdir", home.display().to_string()),
            ("vardir", home.join("var").display().to_string()),
            ("publicdir", home.join("public").display().to_string()),
            ("ssldir", ssl.display().to_string()),
        ] {
            arguments.extend([format!("--{name}"), value]);
        }
        arguments
    }

    /// A holder of `pp_cli_auth`.
    pub(crate) fn administrator(&self) -> Client {
        let files = files(self.dir.path(), &self.ca, "admin", true);
        self.connect(ClientTls::load(&files).unwrap())
    }

    pub(crate) fn connect(&self, tls: Arc<rustls::ClientConfig>) -> Client {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured((*tls).clone())
            .resolve("localhost", self.address)
            .build()
            .unwrap();
        Client {
            client,
            base: format!("https://localhost:{}", self.address.port()),
        }
    }
}

pub(crate) struct Client {
    client: reqwest::Client,
    base: String,
}

impl Client {
    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base))
    }

    /// Posts JSON as services do.
    pub(crate) async fn post_json(&self, path: &str, body: &serde_json::Value) -> (u16, String) {
        let request = self.request(Method::POST, path);
        let request = request.header("content-type", "application/json");
        let (status, text) = read(request.body(body.to_string()).send().await.unwrap()).await;
        (status.as_u16(), text)
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, String) {
        read(self.request(Method::GET, path).send().await.unwrap()).await
    }

    pub(crate) async fn put(&self, path: &str, body: impl Into<String>) -> (StatusCode, String) {
        let request = self
            .request(Method::PUT, path)
            .header("content-type", "text/plain");
        read(request.body(body.into()).send().await.unwrap()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> (StatusCode, String) {
        read(self.request(Method::DELETE, path).send().await.unwrap()).await
    }
}

async fn read(response: Response) -> (StatusCode, String) {
    (response.status(), response.text().await.unwrap())
}

/// The names with rights on this site, and an extension to which a broker's rule gives rights.
fn privileged() -> PrivilegedNames {
    let mut names = PrivilegedNames::default();
    for (privilege, key, name) in [
        (CertnamePrivilege::Server, "certname", "localhost"),
        (
            CertnamePrivilege::CaAdministrator,
            "ca.administrators",
            "listed",
        ),
        (
            CertnamePrivilege::RemoteBroker,
            "broker.remote_brokers",
            "Broker2",
        ),
        (
            CertnamePrivilege::Program,
            "access.certificate_allowlist",
            "ops",
        ),
        (
            CertnamePrivilege::Controller,
            "broker.authorization",
            "orch",
        ),
    ] {
        names.grant(privilege, key, NamePattern::Exact(name.to_owned()));
    }
    let followers = NamePattern::name_or_domain("*.compilers.example").unwrap();
    names.grant(CertnamePrivilege::Follower, "code.followers", followers);
    names.grant_extension("broker.authorization", PP_ROLE);
    names
}

pub(crate) const PP_ROLE: &str = "1.3.6.1.4.1.34380.1.1.13";

pub(crate) fn request(certname: &str) -> String {
    pki::csr::generate(certname, KeyType::EcP256)
        .unwrap()
        .request_pem
}

/// A new CA below `dir`.
pub(crate) fn new_ca(dir: &Path) -> CertificateAuthority {
    let options = InitOptions {
        common_name: "Puppet CA: test".to_owned(),
        key_type: KeyType::EcP256,
    };
    CertificateAuthority::init(&dir.join("ca"), &options).unwrap()
}

pub(crate) fn files(
    dir: &Path,
    ca: &CertificateAuthority,
    certname: &str,
    administrator: bool,
) -> TlsFiles {
    let write = |name: String, text: &str| -> PathBuf {
        let path = dir.join(name);
        pki::durable::write_atomic(&path, text.as_bytes(), 0o600).unwrap();
        path
    };
    let [cert, key] = ["crt", "key"].map(|kind| dir.join(format!("{certname}.{kind}")));
    if !cert.exists() {
        let options = GenerateOptions {
            ca_administrator: administrator,
            ..GenerateOptions::default()
        };
        let made = ca.generate(certname, &options).unwrap();
        write(format!("{certname}.crt"), &made.cert_pem);
        write(format!("{certname}.key"), &made.key_pem);
    }
    TlsFiles {
        cert,
        key,
        ca: write("ca.pem".to_owned(), &ca.ca_bundle().unwrap()),
        crl: Some(write("crl.pem".to_owned(), &ca.crl().unwrap().0)),
    }
}
