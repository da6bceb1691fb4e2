//! Heads of requests and responses, valid and invalid.

use bytes::BytesMut;
use ws::handshake::{
    HeadError, HttpRequestHead, HttpResponseHead, PendingUpgrade, RefusedUpgrade, UpgradeError,
    write_accept, write_refusal_with,
};

const GOOD: &str = "GET /pcp2/agent HTTP/1.1\r\nHost: broker:8142\r\nUpgrade: WebSocket\r\n\
    Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

fn read(text: &str) -> Result<Option<HttpRequestHead>, HeadError> {
    HttpRequestHead::read(&mut BytesMut::from(text))
}

fn refusal(text: &str) -> RefusedUpgrade {
    let request = read(text).expect("this is HTTP").expect("this is complete");
    request
        .check_upgrade()
        .expect_err("this is no good upgrade")
}

#[test]
fn answers_the_example_of_the_rfc() {
    let mut buf = BytesMut::from(GOOD);
    buf.extend_from_slice(b"frames");
    let request = HttpRequestHead::read(&mut buf).unwrap().unwrap();
    assert_eq!(request.target, "/pcp2/agent");
    assert_eq!(request.headers.get("host"), Some("broker:8142"));
    assert_eq!(&buf[..], b"frames", "what follows the head stays");
    let mut out = BytesMut::new();
    write_accept(&request.check_upgrade().unwrap(), &mut out);
    let response = HttpResponseHead::read(&mut out).unwrap().unwrap();
    assert_eq!(response.status, 101);
    let proof = response.headers.get("Sec-WebSocket-Accept");
    assert_eq!(proof, Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
}

#[test]
fn a_head_may_come_byte_by_byte() {
    let mut buf = BytesMut::new();
    for (index, byte) in GOOD.bytes().enumerate() {
        buf.extend_from_slice(&[byte]);
        let complete = HttpRequestHead::read(&mut buf).unwrap().is_some();
        assert_eq!(complete, index + 1 == GOOD.len());
    }
}

#[test]
fn refuses_requests_that_are_no_upgrade() {
    let without = |line: &str| GOOD.replacen(line, "", 1);
    let table = [
        (GOOD.replacen("GET", "POST", 1), RefusedUpgrade::Method, 405),
        (
            GOOD.replacen("HTTP/1.1", "HTTP/1.0", 1),
            RefusedUpgrade::HttpVersion,
            505,
        ),
        (
            GOOD.replacen("/pcp2/agent", "*", 1),
            RefusedUpgrade::Target,
            400,
        ),
        (without("Host: broker:8142\r\n"), RefusedUpgrade::Host, 400),
        (
            without("Upgrade: WebSocket\r\n"),
            RefusedUpgrade::NotAnUpgrade,
            426,
        ),
        (
            GOOD.replacen("keep-alive, Upgrade", "close", 1),
            RefusedUpgrade::NotAnUpgrade,
            426,
        ),
        (
            GOOD.replacen(": 13", ": 8", 1),
            RefusedUpgrade::WebSocketVersion,
            426,
        ),
        (GOOD.replacen("dGhl", "", 1), RefusedUpgrade::Key, 400),
        (
            GOOD.replacen("Host", "Host: a\r\nHost", 1),
            RefusedUpgrade::Host,
            400,
        ),
        (
            GOOD.replacen("Host", "Content-Length: 5\r\nHost", 1),
            RefusedUpgrade::Body,
            400,
        ),
        (
            GOOD.replacen("Host", "Transfer-Encoding: chunked\r\nHost", 1),
            RefusedUpgrade::Body,
            400,
        ),
    ];
    for (text, expected, status) in table {
        let found = refusal(&text);
        assert_eq!((found, found.status()), (expected, status), "{text}");
    }
}

#[test]
fn refuses_what_is_not_http() {
    assert!(
        matches!(read("\u{16}\u{3}\u{1}"), Err(HeadError::NotHttp(_))),
        "TLS to a plain port"
    );
    assert!(matches!(
        read("GET / HTTP/1.1\r\na b: c\r\n\r\n"),
        Err(HeadError::NotHttp(_))
    ));
    assert!(matches!(
        read("GET / HTTP/1.1\nHost: a\n\nx\r\n\r\n"),
        Err(HeadError::NotHttp(_))
    ));
    assert!(matches!(
        read("GET / HTTP/3.0\r\n\r\n"),
        Err(HeadError::NotHttp(_))
    ));
    assert!(matches!(
        read("GET /\r\nHost: a\r\n folded\r\n\r\n"),
        Err(HeadError::NotHttp(_))
    ));
    let mut latin1 = BytesMut::from(&b"GET / HTTP/1.1\r\nHost: \xe4\r\n\r\n"[..]);
    assert_eq!(HttpRequestHead::read(&mut latin1), Err(HeadError::NotUtf8));
}

#[test]
fn heads_are_bounded() {
    let endless = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(16 * 1024));
    assert_eq!(read(&endless), Err(HeadError::TooLarge));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65));
    assert_eq!(read(&many), Err(HeadError::TooLarge));
    assert_eq!(RefusedUpgrade::from(HeadError::TooLarge).status(), 431);
}

#[test]
fn a_refusal_is_a_complete_response() {
    let mut out = BytesMut::new();
    write_refusal_with(404, "no such path", &mut out);
    let response = HttpResponseHead::read(&mut out).unwrap().unwrap();
    assert_eq!(
        (response.status, response.reason.as_str()),
        (404, "Not Found")
    );
    assert_eq!(response.headers.get("Content-Length"), Some("13"));
    assert_eq!(&out[..], b"no such path\n");
}

#[test]
fn a_client_sees_through_bad_answers() {
    let mut out = BytesMut::new();
    let upgrade =
        PendingUpgrade::write_request("b:8142", "/pcp2/agent", [7; 16], &[("X-A", "b")], &mut out);
    let request = HttpRequestHead::read(&mut out).unwrap().unwrap();
    assert_eq!(request.headers.get("X-A"), Some("b"));
    let mut good = BytesMut::new();
    write_accept(&request.check_upgrade().unwrap(), &mut good);
    let good = String::from_utf8(good.to_vec()).unwrap();
    let answer = |text: &str| upgrade.read_response(&mut BytesMut::from(text));

    assert!(answer(&good).unwrap().is_some());
    assert_eq!(answer(&good[..good.len() - 1]), Ok(None));
    for (from, to) in [
        ("Accept: ", "Accept: x"),
        ("Upgrade: websocket", "Upgrade: h2c"),
        ("Connection: Upgrade", "Connection: close"),
        ("Connection", "Sec-WebSocket-Extensions: x\r\nConnection"),
        ("Connection", "Sec-WebSocket-Protocol: x\r\nConnection"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert!(
            matches!(answer(&bad), Err(UpgradeError::NotAWebSocket(_))),
            "{bad}"
        );
    }
    let refused = UpgradeError::Refused {
        status: 503,
        reason: "Busy".into(),
    };
    assert_eq!(answer("HTTP/1.1 503 Busy\r\n\r\n"), Err(refused));
}

#[test]
#[should_panic(expected = "a header would be taken for another")]
fn headers_cannot_be_smuggled_in() {
    PendingUpgrade::write_request(
        "b",
        "/",
        [0; 16],
        &[("A", "b\r\nC: d")],
        &mut BytesMut::new(),
    );
}
