//! The authority and the broker under test.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use broker::{AuthorizationPolicy, Broker, BrokerConfig, BrokerHandle};
use fabric::Fabric;
use pki::ca::{GenerateOptions, InitOptions};
use pki::{CertificateAuthority, ClientAuth, ClientTls, KeyType, ServerTls, TlsFiles};
use rustls::ClientConfig;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The broker's certname; its certificate is valid for it and for 127.0.0.1.
pub(crate) const BROKER: &str = "broker.example";

/// One authority for tests that do not revoke anything; making keys takes time.
static SHARED: LazyLock<World> = LazyLock::new(World::new);

/// An authority and the certificates that it made.
#[derive(Clone)]
pub(crate) struct World {
    dir: Arc<TempDir>,
    authority: CertificateAuthority,
    made: Arc<Mutex<Vec<String>>>,
}

/// A certificate with its key, ready for a client.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) files: TlsFiles,
}

/// A broker that is stopped without waiting when it goes out of scope.
pub(crate) struct TestBroker {
    pub(crate) world: World,
    pub(crate) handle: BrokerHandle,
    stop: CancellationToken,
}

pub(crate) fn open_policy() -> AuthorizationPolicy {
    let text = r#"authorization: { version: 1, rules: [
        { name: all, sort-order: 1, match-request: { type: path, path: "/" }, allow: "*" }
    ] }"#;
    AuthorizationPolicy::parse(text).expect("a policy")
}

impl World {
    pub(crate) fn shared() -> Self {
        SHARED.clone()
    }

    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let options = InitOptions {
            common_name: "Test CA".to_owned(),
            key_type: KeyType::EcP256,
        };
        let authority = CertificateAuthority::init(&dir.path().join("ca"), &options).unwrap();
        Self {
            dir: Arc::new(dir),
            authority,
            made: Arc::default(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn identity(&self, certname: &str) -> Identity {
        let mut made = self.made.lock().unwrap();
        let cert = self.path(&format!("{certname}.crt"));
        let key = self.path(&format!("{certname}.key"));
        if !made.iter().any(|name| name == certname) {
            let alt_names = if certname == BROKER || certname.starts_with("orch") {
                ["127.0.0.1", certname]
                    .map(|name| name.parse().unwrap())
                    .to_vec()
            } else {
                Vec::new()
            };
            let options = GenerateOptions {
                alt_names,
                ..GenerateOptions::default()
            };
            let generated = self.authority.generate(certname, &options).unwrap();
            std::fs::write(&cert, generated.cert_pem).unwrap();
            std::fs::write(&key, generated.key_pem).unwrap();
            made.push(certname.to_owned());
        }
        Identity {
            files: self.files(cert, key),
        }
    }

    /// A certificate with a custom subject, which the authority does not issue.
    pub(crate) fn odd_identity(&self, file: &str, subject: &[(rcgen::DnType, &str)]) -> Identity {
        let pem = |name: &str| std::fs::read_to_string(self.authority.dir().join(name)).unwrap();
        let ca_key = rcgen::KeyPair::from_pem(&pem("ca_key.pem")).unwrap();
        let issuer = rcgen::Issuer::from_ca_cert_pem(&pem("ca_crt.pem"), ca_key).unwrap();
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (kind, value) in subject {
            params.distinguished_name.push(kind.clone(), *value);
        }
        params.serial_number = Some(rcgen::SerialNumber::from(vec![0x55; 8]));
        let key_pair = rcgen::KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key_pair, &issuer).unwrap();
        let cert = self.path(&format!("{file}.crt"));
        let key = self.path(&format!("{file}.key"));
        std::fs::write(&cert, certificate.pem()).unwrap();
        std::fs::write(&key, key_pair.serialize_pem()).unwrap();
        Identity {
            files: self.files(cert, key),
        }
    }

    pub(crate) fn revoke(&self, certname: &str) {
        self.authority.revoke(certname).unwrap();
    }

    pub(crate) fn client_tls(&self, identity: &Identity) -> Arc<ClientConfig> {
        ClientTls::load(&identity.files).unwrap()
    }

    pub(crate) fn anonymous_tls(&self) -> Arc<ClientConfig> {
        ClientTls::without_certificate(&self.ca("ca_crt.pem"), None).unwrap()
    }

    pub(crate) fn server_tls(&self, certname: &str) -> Arc<ServerTls> {
        let files = self.identity(certname).files;
        Arc::new(ServerTls::load(files, ClientAuth::Optional).unwrap())
    }

    /// Starts a broker on a free port, with an open policy unless `change` sets another one.
    pub(crate) fn broker_with(
        &self,
        fabric: Option<Fabric>,
        change: impl FnOnce(&mut BrokerConfig),
    ) -> TestBroker {
        let mut config = BrokerConfig::new(BROKER.parse().unwrap(), open_policy());
        config.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        change(&mut config);
        let tls = self.server_tls(BROKER);
        let stop = CancellationToken::new();
        tokio::spawn(Arc::clone(&tls).watch(stop.clone()));
        let handle = Broker::start(config, tls, fabric).unwrap();
        TestBroker {
            world: self.clone(),
            handle,
            stop,
        }
    }

    pub(crate) fn broker(&self, change: impl FnOnce(&mut BrokerConfig)) -> TestBroker {
        self.broker_with(None, change)
    }

    fn ca(&self, name: &str) -> PathBuf {
        self.authority.dir().join(name)
    }

    fn files(&self, cert: impl AsRef<Path>, key: impl AsRef<Path>) -> TlsFiles {
        TlsFiles {
            cert: cert.as_ref().to_owned(),
            key: key.as_ref().to_owned(),
            ca: self.ca("ca_crt.pem"),
            crl: Some(self.ca("ca_crl.pem")),
        }
    }
}

impl TestBroker {
    pub(crate) fn addr(&self) -> SocketAddr {
        self.handle.local_addr()
    }
}

impl Drop for TestBroker {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
