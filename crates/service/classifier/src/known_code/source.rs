//! Sources of classes: [`ClassSource`].

use std::fmt::Debug;

use async_trait::async_trait;
use serde_json::{Map, Value};

/// A class that groups can name.
#[derive(Clone, Debug, PartialEq)]
pub struct PuppetClass {
    /// Full name of the class.
    pub name: String,
    /// Parameters with their defaults: the value if it is plain data, otherwise the text of its
    /// code; null if there is no default.
    pub parameters: Map<String, Value>,
}

/// A reader of Puppet code that lists environments and their classes.
#[async_trait]
pub trait ClassSource: Debug + Send + Sync {
    /// The names of all environments.
    async fn environments(&self) -> Result<Vec<String>, ClassSourceError>;

    /// The classes of one environment.
    async fn classes(&self, environment: &str) -> Result<Vec<PuppetClass>, ClassSourceError>;
}

/// The classes could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClassSourceError {
    /// The source has no such environment.
    #[error("the puppetserver has no environment {0:?}")]
    UnknownEnvironment(String),
    /// No response, because of the network, the certificates or a timeout.
    #[error("the puppetserver cannot be asked for classes at {url}: {cause}")]
    Unreachable {
        /// URL of the request.
        url: String,
        /// Description of the underlying error.
        cause: String,
    },
    /// A response that is not a list of classes.
    #[error("the puppetserver gave no classes at {url}: HTTP {status}: {body}")]
    Unexpected {
        /// URL of the request.
        url: String,
        /// HTTP status code of the response.
        status: u16,
        /// The beginning of the response's body, or the reason why it is invalid.
        body: String,
    },
}
