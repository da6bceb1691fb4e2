//! The configured controllers and their connections: [`ControllerTable`].

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use pcp::PcpUri;

use super::controller::ConnectedController;
use super::endpoint::{ControllerEndpoint, ControllerUriError};
use crate::config::ControllersConfig;

/// The controllers of a broker, connected or not.
#[derive(Debug, Default)]
pub(crate) struct ControllerTable {
    endpoints: Vec<ControllerEndpoint>,
    connected: RwLock<HashMap<PcpUri, Arc<ConnectedController>>>,
}

impl ControllerTable {
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

    pub(super) fn endpoints(&self) -> &[ControllerEndpoint] {
        &self.endpoints
    }

    pub(crate) fn get(&self, address: &PcpUri) -> Option<Arc<ConnectedController>> {
        self.read().get(address).cloned()
    }

    /// True if controllers are configured and none of them is connected.
    pub(crate) fn is_none_connected(&self) -> bool {
        !self.endpoints.is_empty() && self.read().is_empty()
    }

    /// Each configured address, and true if it is connected.
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

    pub(super) fn record_connected(&self, controller: &Arc<ConnectedController>) {
        let mut connected = self
            .connected
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        connected.insert(controller.address.clone(), Arc::clone(controller));
    }

    pub(super) fn record_disconnected(&self, controller: &ConnectedController) {
        let mut connected = self
            .connected
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        connected.remove(&controller.address);
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<PcpUri, Arc<ConnectedController>>> {
        self.connected
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
