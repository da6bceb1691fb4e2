//! The span of the current task: [`current`].
//!
//! Invariant: it applies to the future given to [`within`], and not to tasks that this future spawns.

use crate::Context;

tokio::task_local! {
    static CURRENT: Context;
}

/// Returns the span of the calling task; `None` outside of [`within`].
pub fn current() -> Option<Context> {
    CURRENT.try_with(|context| *context).ok()
}

/// Runs `work` within the span `context`.
pub async fn within<F: Future>(context: Context, work: F) -> F::Output {
    CURRENT.scope(context, work).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_holds_for_one_future_alone() {
        let context = Context::root(true);
        let seen = within(context, async {
            let elsewhere = tokio::spawn(async { current() }).await.unwrap();
            (current(), elsewhere)
        });
        assert_eq!(seen.await, (Some(context), None));
        assert_eq!(current(), None);
    }
}
