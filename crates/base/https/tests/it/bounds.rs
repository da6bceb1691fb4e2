//! Clients that do too little, or too much at once.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use https::{AdmissionLimits, Config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::site::{LONG, Site};

/// Waits until the server closes the connection: end of stream or a reset.
async fn closed(stream: &mut (impl AsyncReadExt + Unpin)) {
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut rest))
        .await
        .unwrap();
}

fn connections(most: usize) -> Config {
    Config {
        admission: AdmissionLimits {
            connections: most,
            ..AdmissionLimits::default()
        },
        ..Config::default()
    }
}

#[tokio::test]
async fn a_handshake_that_never_comes_is_given_up() {
    let config = Config {
        handshake_timeout: Duration::from_millis(50),
        ..Config::default()
    };
    let site = Site::start(config).await;
    let mut silent = TcpStream::connect(site.address).await.unwrap();
    closed(&mut silent).await;
}

#[tokio::test]
async fn a_silent_connection_is_given_up_before_a_slow_handshake() {
    let config = Config {
        handshake_timeout: LONG * 10,
        admission: AdmissionLimits {
            first_byte: Duration::from_millis(50),
            ..AdmissionLimits::default()
        },
        ..Config::default()
    };
    let site = Site::start(config).await;
    let mut silent = TcpStream::connect(site.address).await.unwrap();
    closed(&mut silent).await;
}

#[tokio::test]
async fn authenticated_connections_are_bounded_and_others_wait_their_turn() {
    let site = Site::start(connections(1)).await;
    let first = site.client(Some("node.example"));
    let waiting = tokio::spawn(first.get(site.url("/wait")).send());
    site.waiting.entered.notified().await;
    // The second is in the kernel's queue until the first ends.
    let mut second = tokio::spawn(site.client(None).get(site.url("/who")).send());
    let early = tokio::time::timeout(Duration::from_millis(50), &mut second).await;
    assert!(early.is_err(), "answered while the only place was taken");
    site.waiting.go.notify_waiters();
    waiting.await.unwrap().unwrap().text().await.unwrap();
    drop(first);
    let answer = tokio::time::timeout(LONG, second)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn a_head_that_never_ends_is_given_up() {
    let config = Config {
        header_read_timeout: Duration::from_millis(50),
        ..Config::default()
    };
    let site = Site::start(config).await;
    let connector = TlsConnector::from(site.client_config(None));
    let socket = TcpStream::connect(site.address).await.unwrap();
    let mut stream = connector
        .connect("localhost".try_into().unwrap(), socket)
        .await
        .unwrap();
    stream.write_all(b"GET /who HTTP/1.1\r\nx: ").await.unwrap();
    closed(&mut stream).await;

    let socket = TcpStream::connect(site.address).await.unwrap();
    let mut stream = connector
        .connect("localhost".try_into().unwrap(), socket)
        .await
        .unwrap();
    let endless = vec![b'x'; 2 * https::defaults::MAX_HEAD_BYTES];
    // The server may close before everything is written.
    let _ = stream.write_all(&endless).await;
    closed(&mut stream).await;
}

#[tokio::test]
async fn an_answer_that_nobody_reads_does_not_keep_its_place() {
    let config = Config {
        write_stall_timeout: Duration::from_millis(100),
        ..connections(1)
    };
    let site = Site::start(config).await;
    let connector = TlsConnector::from(site.client_config(None));
    let socket = TcpStream::connect(site.address).await.unwrap();
    let mut deaf = connector
        .connect("localhost".try_into().unwrap(), socket)
        .await
        .unwrap();
    let request = b"GET /much HTTP/1.1\r\nhost: localhost\r\n\r\n";
    deaf.write_all(request).await.unwrap();
    let answer = site.client(None).get(site.url("/who")).send();
    let answer = tokio::time::timeout(LONG, answer).await.unwrap().unwrap();
    assert_eq!(answer.status(), 200);
    drop(deaf);
}

#[tokio::test]
async fn a_large_request_may_follow_the_handshake_at_once() {
    let site = Site::start(Config::default()).await;
    let (config, address) = (site.client_config(Some("node.example")), site.address);
    let answer = tokio::task::spawn_blocking(move || {
        let name = "localhost".try_into().unwrap();
        let mut tls = rustls::ClientConnection::new(config, name).unwrap();
        let mut socket = std::net::TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(LONG)).unwrap();
        while tls.is_handshaking() {
            while tls.wants_write() {
                tls.write_tls(&mut socket).unwrap();
            }
            tls.read_tls(&mut socket).unwrap();
            tls.process_new_packets().unwrap();
        }
        // The end of the handshake is not sent yet, and goes in one piece with a full record.
        tls.set_buffer_limit(None);
        let body = "x".repeat(60_000);
        let head = "POST /length HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
        let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        tls.writer().write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        rustls::Stream::new(&mut tls, &mut socket).read_to_end(&mut answer)?;
        Ok::<_, std::io::Error>(String::from_utf8(answer).unwrap())
    });
    let answer = answer.await.unwrap().unwrap();
    assert!(answer.ends_with("60000"), "{answer}");
}
