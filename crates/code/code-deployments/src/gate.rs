//! Holds a puppetserver's compiles back while another version becomes live. Main types:
//! [`CompileGate`], [`ClosedGate`].
//!
//! A puppetserver starts each compile by running a process that prints the code id, and waits for
//! that process. While the gate is closed, these processes connect to a socket, and they continue
//! when the socket is closed. Invariants: a process counted as waiting has not yet read which
//! version is live; no process waits for a server that no longer runs.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};

use code_store::disk_work::on_disk;

use crate::defaults::GATE_WAIT;

/// One gate for all environments: a puppetserver does not report the environment of a compile.
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct CompileGate {
    directory: PathBuf,
    close_lock: Arc<Mutex<()>>,
}

/// The gate while it is closed; it opens when this is dropped.
#[derive(Debug)]
pub struct ClosedGate {
    path: PathBuf,
    listener: UnixListener,
    waiting: Vec<UnixStream>,
    _turn: OwnedMutexGuard<()>,
}

/// Name of the socket in the directory of deployments.
const SOCKET_NAME: &str = "gate";
/// Mode of the socket: a puppetserver runs as a user of its own.
const MODE: u32 = 0o666;

impl CompileGate {
    /// An open gate in a directory of deployments.
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            close_lock: Arc::default(),
        }
    }

    /// Closes the gate; waits first until any other [`ClosedGate`] is dropped.
    pub async fn close(&self) -> io::Result<ClosedGate> {
        let turn = Arc::clone(&self.close_lock).lock_owned().await;
        let path = self.directory.join(SOCKET_NAME);
        let listener = on_disk(|| self.bind_socket(&path))?;
        Ok(ClosedGate {
            path,
            listener,
            waiting: Vec::new(),
            _turn: turn,
        })
    }

    fn bind_socket(&self, path: &Path) -> io::Result<UnixListener> {
        // The socket gets its final name only after its mode is set.
        let new = self.directory.join(".gate-new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&new)?;
        listener.set_nonblocking(true)?;
        fs::set_permissions(&new, fs::Permissions::from_mode(MODE))?;
        fs::rename(&new, path)?;
        Ok(listener)
    }
}

impl ClosedGate {
    /// Number of processes that wait at the gate.
    pub fn count_waiting(&mut self) -> io::Result<usize> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    self.waiting.push(stream);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        // These processes send nothing: anything readable is the end of the connection.
        self.waiting.retain(|stream| {
            let read = (&mut &*stream).read(&mut [0]);
            read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        });
        Ok(self.waiting.len())
    }
}

impl Drop for ClosedGate {
    fn drop(&mut self) {
        // If the file remains, connections to it are refused, and the processes continue.
        drop(on_disk(|| fs::remove_file(&self.path)));
    }
}

/// Returns when the gate of a directory of deployments is open.
pub fn wait_until_open(directory: &Path) -> io::Result<()> {
    let mut stream = match UnixStream::connect(directory.join(SOCKET_NAME)) {
        Ok(stream) => stream,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    stream.set_read_timeout(Some(GATE_WAIT))?;
    loop {
        match stream.read(&mut [0]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "a deployment takes too long to tell the puppetserver of it",
                ));
            }
            // The connection ended or failed: the gate is open.
            _ => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn count(closed: &mut ClosedGate, expected: usize) {
        // There is no notification of connections to a listener that is not polled.
        while closed.count_waiting().unwrap() != expected {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn who_comes_while_it_is_closed_waits_and_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let gate = CompileGate::new(directory.path());
        wait_until_open(directory.path()).unwrap();
        let mut closed = gate.close().await.unwrap();
        assert_eq!(closed.count_waiting().unwrap(), 0);
        let passing: Vec<_> = (0..3)
            .map(|_| {
                let directory = directory.path().to_owned();
                tokio::task::spawn_blocking(move || wait_until_open(&directory))
            })
            .collect();
        count(&mut closed, 3).await;
        assert!(passing.iter().all(|passing| !passing.is_finished()));
        drop(closed);
        for passing in passing {
            passing.await.unwrap().unwrap();
        }
        wait_until_open(directory.path()).unwrap();
    }

    #[tokio::test]
    async fn who_gives_up_is_not_counted_any_more() {
        let directory = tempfile::tempdir().unwrap();
        let mut closed = CompileGate::new(directory.path()).close().await.unwrap();
        let path = directory.path().join(SOCKET_NAME);
        let (stays, goes) = (
            UnixStream::connect(&path).unwrap(),
            UnixStream::connect(&path).unwrap(),
        );
        assert_eq!(closed.count_waiting().unwrap(), 2);
        drop(goes);
        count(&mut closed, 1).await;
        drop(stays);
    }

    #[tokio::test]
    async fn one_closes_it_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let gate = CompileGate::new(directory.path());
        let first = gate.close().await.unwrap();
        let second = tokio::spawn({
            let gate = gate.clone();
            async move { gate.close().await.unwrap() }
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        drop(first);
        let mut second = second.await.unwrap();
        let _waits = UnixStream::connect(directory.path().join(SOCKET_NAME)).unwrap();
        assert_eq!(second.count_waiting().unwrap(), 1);
    }

    #[test]
    fn a_gate_that_a_killed_server_left_holds_nobody() {
        let directory = tempfile::tempdir().unwrap();
        drop(UnixListener::bind(directory.path().join(SOCKET_NAME)).unwrap());
        assert!(directory.path().join(SOCKET_NAME).exists());
        wait_until_open(directory.path()).unwrap();
    }
}
