//! A proxy in front of PostgreSQL that can cut connections at a commit, or stop passing bytes.
//!
//! [`Door`] passes bytes between clients and the server.
//!
//! Invariants: when it shuts, every connection through it is cut, and none is accepted until it is
//! opened again, so that the server is unreachable for the client from exactly that moment; when it
//! swallows, the existing connections stay open and nothing passes any more, as after the loss of a
//! machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use crate::postgres::{self, Postgres};

/// The name of the socket at PostgreSQL's default port.
const SOCKET: &str = ".s.PGSQL.5432";
/// The message "simple query" with this single word.
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

/// The state of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Open,
    /// It shuts at the next commit.
    Until(Moment),
    Shut,
}

/// The moment at which it shuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the commit: the server never receives it.
    BeforeCommit,
    /// After the commit: the server has committed, and the client receives no answer.
    AfterCommit,
}

/// The proxy; it is removed with its handle.
#[derive(Debug)]
pub struct Door {
    directory: tempfile::TempDir,
    way: Arc<watch::Sender<Way>>,
    swallowed: watch::Sender<()>,
    _doorkeeper: AbortOnDropHandle<()>,
}

// === impl Door ===

impl Door {
    /// Creates an open proxy to the server.
    pub fn to(server: &Postgres) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("door-").tempdir()?;
        let listener = UnixListener::bind(directory.path().join(SOCKET))
            .context("cannot make the door's socket")?;
        let way = Arc::new(watch::Sender::new(Way::Open));
        let inside = server.directory().join(SOCKET);
        let swallowed = watch::Sender::new(());
        let keeping = keep(listener, inside, Arc::clone(&way), swallowed.subscribe());
        let doorkeeper = tokio::spawn(keeping);
        Ok(Self {
            directory,
            way,
            swallowed,
            _doorkeeper: AbortOnDropHandle::new(doorkeeper),
        })
    }

    /// The URL through the proxy of a database that [`Postgres::create_database`] created.
    pub fn url(&self, database_url: &str) -> String {
        let database = database_url.rsplit('/').next().unwrap_or_default();
        postgres::url(self.directory.path(), database)
    }

    /// Shuts the proxy at the next commit.
    pub fn shut_at(&self, moment: Moment) {
        self.way.send_replace(Way::Until(moment));
    }

    /// Opens the proxy: connections are accepted again.
    pub fn open(&self) {
        self.way.send_replace(Way::Open);
    }

    /// Stops passing bytes on the existing connections and leaves them open; new ones are served.
    pub fn swallow(&self) {
        self.swallowed.send_replace(());
    }

    /// Waits until it is shut.
    pub async fn shut(&self) {
        // `self` holds the sender, so the channel cannot be closed.
        let _ = self.way.subscribe().wait_for(|way| *way == Way::Shut).await;
    }
}

async fn keep(
    listener: UnixListener,
    inside: PathBuf,
    way: Arc<watch::Sender<Way>>,
    swallowed: watch::Receiver<()>,
) {
    let mut guests = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while guests.try_join_next().is_some() {}
        if *way.borrow() == Way::Shut {
            continue;
        }
        let (inside, way) = (inside.clone(), Arc::clone(&way));
        let mut swallowed = swallowed.clone();
        swallowed.mark_unchanged();
        guests.spawn(async move {
            let mut shut = way.subscribe();
            let mut passing = std::pin::pin!(pass(client, &inside, &way));
            let is_swallowed = tokio::select! {
                // The connection is closed regardless of the way in which it ended.
                _ = &mut passing => false,
                _ = shut.wait_for(|way| *way == Way::Shut) => false,
                Ok(()) = swallowed.changed() => true,
            };
            if is_swallowed {
                // `passing` keeps the sockets open.
                std::future::pending::<()>().await;
            }
        });
    }
}

async fn pass(client: UnixStream, inside: &Path, way: &watch::Sender<Way>) -> Result<()> {
    let server = UnixStream::connect(inside).await?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let (committed, mut watching) = watch::channel(false);
    let out = async {
        let mut buffer = vec![0; 64 * 1_024];
        loop {
            let count = from_client.read(&mut buffer).await?;
            let bytes = &buffer[..count];
            if count == 0 {
                return anyhow::Ok(());
            }
            if bytes.windows(COMMIT.len()).any(|window| window == COMMIT) {
                match *way.borrow() {
                    Way::Until(Moment::BeforeCommit) => break,
                    Way::Until(Moment::AfterCommit) => _ = committed.send_replace(true),
                    Way::Open | Way::Shut => {}
                }
            }
            to_server.write_all(bytes).await?;
        }
        way.send_replace(Way::Shut);
        Ok(())
    };
    let back = async {
        let mut buffer = vec![0; 64 * 1_024];
        loop {
            let count = from_server.read(&mut buffer).await?;
            if count == 0 {
                return anyhow::Ok(());
            }
            if *watching.borrow_and_update() {
                // This is the answer to the commit.
                break;
            }
            to_client.write_all(&buffer[..count]).await?;
        }
        way.send_replace(Way::Shut);
        Ok(())
    };
    tokio::select! {
        ended = out => ended,
        ended = back => ended,
    }
}
