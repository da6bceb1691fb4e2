//! Concurrent execution of checks, each with its own deadline: [`run`].
//!
//! Invariant: every check has at least one finding, whatever its outcome, in the order of the list.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use partial_debug::partial_debug;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::defaults::{CHECKS_AT_ONCE, LOCAL_DEADLINE, REMOTE_DEADLINE};
use crate::finding::DiagnosisFinding;

type CheckFuture = Pin<Box<dyn Future<Output = Vec<DiagnosisFinding>> + Send>>;

/// One check that has not started.
pub struct DoctorCheck {
    name: &'static str,
    /// Place of the finding if the check does not end.
    place: String,
    deadline: Duration,
    work: CheckFuture,
}

// === impl DoctorCheck ===

impl DoctorCheck {
    /// Creates a check that blocks its thread on files or programs of this machine.
    pub fn local(
        name: &'static str,
        place: impl Into<String>,
        work: impl FnOnce() -> Vec<DiagnosisFinding> + Send + 'static,
    ) -> Self {
        let work = async move {
            match tokio::task::spawn_blocking(work).await {
                Ok(findings) => findings,
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        };
        Self {
            name,
            place: place.into(),
            deadline: LOCAL_DEADLINE,
            work: Box::pin(work),
        }
    }

    /// Creates a check that queries other machines.
    pub fn remote(
        name: &'static str,
        place: impl Into<String>,
        work: impl Future<Output = Vec<DiagnosisFinding>> + Send + 'static,
    ) -> Self {
        Self {
            name,
            place: place.into(),
            deadline: REMOTE_DEADLINE,
            work: Box::pin(work),
        }
    }

    fn timeout_finding(&self) -> DiagnosisFinding {
        let seconds = self.deadline.as_secs();
        let cause = format!("no answer within {seconds} s, so nothing is known of it");
        DiagnosisFinding::problem(self.name, &self.place, cause)
    }
}

partial_debug!(DoctorCheck { name, place });

/// Runs all checks and returns their findings. Threads of overdue checks continue to run: shut down
/// the runtime without waiting for them.
pub async fn run(checks: Vec<DoctorCheck>) -> Vec<DiagnosisFinding> {
    let turns = Arc::new(Semaphore::new(CHECKS_AT_ONCE));
    let mut running = JoinSet::new();
    let mut findings: Vec<Vec<DiagnosisFinding>> = Vec::new();
    for (index, check) in checks.into_iter().enumerate() {
        let cause = "the check itself failed; please report it as a bug";
        findings.push(vec![DiagnosisFinding::problem(
            check.name,
            &check.place,
            cause,
        )]);
        let turns = Arc::clone(&turns);
        running.spawn(async move {
            // The semaphore is never closed.
            let _turn = turns.acquire_owned().await;
            let late = check.timeout_finding();
            let done = timeout(check.deadline, check.work).await;
            (index, done.unwrap_or_else(|_| vec![late]))
        });
    }
    while let Some(done) = running.join_next().await {
        // A check that panicked keeps the finding that was set above.
        if let Ok((index, found)) = done
            && let Some(place) = findings.get_mut(index)
        {
            *place = found;
        }
    }
    findings.concat()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::FindingSeverity;

    #[tokio::test(start_paused = true)]
    async fn one_that_hangs_and_one_that_panics_are_findings_and_the_others_go_on() {
        let fine = || vec![DiagnosisFinding::ok("fine", "here", "well")];
        let checks = vec![
            DoctorCheck::remote("stuck", "nfs:/srv", std::future::pending()),
            DoctorCheck::remote("broken", "there", async { panic!("on purpose") }),
            DoctorCheck::remote("fine", "here", async move { fine() }),
        ];
        let findings = run(checks).await;
        let told: Vec<_> = findings.iter().map(|it| (it.check, it.severity)).collect();
        assert_eq!(
            told,
            [
                ("stuck", FindingSeverity::Problem),
                ("broken", FindingSeverity::Problem),
                ("fine", FindingSeverity::Ok)
            ]
        );
        assert!(findings[0].cause.contains("15 s"), "{findings:?}");
    }

    #[test]
    fn a_thread_that_hangs_is_not_waited_for() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        let (held, waits) = std::sync::mpsc::channel::<()>();
        let begun = Instant::now();
        let findings = runtime.block_on(async {
            let stuck = move || {
                let _ = waits.recv();
                Vec::new()
            };
            let work = run(vec![DoctorCheck::local("stuck", "/mnt", stuck)]);
            // The test clock stops while a blocking thread works, so it is advanced manually.
            let task = tokio::spawn(work);
            tokio::task::yield_now().await;
            tokio::time::advance(LOCAL_DEADLINE * 2).await;
            task.await.unwrap()
        });
        runtime.shutdown_background();
        assert_eq!(findings[0].check, "stuck");
        assert!(begun.elapsed() < LOCAL_DEADLINE, "it was waited for");
        drop(held);
    }

    #[tokio::test(start_paused = true)]
    async fn a_whole_diagnosis_ends_however_many_checks_hang() {
        let stuck = |_| DoctorCheck::remote("stuck", "x", std::future::pending());
        let began = tokio::time::Instant::now();
        let findings = run((0..2 * CHECKS_AT_ONCE).map(stuck).collect()).await;
        assert_eq!(findings.len(), 2 * CHECKS_AT_ONCE);
        assert_eq!(began.elapsed(), 2 * REMOTE_DEADLINE);
    }
}
