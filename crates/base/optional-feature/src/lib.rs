//! Parts of a server that may be missing, because a file that they need cannot be used:
//! [`Feature`].
//!
//! Invariant: if a feature cannot start, the server runs without it, every use gets the reason as
//! an error, and the feature starts as soon as it can.

pub mod defaults;

use std::fmt;
use std::future::{Future, ready};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::defaults::START_RETRY;

/// A part of the server that has started, or starts later. Cheap to clone; the attempts end when
/// the last clone is dropped.
pub struct Feature<T> {
    inner: Arc<FeatureInner<T>>,
}

struct FeatureInner<T> {
    attempts: Arc<StartAttempts<T>>,
    stop: CancellationToken,
    retrying: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// Result of the attempts so far.
struct StartAttempts<T> {
    started: OnceLock<T>,
    status: FeatureStatus,
}

/// Name and state of a feature of any type. Cheap to clone.
#[derive(Clone, Debug)]
pub struct FeatureStatus {
    inner: Arc<StatusInner>,
}

#[derive(Debug)]
struct StatusInner {
    service: &'static str,
    inability: String,
    fault: Mutex<Option<FeatureFault>>,
}

/// Reason for which a feature has not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{inability}: {cause}; it tries again every {} s, and everything else works",
    START_RETRY.as_secs()
)]
pub struct FeatureFault {
    inability: String,
    cause: String,
}

// === impl Feature ===

impl<T> Feature<T> {
    /// A feature that needs no file.
    pub fn with_value(value: T) -> Self {
        // It never has a fault, so the empty names are never shown.
        Self::new(StartAttempts {
            started: OnceLock::from(value),
            status: FeatureStatus::new("", String::new()),
        })
    }

    fn new(attempts: StartAttempts<T>) -> Self {
        Self {
            inner: Arc::new(FeatureInner {
                attempts: Arc::new(attempts),
                stop: CancellationToken::new(),
                retrying: Mutex::default(),
            }),
        }
    }

    /// The feature, or the reason for which it has not started.
    pub fn get(&self) -> Result<&T, FeatureFault> {
        let attempts = &self.inner.attempts;
        match attempts.started.get() {
            Some(started) => Ok(started),
            None => Err(attempts.status.fault().unwrap_or_else(|| {
                let stopped = "the server is stopping".to_owned();
                attempts.status.to_fault(stopped)
            })),
        }
    }

    /// Name and state, for status and health reports.
    pub fn status(&self) -> FeatureStatus {
        self.inner.attempts.status.clone()
    }

    /// Stops the attempts to start the feature.
    pub async fn shutdown(&self) {
        self.inner.stop.cancel();
        let retrying = lock(&self.inner.retrying).take();
        if let Some(retrying) = retrying {
            // A panic was logged when it happened.
            drop(retrying.await);
        }
    }
}

impl<T: Send + Sync + 'static> Feature<T> {
    /// Calls `start`; if that fails, again and again until it succeeds or the feature is shut down.
    /// `service` is the feature's name among the services of the server; `inability` is a clause
    /// about the function that is missing without it, and names no path; an error of `start` names
    /// cause, place and next step.
    pub async fn start<S, F>(service: &'static str, inability: &str, start: S) -> Self
    where
        S: Fn() -> F + Send + 'static,
        F: Future<Output = Result<T, String>> + Send + 'static,
    {
        let feature = Self::new(StartAttempts {
            started: OnceLock::new(),
            status: FeatureStatus::new(service, inability.to_owned()),
        });
        let attempts = &feature.inner.attempts;
        if !attempts.record_outcome(start().await) {
            let retrying = retry(Arc::clone(attempts), start, feature.inner.stop.clone());
            let retrying = AbortOnDropHandle::new(tokio::spawn(retrying));
            *lock(&feature.inner.retrying) = Some(retrying);
        }
        feature
    }

    /// Like [`start`](Self::start), for a `start` function that only reads small files.
    pub async fn start_by_reading(
        service: &'static str,
        inability: &str,
        read: impl Fn() -> Result<T, String> + Send + 'static,
    ) -> Self {
        Self::start(service, inability, move || ready(read())).await
    }
}

impl<T> Clone for Feature<T> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

/// Omits the value, which may be a secret.
impl<T> fmt::Debug for Feature<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feature")
            .field("status", &self.inner.attempts.status)
            .finish_non_exhaustive()
    }
}

// === impl StartAttempts ===

impl<T> StartAttempts<T> {
    /// Records the result of an attempt, and logs a failure that differs from the last one. Returns
    /// true if the feature has started.
    fn record_outcome(&self, outcome: Result<T, String>) -> bool {
        let status = &self.status.inner;
        match outcome {
            Ok(started) => {
                // Only one task makes attempts.
                let _ = self.started.set(started);
                *lock(&status.fault) = None;
                true
            }
            Err(cause) => {
                let fault = self.status.to_fault(cause);
                let mut known = lock(&status.fault);
                if known.as_ref() != Some(&fault) {
                    tracing::error!("{fault}");
                    *known = Some(fault);
                }
                false
            }
        }
    }
}

async fn retry<T, S, F>(attempts: Arc<StartAttempts<T>>, start: S, stop: CancellationToken)
where
    S: Fn() -> F,
    F: Future<Output = Result<T, String>>,
{
    loop {
        tokio::select! {
            () = tokio::time::sleep(START_RETRY) => {}
            () = stop.cancelled() => return,
        }
        if attempts.record_outcome(start().await) {
            let service = attempts.status.service();
            tracing::info!(service, "a part of the server that was missing has started");
            return;
        }
    }
}

// === impl FeatureStatus ===

impl FeatureStatus {
    fn new(service: &'static str, inability: String) -> Self {
        Self {
            inner: Arc::new(StatusInner {
                service,
                inability,
                fault: Mutex::default(),
            }),
        }
    }

    fn to_fault(&self, cause: String) -> FeatureFault {
        FeatureFault {
            inability: self.inner.inability.clone(),
            cause,
        }
    }

    /// Name among the services of the server.
    pub fn service(&self) -> &'static str {
        self.inner.service
    }

    /// Reason for which the feature has not started; `None` if it has.
    pub fn fault(&self) -> Option<FeatureFault> {
        lock(&self.inner.fault).clone()
    }
}

// === impl FeatureFault ===

impl FeatureFault {
    /// Message for users who may not see paths: the inability, without the file that causes it.
    pub fn to_public_message(&self) -> String {
        format!("{}; the server's log says why", self.inability)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken_until(file: &Arc<Mutex<Option<u32>>>) -> impl Fn() -> Result<u32, String> + use<> {
        let file = Arc::clone(file);
        move || lock(&file).ok_or_else(|| "cannot read x.pem".to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn a_feature_starts_when_its_file_can_be_read() {
        let file = Arc::default();
        let feature = Feature::start_by_reading("x-service", "no x", broken_until(&file)).await;
        let fault = feature.get().unwrap_err();
        let told = "no x: cannot read x.pem; it tries again every 10 s, and everything else works";
        assert_eq!(fault.to_string(), told);
        assert_eq!(fault.to_public_message(), "no x; the server's log says why");
        assert_eq!(feature.status().fault(), Some(fault));
        *lock(&file) = Some(7);
        tokio::time::sleep(2 * START_RETRY).await;
        assert_eq!(feature.get(), Ok(&7));
        assert_eq!(feature.status().fault(), None);
        assert_eq!(feature.status().service(), "x-service");
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_end_with_the_last_clone_and_with_a_shutdown() {
        let file = Arc::default();
        let feature = Feature::start_by_reading("x-service", "no x", broken_until(&file)).await;
        let other = feature.clone();
        feature.shutdown().await;
        *lock(&file) = Some(7);
        tokio::time::sleep(2 * START_RETRY).await;
        assert!(other.get().is_err());
        assert_eq!(Arc::strong_count(&file), 1, "the task has ended");

        let dropped =
            Feature::start_by_reading("y-service", "no y", broken_until(&Arc::default())).await;
        let status = dropped.status();
        drop(dropped);
        assert!(status.fault().is_some());
        assert_eq!(Feature::with_value(1).get(), Ok(&1));
    }
}
