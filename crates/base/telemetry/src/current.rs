//! Within which span the caller works: [`current`].
//!
//! The rule: it holds for the future given to [`within`] and for nothing that this spawns.

use crate::Context;

tokio::task_local! {
    static CURRENT: Context;
}

/// The span within which this is called, if any.
pub fn current() -> Option<Context> {
    CURRENT.try_with(|context| *context).ok()
}

/// Does `work` within a span.
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
