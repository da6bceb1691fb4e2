//! Errors of the authority: [`OpenCaError`] at start, [`CaError`] in every later operation.

use std::io;
use std::path::PathBuf;

use super::waiting::RequestSource;
use crate::csr::CsrError;
use crate::durable::DurableWriteError;
use crate::key::PrivateKeyError;
use crate::pem_file::PemFileError;

/// The error of creating, importing or opening the authority.
#[derive(Debug, thiserror::Error)]
pub enum OpenCaError {
    #[error(
        "{dir} holds no certificate authority; make one with `tutti ca init`, or take over \
             puppetserver's with `tutti ca import`"
    )]
    NoAuthority { dir: PathBuf },
    #[error("{dir} already holds a certificate authority; it is left as it is")]
    AlreadyThere { dir: PathBuf },
    #[error(transparent)]
    Write(#[from] DurableWriteError),
    #[error(transparent)]
    File(#[from] PemFileError),
    #[error(transparent)]
    Key(#[from] PrivateKeyError),
    #[error("no certificate in {cert} belongs to the key {key}")]
    KeyMismatch { cert: PathBuf, key: PathBuf },
    #[error("the CA certificate in {cert} cannot be used: {what}")]
    Unusable { cert: PathBuf, what: String },
    #[error("cannot sign with the new CA key")]
    Sign(#[source] rcgen::Error),
    #[error(transparent)]
    Ledger(CaError),
}

/// The error of an operation of the authority, which then had no effect.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    #[error("the certname {certname:?} is not permitted: {why}")]
    Certname { certname: String, why: &'static str },
    #[error("{0}")]
    Request(#[from] CsrError),
    #[error("the request names {subject:?}, but was sent for {certname:?}")]
    NameMismatch { certname: String, subject: String },
    #[error(
        "{certname} already has a requested certificate with another key; \
             clean it first (tutti ca clean {certname})"
    )]
    RequestExists { certname: String },
    #[error("{certname} already has a certificate; clean it first (tutti ca clean {certname})")]
    CertificateExists { certname: String },
    #[error("{limit} requests are waiting for a signature; sign or delete some first")]
    TooManyRequests { limit: usize },
    #[error(
        "{limit} requests from {source_network} are waiting for a signature, which is all that one \
             network may have; sign or delete some first"
    )]
    SourceFull {
        source_network: RequestSource,
        limit: usize,
    },
    #[error("there is no certificate request for {certname}")]
    NoRequest { certname: String },
    #[error(
        "another certificate request for {certname} waits than the one that was approved; decide about that one"
    )]
    OtherRequest { certname: String },
    #[error("the certificate of {certname} has another key, so this one is not renewed")]
    OtherKey { certname: String },
    #[error("there is no certificate for {certname}")]
    NoCertificate { certname: String },
    #[error(
        "the request of {certname} asks for alternative names ({names}); \
             sign it with --allow-alt-names if that is meant"
    )]
    AltNames { certname: String, names: String },
    #[error(
        "the request of {certname} asks for authorization extensions ({oids}); \
             sign it with --allow-authorization-extensions if that is meant"
    )]
    Authorization { certname: String, oids: String },
    #[error(
        "the name {certname} grants rights ({origin}); if its holder is meant to have them, sign it \
             at the server with `tutti ca sign --allow-privileged-names {certname}`"
    )]
    PrivilegedName { certname: String, origin: String },
    #[error("the alternative name {0:?} is neither an ASCII host name nor an IP address")]
    BadAltName(String),
    #[error(transparent)]
    Key(#[from] PrivateKeyError),
    #[error("the CA cannot sign")]
    Sign(#[source] rcgen::Error),
    #[error("cannot lock {path}")]
    Lock {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot read {path}")]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Write(#[from] DurableWriteError),
    #[error(transparent)]
    File(#[from] PemFileError),
    #[error("{path} is damaged: {what}; restore it from a backup")]
    Damaged { path: PathBuf, what: String },
}
