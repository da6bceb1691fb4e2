//! `tutti login --oidc`: a login at the server's identity provider. Main function: [`token`].
//!
//! Invariant: no browser is opened here. The URL is printed; a browser on this machine or another
//! one opens it, and the login ends at the loopback listener or by pasting the URL at which the
//! browser ended.

use api_types::TokenReply;
use api_types::rbac::{OidcFinish, OidcStart, OidcStarted};
use secrecy::ExposeSecret as _;
use tokio::time::timeout;

use super::callback::{CallbackListener, CallbackResult, WaitingBrowser, read};
use super::pasted_lines::PastedLines;
use crate::client::ApiClient;
use crate::defaults::OIDC_WAIT;
use crate::terminal::{escaped_name, style_dim, style_warning};
use crate::{CommandFailure, Result};

/// The properties of the requested token.
#[derive(Debug, Default)]
pub(super) struct TokenProperties {
    pub(super) lifetime: Option<String>,
    pub(super) label: Option<String>,
}

/// Gets a token for the user who logs in at the provider.
pub(super) async fn token(
    client: &ApiClient,
    wanted: TokenProperties,
    port: Option<u16>,
    mut pasted: PastedLines,
) -> Result<TokenReply> {
    let mut listener = CallbackListener::open(port).await?;
    let redirect_uri = listener.address();
    let started: OidcStarted = client
        .post(
            &["rbac-api", "v1", "auth", "oidc", "start"],
            &OidcStart { redirect_uri },
        )
        .await?;
    send_result(&started.authorization_url, &listener.address());
    let (back, browser) = wait_for_callback(&mut listener, &mut pasted, &started.state).await?;
    let reply = exchange_code(client, started, back, wanted).await;
    if let Some(browser) = browser {
        browser.send_result(reply.is_ok()).await;
    }
    reply
}

/// Prints to standard error, so that `--print` has standard output for the token alone.
fn send_result(url: &str, address: &str) {
    anstream::eprintln!(
        "Log in with a browser, on this machine or another one, at this address:\n\n{}\n\n{}",
        escaped_name(url),
        style_dim(format!(
            "A browser on another machine cannot come back: it ends at {address}?…, with a page that \
             does not load.\nCopy that whole address from it, paste it here and press Return."
        ))
    );
}

/// Waits for the browser or for a pasted URL, whichever is first.
async fn wait_for_callback(
    listener: &mut CallbackListener,
    pasted: &mut PastedLines,
    state: &str,
) -> Result<(CallbackResult, Option<WaitingBrowser>)> {
    let waiting = async {
        loop {
            tokio::select! {
                visit = listener.accept_callback(state) => {
                    let (back, browser) = visit?;
                    return Ok((back, Some(browser)));
                }
                line = pasted.next_line() => match read(&line, state) {
                    Ok(back) => return Ok((back, None)),
                    Err(_) if line.is_empty() => {}
                    Err(why) => anstream::eprintln!("{}", style_warning(why)),
                },
            }
        }
    };
    let minutes = OIDC_WAIT.as_secs() / 60;
    let late = |_| CommandFailure::LoginTimeout { minutes };
    timeout(OIDC_WAIT, waiting).await.map_err(late)?
}

async fn exchange_code(
    client: &ApiClient,
    started: OidcStarted,
    back: CallbackResult,
    wanted: TokenProperties,
) -> Result<TokenReply> {
    let code = match back {
        CallbackResult::Code(code) => code,
        CallbackResult::Refused(why) => return Err(CommandFailure::LoginRefused(why)),
    };
    let request = OidcFinish {
        state: started.state,
        handle: started.handle,
        code: code.expose_secret().to_owned(),
        lifetime: wanted.lifetime,
        label: wanted.label,
        description: None,
        client: Some(concat!("tutti/", env!("CARGO_PKG_VERSION")).to_owned()),
    };
    client
        .post(&["rbac-api", "v1", "auth", "oidc", "finish"], &request)
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn whoever_does_not_come_back_is_not_waited_for_without_end() {
        let mut listener = CallbackListener::open(None).await.unwrap();
        let (_writer, mut pasted) = PastedLines::from_test_pipe();
        let began = tokio::time::Instant::now();
        let said = wait_for_callback(&mut listener, &mut pasted, "s1")
            .await
            .unwrap_err()
            .to_string();
        assert_eq!(began.elapsed().as_secs(), OIDC_WAIT.as_secs());
        assert!(
            said.contains("10 minutes") && said.contains("tutti login --oidc"),
            "{said}"
        );
    }

    #[tokio::test]
    async fn what_is_pasted_wrong_is_asked_for_again() {
        use std::io::Write as _;
        let mut listener = CallbackListener::open(None).await.unwrap();
        let (mut writer, mut pasted) = PastedLines::from_test_pipe();
        let lines = "\nnonsense\nhttp://127.0.0.1:1/callback?code=old&state=s0\n\
                     http://127.0.0.1:1/callback?code=new&state=s1\n";
        writer.write_all(lines.as_bytes()).unwrap();
        let (back, browser) = wait_for_callback(&mut listener, &mut pasted, "s1")
            .await
            .unwrap();
        assert!(matches!(back, CallbackResult::Code(code) if code.expose_secret() == "new"));
        assert!(browser.is_none());
    }
}
