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
    self, Change, ERROR_MESSAGE, INVENTORY_REQUEST, INVENTORY_RESPONSE, INVENTORY_UPDATE,
    InventoryRequest, InventoryResponse, InventoryUpdate,
};
use pcp::{AGENT_TYPE, Certname, Message, PcpUri};
use tokio::sync::mpsc;

use crate::defaults::{REMOTE_PATIENCE, REMOTE_QUEUE_MESSAGES};
use crate::wire::{PRESENCE, PRESENCE_REQUEST, Presence};
use crate::{BrokerLink, BrokerPort, Fabric, SendError};

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
pub enum RemoteError {
    /// The `Host` header cannot be used in a PCP address.
    #[error("the broker dialled {authority:?}, which makes no PCP address: {source}")]
    Authority {
        /// The value of the header.
        authority: String,
        /// The error in the resulting address.
        source: pcp::UriError,
    },
}

/// Serves the broker until either side of the duplex ends. Its nodes count as disconnected then.
pub async fn serve<In, Out>(
    fabric: &Fabric,
    broker: RemoteBroker,
    mut incoming: In,
    outgoing: Out,
) -> Result<(), RemoteError>
where
    In: Stream<Item = String> + Unpin,
    Out: Sink<String> + Unpin,
{
    let address = PcpUri::new(&broker.authority, pcp::SERVER_TYPE).map_err(|source| {
        RemoteError::Authority {
            authority: broker.authority.clone(),
            source,
        }
    })?;
    let (queue, queued) = mpsc::channel(REMOTE_QUEUE_MESSAGES);
    let connected = ConnectedAgents::default();
    let link = Arc::new(Link {
        queue: queue.clone(),
        address: address.clone(),
        connected: connected.clone(),
    });
    let port = fabric.attach(PcpUri::server(&broker.certname), link);
    let mut peer = Peer {
        broker: broker.certname,
        address,
        port,
        known: Known {
            connected,
            capabilities: HashMap::new(),
        },
    };
    for request in peer.first_words() {
        queue
            .try_send(request)
            .expect("the queue is new and has room for two");
    }
    let reading = async {
        while let Some(text) = incoming.next().await {
            peer.on_text(&text).await;
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
struct Link {
    queue: mpsc::Sender<String>,
    address: PcpUri,
    connected: ConnectedAgents,
}

#[async_trait]
impl BrokerLink for Link {
    async fn deliver(&self, mut message: Message) -> Result<(), SendError> {
        let target = message.target.clone();
        message.sender = Some(self.address.clone());
        let text = pcp::v2::encode(&message);
        match self.queue.send_timeout(text, REMOTE_PATIENCE).await {
            Ok(()) => Ok(()),
            Err(mpsc::error::SendTimeoutError::Timeout(_)) => {
                Err(for_certname(target.as_ref(), SendError::Busy))
            }
            Err(mpsc::error::SendTimeoutError::Closed(_)) => {
                Err(for_certname(target.as_ref(), SendError::NotConnected))
            }
        }
    }

    fn holds(&self, certname: &Certname) -> bool {
        let connected = self.connected.read();
        connected
            .iter()
            .any(|uri| uri.common_name() == certname.as_str())
    }
}

fn for_certname(target: Option<&PcpUri>, error: impl FnOnce(Certname) -> SendError) -> SendError {
    let text = target.map_or("", PcpUri::common_name);
    text.parse()
        .map_or_else(|_| SendError::BadTarget(text.to_owned()), error)
}

/// The state that the broker reported, and the fabric's entry for the broker.
struct Peer {
    broker: Certname,
    /// The address that the broker uses for the orchestrator.
    address: PcpUri,
    port: BrokerPort,
    known: Known,
}

struct Known {
    connected: ConnectedAgents,
    capabilities: HashMap<PcpUri, Arc<pxp::Capabilities>>,
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

impl Peer {
    /// The first messages to the broker. Capabilities are requested first, so that they arrive
    /// before the inventory.
    fn first_words(&self) -> [String; 2] {
        let presence = Message::new(PRESENCE_REQUEST, None);
        let agents = PcpUri::new("*", AGENT_TYPE).expect("a wildcard is an address");
        let request = InventoryRequest {
            query: vec![agents],
            subscribe: Some(true),
        };
        let inventory = Message::new(INVENTORY_REQUEST, Some(types::encode(&request)));
        [presence, inventory].map(|message| {
            pcp::v2::encode(&message.from(self.address.clone()).to(PcpUri::broker()))
        })
    }

    async fn on_text(&mut self, text: &str) {
        let message = match pcp::v2::decode(text) {
            Ok(message) => message.to_message(),
            Err(error) => {
                tracing::warn!(broker = %self.broker, %error, "unreadable message from a broker");
                return;
            }
        };
        let from_broker = message.sender.as_ref().is_none_or(PcpUri::is_broker);
        if !from_broker {
            return self.to_engine(message).await;
        }
        if message.message_type == ERROR_MESSAGE && message.in_reply_to.is_some() {
            return self.complaint(message).await;
        }
        if let Err(error) = self.on_broker(&message) {
            let message_type = message.message_type.as_str();
            tracing::warn!(broker = %self.broker, message_type, %error, "bad message from a broker");
        }
    }

    fn on_broker(&mut self, message: &Message) -> Result<(), types::DataError> {
        let data = message.data.as_deref();
        match message.message_type.as_str() {
            INVENTORY_RESPONSE => {
                let InventoryResponse { uris } = types::decode(data)?;
                self.inventory(uris);
            }
            INVENTORY_UPDATE => {
                let InventoryUpdate { changes } = types::decode(data)?;
                for change in changes {
                    match change.change {
                        Change::Connected => self.arrived(change.client),
                        Change::Disconnected => self.left(&change.client),
                    }
                }
                self.forget_absent();
            }
            PRESENCE => {
                let Presence { capabilities } = types::decode(data)?;
                for (uri, header) in capabilities {
                    self.announced(uri, header.as_deref());
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
    async fn complaint(&self, message: Message) {
        let message = message
            .from(PcpUri::server(&self.broker))
            .to(self.port.engine_address().clone());
        self.port.to_engine(self.broker.clone(), message).await;
    }

    async fn to_engine(&self, mut message: Message) {
        let sender = message.sender.as_ref().expect("looked at by the caller");
        let Ok(certname) = sender.common_name().parse::<Certname>() else {
            tracing::warn!(broker = %self.broker, %sender, "not the address of a node");
            return;
        };
        if message.target.as_ref() == Some(&self.address) {
            message.target = Some(self.port.engine_address().clone());
        }
        // Waiting here applies backpressure to the broker while the engine is busy.
        self.port.to_engine(certname, message).await;
    }

    // --- presence ---

    fn inventory(&mut self, uris: Vec<PcpUri>) {
        let now: HashSet<PcpUri> = uris.iter().cloned().collect();
        let gone: Vec<PcpUri> = self
            .known
            .connected
            .read()
            .difference(&now)
            .cloned()
            .collect();
        for uri in gone {
            self.left(&uri);
        }
        for uri in uris {
            if !self.known.connected.read().contains(&uri) {
                self.arrived(uri);
            }
        }
        self.forget_absent();
    }

    fn arrived(&mut self, uri: PcpUri) {
        if let Some(certname) = agent(&uri) {
            self.port
                .connected(certname, self.known.capabilities.get(&uri).cloned());
            self.known.connected.write().insert(uri);
        }
    }

    fn left(&mut self, uri: &PcpUri) {
        let was_connected = self.known.connected.write().remove(uri);
        if was_connected && let Some(certname) = agent(uri) {
            self.port.disconnected(&certname);
        }
    }

    fn announced(&mut self, uri: PcpUri, header: Option<&str>) {
        match header.and_then(|text| text.parse::<pxp::Capabilities>().ok()) {
            Some(capabilities) => {
                self.known.capabilities.insert(uri, Arc::new(capabilities));
            }
            None => {
                self.known.capabilities.remove(&uri);
            }
        }
    }

    fn forget_absent(&mut self) {
        let Known {
            connected,
            capabilities,
        } = &mut self.known;
        let connected = connected.read();
        capabilities.retain(|uri, _| connected.contains(uri));
    }
}

fn agent(uri: &PcpUri) -> Option<Certname> {
    if uri.client_type() == AGENT_TYPE {
        uri.common_name().parse().ok()
    } else {
        None
    }
}
