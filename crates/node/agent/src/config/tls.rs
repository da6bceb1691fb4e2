//! Paths of the agent's certificate files, and the bootstrap if there is no certificate yet.
//!
//! Invariant: files named by the user are used as named; the others are in Puppet's ssl directory,
//! so a node that Puppet already manages needs no option at all.

use std::path::{Path, PathBuf};

use pcp::Certname;
use pki::TlsFiles;

use super::error::AgentConfigError;
use super::paths::DefaultPaths;
use super::settings::AgentSettings;
use crate::bootstrap::{BootstrapConfig, CaUri, Sha256Fingerprint, SslDir};
use crate::defaults;

/// The four files, and the bootstrap that obtains them.
pub(super) struct CertificateSettings {
    pub(super) files: TlsFiles,
    pub(super) bootstrap: Option<BootstrapConfig>,
    /// The revocation list that comes from the CA of `bootstrap`; `None` if another list is used, or
    /// none.
    pub(super) crl_from_ca: Option<PathBuf>,
}

pub(super) fn resolve(
    settings: &AgentSettings,
    paths: &DefaultPaths,
    notes: &mut Vec<String>,
) -> Result<CertificateSettings, AgentConfigError> {
    let named = |option: &Option<String>| {
        option
            .as_deref()
            .filter(|text| !text.is_empty())
            .map(PathBuf::from)
    };
    let ssl_dir = named(&settings.ssl_dir).unwrap_or_else(|| paths.ssl_dir.clone());
    let certname = certname(settings, &ssl_dir)?;
    let layout = SslDir::new(ssl_dir);
    let standard = layout.files(&certname);
    let files = TlsFiles {
        ca: named(&settings.ssl_ca_cert).unwrap_or_else(|| standard.ca.clone()),
        cert: named(&settings.ssl_cert).unwrap_or_else(|| standard.cert.clone()),
        key: named(&settings.ssl_key).unwrap_or_else(|| standard.key.clone()),
        crl: crl(settings, &standard, notes),
    };
    let bootstrap = bootstrap(settings, layout, certname, &files)?;
    if bootstrap.is_none() {
        must_exist("ssl-ca-cert", &files.ca)?;
        must_exist("ssl-cert", &files.cert)?;
        must_exist("ssl-key", &files.key)?;
    }
    let crl_from_ca = bootstrap.as_ref().map(|bootstrap| bootstrap.ssl_dir.crl());
    let is_wanted = |path: &PathBuf| match settings.ssl_crl.as_deref() {
        Some(named) => Path::new(named) == path,
        None => true,
    };
    Ok(CertificateSettings {
        crl_from_ca: crl_from_ca.filter(is_wanted),
        files,
        bootstrap,
    })
}

/// Path of the revocation list. An explicit empty text means no list, as with pxp-agent. If the
/// option is not set, the standard list is used if the certificates are in their standard paths; a
/// configuration made for pxp-agent does not change its meaning because of a file that pxp-agent
/// would not have read.
fn crl(settings: &AgentSettings, standard: &TlsFiles, notes: &mut Vec<String>) -> Option<PathBuf> {
    match settings.ssl_crl.as_deref() {
        Some("") => None,
        Some(path) => Some(path.into()),
        None if settings.ssl_cert.is_some() => {
            notes.push("no ssl-crl: revoked brokers are not recognised".to_owned());
            None
        }
        None => standard.crl.clone(),
    }
}

fn bootstrap(
    settings: &AgentSettings,
    layout: SslDir,
    certname: Certname,
    files: &TlsFiles,
) -> Result<Option<BootstrapConfig>, AgentConfigError> {
    let Some(ca_uri) = settings.ca_uri.as_deref().filter(|t| !t.is_empty()) else {
        return Ok(None);
    };
    let standard = layout.files(&certname);
    if files.ca != standard.ca || files.cert != standard.cert || files.key != standard.key {
        // Certificates that were installed by other means must exist.
        return Ok(None);
    }
    let server: CaUri = ca_uri
        .parse()
        .map_err(|reason: String| AgentConfigError::invalid("ca-uri", reason))?;
    let fingerprint = settings
        .ca_fingerprint
        .as_deref()
        .map(str::parse::<Sha256Fingerprint>)
        .transpose()
        .map_err(|reason| AgentConfigError::invalid("ca-fingerprint", reason))?;
    Ok(Some(BootstrapConfig {
        server,
        certname,
        fingerprint,
        ssl_dir: layout,
        wait_for_cert: settings.wait_for_cert.map_or(defaults::WAIT_FOR_CERT, |s| {
            std::time::Duration::from_secs(s.into())
        }),
        key_type: pki::KeyType::EcP256,
    }))
}

/// The certname set by the user, else that of the only existing pair, else the host's name.
fn certname(settings: &AgentSettings, ssl_dir: &Path) -> Result<Certname, AgentConfigError> {
    let name = match settings.certname.as_deref() {
        Some(name) => name.to_owned(),
        None => only_pair(ssl_dir).unwrap_or_else(host_name),
    };
    name.parse().map_err(|error| {
        AgentConfigError::invalid(
            "certname",
            format!("'{}' cannot be used: {error}", name.escape_default()),
        )
    })
}

/// The name of the only certificate with a key in Puppet's ssl directory.
fn only_pair(ssl_dir: &Path) -> Option<String> {
    let mut names = std::fs::read_dir(ssl_dir.join("private_keys"))
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let file = entry.file_name();
            let name = file.to_str()?.strip_suffix(".pem")?.to_owned();
            ssl_dir.join("certs").join(&file).exists().then_some(name)
        });
    let only = names.next()?;
    names.next().is_none().then_some(only)
}

/// This host's name, in lower case as in Puppet.
pub fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .to_lowercase()
}

fn must_exist(option: &'static str, path: &Path) -> Result<(), AgentConfigError> {
    if path.is_file() {
        return Ok(());
    }
    Err(AgentConfigError::invalid(
        option,
        format!(
            "'{}' does not exist; get a certificate with 'tutti-agent bootstrap --server HOST', \
             or set ca-uri so that the agent does it by itself",
            path.display()
        ),
    ))
}
