//! Where classes come from: [`ClassSource`].

use std::fmt::Debug;

use async_trait::async_trait;
use serde_json::{Map, Value};

/// A class that groups can name.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Parameters with their defaults: the value where it is plain data, else the text of its
    /// code; null where there is none.
    pub parameters: Map<String, Value>,
}

/// Whoever can read Puppet code.
#[async_trait]
pub trait ClassSource: Debug + Send + Sync {
    /// The names of all environments.
    async fn environments(&self) -> Result<Vec<String>, ClassSourceError>;

    /// The classes of one environment.
    async fn classes(&self, environment: &str) -> Result<Vec<Class>, ClassSourceError>;
}

/// Why classes cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClassSourceError {
    /// The source has no such environment.
    #[error("the puppetserver has no environment {0:?}")]
    UnknownEnvironment(String),
    /// No answer: network, certificates, time.
    #[error("the puppetserver cannot be asked for classes at {url}: {cause}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// Why.
        cause: String,
    },
    /// An answer that is no list of classes.
    #[error("the puppetserver gave no classes at {url}: HTTP {status}: {body}")]
    Unexpected {
        /// What was asked.
        url: String,
        /// Of HTTP.
        status: u16,
        /// Its begin, or what is wrong with it.
        body: String,
    },
}
