//! The connections that are stored: [`SshConnections`].
//!
//! The rules: what is on the disk is sealed, secrets and addresses together, so that nobody who can
//! write the database can send a secret to another host; what a caller was told is stored; and a node
//! that ever had an agent is reached by a stored connection only if that was stored for such a node.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use fabric::Fabric;
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
    /// One change at a time.
    changing: Mutex<()>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct StoredConnection {
    /// A UUID.
    pub id: String,
    /// How.
    pub(crate) connection: Arc<SshConnection>,
}

/// A connection as it is shown.
#[derive(Clone, Debug)]
pub struct ConnectionView {
    /// A UUID.
    pub id: String,
    /// Its nodes that were asked for, in order.
    pub certnames: Vec<Certname>,
    /// Without secrets.
    pub parameters: Map<String, Value>,
    /// Secrets; empty unless they were asked for.
    pub sensitive: Map<String, Value>,
}

/// What is done with nodes that have a connection already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicatePolicy {
    /// Nothing is stored.
    Error,
    /// They get the new one.
    Replace,
}

/// Why nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// A key.
    #[error(transparent)]
    Connection(#[from] SshConnectionError),
    /// Some nodes have one.
    #[error("these nodes have a connection already: {}", list(.0))]
    Duplicates(Vec<Certname>),
    /// Some nodes have agents.
    #[error(
        "these nodes have, or had, agents, and tasks for them are not sent elsewhere while the agents \
         are away: {}; leave them out, or set `{REPLACES_AGENT}`", list(.0)
    )]
    Agents(Vec<Certname>),
    /// The database.
    #[error("cannot store the connection")]
    Store(#[from] StoreError),
}

/// Why the stored connections cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenConnectionsError {
    /// The database.
    #[error("cannot read the stored connections")]
    Store(#[from] StoreError),
}

// === impl SshConnections ===

impl SshConnections {
    /// Reads what is stored. A connection that cannot be unsealed is named in the log and left out:
    /// its nodes are out of reach until it is stored again.
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

    /// After a change whose outcome is not known: what is stored is what holds.
    async fn reload(&self) {
        match read(&self.shared.store, &self.shared.seal).await {
            Ok(by_node) => *self.write() = by_node,
            Err(error) => tracing::error!(%error, "cannot read the stored connections again; \
                those in use may not be those that are stored until a restart"),
        }
    }

    /// The stored connection by which a node is reached when no agent of its is connected.
    pub(crate) fn usable_connection(&self, certname: &Certname) -> Option<Arc<SshConnection>> {
        let connection = Arc::clone(&self.read().get(certname)?.connection);
        let usable = connection.replaces_agent || !self.shared.agents.contains(certname);
        usable.then_some(connection)
    }

    /// Whether a node is reached by one.
    pub fn is_reachable(&self, certname: &Certname) -> bool {
        self.usable_connection(certname).is_some()
    }

    /// Learns which nodes have agents until `stopped`.
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

    /// Stores a connection for these nodes; answers its id.
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

    /// Forgets how these nodes are reached; those that have no connection are left as they are.
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

    /// The connections of these nodes, or all; by id.
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

    /// A connection that only one job uses, sealed for its row and for
    /// [`fabric::CONNECTION_KEY`].
    pub fn seal(&self, connection: &SshConnection) -> String {
        BASE64.encode(self.sealed_bytes(connection))
    }

    /// What [`Self::seal`] made.
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

impl fmt::Debug for SshConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").finish_non_exhaustive()
    }
}

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

/// By node.
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

/// Runs a change to its end, also when its caller goes away in the middle: what is stored and what
/// is in use must stay the same.
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
    // Its own errors could quote the text.
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
