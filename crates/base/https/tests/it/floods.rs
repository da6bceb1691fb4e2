//! Floods of connections from one address displace their own connections and keep no peer of
//! another address out.
//!
//! All timeouts are far longer than a test may take, so only displacement lets honest peers in.

use std::net::SocketAddr;

use https::{AdmissionLimits, Config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::site::{LONG, Site};

const ATTACKER: &str = "127.0.0.2:0";
const HONEST: &str = "127.0.0.1:0";

fn patient(admission: AdmissionLimits) -> Config {
    Config {
        handshake_timeout: LONG * 10,
        header_read_timeout: LONG * 10,
        admission: AdmissionLimits {
            first_byte: LONG * 10,
            handshake_patience: LONG * 10,
            ..admission
        },
        ..Config::default()
    }
}

async fn connect(site: &Site, from: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(from.parse::<SocketAddr>().unwrap()).unwrap();
    socket.connect(site.address).await.unwrap()
}

async fn handshake(site: &Site, from: &str, certname: Option<&str>) -> TlsStream<TcpStream> {
    let connecting = async {
        let connector = TlsConnector::from(site.client_config(certname));
        let stream = connect(site, from).await;
        let name = "localhost".try_into().unwrap();
        connector.connect(name, stream).await.unwrap()
    };
    tokio::time::timeout(LONG, connecting).await.unwrap()
}

/// Sends one request on a connection that stays open; true if it is answered.
async fn is_served(stream: &mut TlsStream<TcpStream>) -> bool {
    let asking = async {
        let request = b"GET /who HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(request).await.ok()?;
        let mut status = [0; 15];
        stream.read_exact(&mut status).await.ok()?;
        Some(status.starts_with(b"HTTP/1.1 200 OK"))
    };
    let answered = tokio::time::timeout(LONG, asking).await;
    answered.expect("neither served nor closed") == Some(true)
}

#[tokio::test]
async fn idle_sockets_of_one_address_do_not_lock_others_out() {
    let limits = AdmissionLimits {
        half_open: 8,
        half_open_per_network: 6,
        ..AdmissionLimits::default()
    };
    let site = Site::start(patient(limits)).await;
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(connect(&site, ATTACKER).await);
    }
    assert!(is_served(&mut handshake(&site, HONEST, None).await).await);
    // Honest peers behind the same address are served as well.
    assert!(is_served(&mut handshake(&site, ATTACKER, None).await).await);
}

#[tokio::test]
async fn handshakes_that_one_address_does_not_finish_do_not_lock_others_out() {
    let limits = AdmissionLimits {
        half_open: 8,
        half_open_per_network: 8,
        ..AdmissionLimits::default()
    };
    let site = Site::start(patient(limits)).await;
    let mut begun = Vec::new();
    for _ in 0..40 {
        let mut stream = connect(&site, ATTACKER).await;
        // Only the head of a TLS record. The socket may be closed already.
        stream.write_all(&[0x16, 3, 1, 2, 0]).await.ok();
        begun.push(stream);
    }
    for _ in 0..4 {
        assert!(is_served(&mut handshake(&site, HONEST, None).await).await);
    }
}

#[tokio::test]
async fn connections_that_stay_after_a_request_do_not_lock_others_out() {
    let limits = AdmissionLimits {
        connections: 4,
        ..AdmissionLimits::default()
    };
    let site = Site::start(patient(limits)).await;
    let mut kept = Vec::new();
    for _ in 0..8 {
        let mut stream = handshake(&site, ATTACKER, None).await;
        assert!(is_served(&mut stream).await);
        kept.push(stream);
    }
    assert!(is_served(&mut handshake(&site, HONEST, None).await).await);
}

#[tokio::test]
async fn nodes_behind_one_address_keep_their_connections_during_a_flood() {
    let limits = AdmissionLimits {
        half_open: 4,
        half_open_per_network: 2,
        ..AdmissionLimits::default()
    };
    let site = Site::start(patient(limits)).await;
    let mut nodes = Vec::new();
    for number in 0..12 {
        let name = format!("node{number}.example");
        nodes.push(handshake(&site, ATTACKER, Some(&name)).await);
    }
    let mut idle = Vec::new();
    for _ in 0..40 {
        idle.push(connect(&site, ATTACKER).await);
    }
    for node in &mut nodes {
        assert!(is_served(node).await);
    }
}
