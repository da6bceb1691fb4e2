//! Orchestrators that this broker dials.
//!
//! [`Controllers`] is the table of those that are connected; a [`Controller`] is one connection.
//! The rule: a controller speaks only for its own address and sends only what its allowlist names;
//! it is redialled for ever. Agents stay connected while all controllers are away (other brokers
//! evict them): a fleet that reconnects at the worst moment helps nobody, and results that agents
//! keep arrive when a controller is back.

mod backoff;
mod dial;
mod link;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use fabric::wire::{PRESENCE, Presence};
use pcp::types::{self, INVENTORY_REQUEST};
use pcp::{Message, PcpUri};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use dial::ControllerUriError;
pub(crate) use dial::Endpoint;

use crate::config::ControllersConfig;
use crate::defaults::PRESENCE_BATCH;
use crate::router::Router;
use crate::session::Version;
use crate::session::outbox::Outbox;
use crate::sessions::Sessions;

/// What a controller may send unless the configuration says otherwise: what brokers of the field
/// let through, and Tutti's own extensions.
pub const DEFAULT_ALLOWLIST: &[&str] = &[
    INVENTORY_REQUEST,
    "http://puppetlabs.com/rpc_blocking_request",
    "http://puppetlabs.com/rpc_non_blocking_request",
    "urn:tutti:pxp:outcome_ack",
    "urn:tutti:pxp:output_credit",
    "urn:tutti:pxp:cancel",
    fabric::wire::PRESENCE_REQUEST,
];

/// The controllers of a broker, connected or not.
#[derive(Debug, Default)]
pub(crate) struct Controllers {
    endpoints: Vec<Endpoint>,
    connected: RwLock<HashMap<PcpUri, Arc<Controller>>>,
}

/// One connection to a controller.
#[derive(Debug)]
pub(crate) struct Controller {
    /// `pcp://host:port/server`.
    pub(crate) address: PcpUri,
    pub(crate) outbox: Outbox,
    /// It asked for what agents announce.
    wants_capabilities: std::sync::atomic::AtomicBool,
}

impl Controllers {
    pub(crate) fn new(config: Option<&ControllersConfig>) -> Result<Self, ControllerUriError> {
        let uris = config.map_or(&[][..], |config| &config.uris);
        let endpoints = uris
            .iter()
            .map(|uri| uri.parse())
            .collect::<Result<_, _>>()?;
        Ok(Self {
            endpoints,
            connected: RwLock::default(),
        })
    }

    pub(crate) fn get(&self, address: &PcpUri) -> Option<Arc<Controller>> {
        self.read().get(address).cloned()
    }

    /// There are controllers, and none of them is connected.
    pub(crate) fn all_away(&self) -> bool {
        !self.endpoints.is_empty() && self.read().is_empty()
    }

    /// Each configured address and whether it is connected.
    pub(crate) fn states(&self) -> Vec<(PcpUri, bool)> {
        let connected = self.read();
        self.endpoints
            .iter()
            .map(|endpoint| {
                (
                    endpoint.address.clone(),
                    connected.contains_key(&endpoint.address),
                )
            })
            .collect()
    }

    fn connected(&self, controller: &Arc<Controller>) {
        let mut connected = self
            .connected
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        connected.insert(controller.address.clone(), Arc::clone(controller));
    }

    fn disconnected(&self, controller: &Controller) {
        let mut connected = self
            .connected
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        connected.remove(&controller.address);
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<PcpUri, Arc<Controller>>> {
        self.connected
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a connection to every configured controller until `stop`.
pub(crate) fn start(
    router: &Arc<Router>,
    config: &Arc<ControllersConfig>,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) {
    for endpoint in &router.controllers.endpoints {
        let dialler = dial::Dialler {
            endpoint: endpoint.clone(),
            router: Arc::clone(router),
            config: Arc::clone(config),
        };
        tasks.spawn(dialler.run(stop.clone()));
    }
}

impl Controller {
    fn new(address: PcpUri) -> Self {
        Self {
            address,
            outbox: Outbox::new(crate::defaults::CONTROLLER_OUTBOX_BYTES),
            wants_capabilities: false.into(),
        }
    }

    fn want_capabilities(&self) {
        self.wants_capabilities
            .store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// Says what the agents at `uris` announced, before the inventory names them.
    pub(crate) fn announce<'a>(&self, sessions: &Sessions, uris: impl Iterator<Item = &'a PcpUri>) {
        if !self
            .wants_capabilities
            .load(std::sync::atomic::Ordering::Relaxed)
        {
            return;
        }
        let known: Vec<_> = uris
            .map(|uri| {
                let session = sessions.get(uri);
                let announced = session.and_then(|session| session.capabilities.clone());
                (
                    uri.clone(),
                    announced.map(|capabilities| capabilities.to_string()),
                )
            })
            .collect();
        for batch in known.chunks(PRESENCE_BATCH) {
            let body = Presence {
                capabilities: batch.iter().cloned().collect(),
            };
            let message = Message::new(PRESENCE, Some(types::encode(&body)))
                .from(PcpUri::broker())
                .to(self.address.clone());
            if self.outbox.try_push(Version::V2.encode(&message)).is_err() {
                // The inventory message that follows finds no room either and ends the connection.
                return;
            }
        }
    }
}
