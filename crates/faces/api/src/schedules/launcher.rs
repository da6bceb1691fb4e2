//! The connection of the schedules with the router that exists later: [`ScheduleLauncher`].

use std::sync::{Arc, Weak};

use tokio::sync::SetOnce;

use crate::SharedApiContext;
use crate::state::ApiContext;

/// Creates jobs for the schedules. It exists before the router and is bound to it later; until then
/// slots wait.
#[derive(Clone, Debug, Default)]
pub(super) struct ScheduleLauncher {
    api: Arc<SetOnce<Weak<ApiContext>>>,
}

impl ScheduleLauncher {
    pub(super) fn bind(&self, api: &SharedApiContext) {
        // Routers over the same engines are equivalent, so the first one is kept.
        let _ = self.api.set(Arc::downgrade(api));
    }

    /// Waits for the router; `None` if it is gone, because the server is shutting down.
    pub(super) async fn context(&self) -> Option<SharedApiContext> {
        self.api.wait().await.upgrade()
    }
}
