//! Starting and stopping a broker.
//!
//! Invariant: every task belongs to the [`BrokerHandle`], and no task is left when
//! [`BrokerHandle::shutdown`] has returned.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use fabric::{BrokerLink, Fabric, FabricSendError};
use pcp::{Certname, PcpMessage, PcpUri};
use pki::ServerTls;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::assembly::MessageAssembly;
use crate::config::BrokerConfig;
use crate::controllers;
use crate::controllers::endpoint::ControllerUriError;
use crate::controllers::table::ControllerTable;
use crate::message_limits::MessageLimits;
use crate::metrics::BrokerMetrics;
use crate::opening::OpeningContext;
use crate::router::MessageRouter;
use crate::session::outbox::OutboxPushError;
use crate::sessions::SessionTable;
use crate::{accept, inventory_updates, revocation};

/// The broker; see [`Broker::start`].
#[derive(Debug)]
pub struct Broker;

/// The reason a broker does not start.
#[derive(Debug, thiserror::Error)]
pub enum BrokerStartError {
    /// The address is in use or does not belong to this machine.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address as configured.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The URI of a controller is invalid.
    #[error(transparent)]
    Controller(#[from] ControllerUriError),
}

/// A running broker. Dropping it stops the broker without waiting.
#[derive(Debug)]
pub struct BrokerHandle {
    local_addr: SocketAddr,
    shared: Arc<OpeningContext>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Broker {
    /// Listens and serves until the handle is shut down. Must run within a tokio runtime.
    ///
    /// The TLS settings should ask clients for a certificate without requiring it, so that one
    /// without a certificate is refused with close code 4003 and the status can be read without
    /// one. The code that loaded `tls` runs [`ServerTls::watch`]; the broker closes revoked
    /// sessions when that reports a change.
    ///
    /// With a `fabric`, its engine is a controller in the same process: every agent is announced
    /// to it, and messages for its address go to its inbox.
    pub fn start(
        config: BrokerConfig,
        tls: Arc<ServerTls>,
        fabric: Option<Fabric>,
    ) -> Result<BrokerHandle, BrokerStartError> {
        for (name, why) in config.policy.inert_rules() {
            tracing::warn!(
                rule = name,
                why,
                "an authorization rule can never decide anything"
            );
        }
        let metrics = BrokerMetrics::default();
        let assembly = MessageAssembly::new(
            config.limits.assembly_bytes,
            config.timeouts.assembly,
            config.timeouts.assembly_progress,
            metrics.assembly_reserved.clone(),
            metrics.assembly_waits.clone(),
        );
        let router = Arc::new(MessageRouter {
            sessions: SessionTable::new(config.limits.max_connections),
            controllers: ControllerTable::new(config.controllers.as_ref())?,
            policy: config.policy.clone(),
            metrics,
            limits: MessageLimits {
                message_bytes: config.limits.message_bytes,
            },
            assembly,
            delivery_timeout: config.timeouts.delivery,
        });
        let address = config.listen;
        let listening = |source| BrokerStartError::Listen { address, source };
        let listener = admission::listen(address).map_err(listening)?;
        let local_addr = listener.local_addr().map_err(listening)?;
        if let Some(fabric) = fabric {
            let link = Arc::new(EngineLink {
                router: Arc::downgrade(&router),
            });
            router
                .sessions
                .attach(fabric.attach_broker(PcpUri::server(&config.certname), link));
        }
        let shared = Arc::new(OpeningContext::new(config, tls, router));
        let handle = BrokerHandle {
            local_addr,
            shared: Arc::clone(&shared),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        handle.spawn_tasks(listener);
        Ok(handle)
    }
}

impl BrokerHandle {
    /// The address that the broker listens on, with the port that the kernel chose if 0 was
    /// configured.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The number of clients that are associated now.
    pub fn connections(&self) -> usize {
        self.shared.router.sessions.len()
    }

    /// Closes every session with code 1001, waits up to the configured time for them to end, and
    /// drops the rest.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        for session in self.shared.router.sessions.stop_accepting() {
            session.outbox.close(1001, "Shutdown");
        }
        self.tasks.close();
        let patience = self.shared.config.timeouts.shutdown;
        if tokio::time::timeout(patience, self.tasks.wait())
            .await
            .is_err()
        {
            self.shared.cut.cancel();
            self.tasks.wait().await;
        }
    }

    fn spawn_tasks(&self, listener: tokio::net::TcpListener) {
        let shared = &self.shared;
        let router = &shared.router;
        let stop = &self.stop;
        self.tasks.spawn(accept::run(
            listener,
            Arc::clone(shared),
            self.tasks.clone(),
            stop.clone(),
        ));
        let every = shared.config.timeouts.inventory;
        self.tasks.spawn(inventory_updates::run(
            Arc::clone(router),
            every,
            stop.clone(),
        ));
        self.tasks
            .spawn(revocation::run(Arc::clone(shared), stop.clone()));
        if let Some(config) = &shared.config.controllers {
            controllers::start(router, &Arc::new(config.clone()), &self.tasks, stop);
        }
    }
}

impl Drop for BrokerHandle {
    fn drop(&mut self) {
        self.stop.cancel();
        self.shared.cut.cancel();
    }
}

/// The connection from the engine to the sessions.
struct EngineLink {
    router: Weak<MessageRouter>,
}

#[async_trait]
impl BrokerLink for EngineLink {
    async fn deliver(&self, message: PcpMessage) -> Result<(), FabricSendError> {
        let target = message
            .target
            .clone()
            .ok_or(FabricSendError::BadTarget("none".to_owned()))?;
        let certname: Certname = target
            .common_name()
            .parse()
            .map_err(|_| FabricSendError::BadTarget(target.to_string()))?;
        let router = self.router.upgrade();
        let found = router
            .as_ref()
            .and_then(|router| router.sessions.get(&target));
        let (Some(router), Some(session)) = (router, found) else {
            return Err(FabricSendError::NotConnected(certname));
        };
        let payload = session.version.encode(&message);
        if payload.len() > router.limits.message_bytes {
            let limit = router.limits.message_bytes;
            let problem = format!("{} bytes are more than the limit of {limit}", payload.len());
            return Err(FabricSendError::Refused(problem));
        }
        match session.outbox.push(payload, router.delivery_timeout).await {
            Ok(()) => Ok(()),
            Err(OutboxPushError::Closed) => Err(FabricSendError::NotConnected(certname)),
            Err(OutboxPushError::Full) => Err(FabricSendError::Busy(certname)),
        }
    }

    fn has_session(&self, certname: &Certname) -> bool {
        let router = self.router.upgrade();
        router.is_some_and(|router| router.sessions.has_certname(certname))
    }
}
