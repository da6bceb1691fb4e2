//! Programs that cache the code of environments and must know which version is live: [`CodeCache`].

use std::fmt;

use async_trait::async_trait;
use environments::EnvironmentName;

/// Something that is held back while another version becomes live, and goes on when this is dropped.
pub trait CompilePause: fmt::Debug + Send + Sync {}

/// The outcome of a request to hold back compiles.
#[derive(Debug, Default)]
pub struct PausedCompiles {
    /// Held until it is dropped; `None`: nothing is held back.
    pub pause: Option<Box<dyn CompilePause>>,
    /// A failure, for the deployment's record.
    pub note: Option<String>,
}

/// A program on this machine that caches code and has to know which version is live: a puppetserver.
#[async_trait]
pub trait CodeCache: fmt::Debug + Send + Sync {
    /// Other versions of environments are about to be live, or none. A pause lasts until all are told
    /// [`switched`](Self::switched), or nothing was switched.
    async fn switching(&self) -> PausedCompiles {
        PausedCompiles::default()
    }

    /// Another version of an environment is live, or none. An error is noted, and changes nothing.
    async fn switched(&self, environment: &EnvironmentName) -> Result<(), String>;
}
