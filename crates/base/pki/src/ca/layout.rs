//! The directory layout of a CA in puppetserver 7, and the names that may become file names:
//! [`CaLayout`], [`CertFile`].
//!
//! ```text
//! ca_crt.pem     certificates, the issuing CA's first       0640
//! ca_key.pem     its key                                    0600
//! ca_pub.pem     its public key                             0640
//! ca_crl.pem     revocation lists, one per CA               0640
//! serial         next serial number, hexadecimal            0640
//! inventory.txt  one line for each certificate ever issued  0640
//! signed/NAME.pem, requests/NAME.pem                        0640
//! tutti.lock     held during changes (Tutti's own)          0600
//! ```

use std::path::{Path, PathBuf};

use super::error::CaError;
use crate::defaults::MAX_CERTNAME_BYTES;

pub(super) const PUBLIC_MODE: u32 = 0o640;
pub(super) const KEY_MODE: u32 = 0o600;
pub(super) const DIRECTORY_MODE: u32 = 0o750;

#[derive(Debug, Clone)]
pub(super) struct CaLayout {
    dir: PathBuf,
}

impl CaLayout {
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
        }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn ca_cert(&self) -> PathBuf {
        self.dir.join("ca_crt.pem")
    }

    pub(super) fn ca_key(&self) -> PathBuf {
        self.dir.join("ca_key.pem")
    }

    pub(super) fn ca_public_key(&self) -> PathBuf {
        self.dir.join("ca_pub.pem")
    }

    pub(super) fn ca_crl(&self) -> PathBuf {
        self.dir.join("ca_crl.pem")
    }

    pub(super) fn serial(&self) -> PathBuf {
        self.dir.join("serial")
    }

    pub(super) fn inventory(&self) -> PathBuf {
        self.dir.join("inventory.txt")
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.dir.join("tutti.lock")
    }

    pub(super) fn signed_dir(&self) -> PathBuf {
        self.dir.join("signed")
    }

    pub(super) fn requests_dir(&self) -> PathBuf {
        self.dir.join("requests")
    }

    pub(super) fn signed(&self, file: &CertFile) -> PathBuf {
        self.signed_dir().join(file.file_name())
    }

    pub(super) fn request(&self, file: &CertFile) -> PathBuf {
        self.requests_dir().join(file.file_name())
    }
}

/// A certname that may become a file name. Only names of this type reach the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CertFile(String);

impl CertFile {
    pub(super) fn parse(certname: &str) -> Result<Self, CaError> {
        let refused = |why| {
            Err(CaError::Certname {
                certname: certname.to_owned(),
                why,
            })
        };
        if certname.is_empty() {
            return refused("it is empty");
        }
        if certname.len() > MAX_CERTNAME_BYTES {
            return refused("it is longer than 251 bytes");
        }
        if certname.starts_with('.') {
            return refused("it starts with a dot");
        }
        if certname == "ca" {
            return refused("`ca` means the authority itself");
        }
        if certname.contains(|c: char| matches!(c, '/' | '\\' | '*') || c.is_control()) {
            return refused("it has a slash, backslash, asterisk or control character");
        }
        if certname.trim() != certname {
            return refused("it starts or ends with a space");
        }
        Ok(Self(certname.to_owned()))
    }

    /// Parses the name of a file in `signed/` or `requests/`; `None` for other files.
    pub(super) fn from_file_name(name: &std::ffi::OsStr) -> Option<Self> {
        Self::parse(name.to_str()?.strip_suffix(".pem")?).ok()
    }

    /// Checks that a name chosen by another party may be used for a new certificate. puppetserver
    /// has the same limits: names that differ only in case, or only look alike, must not be two
    /// identities. Existing certificates with such names remain usable.
    pub(super) fn check_new(&self) -> Result<(), CaError> {
        let fits = |c: char| matches!(c, ' '..='~') && !c.is_ascii_uppercase();
        if self.0.chars().all(fits) {
            return Ok(());
        }
        Err(CaError::Certname {
            certname: self.0.clone(),
            why: "certificates are requested for lower-case, printable ASCII names only",
        })
    }

    pub(super) fn certname(&self) -> &str {
        &self.0
    }

    fn file_name(&self) -> String {
        format!("{}.pem", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_directory_are_refused() {
        let long = "a".repeat(MAX_CERTNAME_BYTES + 1);
        for bad in [
            "", ".", "..", "../x", "a/b", "a\\b", "a\0b", "a\nb", ".hidden", "*", "ca", " a", &long,
        ] {
            assert!(CertFile::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn usual_and_unusual_names_are_accepted() {
        let longest = "a".repeat(MAX_CERTNAME_BYTES);
        for good in [
            "web1.example.com",
            "wéb",
            "node_1",
            "a@b",
            "UPPER",
            "ca.example",
            &longest,
        ] {
            assert_eq!(CertFile::parse(good).unwrap().certname(), good);
        }
    }

    #[test]
    fn new_names_are_lower_case_ascii() {
        for (name, may) in [
            ("web-1_a.example", true),
            ("a@b", true),
            ("Web1", false),
            ("w\u{e9}b", false),
            ("web\u{202e}1", false),
        ] {
            assert_eq!(
                CertFile::parse(name).unwrap().check_new().is_ok(),
                may,
                "{name:?}"
            );
        }
    }
}
