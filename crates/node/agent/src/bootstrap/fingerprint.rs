//! SHA-256 fingerprints as users copy them.
//!
//! Invariant: two fingerprints are equal if their bytes are, regardless of colons, case or a
//! `sha256:` prefix.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// A SHA-256 digest of a certificate or bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sha256Fingerprint([u8; 32]);

// === impl Sha256Fingerprint ===

impl Sha256Fingerprint {
    /// Computes the fingerprint of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

/// Formats as `AB:CD:…`, as `openssl x509 -fingerprint -sha256` prints it.
impl fmt::Display for Sha256Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(":")?;
            }
            write!(f, "{byte:02X}")?;
        }
        Ok(())
    }
}

impl FromStr for Sha256Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a SHA-256 fingerprint (64 hexadecimal digits)");
        let lower = text.trim().to_ascii_lowercase();
        let bare = ["sha256:", "(sha256)"]
            .iter()
            .find_map(|prefix| lower.strip_prefix(prefix))
            .unwrap_or(&lower);
        let digits: Vec<u8> = bare
            .chars()
            .filter(|c| *c != ':' && *c != ' ')
            .map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok()))
            .collect::<Option<_>>()
            .ok_or_else(wrong)?;
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(wrong());
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_one_fingerprint_are_equal() {
        let of = Sha256Fingerprint::of(b"");
        let plain = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        for text in [
            plain.to_owned(),
            plain.to_uppercase(),
            of.to_string(),
            format!("SHA256:{plain}"),
            format!("(SHA256) {of}"),
        ] {
            assert_eq!(text.parse(), Ok(of), "{text}");
        }
    }

    #[test]
    fn what_is_no_fingerprint_is_refused() {
        for text in ["", "e3b0", "zz", &"0".repeat(63), &"0".repeat(66), "é"] {
            assert!(text.parse::<Sha256Fingerprint>().is_err(), "{text}");
        }
    }
}
