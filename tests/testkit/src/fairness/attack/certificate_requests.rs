//! Certificate requests for invented names, sent as new nodes send them.
//!
//! Invariant: at most [`REQUESTS_PER_SECOND`]. The CA takes 5 to 20 ms for one that it keeps, two
//! at once, so this is about all that it can do. The attacker needs some 200 µs for each signature.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use rcgen::KeyPair;
use rustls::ClientConfig;
use uuid::Uuid;

use super::progress::AttackProgress;
use super::request_flood::RequestFlood;
use crate::fairness::submit_certificate_request;

const CONNECTIONS: u32 = 16;

const REQUESTS_PER_SECOND: u32 = 400;

pub(super) async fn run(
    ca: SocketAddr,
    tls: Arc<ClientConfig>,
    progress: &AttackProgress,
) -> Result<()> {
    let key = KeyPair::generate()?;
    let flood = RequestFlood {
        target: ca,
        tls,
        connections: CONNECTIONS,
        requests_per_second: REQUESTS_PER_SECOND,
    };
    let request = || submit_certificate_request(&format!("flood-{}", Uuid::new_v4()), &key);
    flood.run(request, progress).await
}
