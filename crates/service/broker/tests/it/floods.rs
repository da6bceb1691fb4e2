//! Floods of connections from one address: they displace themselves and keep no
//! agent of another address out.
//!
//! All timeouts are far longer than a test may take, so only displacement lets honest agents in.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};

use crate::support::{Client, TestBroker, World};

const NEVER: Duration = Duration::from_secs(3_600);

fn small_broker() -> TestBroker {
    World::shared().broker(|config| {
        config.limits.half_open = 8;
        config.limits.half_open_per_network = 6;
        config.timeouts.first_byte = NEVER;
        config.timeouts.opening = NEVER;
    })
}

/// Connects from an address that no honest agent of these tests has.
async fn attack(broker: &TestBroker) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    let from: SocketAddr = "127.0.0.2:0".parse().unwrap();
    socket.bind(from).unwrap();
    socket.connect(broker.addr()).await.unwrap()
}

#[tokio::test]
async fn idle_sockets_of_one_address_do_not_lock_agents_out() {
    let broker = small_broker();
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(attack(&broker).await);
    }
    for name in ["a.example", "b.example", "c.example"] {
        Client::connect(&broker, name).await.expect_alive().await;
    }
}

#[tokio::test]
async fn handshakes_that_one_address_does_not_finish_do_not_lock_agents_out() {
    let broker = small_broker();
    let mut begun = Vec::new();
    for _ in 0..40 {
        let mut stream = attack(&broker).await;
        // The head of a TLS record, and nothing behind it. It may meet a closed socket.
        stream.write_all(&[0x16, 3, 1, 2, 0]).await.ok();
        begun.push(stream);
    }
    for name in ["a.example", "b.example", "c.example"] {
        Client::connect(&broker, name).await.expect_alive().await;
    }
}

#[tokio::test]
async fn a_silent_connection_ends_before_the_time_of_a_handshake() {
    let broker = World::shared().broker(|config| {
        config.timeouts.first_byte = Duration::from_millis(50);
        config.timeouts.opening = NEVER;
    });
    let mut silent = attack(&broker).await;
    let mut nothing = [0; 1];
    let read = tokio::io::AsyncReadExt::read(&mut silent, &mut nothing);
    let read = crate::support::guard(read).await;
    assert!(matches!(read, Ok(0) | Err(_)), "it was cut");
}
