//! Pings: check that agents respond, and measure the round trip. Main function: [`ping_all`].

use std::time::Duration;

use fabric::Fabric;
use futures_util::StreamExt;
use futures_util::stream;
use pcp::Certname;
use pxp::action::{self, PingParams};
use store::Clock;
use tokio::time::Instant;

use crate::blocking_requests::{BlockingRequests, NodeRequestError};
use crate::defaults::PINGS;

/// The result of one ping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PingResult {
    /// Certname of the node that was pinged.
    pub certname: Certname,
    /// The round trip, or the reason that there was none.
    pub result: Result<Duration, NodeRequestError>,
}

/// Pings every node, a bounded number at once; results in the order asked.
pub(crate) async fn ping_all(
    asks: &BlockingRequests,
    fabric: &Fabric,
    clock: &dyn Clock,
    nodes: &[Certname],
    timeout: Duration,
) -> Vec<PingResult> {
    let stamp = jiff::Timestamp::from_millisecond(clock.now_ms()).unwrap_or_default();
    let params = action::encode(&PingParams {
        sender_timestamp: Some(stamp.to_string()),
    });
    let ping = |certname: &Certname| {
        let (certname, params) = (certname.clone(), params.clone());
        async move {
            let started = Instant::now();
            let answer = asks.send_request(fabric, &certname, ("ping", "ping"), params, timeout);
            let result = answer.await.map(|_| started.elapsed());
            PingResult { certname, result }
        }
    };
    stream::iter(nodes.iter().map(ping))
        .buffered(PINGS)
        .collect()
        .await
}
