//! Logins with names and passwords that no user has.
//!
//! The rule: [`LOGINS_PER_SECOND`] at most. A check takes some 20 ms of a core, so two cores check
//! 100 a second: this is twice what the whole server could do. The attacker needs some 20 µs for each.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use rustls::ClientConfig;
use uuid::Uuid;

use super::AttackProgress;
use super::request_flood::RequestFlood;
use crate::fairness::http_request;

/// Twice as many as may wait for one source, so the queue of the source is always full.
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
