//! Stored connections: [`SshConnections`].
//!
//! Invariants: a stored connection is sealed, secrets and addresses together, so that write access
//! to the database is not enough to send a secret to another host; a connection is stored before
//! its creation is reported; and a node that ever had an agent is reached by a stored connection
//! only if that has [`REPLACES_AGENT`].

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use fabric::Fabric;
use partial_debug::partial_debug;
use pcp::Certname;
use pki::seal::SealKey;
use serde_json::{Map, Value};
use store::{ConnectionRow, Store, StoreError};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::agents::AgentNodes;
use crate::connection::{
    PARAMETERS, REPLACES_AGENT, SENSITIVE_PARAMETERS, SshConnection, SshConnectionError,
};

/// The stored connections. Cheap to clone.
#[derive(Clone)]
pub struct SshConnections {
    shared: Arc<SshConnectionsState>,
}

struct SshConnectionsState {
    store: Store,
    seal: SealKey,
    by_node: RwLock<HashMap<Certname, Arc<StoredConnection>>>,
    agents: AgentNodes,
    /// Lock that allows one change at a time.
    changing: Mutex<()>,
}

/// A stored connection with its id.
#[derive(Debug)]
pub(crate) struct StoredConnection {
    /// Id of the connection, a UUID.
    pub id: String,
    /// Settings of the connection.
    pub(crate) connection: Arc<SshConnection>,
}

/// A connection in the form of the API.
#[derive(Clone, Debug)]
pub struct ConnectionView {
    /// Id of the connection, a UUID.
    pub id: String,
    /// The requested nodes of this connection, in order.
    pub certnames: Vec<Certname>,
    /// Keys that are not secret.
    pub parameters: Map<String, Value>,
    /// Secret keys; empty unless they were requested.
    pub sensitive: Map<String, Value>,
}

/// Treatment of nodes that have a connection already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicatePolicy {
    /// The request fails and nothing is stored.
    Error,
    /// The new connection replaces the old one.
    Replace,
}

/// Cause for which no connection was stored.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// A key of the connection is invalid.
    #[error(transparent)]
    Connection(#[from] SshConnectionError),
    /// Some nodes have a connection already.
    #[error("these nodes have a connection already: {}", list(.0))]
    Duplicates(Vec<Certname>),
    /// Some nodes have or had agents.
    #[error(
        "these nodes have, or had, agents, and tasks for them are not sent elsewhere while the agents \
         are away: {}; leave them out, or set `{REPLACES_AGENT}`", list(.0)
    )]
    Agents(Vec<Certname>),
    /// The database failed.
    #[error("cannot store the connection")]
    Store(#[from] StoreError),
}

/// Cause for which the stored connections cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenConnectionsError {
    /// The database failed.
    #[error("cannot read the stored connections")]
    Store(#[from] StoreError),
}

// === impl SshConnections ===

impl SshConnections {
    /// Reads the stored connections. One that cannot be unsealed is logged and left out: its nodes
    /// are out of reach until it is stored again.
    pub async fn open(store: Store, seal: SealKey) -> Result<Self, OpenConnectionsError> {
        let by_node = RwLock::new(read(&store, &seal).await?);
        let shared = SshConnectionsState {
            agents: AgentNodes::open(store.clone()).await?,
            store,
            seal,
            by_node,
            changing: Mutex::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Reads the stored connections again after a change with an unknown outcome.
    async fn reload(&self) {
        match read(&self.shared.store, &self.shared.seal).await {
            Ok(by_node) => *self.write() = by_node,
            Err(error) => tracing::error!(%error, "cannot read the stored connections again; \
                those in use may not be those that are stored until a restart"),
        }
    }

    /// The stored connection for a node without a connected agent; `None` if there is none that may
    /// be used.
    pub(crate) fn usable_connection(&self, certname: &Certname) -> Option<Arc<SshConnection>> {
        let connection = Arc::clone(&self.read().get(certname)?.connection);
        let usable = connection.replaces_agent || !self.shared.agents.contains(certname);
        usable.then_some(connection)
    }

    /// True if the node has a stored connection that may be used.
    pub fn is_reachable(&self, certname: &Certname) -> bool {
        self.usable_connection(certname).is_some()
    }

    /// Learns of nodes with agents until `stopped`.
    pub(crate) async fn follow_agents(self, fabric: Fabric, stopped: CancellationToken) {
        let idle = |certname: &Certname| {
            if self.read().contains_key(certname) && !self.is_reachable(certname) {
                tracing::warn!(%certname, "the node has an agent now, so its stored connection is \
                    used no more; delete it");
            }
        };
        let agents = &self.shared.agents;
        tokio::join!(
            agents.follow_fabric(fabric, idle, stopped.clone()),
            agents.write_learned(stopped)
        );
    }

    /// Stores a connection for these nodes and returns its id.
    pub async fn create(
        &self,
        certnames: &[Certname],
        connection: SshConnection,
        duplicates: DuplicatePolicy,
    ) -> Result<String, CreateError> {
        let (book, certnames) = (self.clone(), certnames.to_vec());
        let creating = async move { book.create_stored(&certnames, connection, duplicates).await };
        run_to_completion(creating).await
    }

    async fn create_stored(
        &self,
        certnames: &[Certname],
        connection: SshConnection,
        duplicates: DuplicatePolicy,
    ) -> Result<String, CreateError> {
        let _one = self.shared.changing.lock().await;
        if duplicates == DuplicatePolicy::Error {
            let by_node = self.read();
            let taken = certnames.iter().filter(|name| by_node.contains_key(*name));
            let taken: Vec<Certname> = taken.cloned().collect();
            if !taken.is_empty() {
                return Err(CreateError::Duplicates(taken));
            }
        }
        if !connection.replaces_agent {
            let agents = certnames
                .iter()
                .filter(|name| self.shared.agents.contains(name));
            let agents: Vec<Certname> = agents.cloned().collect();
            if !agents.is_empty() {
                return Err(CreateError::Agents(agents));
            }
        }
        let id = Uuid::new_v4().to_string();
        let row = ConnectionRow {
            id: id.clone(),
            sealed: self.sealed_bytes(&connection),
        };
        let names = certnames.iter().map(ToString::to_string).collect();
        if let Err(error) = self.shared.store.insert_connection(row, names).await {
            self.reload().await;
            return Err(error.into());
        }
        let stored = Arc::new(StoredConnection {
            id: id.clone(),
            connection: Arc::new(connection),
        });
        let mut by_node = self.write();
        for certname in certnames {
            by_node.insert(certname.clone(), Arc::clone(&stored));
        }
        Ok(id)
    }

    /// Deletes the connections of these nodes; nodes without one are ignored.
    pub async fn delete(&self, certnames: &[Certname]) -> Result<(), StoreError> {
        let (book, certnames) = (self.clone(), certnames.to_vec());
        run_to_completion(async move { book.delete_stored(&certnames).await }).await
    }

    async fn delete_stored(&self, certnames: &[Certname]) -> Result<(), StoreError> {
        let _one = self.shared.changing.lock().await;
        let names = certnames.iter().map(ToString::to_string).collect();
        if let Err(error) = self.shared.store.delete_connections(names).await {
            self.reload().await;
            return Err(error);
        }
        let mut by_node = self.write();
        for certname in certnames {
            by_node.remove(certname);
        }
        Ok(())
    }

    /// The connections of these nodes, or all, in order of their ids.
    pub fn query(&self, certnames: Option<&[Certname]>, sensitive: bool) -> Vec<ConnectionView> {
        let by_node = self.read();
        let mut pairs: Vec<(&Certname, &Arc<StoredConnection>)> = match certnames {
            None => by_node.iter().collect(),
            Some(names) => names
                .iter()
                .filter_map(|name| by_node.get_key_value(name))
                .collect(),
        };
        pairs.sort_by(|one, two| (&one.1.id, one.0).cmp(&(&two.1.id, two.0)));
        pairs.dedup_by(|one, two| one.0 == two.0);
        pairs
            .chunk_by(|one, two| one.1.id == two.1.id)
            .filter_map(|chunk| {
                let (_, stored) = chunk.first()?;
                let names = chunk.iter().map(|(name, _)| (*name).clone());
                Some(stored.to_view(names.collect(), sensitive))
            })
            .collect()
    }

    /// Seals a connection that only one job uses, for its row and for [`fabric::CONNECTION_KEY`].
    pub fn seal(&self, connection: &SshConnection) -> String {
        BASE64.encode(self.sealed_bytes(connection))
    }

    /// Opens a connection that was sealed by [`Self::seal`].
    pub(crate) fn unseal(&self, sealed: &str) -> Result<SshConnection, String> {
        let bytes = BASE64.decode(sealed).map_err(|error| error.to_string())?;
        unseal_connection(&self.shared.seal, &bytes)
    }

    fn sealed_bytes(&self, connection: &SshConnection) -> Vec<u8> {
        let all = Value::Object(connection.to_exposed());
        let plain = Zeroizing::new(all.to_string().into_bytes());
        self.shared.seal.seal(&plain)
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<Certname, Arc<StoredConnection>>> {
        let by_node = &self.shared.by_node;
        by_node.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<Certname, Arc<StoredConnection>>> {
        let by_node = &self.shared.by_node;
        by_node.write().unwrap_or_else(PoisonError::into_inner)
    }
}

partial_debug!(SshConnections {});

impl StoredConnection {
    fn to_view(&self, certnames: Vec<Certname>, sensitive: bool) -> ConnectionView {
        let mut all = self.connection.to_exposed();
        all.retain(|_, value| !value.is_null());
        let mut only = |keys: &[&str]| {
            let taken = keys.iter().filter_map(|key| all.remove_entry(*key));
            taken.collect::<Map<String, Value>>()
        };
        ConnectionView {
            id: self.id.clone(),
            certnames,
            parameters: only(&PARAMETERS),
            sensitive: if sensitive {
                only(&SENSITIVE_PARAMETERS)
            } else {
                Map::new()
            },
        }
    }
}

/// Reads all connections, by node.
async fn read(
    store: &Store,
    seal: &SealKey,
) -> Result<HashMap<Certname, Arc<StoredConnection>>, StoreError> {
    let mut by_id: HashMap<String, Arc<StoredConnection>> = HashMap::new();
    for row in store.connections().await? {
        match unseal_connection(seal, &row.sealed) {
            Ok(connection) => {
                let connection = Arc::new(connection);
                let id = row.id.clone();
                by_id.insert(row.id, Arc::new(StoredConnection { id, connection }));
            }
            Err(why) => tracing::error!(id = row.id, why, "a stored connection is unusable"),
        }
    }
    let mut by_node = HashMap::new();
    for (certname, id) in store.connection_nodes().await? {
        if let (Ok(certname), Some(stored)) = (certname.parse(), by_id.get(&id)) {
            by_node.insert(certname, Arc::clone(stored));
        }
    }
    Ok(by_node)
}

/// Runs a change to its end even if its caller is cancelled, so that the stored connections and
/// those in memory stay the same.
async fn run_to_completion<T: Send + 'static>(
    change: impl Future<Output = T> + Send + 'static,
) -> T {
    match tokio::spawn(change).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn unseal_connection(seal: &SealKey, sealed: &[u8]) -> Result<SshConnection, String> {
    let plain = seal.open(sealed).map_err(|error| error.to_string())?;
    let plain = Zeroizing::new(plain);
    // The parser's errors could quote the text.
    let all = serde_json::from_slice(&plain).map_err(|_| "it is not readable".to_owned())?;
    SshConnection::read_flat(all).map_err(|error| error.to_string())
}

fn list(names: &[Certname]) -> String {
    const SHOWN: usize = 10;
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(ToString::to_string).collect();
    if names.len() > SHOWN {
        shown.push(format!("and {} more", names.len() - SHOWN));
    }
    shown.join(", ")
}
