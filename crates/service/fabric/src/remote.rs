//! A broker on another machine, from the orchestrator's side of the connection that it made.
//!
//! [`serve`] takes a duplex of text frames and speaks as a PCP 2 controller: it subscribes to the
//! broker's inventory and passes messages both ways. On such a link the orchestrator's address is
//! the one that the broker dialled, `pcp://host:port/server`, so senders and targets are rewritten
//! here and nowhere else. Invariant: a broker is trusted about its own agents only, and a message
//! that cannot be read is logged and dropped.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use async_trait::async_trait;
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use pcp::types::{
    self, ERROR_MESSAGE, INVENTORY_REQUEST, INVENTORY_RESPONSE, INVENTORY_UPDATE,
    InventoryDirection, InventoryRequest, InventoryResponse, InventoryUpdate,
};
use pcp::{AGENT_TYPE, Certname, PcpMessage, PcpUri};
use tokio::sync::mpsc;

use crate::defaults::{REMOTE_PATIENCE, REMOTE_QUEUE_MESSAGES};
use crate::wire::{AnnouncedCapabilities, PRESENCE, PRESENCE_REQUEST};
use crate::{BrokerLink, BrokerPort, Fabric, FabricSendError};

/// The identity of a connected remote broker.
#[derive(Clone, Debug)]
pub struct RemoteBroker {
    /// The broker's certname, from its certificate.
    pub certname: Certname,
    /// `host:port` as the broker dialled it (the `Host` header of its upgrade request).
    pub authority: String,
}

/// The reason a broker cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum RemoteBrokerError {
    /// The `Host` header cannot be used in a PCP address.
    #[error("the broker dialled {authority:?}, which makes no PCP address: {source}")]
    Authority {
        /// The value of the header.
        authority: String,
        /// The error in the resulting address.
        source: pcp::PcpUriError,
    },
}

/// Serves the broker until either side of the duplex ends. Its nodes count as disconnected then.
pub async fn serve<In, Out>(
    fabric: &Fabric,
    broker: RemoteBroker,
    mut incoming: In,
    outgoing: Out,
) -> Result<(), RemoteBrokerError>
where
    In: Stream<Item = String> + Unpin,
    Out: Sink<String> + Unpin,
{
    let address = PcpUri::new(&broker.authority, pcp::SERVER_TYPE).map_err(|source| {
        RemoteBrokerError::Authority {
            authority: broker.authority.clone(),
            source,
        }
    })?;
    let (queue, queued) = mpsc::channel(REMOTE_QUEUE_MESSAGES);
    let connected = ConnectedAgents::default();
    let link = Arc::new(RemoteBrokerLink {
        queue: queue.clone(),
        address: address.clone(),
        connected: connected.clone(),
    });
    let port = fabric.attach_broker(PcpUri::server(&broker.certname), link);
    let mut peer = BrokerPeer {
        broker: broker.certname,
        address,
        port,
        reported: ReportedAgents {
            connected,
            capabilities: HashMap::new(),
        },
    };
    for request in peer.opening_messages() {
        queue
            .try_send(request)
            .expect("the queue is new and has room for two");
    }
    let reading = async {
        while let Some(text) = incoming.next().await {
            peer.handle_text(&text).await;
        }
    };
    tokio::select! {
        () = reading => {}
        () = write(queued, outgoing) => {}
    }
    Ok(())
}

async fn write(mut queued: mpsc::Receiver<String>, mut outgoing: impl Sink<String> + Unpin) {
    while let Some(text) = queued.recv().await {
        if outgoing.send(text).await.is_err() {
            return;
        }
    }
}

/// The link from the engine to the broker's agents.
struct RemoteBrokerLink {
    queue: mpsc::Sender<String>,
    address: PcpUri,
    connected: ConnectedAgents,
}

#[async_trait]
impl BrokerLink for RemoteBrokerLink {
    async fn deliver(&self, mut message: PcpMessage) -> Result<(), FabricSendError> {
        let target = message.target.clone();
        message.sender = Some(self.address.clone());
        let text = pcp::v2::encode(&message);
        match self.queue.send_timeout(text, REMOTE_PATIENCE).await {
            Ok(()) => Ok(()),
            Err(mpsc::error::SendTimeoutError::Timeout(_)) => {
                Err(to_send_error(target.as_ref(), FabricSendError::Busy))
            }
            Err(mpsc::error::SendTimeoutError::Closed(_)) => Err(to_send_error(
                target.as_ref(),
                FabricSendError::NotConnected,
            )),
        }
    }

    fn has_session(&self, certname: &Certname) -> bool {
        let connected = self.connected.read();
        connected
            .iter()
            .any(|uri| uri.common_name() == certname.as_str())
    }
}

fn to_send_error(
    target: Option<&PcpUri>,
    error: impl FnOnce(Certname) -> FabricSendError,
) -> FabricSendError {
    let text = target.map_or("", PcpUri::common_name);
    text.parse()
        .map_or_else(|_| FabricSendError::BadTarget(text.to_owned()), error)
}

/// The state that the broker reported, and the fabric's entry for the broker.
struct BrokerPeer {
    broker: Certname,
    /// The address that the broker uses for the orchestrator.
    address: PcpUri,
    port: BrokerPort,
    reported: ReportedAgents,
}

struct ReportedAgents {
    connected: ConnectedAgents,
    capabilities: HashMap<PcpUri, Arc<pxp::AgentCapabilities>>,
}

/// The agents that the broker reported as connected. Clones share one set.
#[derive(Clone, Default)]
struct ConnectedAgents(Arc<RwLock<HashSet<PcpUri>>>);

impl ConnectedAgents {
    fn read(&self) -> RwLockReadGuard<'_, HashSet<PcpUri>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashSet<PcpUri>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BrokerPeer {
    /// The first messages to the broker. Capabilities are requested first, so that they arrive
    /// before the inventory.
    fn opening_messages(&self) -> [String; 2] {
        let presence = PcpMessage::new(PRESENCE_REQUEST, None);
        let agents = PcpUri::new("*", AGENT_TYPE).expect("a wildcard is an address");
        let request = InventoryRequest {
            query: vec![agents],
            subscribe: Some(true),
        };
        let inventory = PcpMessage::new(INVENTORY_REQUEST, Some(types::encode(&request)));
        [presence, inventory].map(|message| {
            pcp::v2::encode(&message.from(self.address.clone()).to(PcpUri::broker()))
        })
    }

    async fn handle_text(&mut self, text: &str) {
        let message = match pcp::v2::decode(text) {
            Ok(message) => message.to_message(),
            Err(error) => {
                tracing::warn!(broker = %self.broker, %error, "unreadable message from a broker");
                return;
            }
        };
        let from_broker = message.sender.as_ref().is_none_or(PcpUri::is_broker);
        if !from_broker {
            return self.send_to_engine(message).await;
        }
        if message.message_type == ERROR_MESSAGE && message.in_reply_to.is_some() {
            return self.forward_error(message).await;
        }
        if let Err(error) = self.handle_broker_message(&message) {
            let message_type = message.message_type.as_str();
            tracing::warn!(broker = %self.broker, message_type, %error, "bad message from a broker");
        }
    }

    fn handle_broker_message(
        &mut self,
        message: &PcpMessage,
    ) -> Result<(), types::MessageDataError> {
        let data = message.data.as_deref();
        match message.message_type.as_str() {
            INVENTORY_RESPONSE => {
                let InventoryResponse { uris } = types::decode(data)?;
                self.apply_inventory(uris);
            }
            INVENTORY_UPDATE => {
                let InventoryUpdate { changes } = types::decode(data)?;
                for change in changes {
                    match change.change {
                        InventoryDirection::Connected => self.handle_connected(change.client),
                        InventoryDirection::Disconnected => {
                            self.handle_disconnected(&change.client)
                        }
                    }
                }
                self.remove_absent();
            }
            PRESENCE => {
                let AnnouncedCapabilities { capabilities } = types::decode(data)?;
                for (uri, header) in capabilities {
                    self.record_capabilities(uri, header.as_deref());
                }
            }
            other => {
                let text = data.map_or("", |data| data.get());
                tracing::warn!(broker = %self.broker, message_type = other, text, "a broker complains");
            }
        }
        Ok(())
    }

    /// Passes on an error of the broker about a message, which only the engine knows by its id. The
    /// broker's own name is set as the sender, because its messages mostly have none.
    async fn forward_error(&self, message: PcpMessage) {
        let message = message
            .from(PcpUri::server(&self.broker))
            .to(self.port.engine_address().clone());
        self.port.send_to_engine(self.broker.clone(), message).await;
    }

    async fn send_to_engine(&self, mut message: PcpMessage) {
        let sender = message.sender.as_ref().expect("looked at by the caller");
        let Ok(certname) = sender.common_name().parse::<Certname>() else {
            tracing::warn!(broker = %self.broker, %sender, "not the address of a node");
            return;
        };
        if message.target.as_ref() == Some(&self.address) {
            message.target = Some(self.port.engine_address().clone());
        }
        // Waiting here applies backpressure to the broker while the engine is busy.
        self.port.send_to_engine(certname, message).await;
    }

    // --- presence ---

    fn apply_inventory(&mut self, uris: Vec<PcpUri>) {
        let now: HashSet<PcpUri> = uris.iter().cloned().collect();
        let gone: Vec<PcpUri> = self
            .reported
            .connected
            .read()
            .difference(&now)
            .cloned()
            .collect();
        for uri in gone {
            self.handle_disconnected(&uri);
        }
        for uri in uris {
            if !self.reported.connected.read().contains(&uri) {
                self.handle_connected(uri);
            }
        }
        self.remove_absent();
    }

    fn handle_connected(&mut self, uri: PcpUri) {
        if let Some(certname) = agent_certname(&uri) {
            self.port
                .add_node(certname, self.reported.capabilities.get(&uri).cloned());
            self.reported.connected.write().insert(uri);
        }
    }

    fn handle_disconnected(&mut self, uri: &PcpUri) {
        let was_connected = self.reported.connected.write().remove(uri);
        if was_connected && let Some(certname) = agent_certname(uri) {
            self.port.remove_node(&certname);
        }
    }

    fn record_capabilities(&mut self, uri: PcpUri, header: Option<&str>) {
        match header.and_then(|text| text.parse::<pxp::AgentCapabilities>().ok()) {
            Some(capabilities) => {
                self.reported
                    .capabilities
                    .insert(uri, Arc::new(capabilities));
            }
            None => {
                self.reported.capabilities.remove(&uri);
            }
        }
    }

    fn remove_absent(&mut self) {
        let ReportedAgents {
            connected,
            capabilities,
        } = &mut self.reported;
        let connected = connected.read();
        capabilities.retain(|uri, _| connected.contains(uri));
    }
}

fn agent_certname(uri: &PcpUri) -> Option<Certname> {
    if uri.client_type() == AGENT_TYPE {
        uri.common_name().parse().ok()
    } else {
        None
    }
}
