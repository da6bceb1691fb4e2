//! Closes the sessions of certificates that were revoked after they connected.
//!
//! Invariant: every session is checked after each change of the TLS files; other sessions are not
//! affected.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::opening::OpeningContext;

/// Makes every session check its certificate whenever the TLS files changed.
pub(crate) async fn run(shared: Arc<OpeningContext>, stop: CancellationToken) {
    let mut reloads = shared.tls.subscribe_reloads();
    while let Some(Ok(())) = stop.run_until_cancelled(reloads.changed()).await {
        let revocations = shared.tls.revocations();
        for session in shared.router.sessions.all_sessions() {
            session.outbox.check_certificate(Arc::clone(&revocations));
        }
    }
}
