//! Certificates for simulated agents, from a CA directory in Puppet's layout.
//!
//! Main type: [`Identities`].
//!
//! Invariant: every agent has a certificate of its own, but all share one key, because ten thousand
//! RSA-4096 keys take hours to generate and make no difference for a broker.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use pcp::Certname;
use rcgen::{CertificateParams, DnType, Issuer, KeyPair};
use rustls::client::Resumption;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// The kind of the agents' keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// EC P-256: quick to generate, for tests.
    Ec,
    /// RSA-4096, as Puppet agents have.
    Rsa4096,
}

/// One simulated agent's name and TLS settings.
#[derive(Clone)]
pub(crate) struct Identity {
    pub certname: Certname,
    pub tls: Arc<rustls::ClientConfig>,
}

/// The certificates and TLS settings of the agents.
#[derive(Debug)]
pub struct Identities {
    identities: Vec<Identity>,
}

// === impl Identities ===

impl Identities {
    /// Issues certificates for `<prefix>-00000`, `<prefix>-00001`, … with the CA in `ca_dir`.
    pub fn issue(ca_dir: &Path, prefix: &str, count: usize, kind: KeyKind) -> Result<Self> {
        let ca_pem = read(&ca_dir.join("ca_crt.pem"))?;
        let ca_key = KeyPair::from_pem(&read(&ca_dir.join("ca_key.pem"))?)
            .context("the CA's key cannot be read")?;
        let issuer = Issuer::from_ca_cert_pem(&ca_pem, ca_key)
            .context("the CA's certificate cannot be read")?;
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(ca_pem.as_bytes()) {
            roots.add(certificate?)?;
        }
        let roots = Arc::new(roots);
        let key = agent_key(kind)?;
        let identities = (0..count)
            .map(|index| identity(&format!("{prefix}-{index:05}"), &key, &issuer, &roots))
            .collect::<Result<_>>()?;
        Ok(Self { identities })
    }

    /// Number of identities in the set.
    pub fn len(&self) -> usize {
        self.identities.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.identities.is_empty()
    }

    /// A set with only this identity.
    pub fn only(&self, index: usize) -> Self {
        let identities = vec![self.identities[index].clone()];
        Self { identities }
    }

    /// The TLS settings of one identity, with its certificate.
    pub fn tls(&self, index: usize) -> Arc<rustls::ClientConfig> {
        Arc::clone(&self.identities[index].tls)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Identity> {
        self.identities.iter()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.certname)
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn agent_key(kind: KeyKind) -> Result<KeyPair> {
    Ok(match kind {
        KeyKind::Ec => KeyPair::generate()?,
        KeyKind::Rsa4096 => {
            KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, rcgen::RsaKeySize::_4096)?
        }
    })
}

fn identity(
    name: &str,
    key: &KeyPair,
    issuer: &Issuer<'_, KeyPair>,
    roots: &Arc<rustls::RootCertStore>,
) -> Result<Identity> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let certificate = params.signed_by(key, issuer)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(Arc::clone(roots))
        .with_client_auth_cert(vec![certificate.der().clone()], private)?;
    tls.resumption = Resumption::disabled();
    Ok(Identity {
        certname: name.parse()?,
        tls: Arc::new(tls),
    })
}
