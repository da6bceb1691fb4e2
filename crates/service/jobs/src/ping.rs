//! Pings: check that agents respond, and measure the round trip. Main function: [`all`].

use std::time::Duration;

use fabric::Fabric;
use futures_util::StreamExt;
use futures_util::stream;
use pcp::Certname;
use pxp::action::{self, PingParams};
use tokio::time::Instant;

use crate::ask::{AskError, Asks};
use crate::clock::Clock;
use crate::defaults::PINGS;

/// The result of one ping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ping {
    /// Certname of the node that was pinged.
    pub certname: Certname,
    /// The round trip, or the reason that there was none.
    pub result: Result<Duration, AskError>,
}

/// Pings every node, a bounded number at once; results in the order asked.
pub(crate) async fn all(
    asks: &Asks,
    fabric: &Fabric,
    clock: &dyn Clock,
    nodes: &[Certname],
    timeout: Duration,
) -> Vec<Ping> {
    let stamp = jiff::Timestamp::from_millisecond(clock.now_ms()).unwrap_or_default();
    let params = action::encode(&PingParams {
        sender_timestamp: Some(stamp.to_string()),
    });
    let ping = |certname: &Certname| {
        let (certname, params) = (certname.clone(), params.clone());
        async move {
            let started = Instant::now();
            let answer = asks.ask(fabric, &certname, ("ping", "ping"), params, timeout);
            let result = answer.await.map(|_| started.elapsed());
            Ping { certname, result }
        }
    };
    stream::iter(nodes.iter().map(ping))
        .buffered(PINGS)
        .collect()
        .await
}
