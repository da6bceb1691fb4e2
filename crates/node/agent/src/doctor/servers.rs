//! Checks of the servers that have task files. Main function: [`checks`].

use std::sync::Arc;
use std::sync::PoisonError;

use doctor::clock::{RemoteClock, parse_http_date};
use doctor::{DiagnosisFinding, DoctorCheck};
use error_causes::{ConnectionError, chain};
use jiff::Timestamp;
use pki::{ClientTls, TlsFiles};

use super::{CheckedNode, certificate};

/// Name of the check.
const CHECK: &str = "task files";

/// One check for each of `primary-uris`; none while the node has no certificate to present.
pub(super) fn checks(node: &Arc<CheckedNode>) -> Vec<DoctorCheck> {
    if certificate::is_awaited(&node.config) {
        return Vec::new();
    }
    let uris = node.config.actions.primary_uris.iter().cloned();
    let checks = uris.map(|uri| {
        let node = Arc::clone(node);
        DoctorCheck::remote(CHECK, uri.clone(), async move {
            vec![Box::pin(ask(&node, uri)).await]
        })
    });
    checks.collect()
}

async fn ask(node: &CheckedNode, uri: String) -> DiagnosisFinding {
    let command = "look at primary-uris of the agent, and: tutti doctor  # on that machine";
    let http = match client(&node.config.connection.tls) {
        Ok(http) => http,
        Err(why) => {
            return DiagnosisFinding::problem(CHECK, uri, why)
                .remedy("tutti-agent bootstrap --server CA-HOST --renew");
        }
    };
    let asked = Timestamp::now();
    let answer = match http
        .get(format!("{}/status/v1/simple", uri.trim_end_matches('/')))
        .send()
        .await
    {
        Ok(answer) => answer,
        Err(error) => {
            let cause = format!(
                "it cannot be reached: {}",
                ConnectionError::from_error(&error)
            );
            return DiagnosisFinding::problem(CHECK, uri, cause).remedy(command);
        }
    };
    let date = answer.headers().get("date").and_then(|it| it.to_str().ok());
    if let Some(told) = date.and_then(parse_http_date) {
        let mut clocks = node.clocks.lock().unwrap_or_else(PoisonError::into_inner);
        clocks.push(RemoteClock {
            machine: uri.clone(),
            remote_time: told,
            local_time: asked + asked.duration_until(Timestamp::now()) / 2,
        });
    }
    match answer.status().is_server_error() {
        true => {
            let cause = format!("it answers HTTP {}", answer.status().as_u16());
            DiagnosisFinding::problem(CHECK, uri, cause).remedy(command)
        }
        false => DiagnosisFinding::ok(CHECK, uri, "it answers, and its certificate is trusted"),
    }
}

fn client(tls: &TlsFiles) -> Result<reqwest::Client, String> {
    let tls = ClientTls::load(tls).map_err(|error| chain(&error).to_string())?;
    http_client::builder(tls)
        .build()
        .map_err(|error| error.to_string())
}
