//! Programs that cache the code of environments and must know which version is live: [`CodeCache`].

use std::fmt;

use async_trait::async_trait;
use environments::EnvironmentName;

/// A pause of compiles while another version becomes live; compiles continue when this is dropped.
pub trait CompilePause: fmt::Debug + Send + Sync {}

/// The outcome of a request to pause compiles.
#[derive(Debug, Default)]
pub struct PausedCompiles {
    /// The pause, which lasts until it is dropped; `None` if nothing is paused.
    pub pause: Option<Box<dyn CompilePause>>,
    /// A failure, for the deployment's record.
    pub note: Option<String>,
}

/// A program on this machine that caches code and has to know which version is live: a
/// puppetserver.
#[async_trait]
pub trait CodeCache: fmt::Debug + Send + Sync {
    /// Called before other versions of environments become live, or environments are removed. A
    /// pause lasts until [`flush_after_switch`](Self::flush_after_switch) was called for all
    /// programs, or nothing was switched.
    async fn pause_before_switch(&self) -> PausedCompiles {
        PausedCompiles::default()
    }

    /// Called when another version of an environment is live, or none. An error is noted, and
    /// changes nothing.
    async fn flush_after_switch(&self, environment: &EnvironmentName) -> Result<(), String>;
}
