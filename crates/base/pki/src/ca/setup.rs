//! Creation of a new authority, or import of one from another tool.
//!
//! Invariant: `ca_crt.pem` is written last, so that a directory with this file is always complete;
//! an interrupted set-up can be repeated.

use std::path::PathBuf;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, KeyIdMethod,
    KeyUsagePurpose, SerialNumber,
};

use super::error::{CaError, OpenCaError};
use super::issuer::CaIssuer;
use super::layout::{CaLayout, DIRECTORY_MODE, KEY_MODE, PUBLIC_MODE};
use super::leaf::{asn1_time, whole_seconds};
use super::read::read_optional;
use super::{crl, ledger};
use crate::defaults::{CA_LIFETIME, CLOCK_SKEW};
use crate::durable;
use crate::key::{self, KeyType};
use crate::pem_file;

/// Options of a new authority.
#[derive(Debug, Clone)]
pub struct InitOptions {
    /// Common name of the CA; puppetserver's is `Puppet CA: <host name>`.
    pub common_name: String,
    /// RSA-4096 as in Puppet, or P-256, which is faster and smaller and which every Puppet since 6
    /// accepts.
    pub key_type: KeyType,
}

/// The files of an authority to import.
#[derive(Debug, Clone)]
pub struct ImportFiles {
    /// The CA's certificate, followed by those above it.
    pub cert_bundle: PathBuf,
    /// The CA's key: RSA (PKCS#1 or PKCS#8) or EC, not encrypted.
    pub key: PathBuf,
    /// Revocation lists, which must include the CA's own. `None`: an empty list is created.
    pub crl_chain: Option<PathBuf>,
    /// puppetserver's `ca` directory, from which serial number, inventory, certificates and
    /// requests are imported as well.
    pub ca_dir: Option<PathBuf>,
}

pub(super) fn init(layout: &CaLayout, options: &InitOptions) -> Result<(), OpenCaError> {
    prepare(layout)?;
    let key = key::generate(options.key_type)?;
    let cert_pem = self_signed(&options.common_name, &key)?;
    durable::write_atomic(&layout.ca_key(), key.serialize_pem().as_bytes(), KEY_MODE)?;
    let public = key.public_key_pem();
    durable::write_atomic(&layout.ca_public_key(), public.as_bytes(), PUBLIC_MODE)?;
    // The CA's own certificate has serial number 1.
    ledger::write_serial(layout, 2).map_err(OpenCaError::Ledger)?;
    write_inventory(layout, "")?;
    finish(layout, &cert_pem, None)
}

pub(super) fn import(layout: &CaLayout, files: &ImportFiles) -> Result<(), OpenCaError> {
    // Check first, so that a refused import leaves no files.
    CaIssuer::load(&files.cert_bundle, &files.key)?;
    let cert_pem = String::from_utf8_lossy(&pem_file::read(&files.cert_bundle)?).into_owned();
    let key_pem = pem_file::read_secret(&files.key)?;
    let crl_pem = match &files.crl_chain {
        Some(path) => {
            pem_file::crls(path)?;
            Some(pem_file::read(path)?)
        }
        None => None,
    };
    prepare(layout)?;
    let key = key::read(&files.key)?;
    durable::write_atomic(&layout.ca_key(), &key_pem, KEY_MODE)?;
    let public = key.public_key_pem();
    durable::write_atomic(&layout.ca_public_key(), public.as_bytes(), PUBLIC_MODE)?;
    import_ledger(layout, files)?;
    finish(layout, &cert_pem, crl_pem)
}

fn prepare(layout: &CaLayout) -> Result<(), OpenCaError> {
    if layout.ca_cert().exists() {
        return Err(OpenCaError::AlreadyThere {
            dir: layout.dir().to_owned(),
        });
    }
    for dir in [
        layout.dir().to_owned(),
        layout.signed_dir(),
        layout.requests_dir(),
    ] {
        durable::create_dir(&dir, DIRECTORY_MODE)?;
    }
    Ok(())
}

/// Writes the certificate under a temporary name first: the list needs the certificate, and the
/// certificate must be written last.
fn finish(layout: &CaLayout, cert_pem: &str, crl_pem: Option<Vec<u8>>) -> Result<(), OpenCaError> {
    let staged = layout.dir().join("ca_crt.pem.new");
    durable::write_atomic(&staged, cert_pem.as_bytes(), PUBLIC_MODE)?;
    let issuer = CaIssuer::load(&staged, &layout.ca_key())?;
    match crl_pem {
        Some(crl_pem) => durable::write_atomic(&layout.ca_crl(), &crl_pem, PUBLIC_MODE)?,
        None => crl::write_first(layout, &issuer).map_err(OpenCaError::Ledger)?,
    }
    crl::read_own(layout, &issuer).map_err(OpenCaError::Ledger)?;
    durable::write_atomic(&layout.ca_cert(), cert_pem.as_bytes(), PUBLIC_MODE)?;
    durable::remove(&staged)?;
    Ok(())
}

fn self_signed(common_name: &str, key: &rcgen::KeyPair) -> Result<String, OpenCaError> {
    let now_s = jiff::Timestamp::now().as_second();
    let time = |seconds| asn1_time(seconds).map_err(OpenCaError::Ledger);
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.key_identifier_method = KeyIdMethod::PreSpecified(key::identifier(key));
    params.use_authority_key_identifier_extension = true;
    params.serial_number = Some(SerialNumber::from(1));
    params.not_before = time(now_s - whole_seconds(CLOCK_SKEW))?.to_datetime();
    params.not_after = time(now_s + whole_seconds(CA_LIFETIME))?.to_datetime();
    Ok(params.self_signed(key).map_err(OpenCaError::Sign)?.pem())
}

/// Imports certificates, requests and inventory, and sets a serial number above all of them.
fn import_ledger(layout: &CaLayout, files: &ImportFiles) -> Result<(), OpenCaError> {
    let mut inventory = String::new();
    let mut next = 1;
    if let Some(dir) = &files.ca_dir {
        let theirs = CaLayout::new(dir);
        copy_pems(&theirs.signed_dir(), &layout.signed_dir())?;
        copy_pems(&theirs.requests_dir(), &layout.requests_dir())?;
        inventory = optional(&theirs.inventory())?;
        next = u64::from_str_radix(optional(&theirs.serial())?.trim(), 16).unwrap_or(1);
    }
    write_inventory(layout, &inventory)?;
    let highest = [highest_known(layout, files)?, next.saturating_sub(1)]
        .into_iter()
        .max();
    ledger::write_serial(layout, highest.unwrap_or(0) + 1).map_err(OpenCaError::Ledger)
}

/// The highest serial number in the inventory, the list, the certificates or the CA's own
/// certificate. Numbers beyond 64 bits were not assigned sequentially, so they cannot collide with
/// those of this authority.
fn highest_known(layout: &CaLayout, files: &ImportFiles) -> Result<u64, OpenCaError> {
    use x509_parser::prelude::{FromDer, X509Certificate};
    use x509_parser::revocation_list::CertificateRevocationList;
    let mut highest = ledger::highest_in_inventory(layout).map_err(OpenCaError::Ledger)?;
    let mut see = |serial: &x509_parser::num_bigint::BigUint| match u64::try_from(serial) {
        Ok(number) if number < u64::MAX / 2 => highest = highest.max(number),
        _ => {}
    };
    if let Some(path) = &files.crl_chain {
        for der in pem_file::crls(path)? {
            if let Ok((_, list)) = CertificateRevocationList::from_der(&der) {
                list.iter_revoked_certificates()
                    .for_each(|entry| see(entry.serial()));
            }
        }
    }
    let mut certificates = pem_file::certificates(&files.cert_bundle)?;
    for entry in read_dir(&layout.signed_dir())? {
        certificates.extend(pem_file::certificates(&entry)?);
    }
    for der in &certificates {
        if let Ok((_, certificate)) = X509Certificate::from_der(der) {
            see(&certificate.serial);
        }
    }
    Ok(highest)
}

fn copy_pems(from: &std::path::Path, to: &std::path::Path) -> Result<(), OpenCaError> {
    for path in read_dir(from)? {
        let Some(name) = path.file_name() else {
            continue;
        };
        let bytes = pem_file::read(&path)?;
        durable::write_atomic(&to.join(name), &bytes, PUBLIC_MODE)?;
    }
    Ok(())
}

fn read_dir(dir: &std::path::Path) -> Result<Vec<PathBuf>, OpenCaError> {
    let failed = |source| {
        OpenCaError::Ledger(CaError::Read {
            path: dir.to_owned(),
            source,
        })
    };
    if !dir.exists() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "pem") {
            paths.push(path);
        }
    }
    Ok(paths)
}

fn write_inventory(layout: &CaLayout, text: &str) -> Result<(), OpenCaError> {
    Ok(durable::write_atomic(
        &layout.inventory(),
        text.as_bytes(),
        PUBLIC_MODE,
    )?)
}

fn optional(path: &std::path::Path) -> Result<String, OpenCaError> {
    Ok(read_optional(path)
        .map_err(OpenCaError::Ledger)?
        .unwrap_or_default())
}
