//! The codec against an independent implementation, in both directions, over a pipe in memory.

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame as TheirClose;
use tokio_tungstenite::tungstenite::protocol::frame::Frame as TheirFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::{accept_async, client_async};
use ws::handshake::{HttpRequestHead, PendingUpgrade, write_accept};
use ws::{
    CloseFrame, ConnectionSide, MessageDecoder, OutgoingFrame, ReceiveLimits, ReceivedEvent, encode,
};

const SIZES: [usize; 9] = [0, 1, 125, 126, 127, 65_535, 65_536, 70_000, 1_000_000];
const LIMITS: ReceiveLimits = ReceiveLimits {
    max_message_bytes: 1_000_000,
};
const PIPE_BYTES: usize = 4_096;

/// The end of a connection that uses this codec.
struct Ours {
    pipe: DuplexStream,
    decoder: MessageDecoder,
    buf: BytesMut,
    key: Option<[u8; 4]>,
}

impl Ours {
    async fn accept(mut pipe: DuplexStream) -> Self {
        let mut buf = BytesMut::new();
        let request = loop {
            if let Some(request) = HttpRequestHead::read(&mut buf).expect("HTTP") {
                break request;
            }
            assert!(pipe.read_buf(&mut buf).await.expect("an open pipe") > 0);
        };
        assert_eq!(request.target, "/pcp2/agent");
        let mut out = BytesMut::new();
        write_accept(&request.check_upgrade().expect("an upgrade"), &mut out);
        pipe.write_all(&out).await.expect("an open pipe");
        Self {
            pipe,
            decoder: MessageDecoder::new(ConnectionSide::Server, LIMITS),
            buf,
            key: None,
        }
    }

    async fn connect(mut pipe: DuplexStream) -> Self {
        let (mut out, mut buf) = (BytesMut::new(), BytesMut::new());
        let upgrade =
            PendingUpgrade::write_request("broker:8142", "/pcp2/agent", [3; 16], &[], &mut out);
        pipe.write_all(&out).await.expect("an open pipe");
        while upgrade
            .read_response(&mut buf)
            .expect("an upgrade")
            .is_none()
        {
            assert!(pipe.read_buf(&mut buf).await.expect("an open pipe") > 0);
        }
        let key = Some([0x12, 0x00, 0xff, 0x9a]);
        Self {
            pipe,
            decoder: MessageDecoder::new(ConnectionSide::Client, LIMITS),
            buf,
            key,
        }
    }

    async fn next(&mut self) -> ReceivedEvent {
        loop {
            if let Some(event) = self.decoder.decode(&mut self.buf).expect("good frames") {
                return event;
            }
            assert!(
                self.pipe
                    .read_buf(&mut self.buf)
                    .await
                    .expect("an open pipe")
                    > 0,
                "closed too early"
            );
        }
    }

    async fn send(&mut self, frame: OutgoingFrame<'_>) {
        let mut out = BytesMut::new();
        encode(frame, self.key, &mut out);
        self.pipe.write_all(&out).await.expect("an open pipe");
    }

    /// Sends back every message until the close frame, which is answered and returned.
    async fn echo(mut self) -> Option<CloseFrame> {
        loop {
            match self.next().await {
                ReceivedEvent::Text(text) => self.send(OutgoingFrame::Text(&text)).await,
                ReceivedEvent::Binary(bytes) => self.send(OutgoingFrame::Binary(&bytes)).await,
                ReceivedEvent::Ping(bytes) => self.send(OutgoingFrame::Pong(&bytes)).await,
                ReceivedEvent::Pong(_) => {}
                ReceivedEvent::Close(close) => {
                    let code = close
                        .as_ref()
                        .map_or(ws::code::NO_STATUS, |close| close.code);
                    self.send(OutgoingFrame::Close(code, "")).await;
                    return close;
                }
            }
        }
    }
}

fn text(size: usize) -> String {
    // Characters of 1 to 4 bytes.
    "aä€😀"
        .chars()
        .cycle()
        .scan(0, |bytes, c| {
            *bytes += c.len_utf8();
            (*bytes <= size).then_some(c)
        })
        .collect()
}

fn piece(opcode: Data, last: bool, payload: &'static [u8]) -> Message {
    Message::Frame(TheirFrame::message(
        Bytes::from_static(payload),
        OpCode::Data(opcode),
        last,
    ))
}

#[tokio::test]
async fn their_client_talks_to_our_server() {
    let (theirs, ours) = duplex(PIPE_BYTES);
    let server = tokio::spawn(async move { Ours::accept(ours).await.echo().await });
    let (mut client, response) = client_async("ws://broker:8142/pcp2/agent", theirs)
        .await
        .unwrap();
    assert_eq!(response.status(), 101);
    for size in SIZES {
        for sent in [Message::text(text(size)), Message::binary(vec![0xa5; size])] {
            client.send(sent.clone()).await.unwrap();
            assert_eq!(client.next().await.unwrap().unwrap(), sent);
        }
    }
    client
        .send(Message::Ping(Bytes::from_static(b"p")))
        .await
        .unwrap();
    assert_eq!(
        client.next().await.unwrap().unwrap(),
        Message::Pong(Bytes::from_static(b"p"))
    );

    // A character is split by the fragments, and a ping is sent between them.
    client
        .send(piece(Data::Text, false, b"a\xe2\x82"))
        .await
        .unwrap();
    client.send(Message::Ping(Bytes::new())).await.unwrap();
    client
        .send(piece(Data::Continue, true, b"\xac"))
        .await
        .unwrap();
    assert_eq!(
        client.next().await.unwrap().unwrap(),
        Message::Pong(Bytes::new())
    );
    assert_eq!(client.next().await.unwrap().unwrap(), Message::text("a€"));

    let close = TheirClose {
        code: CloseCode::Library(4002),
        reason: "done".into(),
    };
    client.close(Some(close)).await.unwrap();
    let expected = CloseFrame {
        code: 4002,
        reason: "done".into(),
    };
    assert_eq!(server.await.unwrap(), Some(expected));
    assert!(matches!(
        client.next().await,
        Some(Ok(Message::Close(Some(_))))
    ));
}

#[tokio::test]
async fn our_client_talks_to_their_server() {
    let (theirs, ours) = duplex(PIPE_BYTES);
    let server = tokio::spawn(async move {
        let mut server = accept_async(theirs).await.unwrap();
        let mut received = Vec::new();
        while let Some(message) = server.next().await {
            match message.unwrap() {
                message if message.is_text() || message.is_binary() => {
                    server.send(message).await.unwrap();
                }
                message => received.push(message),
            }
        }
        received
    });
    let mut client = Ours::connect(ours).await;
    for size in SIZES {
        let (text, bytes) = (text(size), vec![0x5a; size]);
        client.send(OutgoingFrame::Text(&text)).await;
        assert_eq!(client.next().await, ReceivedEvent::Text(text));
        client.send(OutgoingFrame::Binary(&bytes)).await;
        assert_eq!(client.next().await, ReceivedEvent::Binary(bytes.into()));
    }
    client.send(OutgoingFrame::Ping(b"are you there")).await;
    assert_eq!(
        client.next().await,
        ReceivedEvent::Pong(Bytes::from_static(b"are you there"))
    );
    client
        .send(OutgoingFrame::Close(4003, "no certificate"))
        .await;
    let ReceivedEvent::Close(Some(close)) = client.next().await else {
        panic!("no close")
    };
    assert_eq!(close.code, 4003);
    drop(client);
    let received = server.await.unwrap();
    let theirs = TheirClose {
        code: CloseCode::Library(4003),
        reason: "no certificate".into(),
    };
    assert!(
        received.contains(&Message::Close(Some(theirs))),
        "{received:?}"
    );
}
