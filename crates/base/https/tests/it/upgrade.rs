//! Upgraded connections belong to the handlers that upgraded them.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use https::Config;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::site::Site;

/// Upgrades the connection and sends back the bytes that it reads.
pub(crate) async fn echo(request: Request<Body>) -> Response {
    tokio::spawn(async move {
        let mut stream = TokioIo::new(hyper::upgrade::on(request).await.unwrap());
        let mut word = [0; 4];
        stream.read_exact(&mut word).await.unwrap();
        stream.write_all(&word).await.unwrap();
        stream.shutdown().await.unwrap();
    });
    let headers = [(header::CONNECTION, "upgrade"), (header::UPGRADE, "echo")];
    (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
}

#[tokio::test]
async fn a_router_can_take_the_connection_over() {
    let site = Site::start(Config::default()).await;
    let connector = TlsConnector::from(site.client_config(Some("node1")));
    let socket = TcpStream::connect(site.address).await.unwrap();
    let mut stream = connector
        .connect("localhost".try_into().unwrap(), socket)
        .await
        .unwrap();
    let head =
        b"GET /upgrade HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\nping";
    stream.write_all(head).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    assert!(answer.ends_with("ping"), "{answer}");
}
