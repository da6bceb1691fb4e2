//! Keys, certificates and what rests on them: a Puppet-compatible certificate
//! authority, TLS settings that follow their files, and sealing of secrets.
//!
//! | module | what for |
//! |---|---|
//! | [`ca`] | the certificate authority, in the directory layout of puppetserver |
//! | [`csr`] | certificate requests: made by an agent, read by the authority |
//! | [`tls`] | [`ServerTls`] and [`ClientTls`]: rustls configurations from four files, reloaded |
//! | [`identity`] | who a certificate speaks for |
//! | [`privileged`] | the names that grant rights to the holders of their certificates |
//! | [`seal`] | AES-256-GCM for secrets at rest |
//! | [`validity`] | names and dates of certificates and revocation lists |
//! | [`durable`] | files that are whole or absent after a crash |
//!
//! Rules that hold here: a private key is never logged or shown by `Debug`; a
//! name that comes from outside is checked before it becomes a path
//! ([`ca::CertificateAuthority`] does so itself); the crypto provider is always
//! named, so no process-wide default is needed.

pub mod ca;
pub mod csr;
pub mod defaults;
pub mod durable;
pub mod identity;
pub mod key;
mod lock;
mod pem_file;
pub mod privileged;
pub mod seal;
pub mod tls;
pub mod validity;

pub use ca::{CaError, CertificateAuthority};
pub use identity::certname_of;
pub use key::KeyType;
pub use pem_file::PemFileError;
pub use privileged::{NamePattern, Privilege, PrivilegedName, PrivilegedNames};
pub use tls::{
    ClientAuth, ClientTls, LoadError, OwnCertificateError, Revocations, RootsError,
    ServerCertnames, ServerTls, TlsFiles, UnexpectedCertname, verify_own,
};
