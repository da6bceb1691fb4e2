//! Failures of an HTTP client over real sockets. No text names the address, which may contain a
//! secret.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use error_causes::{ConnectionError, ConnectionErrorKind};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls_pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

const SECRET: &str = "s3cret";

async fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

fn client() -> reqwest::Client {
    let roots = rustls::RootCertStore::empty();
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let builder = reqwest::Client::builder().no_proxy();
    builder.tls_backend_preconfigured(tls).build().unwrap()
}

/// The kind and text of the error of a request that fails.
async fn failure(url: &str) -> (ConnectionErrorKind, String) {
    let request = client().get(format!("{url}/?token={SECRET}"));
    let answered = request.timeout(Duration::from_secs(60)).send().await;
    let error = match answered {
        Err(error) => error,
        Ok(answer) => answer.bytes().await.unwrap_err(),
    };
    let described = ConnectionError::from_error(&error);
    let text = described.to_string();
    assert!(
        !text.contains(SECRET) && !text.contains("127.0.0.1"),
        "{text}"
    );
    (described.kind(), text)
}

/// Answers the request of the first connection with `bytes`, then closes it.
async fn answer(listener: TcpListener, bytes: &'static [u8]) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = [0; 1024];
    assert!(stream.read(&mut request).await.unwrap() > 0);
    stream.write_all(bytes).await.unwrap();
}

#[tokio::test]
async fn nothing_listens() {
    let (listener, port) = listener().await;
    drop(listener);
    let (kind, text) = failure(&format!("http://127.0.0.1:{port}")).await;
    assert_eq!(kind, ConnectionErrorKind::Io);
    assert_eq!(text, "connection refused: no program listens there");
}

#[tokio::test]
async fn an_unknown_host() {
    let (kind, text) = failure("http://host.invalid").await;
    assert_eq!(kind, ConnectionErrorKind::Name, "{text}");
    assert!(text.starts_with("the name of the host"), "{text}");
}

#[tokio::test]
async fn an_answer_that_breaks_off() {
    let (listener, port) = listener().await;
    let server = answer(
        listener,
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
    );
    let url = format!("http://127.0.0.1:{port}");
    let (failed, ()) = tokio::join!(failure(&url), server);
    assert_eq!(failed.0, ConnectionErrorKind::Io, "{}", failed.1);
    assert!(
        failed.1.starts_with("the connection broke off"),
        "{}",
        failed.1
    );
}

#[tokio::test]
async fn a_peer_that_is_no_http_server() {
    let (listener, port) = listener().await;
    let server = answer(listener, b"220 mail.test ESMTP\r\n\r\n");
    let url = format!("http://127.0.0.1:{port}");
    let (failed, ()) = tokio::join!(failure(&url), server);
    assert_eq!(failed.0, ConnectionErrorKind::Http);
    assert_eq!(failed.1, "the peer does not answer in HTTP");
}

#[tokio::test]
async fn a_peer_without_tls() {
    let (listener, port) = listener().await;
    let server = answer(listener, b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let url = format!("https://127.0.0.1:{port}");
    let (failed, ()) = tokio::join!(failure(&url), server);
    assert_eq!(failed.0, ConnectionErrorKind::Tls, "{}", failed.1);
    assert_eq!(failed.1, "the peer does not speak TLS");
}

#[tokio::test]
async fn a_peer_with_a_certificate_of_an_unknown_authority() {
    let (listener, port) = listener().await;
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let tls = rustls::ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let server = async {
        let (stream, _): (TcpStream, _) = listener.accept().await.unwrap();
        // The client ends the handshake.
        TlsAcceptor::from(Arc::new(tls))
            .accept(stream)
            .await
            .unwrap_err();
    };
    let url = format!("https://127.0.0.1:{port}");
    let (failed, ()) = tokio::join!(failure(&url), server);
    assert_eq!(failed.0, ConnectionErrorKind::PeerCertificate);
    assert!(failed.1.contains("not trusted here"), "{}", failed.1);
}
