//! Orchestrators (controllers) to which this broker opens the connection.
//!
//! [`ControllerTable`] has the connected controllers; a `ConnectedController` is one of them.
//! Invariants: a controller sends under its own address only, and only the message types of its
//! allowlist; attempts to reconnect never end. Agents stay connected while all controllers are away
//! (other brokers disconnect them): reconnecting all agents would only add load, and results that
//! agents keep arrive when a controller is back.

pub(crate) mod allowlist;
mod backoff;
pub(crate) mod controller;
mod dial;
pub(crate) mod endpoint;
mod link;
pub(crate) mod presence;
pub(crate) mod table;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::dial::ControllerDialer;
use crate::config::ControllersConfig;
use crate::router::MessageRouter;

/// Keeps a connection to every configured controller until `stop`.
pub(crate) fn start(
    router: &Arc<MessageRouter>,
    config: &Arc<ControllersConfig>,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) {
    for endpoint in router.controllers.endpoints() {
        let dialler = ControllerDialer {
            endpoint: endpoint.clone(),
            router: Arc::clone(router),
            config: Arc::clone(config),
        };
        tasks.spawn(dialler.run(stop.clone()));
    }
}
