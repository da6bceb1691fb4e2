//! The span of the current task: [`current`].
//!
//! Invariant: it applies to the future given to [`run_within`], and not to tasks that this future
//! spawns.

use crate::TraceContext;

tokio::task_local! {
    static CURRENT: TraceContext;
}

/// Returns the span of the calling task; `None` outside of [`run_within`].
pub fn current() -> Option<TraceContext> {
    CURRENT.try_with(|context| *context).ok()
}

/// Runs `work` within the span `context`.
pub async fn run_within<F: Future>(context: TraceContext, work: F) -> F::Output {
    CURRENT.scope(context, work).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_holds_for_one_future_alone() {
        let context = TraceContext::root(true);
        let seen = run_within(context, async {
            let elsewhere = tokio::spawn(async { current() }).await.unwrap();
            (current(), elsewhere)
        });
        assert_eq!(seen.await, (Some(context), None));
        assert_eq!(current(), None);
    }
}
