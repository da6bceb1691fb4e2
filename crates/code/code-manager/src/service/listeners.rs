//! Programs that take part in deployments: those that must know of a switch, and those that use versions. Main
//! types: [`After`], [`InUse`] and [`Others`].

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use environments::EnvironmentName;

use super::holds::Worker;
use super::observer::Observer;
use crate::file_sync::FileSync;
use crate::version::Signature;

/// Something that is held back while another version becomes live, and goes on when this is dropped.
pub trait Pause: fmt::Debug + Send + Sync {}

/// The outcome of a request to hold back compiles.
#[derive(Debug, Default)]
pub struct Paused {
    /// Held until it is dropped; `None`: nothing is held back.
    pub pause: Option<Box<dyn Pause>>,
    /// A failure, for the deployment's record.
    pub note: Option<String>,
}

/// A program on this machine that caches code and has to know which version is live: a puppetserver.
#[async_trait]
pub trait After: fmt::Debug + Send + Sync {
    /// Other versions of environments are about to be live, or none. A pause lasts until all are told
    /// [`switched`](Self::switched), or nothing was switched.
    async fn switching(&self) -> Paused {
        Paused::default()
    }

    /// Another version of an environment is live, or none. An error is noted, and changes nothing.
    async fn switched(&self, environment: &EnvironmentName) -> Result<(), String>;
}

/// Receivers of news about deployments.
#[derive(Clone, Debug, Default)]
pub struct Others {
    /// Programs on this machine that compile with the code.
    pub after: Vec<Arc<dyn After>>,
    /// Programs elsewhere.
    pub observers: Vec<Arc<dyn Observer>>,
    /// The servers that follow this one; `None`: none may.
    pub file_sync: Option<FileSync>,
}

/// Source of the versions that are in use, so that they are not removed.
#[async_trait]
pub trait InUse: fmt::Debug + Send + Sync {
    /// All versions in use. On an error no version is removed.
    async fn versions(&self) -> Result<HashSet<(EnvironmentName, Signature)>, String>;

    /// The plans and jobs that run and want their environment to stay.
    async fn holding(&self) -> Result<Vec<(Worker, EnvironmentName)>, String>;

    /// Returns when a plan, or a job that may hold an environment, is over.
    async fn worker_over(&self);
}
