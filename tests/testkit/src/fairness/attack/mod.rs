//! Attacks of clients without rights, each from one address: [`Attack`] and [`RunningAttack`].
//!
//! Invariant: an attack runs on a thread of its own with a low priority and a bounded rate, so its
//! cost is known and its effect on other clients is caused by the server. On two cores an attacker
//! at full speed would only measure the scheduler.

mod certificate_requests;
mod full_handshakes;
mod half_open;
mod invented_logins;
mod large_frames;
mod progress;
mod request_flood;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::gettid;
use rustix::time::{ClockId, clock_gettime};
use rustls::ClientConfig;
use tokio_util::sync::CancellationToken;

use progress::AttackProgress;

pub use half_open::FirstBytes;

/// Difference of the nice values of attacker and honest clients: the attacker gets a tenth of a
/// busy core.
const NICER_BY: i32 = 10;

/// Maximum time until an attack has its full strength, on a machine that compiles at the same time.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(60);

/// One kind of attack and its target.
#[derive(Clone, Debug)]
pub enum Attack {
    /// Half-open connections, renewed when the server has dropped them.
    HalfOpen {
        target: SocketAddr,
        connections: usize,
        first_bytes: FirstBytes,
    },
    /// TLS handshakes without a request.
    FullHandshakes {
        target: SocketAddr,
        tls: Arc<ClientConfig>,
    },
    /// Sessions of one certificate that announce the largest frame and send almost nothing.
    LargeFrames {
        broker: SocketAddr,
        tls: Arc<ClientConfig>,
    },
    /// Logins with invented names and passwords.
    InventedLogins {
        api: SocketAddr,
        tls: Arc<ClientConfig>,
    },
    /// Certificate requests for invented names.
    CertificateRequests {
        ca: SocketAddr,
        tls: Arc<ClientConfig>,
    },
}

/// A running attack; it ends with its handle.
#[derive(Debug)]
pub struct RunningAttack {
    started: Instant,
    progress: Arc<AttackProgress>,
    stop: CancellationToken,
    thread: Option<JoinHandle<Result<f64>>>,
}

/// The rate of an attack, and its cost for the attacker.
#[derive(Clone, Copy, Debug)]
pub struct AttackCost {
    /// Connections, logins or requests per second.
    pub actions_per_s: f64,
    /// Processor time of the attacker per second.
    pub attacker_cpu: f64,
}

// === impl Attack ===

impl Attack {
    /// Runs the attack until it is cancelled.
    async fn run(self, progress: &AttackProgress) -> Result<()> {
        match self {
            Self::HalfOpen {
                target,
                connections,
                first_bytes,
            } => half_open::run(target, connections, first_bytes, progress).await,
            Self::FullHandshakes { target, tls } => {
                full_handshakes::run(target, tls, progress).await
            }
            Self::LargeFrames { broker, tls } => large_frames::run(broker, tls, progress).await,
            Self::InventedLogins { api, tls } => invented_logins::run(api, tls, progress).await,
            Self::CertificateRequests { ca, tls } => {
                certificate_requests::run(ca, tls, progress).await
            }
        }
    }
}

// === impl RunningAttack ===

impl RunningAttack {
    /// Starts the attack and waits until it has its full strength and has acted: on a busy machine, honest actions may take
    /// less time than the attacker waits for a core.
    pub async fn start(attack: Attack) -> Result<Self> {
        let progress = Arc::new(AttackProgress::new());
        let stop = CancellationToken::new();
        let mut established = progress.is_established.subscribe();
        let mut acted = progress.has_acted.subscribe();
        // An attack that fails ends the wait.
        let ended = CancellationToken::new();
        let thread = std::thread::Builder::new().name("attacker".to_owned());
        let thread = thread.spawn({
            let (progress, stop, ended) = (Arc::clone(&progress), stop.clone(), ended.clone());
            move || {
                let _ended = ended.drop_guard();
                run_on_this_thread(attack, &progress, &stop)
            }
        })?;
        let running = Self {
            started: Instant::now(),
            progress,
            stop,
            thread: Some(thread),
        };
        let at_work = async {
            established.wait_for(|is| *is).await?;
            acted.wait_for(|has| *has).await.map(drop)
        };
        tokio::select! {
            at_work = at_work => at_work?,
            () = ended.cancelled() => {
                running.stop().await?;
                anyhow::bail!("an attack ended before it had its full strength");
            }
            () = tokio::time::sleep(ESTABLISHED_WITHIN) => {
                anyhow::bail!("an attack did not come to its full strength");
            }
        }
        Ok(running)
    }

    /// Ends the attack and returns its cost.
    pub async fn stop(mut self) -> Result<AttackCost> {
        let seconds = self.started.elapsed().as_secs_f64();
        let actions = self.progress.actions.load(Ordering::Relaxed) as f64;
        self.stop.cancel();
        let thread = self.thread.take().context("an attack ends once")?;
        let joined = tokio::task::spawn_blocking(|| thread.join()).await?;
        let cpu_seconds = joined.map_err(|_| anyhow::anyhow!("the attacker panicked"))??;
        Ok(AttackCost {
            actions_per_s: actions / seconds,
            attacker_cpu: cpu_seconds / seconds,
        })
    }
}

impl Drop for RunningAttack {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            // The thread has reported an error already, or the cost is not needed.
            let _ = thread.join();
        }
    }
}

/// Runs the attack on the current thread; returns its processor time in seconds.
fn run_on_this_thread(
    attack: Attack,
    progress: &AttackProgress,
    stop: &CancellationToken,
) -> Result<f64> {
    let thread = Some(gettid());
    setpriority_process(thread, getpriority_process(thread)? + NICER_BY)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(stop.run_until_cancelled(Box::pin(attack.run(progress))));
    // Connections end here, before the time is read.
    drop(runtime);
    ended.unwrap_or(Ok(()))?;
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Ok(used.tv_sec as f64 + used.tv_nsec as f64 / 1e9)
}
