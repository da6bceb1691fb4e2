//! Passes one request to the puppetserver: [`PuppetserverFront::forward`].
//!
//! Invariant: a request holds its turn until the last byte of the response was passed on, so the number of
//! connections to the puppetserver is bounded.

use std::error::Error;

use axum::body::Body;
use axum::response::Response;
use error_causes::chain;
use futures_util::StreamExt as _;

use super::outgoing::is_of_connection;
use super::{OutgoingBody, OutgoingHead, PuppetserverFront};
use crate::defaults::{BODY_TIME, FRONT_REQUESTS_OF_NODE, FRONT_WAIT};
use crate::failure::PuppetApiFailure;
use crate::node_shares::NodeTurn;
use crate::peer::PuppetApiCaller;

impl PuppetserverFront {
    /// Sends the request of the caller to the puppetserver, and returns its response.
    pub(crate) async fn forward(
        &self,
        caller: &PuppetApiCaller,
        head: &OutgoingHead,
        body: OutgoingBody,
    ) -> Result<Response, PuppetApiFailure> {
        let url = head.url(&self.inner.url)?;
        let turn = self.take_turn(caller).await?;
        self.ensure_headers_are_read().await?;
        let mut headers = head.headers(&body);
        headers.extend(Self::headers_of(caller).into_headers());
        let request = self.inner.http.request(head.method.clone(), url);
        let request = request.headers(headers).body(body.into_body(BODY_TIME));
        let response = request.send().await;
        let response = response.map_err(|error| self.failure(caller, head, error))?;
        Ok(pass_back(response, turn))
    }

    async fn take_turn(&self, caller: &PuppetApiCaller) -> Result<NodeTurn, PuppetApiFailure> {
        let address = || caller.address.map(|it| it.to_string()).unwrap_or_default();
        let client = caller.certname().map_or_else(address, str::to_owned);
        let turn = tokio::time::timeout(FRONT_WAIT, self.inner.turns.take_turn(&client)).await;
        turn.ok().flatten().ok_or_else(|| {
            PuppetApiFailure::busy(format!(
                "too many requests wait for the puppetserver, or more than {FRONT_REQUESTS_OF_NODE} of {client}"
            ))
        })
    }

    fn failure(
        &self,
        caller: &PuppetApiCaller,
        head: &OutgoingHead,
        error: reqwest::Error,
    ) -> PuppetApiFailure {
        let is_timeout = error.is_timeout() && !error.is_connect();
        let is_of_body = error.is_body();
        let error = error.without_url();
        let cause = chain(&error as &(dyn Error + 'static));
        let url = &self.inner.url;
        let certname = caller.certname();
        tracing::warn!(
            certname,
            path = head.path(),
            cause,
            "a request cannot be passed to the puppetserver"
        );
        match (is_of_body, is_timeout) {
            (true, _) => PuppetApiFailure::bad_request(format!("the body broke off: {cause}")),
            (false, true) => PuppetApiFailure::unreachable(format!(
                "the puppetserver {url} does not answer: {cause}"
            ))
            .with_timeout_status(),
            (false, false) => PuppetApiFailure::unreachable(format!(
                "the puppetserver {url} cannot be reached: {cause}"
            )),
        }
    }
}

/// The response for the client. If the puppetserver breaks off, the connection of the client does.
fn pass_back(response: reqwest::Response, turn: NodeTurn) -> Response {
    let mut passed = Response::new(Body::empty());
    *passed.status_mut() = response.status();
    for (name, value) in response.headers() {
        if !is_of_connection(name) {
            passed.headers_mut().append(name.clone(), value.clone());
        }
    }
    let chunks = response.bytes_stream().map(move |chunk| {
        let _held = &turn;
        chunk
    });
    *passed.body_mut() = Body::from_stream(chunks);
    passed
}
