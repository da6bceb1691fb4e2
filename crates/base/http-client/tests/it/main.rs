//! Requests to small servers on this machine.

#![expect(
    clippy::unwrap_used,
    reason = "in tests a panic is the report; clippy excuses only test functions"
)]

use http_client::{BodyError, read_body, without_tls};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Starts a server that sends this answer to every connection and closes it. Returns its address.
async fn serve(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let length = socket.read(&mut request).await.unwrap();
            let request = String::from_utf8_lossy(&request[..length]).to_lowercase();
            assert!(request.contains("user-agent: tutti/"), "{request}");
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    address
}

async fn body(answer: &'static str, limit: usize) -> Result<Vec<u8>, BodyError> {
    let client = without_tls().build().unwrap();
    let mut response = client.get(serve(answer).await).send().await.unwrap();
    read_body(&mut response, limit).await
}

#[tokio::test]
async fn a_body_within_the_limit_is_read() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(body(answer, 5).await.unwrap(), b"hello");
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_announced_or_not() {
    let announced = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    for answer in [announced, chunked] {
        let error = body(answer, 4).await.unwrap_err();
        assert_eq!(error.to_string(), "the answer has more than 4 bytes");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_in_the_body_is_an_error_without_the_address() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello";
    let error = body(answer, 9).await.unwrap_err();
    assert!(matches!(&error, BodyError::Broken(_)), "{error}");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(!source.contains("127.0.0.1"), "{source}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let answer = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    let client = without_tls().build().unwrap();
    let response = client.get(serve(answer).await).send().await.unwrap();
    assert_eq!(response.status().as_u16(), 302);
}
