//! The certificate authority: [`CertificateAuthority`], a directory laid out as
//! puppetserver keeps its own (see [`layout`]), so that either can take over
//! from the other. Only one of them may run on it at a time.
//!
//! Rules that hold here:
//! - Everything that changes the directory holds its lock, so several processes
//!   (a server and a person at the command line) can work at once.
//! - A serial number is durably taken before it is used, so a crash loses one
//!   but never gives one twice.
//! - A certificate is in the inventory before it can be fetched, so everything
//!   that was ever handed out can be revoked by name.
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
mod setup;
mod waiting;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

pub use alt_name::AltName;
pub use error::{CaError, OpenCaError};
pub use listing::{CertificateFacts, Entry, Fingerprints, State};
pub use options::{CertificateUsage, GenerateOptions, SignOptions};
pub use setup::{ImportFiles, InitOptions};
pub use waiting::RequestSource;

use crate::csr::Request;
use crate::defaults::MAX_PENDING_PER_SOURCE;
use crate::durable;
use crate::key;
use crate::lock::FileLock;
use crate::privileged::PrivilegedNames;
use issuer::Issuer;
use layout::{CertFile, Layout, PUBLIC_MODE};
use leaf::Leaf;
use waiting::WaitingRequests;

/// A certificate authority on disk. Cloning is cheap; clones are the same one.
#[derive(Debug, Clone)]
pub struct CertificateAuthority {
    layout: Layout,
    issuer: Arc<Issuer>,
    privileged: Arc<PrivilegedNames>,
    /// Taken while the file lock is held, and never the other way round.
    waiting: Arc<Mutex<WaitingRequests>>,
}

/// A certificate and its key, both PEM. The authority keeps no copy of the key.
pub struct Generated {
    pub key_pem: String,
    pub cert_pem: String,
}

impl std::fmt::Debug for Generated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generated")
            .field("cert_pem", &self.cert_pem)
            .finish_non_exhaustive()
    }
}

/// What became of a submitted request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submitted {
    /// It now waits for a signature.
    Stored,
    /// The same key already waits; nothing changed.
    AlreadyWaiting,
    /// The same key already has its certificate; nothing changed.
    AlreadySigned,
}

// === impl CertificateAuthority: start ===

impl CertificateAuthority {
    /// Makes a new authority in `dir`, which must not hold one.
    pub fn init(dir: &Path, options: &InitOptions) -> Result<Self, OpenCaError> {
        setup::init(&Layout::new(dir), options)?;
        Self::open(dir)
    }

    /// Takes over an authority that another tool made. The files are checked
    /// first; serial numbers go on after the highest that is known.
    pub fn import(dir: &Path, files: &ImportFiles) -> Result<Self, OpenCaError> {
        setup::import(&Layout::new(dir), files)?;
        Self::open(dir)
    }

    /// Opens the authority in `dir`: ours, or the `ca` directory of puppetserver.
    pub fn open(dir: &Path) -> Result<Self, OpenCaError> {
        let layout = Layout::new(dir);
        if !layout.ca_cert().exists() {
            return Err(OpenCaError::NoAuthority {
                dir: dir.to_owned(),
            });
        }
        let issuer = Issuer::load(&layout.ca_cert(), &layout.ca_key())?;
        let ca = Self {
            layout,
            issuer: Arc::new(issuer),
            privileged: Arc::default(),
            waiting: Arc::default(),
        };
        ca.check_ledger()?;
        Ok(ca)
    }

    /// Makes the authority refuse to sign names with rights unless that is asked for.
    #[must_use]
    pub fn with_privileged_names(self, privileged: Arc<PrivilegedNames>) -> Self {
        Self { privileged, ..self }
    }

    /// The names that are not signed without being asked for.
    pub fn privileged_names(&self) -> &PrivilegedNames {
        &self.privileged
    }

    /// Proves at start what would otherwise fail at the first signature.
    fn check_ledger(&self) -> Result<(), OpenCaError> {
        let _lock = self.lock().map_err(OpenCaError::Ledger)?;
        ledger::repair(&self.layout).map_err(OpenCaError::Ledger)?;
        crl::read_own(&self.layout, &self.issuer).map_err(OpenCaError::Ledger)?;
        Ok(())
    }

    /// The directory.
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
    /// Stores a request (PEM) that came from an unknown source; see [`Self::submit_from`].
    pub fn submit(&self, certname: &str, request_pem: &[u8]) -> Result<Submitted, CaError> {
        self.submit_from(certname, request_pem, RequestSource::default())
    }

    /// Stores a request (PEM) until it is signed. Sent again with the same key
    /// it is no error; with another key it is refused until the name is cleaned. New names are
    /// lower-case printable ASCII. A source has its share of the list and no more.
    pub fn submit_from(
        &self,
        certname: &str,
        request_pem: &[u8],
        source: RequestSource,
    ) -> Result<Submitted, CaError> {
        let file = CertFile::parse(certname)?;
        self.refuse_beyond_share(&file, source)?;
        let request = Request::from_pem(request_pem)?;
        if request.certname() != certname {
            return Err(CaError::NameMismatch {
                certname: certname.to_owned(),
                subject: request.certname().to_owned(),
            });
        }
        let _lock = self.lock()?;
        if let Some(signed) = listing::read_signed(&self.layout, &file)? {
            return if listing::has_key(&signed, request.public_key()) {
                Ok(Submitted::AlreadySigned)
            } else {
                Err(CaError::CertificateExists {
                    certname: certname.to_owned(),
                })
            };
        }
        file.check_new()?;
        if let Some(waiting) = listing::read_request(&self.layout, &file)? {
            return if waiting.public_key() == request.public_key() {
                Ok(Submitted::AlreadyWaiting)
            } else {
                Err(CaError::RequestExists {
                    certname: certname.to_owned(),
                })
            };
        }
        self.make_room(source)?;
        let path = self.layout.request(&file);
        let text = source.header() + request.pem();
        durable::write_atomic(&path, text.as_bytes(), PUBLIC_MODE)?;
        self.waiting().add(certname, source);
        Ok(Submitted::Stored)
    }

    /// Refuses a new name of a source that has its share, before anything is parsed or locked: a flood
    /// must not cost others the time of the CA.
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

    /// Refuses a source that has its share, or drops the request that has to go for a new one.
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

    /// Removes a request that was signed or is not wanted; tells whether there was one.
    fn remove_request(&self, file: &CertFile) -> Result<bool, CaError> {
        let was_there = durable::remove(&self.layout.request(file))?;
        self.waiting().remove(file.certname());
        Ok(was_there)
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingRequests> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The waiting request for a name.
    pub fn request(&self, certname: &str) -> Result<Option<Request>, CaError> {
        listing::read_request(&self.layout, &CertFile::parse(certname)?)
    }

    /// Drops a waiting request; tells whether there was one.
    pub fn delete_request(&self, certname: &str) -> Result<bool, CaError> {
        let file = CertFile::parse(certname)?;
        let _lock = self.lock()?;
        self.remove_request(&file)
    }
}

// === impl CertificateAuthority: certificates ===

impl CertificateAuthority {
    /// True if [`Self::sign`] would sign the waiting request for a name, as far as the request
    /// decides that.
    pub fn may_sign(&self, certname: &str, options: &SignOptions) -> Result<bool, CaError> {
        match self.request(certname)? {
            Some(request) => Ok(Leaf::from_request(&request, options, &self.privileged).is_ok()),
            None => Ok(false),
        }
    }

    /// Signs the waiting request for a name and returns the certificate (PEM).
    pub fn sign(&self, certname: &str, options: &SignOptions) -> Result<String, CaError> {
        let file = CertFile::parse(certname)?;
        let _lock = self.lock()?;
        self.refuse_second_certificate(&file)?;
        let request =
            listing::read_request(&self.layout, &file)?.ok_or_else(|| CaError::NoRequest {
                certname: certname.to_owned(),
            })?;
        let leaf = Leaf::from_request(&request, options, &self.privileged)?;
        let pem = self.issue(&file, leaf)?;
        self.remove_request(&file)?;
        Ok(pem)
    }

    /// Makes a key and its certificate, for this host's own services.
    pub fn generate(
        &self,
        certname: &str,
        options: &GenerateOptions,
    ) -> Result<Generated, CaError> {
        let file = CertFile::parse(certname)?;
        let key = key::generate(options.key_type)?;
        let _lock = self.lock()?;
        self.refuse_second_certificate(&file)?;
        let cert_pem = self.issue(&file, Leaf::from_key(certname, &key, options)?)?;
        Ok(Generated {
            key_pem: key.serialize_pem(),
            cert_pem,
        })
    }

    /// The certificate of a name (PEM), as long as it was not cleaned.
    pub fn certificate(&self, certname: &str) -> Result<Option<String>, CaError> {
        let file = CertFile::parse(certname)?;
        read::read_optional(&self.layout.signed(&file))
    }

    /// The CA's own certificate and those above it (PEM), issuing CA first as
    /// the file has it.
    pub fn ca_bundle(&self) -> Result<String, CaError> {
        read::read_required(&self.layout.ca_cert())
    }

    /// The revocation lists (PEM) and when they were last written.
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

    /// Serial number, inventory, certificate: in this order, each durable.
    fn issue(&self, file: &CertFile, leaf: Leaf) -> Result<String, CaError> {
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
    /// Revokes every certificate that a name ever got. Returns how many were
    /// newly revoked: 0 means that all were revoked before.
    pub fn revoke(&self, certname: &str) -> Result<usize, CaError> {
        let file = CertFile::parse(certname)?;
        let _lock = self.lock()?;
        self.revoke_locked(&file)
    }

    /// Revokes, and forgets certificate and request, so that the name can be
    /// used again. Tells whether there was anything.
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
    pub fn list(&self) -> Result<Vec<Entry>, CaError> {
        listing::all(&self.layout, &self.issuer)
    }

    /// One name: its certificate, or else its waiting request.
    pub fn entry(&self, certname: &str) -> Result<Option<Entry>, CaError> {
        listing::one(&self.layout, &self.issuer, &CertFile::parse(certname)?)
    }
}
