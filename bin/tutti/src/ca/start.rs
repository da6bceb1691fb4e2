//! The authority and the certificate at the start of a server. Main functions: [`open_or_init`],
//! [`ensure_own_certificate`].
//!
//! Invariant: existing files are never replaced.

use anyhow::{Context as _, Result};
use pki::ca::{AltName, GenerateOptions, InitOptions};
use pki::{CertificateAuthority, KeyType};

use crate::config::Config;

/// Opens the CA of a server, or creates a new one if there is none.
pub(crate) fn open_or_init(config: &Config) -> Result<CertificateAuthority> {
    let dir = config.ca_dir();
    if dir.join("ca_crt.pem").exists() {
        return Ok(CertificateAuthority::open(&dir)?);
    }
    tracing::info!(dir = %dir.display(), "making a new certificate authority");
    let common_name = format!("Puppet CA: {}", config.certname);
    let options = InitOptions {
        common_name,
        key_type: KeyType::EcP256,
    };
    Ok(CertificateAuthority::init(&dir, &options)?)
}

/// Creates the server's own key and certificate once. A crash between the files is repaired: if the
/// certificate, which is written last, is missing, all are created anew.
pub(crate) fn ensure_own_certificate(config: &Config, ca: &CertificateAuthority) -> Result<()> {
    let files = config.tls_files();
    if config.tls.is_some() || files.cert.exists() {
        return Ok(());
    }
    for file in [&files.cert, &files.key] {
        let parent = file
            .parent()
            .context("a certificate file without a directory")?;
        std::fs::create_dir_all(parent)
            .with_context(|| format!("cannot make {}", parent.display()))?;
    }
    let mut alt_names: Vec<AltName> = vec![config.certname.parse()?];
    for name in ["localhost", "127.0.0.1", "::1"] {
        alt_names.push(name.parse()?);
    }
    let what = GenerateOptions {
        alt_names,
        ca_administrator: true,
        ..GenerateOptions::default()
    };
    let made = ca.generate(&config.certname, &what).with_context(|| {
        format!(
            "cannot make the server's own certificate in {}; if {} has one with its key already, name \
             the files in the section [tls]",
            config.data_dir.join("ssl").display(),
            config.certname
        )
    })?;
    pki::durable::write_atomic(&files.ca, ca.ca_bundle()?.as_bytes(), 0o644)?;
    pki::durable::write_atomic(&files.key, made.key_pem.as_bytes(), 0o600)?;
    pki::durable::write_atomic(&files.cert, made.cert_pem.as_bytes(), 0o644)?;
    Ok(())
}
