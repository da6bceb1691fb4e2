//! The key of an entry: [`BucketKey`].
//!
//! Invariant: a hash has the digits of its algorithm and no others, so it is the name of a file.

use std::fmt;
use std::str::FromStr;

use crate::defaults::PATH_BYTES;

/// A digest algorithm of Puppet's setting `digest_algorithm` that this bucket computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DigestAlgorithm {
    Md5,
    Sha256,
}

/// Algorithm, hash, and path of the file on the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketKey {
    pub(crate) algorithm: DigestAlgorithm,
    /// Hash in lower-case hexadecimal digits.
    pub(crate) hash: String,
    /// Path of the file on the node; `None` stands for any.
    pub(crate) path: Option<String>,
}

/// Reason that a text is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BucketKeyError {
    #[error("unsupported checksum type {0:?}; this bucket knows md5 and sha256")]
    Algorithm(String),
    #[error("the checksum is not {digits} lower-case hexadecimal digits")]
    Hash {
        /// Number of digits of the algorithm.
        digits: usize,
    },
    #[error("the path is longer than {PATH_BYTES} bytes, or has control characters")]
    Path,
}

impl DigestAlgorithm {
    /// Name in Puppet's settings and requests.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Sha256 => "sha256",
        }
    }

    fn digits(self) -> usize {
        match self {
            Self::Md5 => 32,
            Self::Sha256 => 64,
        }
    }
}

impl BucketKey {
    /// Name of the entry's file.
    pub(crate) fn file_name(&self) -> String {
        format!("{}-{}", self.algorithm.as_str(), self.hash)
    }
}

/// Parses `<algorithm>/<hash>[/<path>]`, as requests have it.
impl FromStr for BucketKey {
    type Err = BucketKeyError;

    fn from_str(text: &str) -> Result<Self, BucketKeyError> {
        let mut parts = text.splitn(3, '/');
        let algorithm = match parts.next().unwrap_or_default() {
            "md5" => DigestAlgorithm::Md5,
            "sha256" => DigestAlgorithm::Sha256,
            other => {
                let other = other.chars().take(20).collect();
                return Err(BucketKeyError::Algorithm(other));
            }
        };
        let hash = parts.next().unwrap_or_default();
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if hash.len() != algorithm.digits() || !hash.bytes().all(is_digit) {
            let digits = algorithm.digits();
            return Err(BucketKeyError::Hash { digits });
        }
        let path = parts.next().filter(|path| !path.is_empty());
        let is_bad = |path: &str| path.len() > PATH_BYTES || path.chars().any(char::is_control);
        if path.is_some_and(is_bad) {
            return Err(BucketKeyError::Path);
        }
        Ok(Self {
            algorithm,
            hash: hash.to_owned(),
            path: path.map(str::to_owned),
        })
    }
}

impl fmt::Display for BucketKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}{}", self.algorithm.as_str(), self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_agents() {
        let md5 = "d41d8cd98f00b204e9800998ecf8427e";
        let key: BucketKey = format!("md5/{md5}//etc/motd").parse().unwrap();
        assert_eq!(key.path.as_deref(), Some("/etc/motd"));
        assert_eq!(key.file_name(), format!("md5-{md5}"));
        assert_eq!(key.to_string(), format!("{{md5}}{md5}"));
        for text in [format!("md5/{md5}"), format!("md5/{md5}/")] {
            assert_eq!(text.parse::<BucketKey>().unwrap().path, None, "{text}");
        }
        for bad in [
            String::new(),
            "md5".to_owned(),
            format!("sha1/{md5}"),
            format!("md5/{}", md5.to_uppercase()),
            format!("md5/{md5}0"),
            format!("sha256/{md5}"),
            "md5/../../../etc/passwd".to_owned(),
            format!("md5/{md5}/a\nb"),
            format!("md5/{md5}/a\0b"),
            format!("md5/{md5}/{}", "x".repeat(5_000)),
        ] {
            assert!(bad.parse::<BucketKey>().is_err(), "{bad}");
        }
    }
}
