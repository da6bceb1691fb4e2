//! Logins with names and passwords that no user has.
//!
//! Invariant: at most [`LOGINS_PER_SECOND`]. A check takes some 20 ms of a core, so two cores check
//! 100 a second: this is twice the capacity of the whole server. The attacker needs some 20 µs for
//! each.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use rustls::ClientConfig;
use uuid::Uuid;

use super::progress::AttackProgress;
use super::request_flood::RequestFlood;
use crate::fairness::http_request;

/// Twice the number of requests that may wait for one source, so that its queue is always full.
const CONNECTIONS: u32 = 64;

const LOGINS_PER_SECOND: u32 = 200;

pub(super) async fn run(
    api: SocketAddr,
    tls: Arc<ClientConfig>,
    progress: &AttackProgress,
) -> Result<()> {
    let flood = RequestFlood {
        target: api,
        tls,
        connections: CONNECTIONS,
        requests_per_second: LOGINS_PER_SECOND,
    };
    flood.run(|| Ok(invented_login()), progress).await
}

fn invented_login() -> String {
    let (login, password) = (Uuid::new_v4(), Uuid::new_v4());
    let body = format!("{{\"login\": \"user-{login}\", \"password\": \"{password}\"}}");
    let headers = [("Content-Type", "application/json")];
    http_request("POST", "/rbac-api/v1/auth/token", &headers, &body)
}
