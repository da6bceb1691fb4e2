//! The certificate authority: [`CertificateAuthority`], a directory with the layout of
//! puppetserver's CA (see [`layout`]), so that either program can take over the directory of the
//! other. Only one of them may run on it at a time.
//!
//! Invariants:
//! - Every change of the directory is made under its lock, so several processes (a server and a
//!   person at the command line) can work at once.
//! - A serial number is reserved durably before it is used, so a crash loses one but never issues
//!   one twice.
//! - A certificate is in the inventory before it can be downloaded, so every certificate that was
//!   ever issued can be revoked by name.
//!
//! All methods block on the disk; async callers use `spawn_blocking`.

mod alt_name;
mod crl;
mod error;
mod issuer;
mod layout;
pub(crate) mod leaf;
mod ledger;
mod listing;
mod options;
mod read;
mod renewal;
mod request_source;
mod setup;
mod waiting;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use partial_debug::partial_debug;

pub use alt_name::AltName;
pub use error::{CaError, OpenCaError};
pub use listing::{CertificateDetails, CertificateEntry, CertificateState, DerFingerprints};
pub use options::{CertificateUsage, GenerateOptions, SignOptions};
pub use renewal::RenewedCertificate;
pub use setup::{ImportFiles, InitOptions};
pub use waiting::RequestSource;

use crate::csr::CertificateRequest;
use crate::defaults::MAX_PENDING_PER_SOURCE;
use crate::durable;
use crate::key;
use crate::lock::FileLock;
use crate::privileged::PrivilegedNames;
use issuer::CaIssuer;
use layout::{CaLayout, CertFile, PUBLIC_MODE};
use leaf::UnsignedCertificate;
use waiting::WaitingRequests;

/// A certificate authority on disk. Cloning is cheap; clones share the same state.
#[derive(Debug, Clone)]
pub struct CertificateAuthority {
    layout: CaLayout,
    issuer: Arc<CaIssuer>,
    privileged: Arc<PrivilegedNames>,
    /// Locked while the file lock is held, and never in the opposite order.
    waiting: Arc<Mutex<WaitingRequests>>,
}

/// A certificate and its key, both PEM. The authority keeps no copy of the key.
pub struct GeneratedCertificate {
    /// The key, in PKCS#8.
    pub key_pem: String,
    /// The certificate, without those of the CA.
    pub cert_pem: String,
}

partial_debug!(GeneratedCertificate { cert_pem });

/// The result of submitting a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubmittedRequest {
    /// The request was stored and waits for a signature.
    Stored,
    /// A request with the same key is already waiting; nothing changed.
    AlreadyWaiting,
    /// The same key already has its certificate; nothing changed.
    AlreadySigned,
}

// === impl CertificateAuthority: start ===

impl CertificateAuthority {
    /// Creates a new authority in `dir`, which must not contain one.
    pub fn init(dir: &Path, options: &InitOptions) -> Result<Self, OpenCaError> {
        setup::init(&CaLayout::new(dir), options)?;
        Self::open(dir)
    }

    /// Imports an authority that another tool created. The files are checked first; serial numbers
    /// continue after the highest known one.
    pub fn import(dir: &Path, files: &ImportFiles) -> Result<Self, OpenCaError> {
        setup::import(&CaLayout::new(dir), files)?;
        Self::open(dir)
    }

    /// Opens the authority in `dir`: Tutti's own, or the `ca` directory of puppetserver.
    pub fn open(dir: &Path) -> Result<Self, OpenCaError> {
        let layout = CaLayout::new(dir);
        if !layout.ca_cert().exists() {
            return Err(OpenCaError::NoAuthority {
                dir: dir.to_owned(),
            });
        }
        let issuer = CaIssuer::load(&layout.ca_cert(), &layout.ca_key())?;
        let ca = Self {
            layout,
            issuer: Arc::new(issuer),
            privileged: Arc::default(),
            waiting: Arc::default(),
        };
        ca.check_ledger()?;
        Ok(ca)
    }

    /// Makes the authority refuse to sign names with rights unless the options permit it.
    #[must_use]
    pub fn with_privileged_names(self, privileged: Arc<PrivilegedNames>) -> Self {
        Self { privileged, ..self }
    }

    /// The names that are signed only with explicit consent.
    pub fn privileged_names(&self) -> &PrivilegedNames {
        &self.privileged
    }

    /// Checks at start for faults that would otherwise appear at the first signature.
    fn check_ledger(&self) -> Result<(), OpenCaError> {
        let _lock = self.lock().map_err(OpenCaError::Ledger)?;
        ledger::repair(&self.layout).map_err(OpenCaError::Ledger)?;
        crl::read_own(&self.layout, &self.issuer).map_err(OpenCaError::Ledger)?;
        Ok(())
    }

    /// The directory of the authority.
    pub fn dir(&self) -> &Path {
        self.layout.dir()
    }

    fn lock(&self) -> Result<FileLock, CaError> {
        let path = self.layout.lock();
        FileLock::acquire(&path).map_err(|source| CaError::Lock { path, source })
    }
}

// === impl CertificateAuthority: requests ===

impl CertificateAuthority {
    /// Stores a request (PEM) from an unknown source; see [`Self::submit_from`].
    pub fn submit(&self, certname: &str, request_pem: &[u8]) -> Result<SubmittedRequest, CaError> {
        self.submit_from(certname, request_pem, RequestSource::default())
    }

    /// Stores a request (PEM) until it is signed. Submitting it again with the same key is not an
    /// error; with another key it is refused until the name is cleaned. New names are lower-case
    /// printable ASCII. The number of waiting requests of each source is limited.
    pub fn submit_from(
        &self,
        certname: &str,
        request_pem: &[u8],
        source: RequestSource,
    ) -> Result<SubmittedRequest, CaError> {
        let file = CertFile::parse(certname)?;
        self.refuse_beyond_share(&file, source)?;
        let request = CertificateRequest::from_pem(request_pem)?;
        if request.certname() != certname {
            return Err(CaError::NameMismatch {
                certname: certname.to_owned(),
                subject: request.certname().to_owned(),
            });
        }
        let _lock = self.lock()?;
        if let Some(signed) = listing::read_signed(&self.layout, &file)? {
            return if listing::has_key(&signed, request.public_key()) {
                Ok(SubmittedRequest::AlreadySigned)
            } else {
                Err(CaError::CertificateExists {
                    certname: certname.to_owned(),
                })
            };
        }
        file.check_new()?;
        if let Some(waiting) = listing::read_request(&self.layout, &file)? {
            return if waiting.public_key() == request.public_key() {
                Ok(SubmittedRequest::AlreadyWaiting)
            } else {
                Err(CaError::RequestExists {
                    certname: certname.to_owned(),
                })
            };
        }
        self.make_room(source)?;
        let path = self.layout.request(&file);
        let text = source.to_header() + request.pem();
        durable::write_atomic(&path, text.as_bytes(), PUBLIC_MODE)?;
        self.waiting().add(certname, source);
        Ok(SubmittedRequest::Stored)
    }

    /// Refuses a new name of a source at its limit, before anything is parsed or locked: a flood
    /// must not take CA time from others.
    fn refuse_beyond_share(&self, file: &CertFile, source: RequestSource) -> Result<(), CaError> {
        let is_known = self.layout.signed(file).exists() || self.layout.request(file).exists();
        match !is_known && self.waiting().is_full_for(source, Instant::now()) {
            true => Err(CaError::SourceFull {
                source_network: source,
                limit: MAX_PENDING_PER_SOURCE,
            }),
            false => Ok(()),
        }
    }

    /// Refuses a source at its limit, or removes the request that a new one displaces.
    fn make_room(&self, source: RequestSource) -> Result<(), CaError> {
        let mut waiting = self.waiting();
        waiting.refresh(&self.layout, Instant::now())?;
        if let Some(oldest) = waiting.admit(source)? {
            tracing::warn!(
                certname = oldest,
                "the list of waiting requests is full: the oldest request of the network with the \
                 most is dropped"
            );
            durable::remove(&self.layout.request(&CertFile::parse(&oldest)?))?;
            waiting.remove(&oldest);
        }
        Ok(())
    }

    /// Removes a request that was signed or rejected; returns true if there was one.
    fn remove_request(&self, file: &CertFile) -> Result<bool, CaError> {
        let was_there = durable::remove(&self.layout.request(file))?;
        self.waiting().remove(file.certname());
        Ok(was_there)
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingRequests> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The waiting request for a name; `None` if there is none.
    pub fn request(&self, certname: &str) -> Result<Option<CertificateRequest>, CaError> {
        listing::read_request(&self.layout, &CertFile::parse(certname)?)
    }

    /// Deletes a waiting request; returns true if there was one.
    pub fn delete_request(&self, certname: &str) -> Result<bool, CaError> {
        let file = CertFile::parse(certname)?;
        let _lock = self.lock()?;
        self.remove_request(&file)
    }
}

// === impl CertificateAuthority: certificates ===

impl CertificateAuthority {
    /// True if [`Self::sign`] would sign the waiting request for a name, as far as the request
    /// determines that.
    pub fn may_sign(&self, certname: &str, options: &SignOptions) -> Result<bool, CaError> {
        match self.request(certname)? {
            Some(request) => {
                Ok(UnsignedCertificate::from_request(&request, options, &self.privileged).is_ok())
            }
            None => Ok(false),
        }
    }

    /// Signs the waiting request for a name and returns the certificate (PEM).
    pub fn sign(&self, certname: &str, options: &SignOptions) -> Result<String, CaError> {
        self.sign_if(certname, options, |_| true)
    }

    /// Signs the waiting request for a name if it is this one: another one may replace it while a program decides.
    pub fn sign_approved(
        &self,
        certname: &str,
        approved: &CertificateRequest,
        options: &SignOptions,
    ) -> Result<String, CaError> {
        let is_approved = |waiting: &CertificateRequest| waiting.der() == approved.der();
        self.sign_if(certname, options, is_approved)
    }

    fn sign_if(
        &self,
        certname: &str,
        options: &SignOptions,
        is_approved: impl FnOnce(&CertificateRequest) -> bool,
    ) -> Result<String, CaError> {
        let file = CertFile::parse(certname)?;
        let _lock = self.lock()?;
        self.refuse_second_certificate(&file)?;
        let request =
            listing::read_request(&self.layout, &file)?.ok_or_else(|| CaError::NoRequest {
                certname: certname.to_owned(),
            })?;
        if !is_approved(&request) {
            return Err(CaError::OtherRequest {
                certname: certname.to_owned(),
            });
        }
        let leaf = UnsignedCertificate::from_request(&request, options, &self.privileged)?;
        let pem = self.issue(&file, leaf)?;
        self.remove_request(&file)?;
        Ok(pem)
    }

    /// Generates a key and its certificate, for services of this host.
    pub fn generate(
        &self,
        certname: &str,
        options: &GenerateOptions,
    ) -> Result<GeneratedCertificate, CaError> {
        let file = CertFile::parse(certname)?;
        let key = key::generate(options.key_type)?;
        let _lock = self.lock()?;
        self.refuse_second_certificate(&file)?;
        let cert_pem = self.issue(
            &file,
            UnsignedCertificate::from_key(certname, &key, options)?,
        )?;
        Ok(GeneratedCertificate {
            key_pem: key.serialize_pem(),
            cert_pem,
        })
    }

    /// The certificate of a name (PEM), until the name is cleaned.
    pub fn certificate(&self, certname: &str) -> Result<Option<String>, CaError> {
        let file = CertFile::parse(certname)?;
        read::read_optional(&self.layout.signed(&file))
    }

    /// The CA's own certificate and those above it (PEM), issuing CA first as in the file.
    pub fn ca_bundle(&self) -> Result<String, CaError> {
        read::read_required(&self.layout.ca_cert())
    }

    /// The revocation lists (PEM) and the time at which they were last written.
    pub fn crl(&self) -> Result<(String, SystemTime), CaError> {
        let path = self.layout.ca_crl();
        let modified = std::fs::metadata(&path).and_then(|meta| meta.modified());
        let modified = modified.map_err(|source| CaError::Read {
            path: path.clone(),
            source,
        })?;
        Ok((read::read_required(&path)?, modified))
    }

    fn refuse_second_certificate(&self, file: &CertFile) -> Result<(), CaError> {
        match self.layout.signed(file).exists() {
            true => Err(CaError::CertificateExists {
                certname: file.certname().to_owned(),
            }),
            false => Ok(()),
        }
    }

    /// Writes serial number, inventory and certificate in this order, each durably.
    fn issue(&self, file: &CertFile, leaf: UnsignedCertificate) -> Result<String, CaError> {
        let serial = ledger::take_serial(&self.layout)?;
        let issued = leaf.sign(serial, &self.issuer)?;
        ledger::record(&self.layout, serial, &issued, file.certname())?;
        durable::write_atomic(
            &self.layout.signed(file),
            issued.pem.as_bytes(),
            PUBLIC_MODE,
        )?;
        tracing::info!(certname = file.certname(), serial, "certificate signed");
        Ok(issued.pem)
    }
}

// === impl CertificateAuthority: revocation and lists ===

impl CertificateAuthority {
    /// Revokes every certificate that a name ever had. Returns how many were newly revoked: 0 means
    /// that all were revoked before.
    pub fn revoke(&self, certname: &str) -> Result<usize, CaError> {
        let file = CertFile::parse(certname)?;
        let _lock = self.lock()?;
        self.revoke_locked(&file)
    }

    /// Revokes the certificates of a name and deletes certificate and request, so that the name can
    /// be used again. Returns true if there were any.
    pub fn clean(&self, certname: &str) -> Result<bool, CaError> {
        let file = CertFile::parse(certname)?;
        let _lock = self.lock()?;
        let revoked = match self.revoke_locked(&file) {
            Ok(count) => count > 0,
            Err(CaError::NoCertificate { .. }) => false,
            Err(error) => return Err(error),
        };
        let signed = durable::remove(&self.layout.signed(&file))?;
        let requested = self.remove_request(&file)?;
        Ok(revoked || signed || requested)
    }

    fn revoke_locked(&self, file: &CertFile) -> Result<usize, CaError> {
        let mut serials = ledger::serials_of(&self.layout, file.certname())?;
        if let Some(signed) = listing::read_signed(&self.layout, file)? {
            serials.insert(listing::serial_of(&signed)?);
        }
        if serials.is_empty() {
            return Err(CaError::NoCertificate {
                certname: file.certname().to_owned(),
            });
        }
        let count = crl::revoke(&self.layout, &self.issuer, serials)?;
        tracing::info!(certname = file.certname(), count, "certificate revoked");
        Ok(count)
    }

    /// All requests and certificates, by name.
    pub fn list(&self) -> Result<Vec<CertificateEntry>, CaError> {
        listing::list_entries(&self.layout, &self.issuer)
    }

    /// The entry of one name: its certificate, or else its waiting request.
    pub fn entry(&self, certname: &str) -> Result<Option<CertificateEntry>, CaError> {
        listing::find_entry(&self.layout, &self.issuer, &CertFile::parse(certname)?)
    }
}
