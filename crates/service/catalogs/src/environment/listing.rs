//! What an environment contains, in the form of puppetserver's answers: [`EnvironmentListing`].

use std::sync::Arc;

use evaluator::CodeReadError;
use resource_types::UnreadTransport;
use sha2::{Digest as _, Sha256};

use crate::defaults::LISTING_BYTES_MAX;

/// The classes or the transports of an environment.
#[derive(Debug)]
pub struct EnvironmentListing {
    /// JSON, whose keys are sorted.
    pub body: Arc<str>,
    /// Hash of the body, in hexadecimal digits.
    pub etag: String,
    /// True if it is the same as long as the files of the environment are.
    pub(crate) is_lasting: bool,
}

/// Reason that the content of an environment cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentListingError {
    #[error("the manifests cannot be found: {0}")]
    Manifests(CodeReadError),
    #[error("{0}")]
    Transport(CodeReadError),
    #[error("{path}, {source}; such a schema is loaded in Ruby, which is not available: {cause}")]
    TransportRuby {
        path: String,
        source: UnreadTransport,
        cause: String,
    },
    #[error("the list takes more than {} MiB", LISTING_BYTES_MAX >> 20)]
    TooLarge,
}

impl EnvironmentListing {
    pub(super) fn new(body: String) -> Self {
        let digest = Sha256::digest(body.as_bytes());
        Self {
            body: body.into(),
            etag: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            is_lasting: true,
        }
    }

    /// The same for content that the next reading may complete.
    pub(super) fn that_may_change(self) -> Self {
        Self {
            is_lasting: false,
            ..self
        }
    }
}
