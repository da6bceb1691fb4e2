//! Where the browser comes back to: [`Listener`], and what it brings: [`Back`].
//!
//! The rule: only what has the state of this login ends it. Browsers open connections that say
//! nothing, and other programs of this machine may knock: neither keeps the right one waiting.

use std::io::ErrorKind;
use std::net::Ipv4Addr;

use reqwest::Url;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::Failure;
use crate::defaults::{CALLBACK_CONNECTIONS, CALLBACK_HEAD_BYTES, CALLBACK_REQUEST};

/// The one path of it.
const PATH: &str = "/callback";

/// What the identity provider sends back.
#[derive(Debug)]
pub(crate) enum Back {
    /// What the server gets a token for.
    Code(SecretString),
    /// Why there is none, in the provider's words.
    Refused(String),
}

/// Why an address is not the one that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotIt {
    #[error("that is not the address that the browser ended at: it begins with http://127.0.0.1:")]
    Address,
    #[error("that address is of another login; open the address above and log in there")]
    State,
    #[error("that address is not whole: there is no code in it")]
    Code,
}

/// Listens on loopback until the browser comes back.
#[derive(Debug)]
pub(crate) struct Listener {
    listener: TcpListener,
    port: u16,
    /// Requests that are being read. They end with this.
    visits: JoinSet<Option<(Back, Browser)>>,
}

/// A browser that waits to be told how it went.
#[derive(Debug)]
pub(crate) struct Browser(TcpStream);

/// What a browser can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    LoggedIn,
    Failed,
    AnotherLogin,
    NotHere,
}

/// What `address` brings to the login with `state`.
pub(crate) fn read(address: &str, state: &str) -> Result<Back, NotIt> {
    let address = Url::parse(address).map_err(|_| NotIt::Address)?;
    if address.path() != PATH {
        return Err(NotIt::Address);
    }
    let given = |name: &str| {
        let mut pairs = address.query_pairs();
        let pair = pairs.find(|(key, value)| key == name && !value.is_empty());
        pair.map(|(_, value)| value.into_owned())
    };
    if given("state").as_deref() != Some(state) {
        return Err(NotIt::State);
    }
    if let Some(error) = given("error") {
        let why = given("error_description").map(|why| format!("{error}: {why}"));
        return Ok(Back::Refused(why.unwrap_or(error)));
    }
    let code = given("code").ok_or(NotIt::Code)?;
    Ok(Back::Code(SecretString::from(code)))
}

// === impl Listener ===

impl Listener {
    /// On `port`, or on a free one.
    pub(crate) async fn open(port: Option<u16>) -> Result<Self, Failure> {
        let fail = |source| Failure::Listen {
            port: port.unwrap_or(0),
            source,
        };
        let asked = (Ipv4Addr::LOCALHOST, port.unwrap_or(0));
        let listener = TcpListener::bind(asked).await.map_err(fail)?;
        let port = listener.local_addr().map_err(fail)?.port();
        Ok(Self {
            listener,
            port,
            visits: JoinSet::new(),
        })
    }

    /// What the provider is told to send the browser to.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// The first that comes back with `state`. May be dropped at any moment and called again.
    pub(crate) async fn next(&mut self, state: &str) -> Result<(Back, Browser), Failure> {
        loop {
            let has_room = self.visits.len() < CALLBACK_CONNECTIONS;
            tokio::select! {
                Some(ended) = self.visits.join_next() => {
                    if let Ok(Some(back)) = ended {
                        return Ok(back);
                    }
                }
                accepted = self.listener.accept(), if has_room => match accepted {
                    Ok((stream, _)) => self.begin(stream, state.to_owned()),
                    Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                    Err(source) => return Err(Failure::Listen { port: self.port, source }),
                },
            }
        }
    }

    fn begin(&mut self, stream: TcpStream, state: String) {
        self.visits.spawn(async move {
            let visit = timeout(CALLBACK_REQUEST, visit(stream, &state));
            visit.await.ok().flatten()
        });
    }
}

// === impl Browser ===

impl Browser {
    /// Says how the login went. A browser that left does not matter.
    pub(crate) async fn tell(mut self, logged_in: bool) {
        let page = if logged_in {
            Page::LoggedIn
        } else {
            Page::Failed
        };
        let _ = timeout(CALLBACK_REQUEST, say(&mut self.0, page)).await;
    }
}

/// Reads one request; those that are not it are answered here.
async fn visit(mut stream: TcpStream, state: &str) -> Option<(Back, Browser)> {
    let head = head(&mut stream).await?;
    let target = target(&head).unwrap_or_default();
    match read(&format!("http://127.0.0.1{target}"), state) {
        Ok(back) => return Some((back, Browser(stream))),
        Err(NotIt::Address) => say(&mut stream, Page::NotHere).await.ok()?,
        Err(NotIt::State | NotIt::Code) => say(&mut stream, Page::AnotherLogin).await.ok()?,
    }
    None
}

/// The request up to its empty line.
async fn head(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if head.len() >= CALLBACK_HEAD_BYTES || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

/// `/callback?…` of `GET /callback?… HTTP/1.1`.
fn target(head: &[u8]) -> Option<&str> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    (method == "GET" && target.starts_with('/')).then_some(target)
}

async fn say(stream: &mut TcpStream, page: Page) -> std::io::Result<()> {
    stream.write_all(page.response().as_bytes()).await?;
    stream.shutdown().await
}

// === impl Page ===

impl Page {
    /// Nothing of it comes from elsewhere, so nothing in it needs to be made harmless.
    fn response(self) -> String {
        let (status, text) = match self {
            Self::LoggedIn => (
                "200 OK",
                "You are logged in to Tutti. You can close this window.",
            ),
            Self::Failed => (
                "200 OK",
                "You are not logged in to Tutti. The terminal says why.",
            ),
            Self::AnotherLogin => (
                "400 Bad Request",
                "This is not the login that the terminal waits for. Open the address that it shows.",
            ),
            Self::NotHere => ("404 Not Found", "There is nothing here."),
        };
        let body = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Tutti</title>\
             <body style=\"font-family: sans-serif; margin: 4em\"><p>{text}</p></body></html>\n"
        );
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
             cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn code(address: &str) -> Result<String, NotIt> {
        match read(address, "s1")? {
            Back::Code(code) => Ok(code.expose_secret().to_owned()),
            Back::Refused(why) => Ok(format!("refused: {why}")),
        }
    }

    #[test]
    fn only_the_address_of_this_login_brings_a_code() {
        let read = |query: &str| code(&format!("http://127.0.0.1:4711/callback?{query}"));
        assert_eq!(read("code=a%26b&state=s1").as_deref(), Ok("a&b"));
        assert_eq!(read("iss=x&state=s1&code=c").as_deref(), Ok("c"));
        assert_eq!(read("code=c&state=s2"), Err(NotIt::State));
        assert_eq!(read("code=c"), Err(NotIt::State));
        assert_eq!(read("state=s1"), Err(NotIt::Code));
        assert_eq!(read("state=s1&code="), Err(NotIt::Code));
        assert_eq!(
            code("http://127.0.0.1/other?code=c&state=s1"),
            Err(NotIt::Address)
        );
        assert_eq!(code("c"), Err(NotIt::Address));
        assert_eq!(code(""), Err(NotIt::Address));
    }

    #[test]
    fn a_provider_that_says_no_says_why() {
        let read = |query: &str| code(&format!("http://127.0.0.1:4711/callback?state=s1&{query}"));
        assert_eq!(
            read("error=access_denied&error_description=not+in+the+group").as_deref(),
            Ok("refused: access_denied: not in the group")
        );
        assert_eq!(
            read("error=server_error").as_deref(),
            Ok("refused: server_error")
        );
    }

    async fn ask(port: u16, request: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn who_says_nothing_or_the_wrong_thing_keeps_nobody_waiting() {
        let mut listener = Listener::open(None).await.unwrap();
        let port = listener.port;
        let silent = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .unwrap();
        let asked = tokio::spawn(async move {
            let icon = ask(port, "GET /favicon.ico HTTP/1.1\r\n\r\n").await;
            let post = ask(port, "POST /callback?code=c&state=s1 HTTP/1.1\r\n\r\n").await;
            let forged = ask(port, "GET /callback?code=x&state=s2 HTTP/1.1\r\n\r\n").await;
            let right = ask(port, "GET /callback?code=c&state=s1 HTTP/1.1\r\n\r\n").await;
            [icon, post, forged, right]
        });
        let (back, browser) = listener.next("s1").await.unwrap();
        assert!(matches!(back, Back::Code(code) if code.expose_secret() == "c"));
        browser.tell(true).await;
        let answers = asked.await.unwrap();
        let expected = ["404", "404", "400", "200"];
        for (answer, status) in answers.iter().zip(expected) {
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")),
                "{answer}"
            );
        }
        assert!(answers[3].contains("You are logged in"), "{}", answers[3]);
        drop(silent);
    }

    #[tokio::test(start_paused = true)]
    async fn connections_without_a_request_make_room_after_a_while() {
        let mut listener = Listener::open(None).await.unwrap();
        let port = listener.port;
        let mut silent = Vec::new();
        for _ in 0..CALLBACK_CONNECTIONS {
            silent.push(
                TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                    .await
                    .unwrap(),
            );
        }
        let asked = tokio::spawn(async move {
            ask(port, "GET /callback?code=c&state=s1 HTTP/1.1\r\n\r\n").await
        });
        let (_, browser) = listener.next("s1").await.unwrap();
        browser.tell(false).await;
        assert!(asked.await.unwrap().contains("The terminal says why"));
    }

    #[tokio::test]
    async fn a_port_that_is_taken_is_named() {
        let first = Listener::open(None).await.unwrap();
        let said = Listener::open(Some(first.port))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            said.contains(&first.port.to_string()) && said.contains("--port"),
            "{said}"
        );
    }
}
