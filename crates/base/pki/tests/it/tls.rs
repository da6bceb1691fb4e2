//! Handshakes over real sockets that succeed or are refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pki::ca::{GenerateOptions, SignOptions};
use pki::{
    CertificateAuthority, ClientAuth, ClientTls, KeyType, LoadError, ServerCertnames, ServerTls,
    TlsFiles, UnexpectedCertname,
};
use rcgen::{
    CertificateRevocationListParams, CrlDistributionPoint, CrlIssuingDistributionPoint, CrlScope,
    Issuer, KeyIdMethod, KeyPair, SerialNumber,
};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::{CipherSuite, ClientConfig, ClientConnection, RootCertStore, ServerConnection};
use tempfile::TempDir;

use crate::ca::new_ca;

/// A CA with its files laid out for a server and its clients.
pub(crate) struct Site {
    pub(crate) dir: TempDir,
    pub(crate) ca: CertificateAuthority,
}

impl Site {
    pub(crate) fn new() -> Self {
        let (dir, ca) = new_ca(KeyType::EcP256);
        let site = Self { dir, ca };
        site.write("ca.pem", &site.ca.ca_bundle().unwrap());
        site.update_crl();
        site
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        pki::durable::write_atomic(&self.path(name), text.as_bytes(), 0o600).unwrap();
    }

    pub(crate) fn update_crl(&self) {
        self.write("crl.pem", &self.ca.crl().unwrap().0);
    }

    /// Files of a certificate that is generated now.
    pub(crate) fn files(&self, certname: &str) -> TlsFiles {
        let made = self
            .ca
            .generate(certname, &GenerateOptions::default())
            .unwrap();
        self.write(&format!("{certname}.crt"), &made.cert_pem);
        self.write(&format!("{certname}.key"), &made.key_pem);
        TlsFiles {
            cert: self.path(&format!("{certname}.crt")),
            key: self.path(&format!("{certname}.key")),
            ca: self.path("ca.pem"),
            crl: Some(self.path("crl.pem")),
        }
    }

    pub(crate) fn server(&self, client_auth: ClientAuth) -> ServerTls {
        ServerTls::load(self.files("server.test"), client_auth).unwrap()
    }
}

/// The result of a handshake: the client's certificate as the server saw it.
pub(crate) fn handshake(
    server: &ServerTls,
    client: Arc<rustls::ClientConfig>,
    host: &'static str,
) -> Result<Option<Vec<u8>>, rustls::Error> {
    handshake_with(server.current(), client, host)
}

pub(crate) fn handshake_with(
    server: Arc<rustls::ServerConfig>,
    client: Arc<rustls::ClientConfig>,
    host: &'static str,
) -> Result<Option<Vec<u8>>, rustls::Error> {
    let mut client = ClientConnection::new(client, host.try_into().unwrap()).unwrap();
    let mut server = ServerConnection::new(server).unwrap();
    let mut wire = Vec::new();
    while client.is_handshaking() || server.is_handshaking() {
        wire.clear();
        client.write_tls(&mut wire).unwrap();
        server.read_tls(&mut wire.as_slice()).unwrap();
        server.process_new_packets()?;
        wire.clear();
        server.write_tls(&mut wire).unwrap();
        client.read_tls(&mut wire.as_slice()).unwrap();
        client.process_new_packets()?;
    }
    Ok(server
        .peer_certificates()
        .and_then(|chain| chain.first())
        .map(|leaf| leaf.to_vec()))
}

#[test]
fn both_sides_are_verified() {
    let site = Site::new();
    let server = site.server(ClientAuth::Required);
    let client = ClientTls::load(&site.files("node1")).unwrap();
    let leaf = handshake(&server, client.clone(), "server.test")
        .unwrap()
        .unwrap();
    assert_eq!(pki::certname_of(&leaf).unwrap(), "node1");
    let wrong_host = handshake(&server, client, "other.test").unwrap_err();
    assert!(
        matches!(wrong_host, rustls::Error::InvalidCertificate(_)),
        "{wrong_host}"
    );

    let stranger = Site::new();
    let client = ClientTls::load(&TlsFiles {
        ca: site.path("ca.pem"),
        crl: None,
        ..stranger.files("node1")
    });
    assert!(handshake(&server, client.unwrap(), "server.test").is_err());
}

#[test]
fn a_server_is_known_by_its_certname_and_not_by_its_host_alone() {
    let site = Site::new();
    // A node whose alternative names include the host of the server.
    let made = site.ca.generate(
        "evil.test",
        &GenerateOptions {
            alt_names: vec!["server.test".parse().unwrap()],
            ..GenerateOptions::default()
        },
    );
    let made = made.unwrap();
    site.write("evil.crt", &made.cert_pem);
    site.write("evil.key", &made.key_pem);
    let client = site.files("node1");
    let files = TlsFiles {
        cert: site.path("evil.crt"),
        key: site.path("evil.key"),
        ..client.clone()
    };
    let evil = ServerTls::load(files, ClientAuth::Required).unwrap();
    let server = site.server(ClientAuth::Required);
    let reach = |server: &ServerTls, names: &ServerCertnames| {
        let client = ClientTls::load_for(&client, names.clone()).unwrap();
        handshake(server, client, "server.test")
    };
    let listed = |name: &str| ServerCertnames::from_list(&[name.to_owned()]);
    for names in [ServerCertnames::from_list(&[]), listed("server.test")] {
        reach(&server, &names).unwrap();
        let refused = std::io::Error::other(reach(&evil, &names).unwrap_err());
        let unexpected = UnexpectedCertname::from_handshake_error(&refused).unwrap();
        assert_eq!(
            unexpected.to_string(),
            "its certificate is that of evil.test, not that of server.test"
        );
    }
    reach(&evil, &listed("evil.test")).unwrap();
    reach(&evil, &listed("*")).unwrap();
    assert!(reach(&server, &listed("Server.test")).is_err());
    // A certificate of another CA with the right name is not accepted either.
    let stranger = Site::new().server(ClientAuth::Required);
    assert!(reach(&stranger, &listed("*")).is_err());
}

#[test]
fn a_certificate_that_was_signed_unasked_is_no_servers() {
    let site = Site::new();
    let made = pki::csr::generate("server.test", KeyType::EcP256).unwrap();
    let request = made.request_pem.as_bytes();
    site.ca.submit("server.test", request).unwrap();
    let cert = site
        .ca
        .sign("server.test", &SignOptions::without_consent())
        .unwrap();
    site.write("unasked.crt", &cert);
    site.write("unasked.key", &made.key_pem);
    let other = site.files("node1");
    let files = TlsFiles {
        cert: site.path("unasked.crt"),
        key: site.path("unasked.key"),
        ..other.clone()
    };
    let posing = ServerTls::load(files.clone(), ClientAuth::Required).unwrap();
    let node = ClientTls::load(&other).unwrap();
    let refused = handshake(&posing, node, "server.test").unwrap_err();
    assert!(
        matches!(refused, rustls::Error::InvalidCertificate(_)),
        "{refused}"
    );
    // As a client certificate it is accepted.
    let made = site.ca.generate("broker.test", &GenerateOptions::default());
    let made = made.unwrap();
    site.write("broker.crt", &made.cert_pem);
    site.write("broker.key", &made.key_pem);
    let broker = TlsFiles {
        cert: site.path("broker.crt"),
        key: site.path("broker.key"),
        ..other
    };
    let broker = ServerTls::load(broker, ClientAuth::Required).unwrap();
    let client = ClientTls::load(&files).unwrap();
    let leaf = handshake(&broker, client, "broker.test").unwrap().unwrap();
    assert_eq!(pki::certname_of(&leaf).unwrap(), "server.test");
}

#[test]
fn a_client_without_certificate_gets_in_only_where_it_may() {
    let site = Site::new();
    let client = ClientTls::without_certificate(&site.path("ca.pem"), None).unwrap();
    let files = site.files("server.test");
    let optional = ServerTls::load(files.clone(), ClientAuth::Optional).unwrap();
    let required = ServerTls::load(files, ClientAuth::Required).unwrap();
    assert_eq!(
        handshake(&optional, client.clone(), "server.test").unwrap(),
        None
    );
    assert!(handshake(&required, client, "server.test").is_err());
    let unknown = ClientTls::first_contact();
    assert_eq!(
        handshake(&optional, unknown, "whatever.test").unwrap(),
        None
    );
}

#[test]
fn tls_1_2_is_spoken_too_and_nothing_is_resumed() {
    let site = Site::new();
    let server = site.server(ClientAuth::Required);
    assert_eq!(server.current().send_tls13_tickets, 0);
    assert!(!server.current().session_storage.can_cache());
    assert!(!server.current().ticketer.enabled());
    let files = site.files("node1");
    let old = openssl_s_client(&site, &server, &files, "-tls1_2");
    assert!(
        old.contains("Protocol  : TLSv1.2") || old.contains("TLSv1.2, Cipher"),
        "{old}"
    );
    assert!(old.contains("Verify return code: 0 (ok)"), "{old}");
}

/// Performs the handshake with OpenSSL, which stock agents use.
fn openssl_s_client(site: &Site, server: &ServerTls, files: &TlsFiles, version: &str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let config = server.current();
    let serving = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut connection = ServerConnection::new(config).unwrap();
        while connection.is_handshaking() {
            if connection.complete_io(&mut socket).is_err() {
                return;
            }
        }
        connection.send_close_notify();
        let _ = connection.complete_io(&mut socket);
    });
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let ran = crate::openssl::try_openssl(
        site.dir.path(),
        &[
            "s_client",
            "-connect",
            &address,
            version,
            "-CAfile",
            &path(&files.ca),
            "-cert",
            &path(&files.cert),
            "-key",
            &path(&files.key),
            "-verify_return_error",
        ],
    );
    serving.join().unwrap();
    ran.text
}

#[test]
fn revoked_and_expired_clients_are_refused() {
    let site = Site::new();
    let server = site.server(ClientAuth::Optional);
    let good = ClientTls::load(&site.files("good")).unwrap();
    let bad = ClientTls::load(&site.files("bad")).unwrap();
    assert!(handshake(&server, bad.clone(), "server.test").is_ok());
    site.ca.revoke("bad").unwrap();
    site.update_crl();
    server.reload().unwrap();
    let error = handshake(&server, bad, "server.test").unwrap_err();
    assert!(
        error.to_string().to_lowercase().contains("revoked"),
        "{error}"
    );
    assert!(handshake(&server, good, "server.test").is_ok());

    let options = GenerateOptions {
        lifetime: Some(std::time::Duration::ZERO),
        ..GenerateOptions::default()
    };
    let expired = site.ca.generate("expired", &options).unwrap();
    site.write("expired.crt", &expired.cert_pem);
    site.write("expired.key", &expired.key_pem);
    let files = TlsFiles {
        cert: site.path("expired.crt"),
        key: site.path("expired.key"),
        ca: site.path("ca.pem"),
        crl: None,
    };
    // Valid until the second in which it was created; wait for the next one.
    let made = jiff::Timestamp::now().as_second();
    while jiff::Timestamp::now().as_second() == made {
        std::thread::yield_now();
    }
    let client = ClientTls::load(&files).unwrap();
    assert!(handshake(&server, client, "server.test").is_err());
}

#[test]
fn a_revoked_server_is_refused_by_clients_that_have_the_list() {
    let site = Site::new();
    let server = site.server(ClientAuth::Optional);
    site.ca.revoke("server.test").unwrap();
    let files = site.files("node1");
    assert!(handshake(&server, ClientTls::load(&files).unwrap(), "server.test").is_ok());
    site.update_crl();
    assert!(handshake(&server, ClientTls::load(&files).unwrap(), "server.test").is_err());
}

#[test]
fn without_a_list_nobody_is_revoked_and_a_foreign_list_protects_nothing() {
    let site = Site::new();
    let files = site.files("server.test");
    let client = ClientTls::load(&site.files("node1")).unwrap();
    let open = ServerTls::load(
        TlsFiles {
            crl: None,
            ..files.clone()
        },
        ClientAuth::Required,
    )
    .unwrap();
    assert!(handshake(&open, client.clone(), "server.test").is_ok());

    // A list of another CA leaves the status of our certificates unknown: refused.
    let (_other_dir, other) = {
        let dir = tempfile::tempdir().unwrap();
        let options = pki::ca::InitOptions {
            common_name: "Other".to_owned(),
            key_type: KeyType::EcP256,
        };
        let ca = CertificateAuthority::init(&dir.path().join("ca"), &options).unwrap();
        (dir, ca)
    };
    let both = site.ca.ca_bundle().unwrap() + &other.ca_bundle().unwrap();
    site.write("both.pem", &both);
    site.write("foreign.pem", &other.crl().unwrap().0);
    let strict = TlsFiles {
        ca: site.path("both.pem"),
        crl: Some(site.path("foreign.pem")),
        ..files
    };
    let strict = ServerTls::load(strict, ClientAuth::Required).unwrap();
    assert!(handshake(&strict, client, "server.test").is_err());
}

#[test]
fn a_list_that_is_not_about_clients_says_nothing_about_them() {
    let site = Site::new();
    let files = site.files("server.test");
    let client = ClientTls::load(&site.files("node1")).unwrap();
    let key = std::fs::read_to_string(site.path("ca/ca_key.pem")).unwrap();
    let key = KeyPair::from_pem(&key).unwrap();
    let issuer = Issuer::from_ca_cert_pem(&site.ca.ca_bundle().unwrap(), key).unwrap();
    let answers = [
        (None, true),
        (Some(CrlScope::UserCertsOnly), true),
        (Some(CrlScope::CaCertsOnly), false),
    ]
    .map(|(scope, is_accepted)| {
        let list = CertificateRevocationListParams {
            this_update: rcgen::date_time_ymd(2026, 1, 1),
            next_update: rcgen::date_time_ymd(2046, 1, 1),
            crl_number: SerialNumber::from(100),
            issuing_distribution_point: scope.map(|scope| CrlIssuingDistributionPoint {
                distribution_point: CrlDistributionPoint {
                    uris: vec!["http://ca.test/crl".to_owned()],
                },
                scope: Some(scope),
            }),
            revoked_certs: Vec::new(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = list.signed_by(&issuer).unwrap();
        site.write("crl.pem", &list.pem().unwrap());
        let server = ServerTls::load(files.clone(), ClientAuth::Required).unwrap();
        let shaken = handshake(&server, client.clone(), "server.test");
        (shaken.is_ok(), is_accepted)
    });
    for (found, expected) in answers {
        assert_eq!(found, expected, "{answers:?}");
    }
}

#[test]
fn clients_prefer_aes_128_and_servers_follow_them() {
    let offered = |provider: &CryptoProvider| {
        let suites = provider.cipher_suites.iter();
        suites.map(|suite| suite.suite()).collect::<Vec<_>>()
    };
    let all = offered(&default_provider());
    let ours = offered(&pki::tls::provider());
    assert_eq!(ours[0], CipherSuite::TLS13_AES_128_GCM_SHA256);
    assert_eq!(ours.len(), all.len());
    assert!(all.iter().all(|suite| ours.contains(suite)));

    let site = Site::new();
    let server = site.server(ClientAuth::Required).current();
    let client = ClientTls::load(&site.files("node1")).unwrap();
    // in the order of OpenSSL; the server chooses before it sends a certificate
    let of_openssl = ClientConfig::builder_with_provider(default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    for (client, expected) in [
        (client, CipherSuite::TLS13_AES_128_GCM_SHA256),
        (Arc::new(of_openssl), CipherSuite::TLS13_AES_256_GCM_SHA384),
    ] {
        let mut client = ClientConnection::new(client, "server.test".try_into().unwrap()).unwrap();
        let mut server = ServerConnection::new(Arc::clone(&server)).unwrap();
        let mut wire = Vec::new();
        client.write_tls(&mut wire).unwrap();
        server.read_tls(&mut wire.as_slice()).unwrap();
        server.process_new_packets().unwrap();
        let chosen = server.negotiated_cipher_suite().unwrap();
        assert_eq!(chosen.suite(), expected);
    }
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let site = Site::new();
    let files = site.files("server.test");
    let other = site.files("other.test");
    let stranger = Site::new();
    site.write("empty", "");
    site.write("cut", &std::fs::read_to_string(&files.cert).unwrap()[..200]);
    site.write("forged-crl", &stranger.ca.crl().unwrap().0);
    let load = |files: TlsFiles| ServerTls::load(files, ClientAuth::Required).unwrap_err();

    let error = load(TlsFiles {
        cert: site.path("missing"),
        ..files.clone()
    });
    assert!(error.to_string().contains("missing"), "{error}");
    let error = load(TlsFiles {
        cert: site.path("cut"),
        ..files.clone()
    });
    assert!(error.to_string().contains("cut"), "{error}");
    let error = load(TlsFiles {
        ca: site.path("empty"),
        ..files.clone()
    });
    assert!(
        error.to_string().contains("empty holds no certificate"),
        "{error}"
    );
    let error = load(TlsFiles {
        key: other.key,
        ..files.clone()
    });
    assert!(matches!(error, LoadError::Pair { .. }), "{error}");
    // The same name but another key: the signature is not valid.
    let error = load(TlsFiles {
        crl: Some(site.path("forged-crl")),
        ..files.clone()
    });
    assert!(
        matches!(&error, LoadError::Crl { number: 1, .. }),
        "{error}"
    );
    let error = load(TlsFiles {
        crl: Some(site.path("empty")),
        ..files
    });
    assert!(
        error
            .to_string()
            .contains("holds no certificate revocation list"),
        "{error}"
    );
}

#[test]
fn the_snapshot_knows_what_was_revoked() {
    let site = Site::new();
    let server = site.server(ClientAuth::Optional);
    let leaf = |name: &str| {
        let pem = site.ca.certificate(name).unwrap().unwrap();
        pem::parse(pem).unwrap().into_contents()
    };
    site.files("good");
    site.files("bad");
    assert!(server.revocations().is_empty());
    site.ca.revoke("bad").unwrap();
    site.update_crl();
    server.reload().unwrap();
    let revocations = server.revocations();
    assert_eq!(revocations.len(), 1);
    assert!(revocations.is_revoked(&leaf("bad")) && !revocations.is_revoked(&leaf("good")));
    assert!(revocations.is_revoked(b"nonsense"));
}
