//! The deployments of code as a part of the server that may be missing: [`CodeService`].
//!
//! The invariant: whatever keeps deployments from starting, the server runs without them, says why, and starts
//! them as soon as it can.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use api_types::{ApiError, kinds};
use async_trait::async_trait;
use code_manager::CodeManager;
use code_manager::push::{Deliveries, Secret};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::defaults::CODE_START_RETRY;
use crate::failure::Failure;

/// The server's own deployments of code. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CodeService {
    shared: Arc<Shared>,
    pub(super) deliveries: Arc<Mutex<Deliveries>>,
}

#[derive(Debug)]
struct Shared {
    started: OnceLock<StartedCode>,
    /// Reason for which deployments have not started; meaningless once they have.
    fault: Mutex<String>,
    stop: CancellationToken,
    retrying: Mutex<Option<JoinHandle<()>>>,
}

/// Deployments that have started.
#[derive(Debug)]
pub struct StartedCode {
    /// Queue and worker of deployments.
    pub manager: CodeManager,
    /// Webhooks that show this secret need no token.
    pub webhook_secret: Option<Secret>,
}

/// Starts the deployments of code.
#[async_trait]
pub trait StartCode: Send + Sync + 'static {
    /// Opens the directories and takes up the deployments of before. The error names the cause, the place and
    /// the remedy.
    async fn start(&self) -> Result<StartedCode, String>;
}

// === impl CodeService ===

impl CodeService {
    /// Deployments that have started. Webhooks that show this secret need no token.
    pub fn new(manager: CodeManager, webhook_secret: Option<Secret>) -> Self {
        let service = Self::idle();
        // A new cell is empty.
        let _ = service.shared.started.set(StartedCode {
            manager,
            webhook_secret,
        });
        service
    }

    fn idle() -> Self {
        Self {
            shared: Arc::new(Shared {
                started: OnceLock::new(),
                fault: Mutex::default(),
                stop: CancellationToken::new(),
                retrying: Mutex::default(),
            }),
            deliveries: Arc::default(),
        }
    }

    /// Starts deployments; if that fails, it is tried again until it succeeds or the server stops.
    pub async fn start(starter: impl StartCode) -> Self {
        let service = Self::idle();
        let shared = &service.shared;
        if !shared.try_start(&starter).await {
            let retrying = tokio::spawn(retry(Arc::clone(shared), starter));
            *lock(&shared.retrying) = Some(retrying);
        }
        service
    }

    /// Ends; what is not over then goes on after the next start.
    pub async fn shutdown(&self) {
        self.shared.stop.cancel();
        let retrying = lock(&self.shared.retrying).take();
        if let Some(retrying) = retrying {
            // A panic was told when it happened.
            drop(retrying.await);
        }
        if let Some(started) = self.shared.started.get() {
            started.manager.shutdown().await;
        }
    }

    /// Reason for which code cannot be deployed; `None` if it can.
    pub(crate) fn fault(&self) -> Option<String> {
        match self.shared.started.get() {
            Some(_) => None,
            None => Some(lock(&self.shared.fault).clone()),
        }
    }

    /// Carries deployments out; an error while they have not started.
    pub(super) fn manager(&self) -> Result<&CodeManager, Failure> {
        Ok(&self.started()?.manager)
    }

    pub(super) fn webhook_secret(&self) -> Result<Option<&Secret>, Failure> {
        Ok(self.started()?.webhook_secret.as_ref())
    }

    fn started(&self) -> Result<&StartedCode, Failure> {
        self.shared.started.get().ok_or_else(|| {
            let fault = lock(&self.shared.fault).clone();
            ApiError::new(kinds::CODE_UNAVAILABLE, fault).into()
        })
    }
}

impl Shared {
    /// `false`: it failed, which is logged if it is news.
    async fn try_start(&self, starter: &impl StartCode) -> bool {
        let error = match starter.start().await {
            Ok(started) => return self.started.set(started).is_ok(),
            Err(error) => error,
        };
        let retry_s = CODE_START_RETRY.as_secs();
        let fault = format!(
            "this server cannot deploy code: {error}; it tries again every {retry_s} s, and everything else works"
        );
        let mut known = lock(&self.fault);
        if *known != fault {
            tracing::error!("{fault}");
            *known = fault;
        }
        false
    }
}

async fn retry(shared: Arc<Shared>, starter: impl StartCode) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(CODE_START_RETRY) => {}
            () = shared.stop.cancelled() => return,
        }
        if shared.try_start(&starter).await {
            tracing::info!("code can be deployed now");
            return;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
