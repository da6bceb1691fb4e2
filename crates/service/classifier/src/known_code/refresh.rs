//! Reads the classes at the start and at a fixed interval: [`ClassRefresh`].

use std::time::Duration;

use partial_debug::partial_debug;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::Classifier;

/// Handle of the background task that reads classes.
pub struct ClassRefresh {
    task: JoinHandle<()>,
    stop: DropGuard,
}

impl ClassRefresh {
    /// Starts a task that reads the classes of `classifier` now and after each `interval`.
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

    /// Stops the task, also during a reading: the known classes stay.
    pub async fn shutdown(self) {
        let Self { task, stop } = self;
        drop(stop);
        // A panic of the task has already been logged.
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

partial_debug!(ClassRefresh {});
