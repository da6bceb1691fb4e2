//! The client certificate for a puppetserver and PuppetDB: [`ClientCertificateOptions`].

use std::path::{Path, PathBuf};

use cli::CommandFailure;
use pki::TlsFiles;

/// Directories with the certificates of Puppet on this machine; the first that has one is used.
const SSL_DIRECTORIES: [&str; 3] = [
    "/etc/puppetlabs/puppet/ssl",
    "/var/lib/puppet/ssl",
    "/etc/puppet/ssl",
];

/// Options for the files of a client certificate.
#[derive(Debug, clap::Args)]
pub(super) struct ClientCertificateOptions {
    /// Client certificate for the server; that of Puppet on this machine by default
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Private key of the client certificate
    #[arg(long, value_name = "FILE", requires = "cacert")]
    key: Option<PathBuf>,
    /// Certificate of the CA of the server
    #[arg(long, value_name = "FILE", requires = "cert")]
    cacert: Option<PathBuf>,
}

impl ClientCertificateOptions {
    /// The files that the options name, or those of Puppet on this machine.
    pub(super) fn tls_files(&self) -> Result<TlsFiles, CommandFailure> {
        if let (Some(cert), Some(key), Some(ca)) = (&self.cert, &self.key, &self.cacert) {
            return Ok(TlsFiles {
                cert: cert.clone(),
                key: key.clone(),
                ca: ca.clone(),
                crl: None,
            });
        }
        let mut found = SSL_DIRECTORIES
            .iter()
            .filter_map(|it| puppet_certificate(Path::new(it)));
        found.next().ok_or_else(|| {
            CommandFailure::Usage(format!(
                "none of {} has one certificate with its key; name them with --cert, --key and --cacert",
                SSL_DIRECTORIES.join(", ")
            ))
        })
    }
}

/// The certificate in a directory of Puppet; `None` if there is none or more than one.
fn puppet_certificate(directory: &Path) -> Option<TlsFiles> {
    let entries = std::fs::read_dir(directory.join("private_keys")).ok()?;
    let mut keys = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let (Some(key), None) = (keys.next(), keys.next()) else {
        return None;
    };
    let files = TlsFiles {
        cert: directory.join("certs").join(key.file_name()?),
        key,
        ca: directory.join("certs/ca.pem"),
        crl: None,
    };
    (files.cert.is_file() && files.ca.is_file()).then_some(files)
}
