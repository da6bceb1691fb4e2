//! P5: connections to PostgreSQL are encrypted, and the server's certificate is verified.

use std::path::PathBuf;

use pki::ca::{GenerateOptions, InitOptions};
use pki::{CertificateAuthority, KeyType};
use store::{OpenStoreError, Store, StoreConfig};
use testkit::postgres::{Postgres, PostgresSetup};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::engine::job;

/// The name in the server's certificate.
const NAME: &str = "db.test";

/// A CA and the certificates that it issued.
struct Authority {
    directory: tempfile::TempDir,
    authority: CertificateAuthority,
}

impl Authority {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = InitOptions {
            common_name: "CA of databases".to_owned(),
            key_type: KeyType::EcP256,
        };
        let authority = CertificateAuthority::init(directory.path(), &options).unwrap();
        Self {
            directory,
            authority,
        }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("ca_crt.pem")
    }

    /// Returns a certificate and its key.
    fn issue(&self, name: &str) -> (String, String) {
        let options = GenerateOptions::default();
        let issued = self.authority.generate(name, &options).unwrap();
        (issued.cert_pem, issued.key_pem)
    }

    /// A server that accepts only encrypted connections.
    fn server(&self, hba: &str) -> Postgres {
        let (cert, key) = self.issue(NAME);
        let root = std::fs::read_to_string(self.root()).unwrap();
        let files = [("tls.crt", cert), ("tls.key", key), ("ca.crt", root)];
        let settings = [
            "ssl=on",
            "ssl_cert_file=tls.crt",
            "ssl_key_file=tls.key",
            "ssl_ca_file=ca.crt",
        ];
        Postgres::start_as(PostgresSetup {
            address: Some("127.0.0.1".to_owned()),
            settings: settings.map(str::to_owned).to_vec(),
            hba: vec![
                hba.to_owned(),
                "hostnossl all all 0.0.0.0/0 reject".to_owned(),
            ],
            files: files.map(|(name, text)| (name.to_owned(), text)).to_vec(),
        })
        .unwrap()
    }
}

/// The URL of the same database under the host name `name`, with these options.
fn url(database: &str, name: &str, options: &str) -> String {
    let named = database.replace("@127.0.0.1:", &format!("@{name}:"));
    format!("{named}?hostaddr=127.0.0.1&{options}")
}

async fn open(url: String) -> Result<(), String> {
    match Store::open(&StoreConfig::new(url)).await {
        Ok(store) => {
            store.close().await;
            Ok(())
        }
        Err(error) => Err(chain(&error)),
    }
}

fn chain(error: &OpenStoreError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

const EVERYBODY: &str = "hostssl all all 127.0.0.1/32 trust";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_connection_is_encrypted_and_the_server_verified() {
    let authority = Authority::new();
    let server = authority.server(EVERYBODY);
    let database = server.create_database().unwrap();
    let root = authority.root().display().to_string();
    let good = url(
        &database,
        NAME,
        &format!("sslmode=verify-full&sslrootcert={root}"),
    );
    let config = StoreConfig::new(good.clone());
    let store = Store::open(&config).await.unwrap();
    store.insert_job(job(&["a"])).await.unwrap();
    store.users().await.unwrap();
    let beside = Store::open_read_only(&config).await.unwrap();
    beside.users().await.unwrap();
    let sessions = "SELECT count(*), bool_and(s.ssl) FROM pg_stat_ssl s \
         JOIN pg_stat_activity a USING (pid) WHERE a.application_name = 'tutti'";
    assert_eq!(server.psql("postgres", sessions).unwrap(), "3|t");
    beside.close().await;
    store.close().await;

    let other = Authority::new();
    let other = other.root().display().to_string();
    for (name, options, part) in [
        (
            NAME,
            format!("sslmode=verify-full&sslrootcert={other}"),
            "invalid peer certificate",
        ),
        (
            NAME,
            format!("sslmode=verify-ca&sslrootcert={other}"),
            "invalid peer certificate",
        ),
        (
            NAME,
            format!("sslmode=require&sslrootcert={other}"),
            "invalid peer certificate",
        ),
        (
            NAME,
            "sslmode=verify-full".to_owned(),
            "invalid peer certificate",
        ),
        (
            "other.test",
            format!("sslmode=verify-full&sslrootcert={root}"),
            "not valid for name",
        ),
        (NAME, "sslmode=disable".to_owned(), "no encryption"),
    ] {
        let error = open(url(&database, name, &options)).await.unwrap_err();
        assert!(error.contains(part), "{options}: {error}");
    }
    for (name, options) in [
        (
            "other.test",
            format!("sslmode=verify-ca&sslrootcert={root}"),
        ),
        ("other.test", "sslmode=require".to_owned()),
        (NAME, "sslmode=prefer".to_owned()),
        ("localhost", String::new()),
    ] {
        open(url(&database, name, &options)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_encryption_is_refused_where_it_is_required() {
    let server = Postgres::start_on_tcp().unwrap();
    let database = server.create_database().unwrap();
    let root = Authority::new();
    let root = root.root().display().to_string();
    for options in [
        "sslmode=require".to_owned(),
        format!("sslmode=verify-ca&sslrootcert={root}"),
        "sslmode=verify-full".to_owned(),
    ] {
        let error = open(url(&database, NAME, &options)).await.unwrap_err();
        assert!(error.contains("does not support TLS"), "{options}: {error}");
    }
    open(url(&database, NAME, "sslmode=prefer")).await.unwrap();
}

/// A proxy claims that the server does not support encryption, and gets no password.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_downgrade_gets_no_password() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let between = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut request = [0; 8];
        client.read_exact(&mut request).await.unwrap();
        client.write_all(b"N").await.unwrap();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        rest
    });
    let url =
        format!("postgresql://tutti:secret@{NAME}:{port}/x?hostaddr=127.0.0.1&sslmode=verify-full");
    let error = open(url).await.unwrap_err();
    assert!(error.contains("does not support TLS"), "{error}");
    assert!(between.await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_certificate_is_shown_where_the_server_asks_for_one() {
    let authority = Authority::new();
    let server = authority.server("hostssl all all 127.0.0.1/32 trust clientcert=verify-ca");
    let database = server.create_database().unwrap();
    let root = authority.root().display().to_string();
    let verified = format!("sslmode=verify-full&sslrootcert={root}");
    open(url(&database, NAME, &verified)).await.unwrap_err();
    let (cert, key) = authority.issue("tutti");
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (cert, key) = (write("tutti.crt", cert), write("tutti.key", key));
    let identified = format!("{verified}&sslcert={cert}&sslkey={key}");
    open(url(&database, NAME, &identified)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_bound_to_the_channel() {
    let authority = Authority::new();
    let server = authority.server("hostssl all tutti 127.0.0.1/32 scram-sha-256");
    let database = server.create_database().unwrap();
    server
        .psql("postgres", "ALTER ROLE tutti PASSWORD 'sesame'")
        .unwrap();
    let database = database.replace("tutti@", "tutti:sesame@");
    let root = authority.root().display().to_string();
    let bound = format!("sslmode=verify-full&sslrootcert={root}&channel_binding=require");
    open(url(&database, NAME, &bound)).await.unwrap();
}
