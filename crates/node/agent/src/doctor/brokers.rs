//! Checks of a node's brokers: name, TCP, TLS, certname and HTTP answer of each. Main function:
//! [`checks`]; [`judge_probe`] decides.

use std::sync::Arc;

use doctor::{DiagnosisFinding, DoctorCheck};

use super::{CheckedNode, certificate};
use crate::connection::brokers::BrokerUri;
use crate::connection::probe::{ProbeFault, ProbeStep, probe};

/// Name of the check.
const CHECK: &str = "brokers";

/// One check for each broker; none while the node has no certificate to present.
pub(super) fn checks(node: &Arc<CheckedNode>) -> Vec<DoctorCheck> {
    if certificate::is_awaited(&node.config) {
        return vec![DoctorCheck::local(CHECK, "brokers", || {
            let cause = "not tried: the node has no certificate to show them yet";
            vec![DiagnosisFinding::note(CHECK, "brokers", cause)]
        })];
    }
    let brokers = node.config.connection.brokers.iter().cloned();
    let checks = brokers.map(|broker| {
        let node = Arc::clone(node);
        DoctorCheck::remote(CHECK, broker.to_string(), async move {
            let answer = Box::pin(probe(&node.config.connection, &broker)).await;
            vec![judge_probe(
                &broker,
                &answer,
                &node.config_file.display().to_string(),
            )]
        })
    });
    checks.collect()
}

fn judge_probe(
    broker: &BrokerUri,
    answer: &Result<u16, ProbeFault>,
    config_file: &str,
) -> DiagnosisFinding {
    let place = broker.to_string();
    let (host, port) = (broker.host(), broker.port());
    let fault = match answer {
        Ok(404) => {
            let cause = format!(
                "it is no PCP broker at this path: it answers HTTP 404 to {}",
                broker.path()
            );
            let command =
                format!("set wss://{host}:{port}/pcp2/ with pcp-version 2 in {config_file}");
            return DiagnosisFinding::problem(CHECK, place, cause).remedy(command);
        }
        Ok(401 | 403) => {
            let cause = "it answers, and does not permit this node's certificate";
            return DiagnosisFinding::problem(CHECK, place, cause)
                .remedy("tutti ca list --all  # on the server");
        }
        Ok(500..) => {
            let cause = "it answers with an error of its own";
            return DiagnosisFinding::problem(CHECK, place, cause)
                .remedy("tutti doctor  # on the broker's machine");
        }
        Ok(_) => {
            return DiagnosisFinding::ok(
                CHECK,
                place,
                "it answers, and its certificate is the expected one",
            );
        }
        Err(fault) => fault,
    };
    let why = &fault.cause;
    let (cause, command) = match fault.step {
        ProbeStep::Certificates => (
            format!("not tried: the node's own files cannot be used: {why}"),
            "tutti-agent bootstrap --server CA-HOST --renew".to_owned(),
        ),
        ProbeStep::Name => (
            format!("the name {host} has no address: {why}"),
            format!("getent hosts {host}"),
        ),
        ProbeStep::Tcp => (
            format!("port {port} of {host} cannot be reached: {why}"),
            "tutti doctor  # on the broker's machine; then look at firewalls between".to_owned(),
        ),
        ProbeStep::Proxy => (
            format!("the proxy gives no way to it: {why}"),
            format!("look at broker-ws-proxy in {config_file}"),
        ),
        ProbeStep::Tls => (
            format!("no TLS connection: {why}"),
            format!("openssl s_client -connect {host}:{port}"),
        ),
        ProbeStep::Certname => (
            format!("it is not believed: {why}"),
            format!(
                "if it is the right one, add its certname: broker-certnames : [\"{host}\", \"CERTNAME\"] in {config_file}"
            ),
        ),
        ProbeStep::Answer => (
            format!("it speaks TLS, and gives no HTTP answer: {why}"),
            "tutti doctor  # on the broker's machine".to_owned(),
        ),
    };
    DiagnosisFinding::problem(CHECK, place, cause).remedy(command)
}

#[cfg(test)]
mod tests {
    use doctor::FindingSeverity;

    use super::*;

    #[test]
    fn each_step_towards_a_broker_has_its_own_words_and_remedy() {
        let fault = |step| {
            Err(ProbeFault {
                step,
                cause: "because".to_owned(),
            })
        };
        for (answer, severity, part) in [
            (Ok(426), FindingSeverity::Ok, "expected one"),
            (Ok(404), FindingSeverity::Problem, "/pcp2/"),
            (Ok(403), FindingSeverity::Problem, "does not permit"),
            (Ok(503), FindingSeverity::Problem, "error of its own"),
            (
                fault(ProbeStep::Certificates),
                FindingSeverity::Problem,
                "own files",
            ),
            (
                fault(ProbeStep::Name),
                FindingSeverity::Problem,
                "getent hosts broker.example.com",
            ),
            (
                fault(ProbeStep::Tcp),
                FindingSeverity::Problem,
                "port 8142 of broker.example.com",
            ),
            (
                fault(ProbeStep::Proxy),
                FindingSeverity::Problem,
                "broker-ws-proxy",
            ),
            (
                fault(ProbeStep::Tls),
                FindingSeverity::Problem,
                "openssl s_client",
            ),
            (
                fault(ProbeStep::Certname),
                FindingSeverity::Problem,
                "broker-certnames",
            ),
            (
                fault(ProbeStep::Answer),
                FindingSeverity::Problem,
                "no HTTP answer",
            ),
        ] {
            let broker = "wss://broker.example.com:8142/pcp2/".parse().unwrap();
            let finding = judge_probe(&broker, &answer, "/etc/pxp-agent.conf");
            assert_eq!(finding.severity, severity, "{finding:?}");
            let text = format!("{} {}", finding.cause, finding.remedy.unwrap_or_default());
            assert!(text.contains(part), "{text}");
        }
    }
}
