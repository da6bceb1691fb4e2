//! [`Controllers`]: which controllers there are, and which of them are connected.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use pcp::PcpUri;

use super::controller::Controller;
use super::endpoint::{ControllerUriError, Endpoint};
use crate::config::ControllersConfig;

/// The controllers of a broker, connected or not.
#[derive(Debug, Default)]
pub(crate) struct Controllers {
    endpoints: Vec<Endpoint>,
    connected: RwLock<HashMap<PcpUri, Arc<Controller>>>,
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

    pub(super) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
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

    pub(super) fn connected(&self, controller: &Arc<Controller>) {
        let mut connected = self
            .connected
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        connected.insert(controller.address.clone(), Arc::clone(controller));
    }

    pub(super) fn disconnected(&self, controller: &Controller) {
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
