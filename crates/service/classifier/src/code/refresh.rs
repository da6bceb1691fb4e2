//! Reads the classes at the start and every now and then: [`ClassRefresh`].

use std::fmt;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::Classifier;

/// The running task.
pub struct ClassRefresh {
    task: JoinHandle<()>,
    stop: DropGuard,
}

impl ClassRefresh {
    /// Starts to read the classes of `classifier`, now and after each `interval`.
    pub fn start(classifier: Classifier, interval: Duration) -> Self {
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            stopped
                .run_until_cancelled_owned(run(classifier, interval))
                .await;
        });
        Self {
            task,
            stop: stop.drop_guard(),
        }
    }

    /// Ends it, in the middle of a reading too: what was known stays known.
    pub async fn shutdown(self) {
        let Self { task, stop } = self;
        drop(stop);
        // A panic was told where it happened.
        let _ = task.await;
    }
}

async fn run(classifier: Classifier, interval: Duration) {
    loop {
        match classifier.update_classes(None).await {
            Ok(()) => {
                let environments = classifier.known_code().environments.len();
                tracing::debug!(environments, "read the classes");
            }
            Err(error) => tracing::warn!(%error, "not all classes could be read"),
        }
        tokio::time::sleep(interval).await;
    }
}

impl fmt::Debug for ClassRefresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClassRefresh").finish_non_exhaustive()
    }
}
