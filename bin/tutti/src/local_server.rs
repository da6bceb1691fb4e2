//! Detection of a running server on this machine, and the connection to it. Main function:
//! [`find`].
//!
//! Invariant: an undecidable state is an error, since files must not be changed under a running
//! server.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Result, bail};
use cli::local_server::LocalServerLogin;

use crate::config::Config;

/// Time for the server to accept a connection, before it counts as busy and not as absent.
const LOOK_FOR_SERVER: Duration = Duration::from_secs(5);

/// The server of this machine.
pub(crate) enum LocalServer {
    /// No process listens at its address.
    Stopped,
    /// The server is running, but this user may not read its key.
    WithoutKey,
    /// The server is running and can be reached with this login.
    Running(LocalServerLogin),
}

/// Looks for the server by its listener: as long as it does not listen, it has not read its files
/// yet.
pub(crate) fn find(config: &Config) -> Result<LocalServer> {
    let address = reachable_address(config.api.listen);
    match TcpStream::connect_timeout(&address, LOOK_FOR_SERVER) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            return Ok(LocalServer::Stopped);
        }
        Err(error) => bail!(
            "cannot tell whether the server runs: {address} does not answer: {error}; try again, or stop it first"
        ),
    }
    let tls = config.tls_files();
    if std::fs::File::open(&tls.key).is_err() {
        return Ok(LocalServer::WithoutKey);
    }
    Ok(LocalServer::Running(LocalServerLogin {
        service_url: format!("https://{}:{}", config.certname, address.port()),
        address,
        cacert: tls.ca,
        cert: tls.cert,
        key: tls.key,
    }))
}

/// True if something accepts connections at the address of the API.
pub(crate) fn is_listening(config: &Config) -> bool {
    TcpStream::connect_timeout(&reachable_address(config.api.listen), LOOK_FOR_SERVER).is_ok()
}

/// The address to connect to; for a listener on all addresses it is the loopback one.
fn reachable_address(listen: SocketAddr) -> SocketAddr {
    let address = match listen.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        named => named,
    };
    SocketAddr::new(address, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_of_this_machine_is_asked_on_the_loopback_address() {
        for (listen, reached) in [
            ("0.0.0.0:8143", "127.0.0.1:8143"),
            ("[::]:8143", "[::1]:8143"),
            ("192.0.2.1:8143", "192.0.2.1:8143"),
        ] {
            assert_eq!(
                reachable_address(listen.parse().unwrap()),
                reached.parse().unwrap()
            );
        }
    }
}
