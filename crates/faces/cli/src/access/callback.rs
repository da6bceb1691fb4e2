//! The loopback listener that receives the browser after a login at an identity provider:
//! [`CallbackListener`], and the result of that login: [`CallbackResult`].
//!
//! Invariant: only a request with the `state` of this login ends the wait. Browsers open
//! connections without sending a request, and other programs of this machine may connect: neither
//! delays the right request.

use std::io::ErrorKind;
use std::net::Ipv4Addr;

use reqwest::Url;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::defaults::{CALLBACK_CONNECTIONS, CALLBACK_HEAD_BYTES, CALLBACK_REQUEST};
use crate::{CommandFailure, Result};

/// The path of the redirect URI.
const PATH: &str = "/callback";

/// The result that the identity provider sends with the browser.
#[derive(Debug)]
pub(crate) enum CallbackResult {
    /// The authorization code, which the server exchanges for a token.
    Code(SecretString),
    /// The error and description with which the provider refused the login.
    Refused(String),
}

/// The reason why a request is not the expected callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallbackMismatch {
    #[error("that is not the address at which the browser ended: it starts with http://127.0.0.1:")]
    Address,
    #[error("that address belongs to another login; open the address above and log in there")]
    State,
    #[error("that address is incomplete: it has no code")]
    Code,
}

/// Listens on loopback until the browser is redirected here.
#[derive(Debug)]
pub(crate) struct CallbackListener {
    listener: TcpListener,
    port: u16,
    /// Connections whose request is being read. Dropping the listener ends them.
    visits: JoinSet<Option<(CallbackResult, WaitingBrowser)>>,
}

/// A browser connection that waits for the page with the result of the login.
#[derive(Debug)]
pub(crate) struct WaitingBrowser(TcpStream);

/// The pages that a browser can get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResultPage {
    LoggedIn,
    Failed,
    AnotherLogin,
    NotHere,
}

/// Reads the callback for the login with `state` from a request's target.
pub(crate) fn read(address: &str, state: &str) -> Result<CallbackResult, CallbackMismatch> {
    let address = Url::parse(address).map_err(|_| CallbackMismatch::Address)?;
    if address.path() != PATH {
        return Err(CallbackMismatch::Address);
    }
    let given = |name: &str| {
        let mut pairs = address.query_pairs();
        let pair = pairs.find(|(key, value)| key == name && !value.is_empty());
        pair.map(|(_, value)| value.into_owned())
    };
    if given("state").as_deref() != Some(state) {
        return Err(CallbackMismatch::State);
    }
    if let Some(error) = given("error") {
        let why = given("error_description").map(|why| format!("{error}: {why}"));
        return Ok(CallbackResult::Refused(why.unwrap_or(error)));
    }
    let code = given("code").ok_or(CallbackMismatch::Code)?;
    Ok(CallbackResult::Code(SecretString::from(code)))
}

// === impl CallbackListener ===

impl CallbackListener {
    /// Listens on `port`, or on a free port.
    pub(crate) async fn open(port: Option<u16>) -> Result<Self> {
        let fail = |source| CommandFailure::Listen {
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

    /// The redirect URI for the identity provider.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the first callback with `state`. Cancel safe.
    pub(crate) async fn accept_callback(
        &mut self,
        state: &str,
    ) -> Result<(CallbackResult, WaitingBrowser)> {
        loop {
            let has_room = self.visits.len() < CALLBACK_CONNECTIONS;
            tokio::select! {
                Some(ended) = self.visits.join_next() => {
                    if let Ok(Some(back)) = ended {
                        return Ok(back);
                    }
                }
                accepted = self.listener.accept(), if has_room => match accepted {
                    Ok((stream, _)) => self.spawn_visit(stream, state.to_owned()),
                    Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                    Err(source) => return Err(CommandFailure::Listen { port: self.port, source }),
                },
            }
        }
    }

    fn spawn_visit(&mut self, stream: TcpStream, state: String) {
        self.visits.spawn(async move {
            let visit = timeout(CALLBACK_REQUEST, serve_connection(stream, &state));
            visit.await.ok().flatten()
        });
    }
}

// === impl WaitingBrowser ===

impl WaitingBrowser {
    /// Sends the page with the result of the login. Errors are ignored: the browser may have gone
    /// away.
    pub(crate) async fn send_result(mut self, logged_in: bool) {
        let page = if logged_in {
            ResultPage::LoggedIn
        } else {
            ResultPage::Failed
        };
        let _ = timeout(CALLBACK_REQUEST, send_page(&mut self.0, page)).await;
    }
}

/// Reads one request; answers it here if it is not the expected callback.
async fn serve_connection(
    mut stream: TcpStream,
    state: &str,
) -> Option<(CallbackResult, WaitingBrowser)> {
    let head = read_head(&mut stream).await?;
    let target = target(&head).unwrap_or_default();
    match read(&format!("http://127.0.0.1{target}"), state) {
        Ok(back) => return Some((back, WaitingBrowser(stream))),
        Err(CallbackMismatch::Address) => send_page(&mut stream, ResultPage::NotHere).await.ok()?,
        Err(CallbackMismatch::State | CallbackMismatch::Code) => {
            send_page(&mut stream, ResultPage::AnotherLogin)
                .await
                .ok()?
        }
    }
    None
}

/// Reads the request up to the empty line that ends its headers.
async fn read_head(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if head.len() >= CALLBACK_HEAD_BYTES || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

/// The request target (`/callback?…`) of `GET /callback?… HTTP/1.1`.
fn target(head: &[u8]) -> Option<&str> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    (method == "GET" && target.starts_with('/')).then_some(target)
}

async fn send_page(stream: &mut TcpStream, page: ResultPage) -> std::io::Result<()> {
    stream.write_all(page.response().as_bytes()).await?;
    stream.shutdown().await
}

// === impl ResultPage ===

impl ResultPage {
    /// The page has fixed text only, so nothing needs to be escaped.
    fn response(self) -> String {
        let (status, text) = match self {
            Self::LoggedIn => (
                "200 OK",
                "You are logged in to Tutti. You can close this window.",
            ),
            Self::Failed => (
                "200 OK",
                "You are not logged in to Tutti. The terminal shows the reason.",
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

    fn code(address: &str) -> Result<String, CallbackMismatch> {
        match read(address, "s1")? {
            CallbackResult::Code(code) => Ok(code.expose_secret().to_owned()),
            CallbackResult::Refused(why) => Ok(format!("refused: {why}")),
        }
    }

    #[test]
    fn only_the_address_of_this_login_brings_a_code() {
        let read = |query: &str| code(&format!("http://127.0.0.1:4711/callback?{query}"));
        assert_eq!(read("code=a%26b&state=s1").as_deref(), Ok("a&b"));
        assert_eq!(read("iss=x&state=s1&code=c").as_deref(), Ok("c"));
        assert_eq!(read("code=c&state=s2"), Err(CallbackMismatch::State));
        assert_eq!(read("code=c"), Err(CallbackMismatch::State));
        assert_eq!(read("state=s1"), Err(CallbackMismatch::Code));
        assert_eq!(read("state=s1&code="), Err(CallbackMismatch::Code));
        assert_eq!(
            code("http://127.0.0.1/other?code=c&state=s1"),
            Err(CallbackMismatch::Address)
        );
        assert_eq!(code("c"), Err(CallbackMismatch::Address));
        assert_eq!(code(""), Err(CallbackMismatch::Address));
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
        let mut listener = CallbackListener::open(None).await.unwrap();
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
        let (back, browser) = listener.accept_callback("s1").await.unwrap();
        assert!(matches!(back, CallbackResult::Code(code) if code.expose_secret() == "c"));
        browser.send_result(true).await;
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
        let mut listener = CallbackListener::open(None).await.unwrap();
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
        let (_, browser) = listener.accept_callback("s1").await.unwrap();
        browser.send_result(false).await;
        assert!(
            asked
                .await
                .unwrap()
                .contains("The terminal shows the reason")
        );
    }

    #[tokio::test]
    async fn a_port_that_is_taken_is_named() {
        let first = CallbackListener::open(None).await.unwrap();
        let said = CallbackListener::open(Some(first.port))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            said.contains(&first.port.to_string()) && said.contains("--port"),
            "{said}"
        );
    }
}
