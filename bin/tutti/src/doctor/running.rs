//! Check of the running server's own state: agents, brokers and parts that have not started. Main
//! function: [`check`].

use std::collections::BTreeMap;
use std::time::Duration;

use api_types::{AgentVersions, PuppetDbQueue, ServerDiagnosis};
use cli::CommandFailure;
use doctor::DiagnosisFinding;

use super::code;
use super::installation::DiagnosedInstallation;
use crate::config::Config;
use crate::local_server::{self, LocalServer};

/// Name of the check.
pub(super) const CHECK: &str = "server";

const AGENTS: &str = "agents";
const BROKERS: &str = "brokers";
const FEATURES: &str = "features";
const PUPPETDB: &str = "puppetdb";

/// Age from which waiting data is a problem: a restart of PuppetDB takes two minutes at the most.
const PUPPETDB_QUEUE_OLD: Duration = Duration::from_secs(5 * 60);

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Reads the state over the server's API.
pub(super) async fn check(installation: &DiagnosedInstallation) -> Vec<DiagnosisFinding> {
    let config = &installation.config;
    let place = format!("API on {}", config.api.listen);
    let of_config = config.clone();
    let found = tokio::task::spawn_blocking(move || local_server::find(&of_config)).await;
    let told = match found {
        Ok(Ok(LocalServer::Running(login))) => Box::pin(login.diagnosis()).await,
        Ok(Ok(LocalServer::WithoutKey)) => {
            Box::pin(cli::doctor::diagnosis(&installation.connection)).await
        }
        Ok(Ok(LocalServer::Stopped)) => {
            let cause = "no server answers, so agents, brokers and its parts were not looked at";
            return vec![
                DiagnosisFinding::note(CHECK, place, cause).remedy("systemctl start tutti"),
            ];
        }
        Ok(Err(error)) => return vec![unanswered_finding(place, &format!("{error:#}"))],
        Err(_) => return vec![unanswered_finding(place, "the question broke off")],
    };
    match told {
        Ok(told) => judge(&told, config),
        Err(CommandFailure::NoToken(_)) => {
            let cause =
                "it runs, and was not asked: this user may not read its key and is not logged in";
            vec![
                DiagnosisFinding::note(CHECK, place, cause)
                    .remedy("tutti login, or run this again as root"),
            ]
        }
        Err(failure) => vec![unanswered_finding(place, &failure.to_string())],
    }
}

fn unanswered_finding(place: String, why: &str) -> DiagnosisFinding {
    DiagnosisFinding::problem(CHECK, place, why).remedy("journalctl -u tutti -n 50")
}

/// Findings about the server's report.
fn judge(told: &ServerDiagnosis, config: &Config) -> Vec<DiagnosisFinding> {
    let mut findings = vec![server(told)];
    findings.extend(agents(&told.agents));
    findings.extend(brokers(told, config));
    let faults = told.faults.iter();
    findings.extend(faults.map(|it| {
        DiagnosisFinding::problem(FEATURES, &it.service, &it.fault).remedy("systemctl status tutti")
    }));
    let obstacles = told.code_obstacles.iter();
    findings.extend(obstacles.map(|it| {
        DiagnosisFinding::problem(
            code::CHECK,
            &it.path,
            format!("no deployment can go live: it {}", it.cause),
        )
        .remedy(&it.remedy)
    }));
    findings.extend(told.puppetdb_queue.as_ref().map(puppetdb_queue));
    if told.faults.is_empty() {
        let cause = "all configured parts of the server have started";
        findings.push(DiagnosisFinding::ok(FEATURES, "server", cause));
    }
    findings
}

/// Finding about the facts, catalogs and reports that wait for PuppetDB.
fn puppetdb_queue(queue: &PuppetDbQueue) -> DiagnosisFinding {
    let age = Duration::from_secs(queue.oldest_seconds.unwrap_or(0));
    if age < PUPPETDB_QUEUE_OLD {
        let cause = match queue.commands {
            0 => "it has all facts, catalogs and reports of nodes".to_owned(),
            count => format!("{count} commands with data of nodes are being sent to it"),
        };
        return DiagnosisFinding::ok(PUPPETDB, "puppetdb", cause);
    }
    let why = match &queue.last_error {
        Some(error) => format!(": {error}"),
        None => String::new(),
    };
    let cause = format!(
        "{} commands with data of nodes wait for it, the oldest for {} minutes{why}",
        queue.commands,
        age.as_secs() / 60
    );
    DiagnosisFinding::problem(PUPPETDB, "puppetdb", cause)
        .remedy("start PuppetDB, or mend [puppetdb] in tutti.toml; the data is sent by itself then")
}

fn server(told: &ServerDiagnosis) -> DiagnosisFinding {
    let place = format!("tutti {}", told.version);
    if let Some(fault) = &told.database_fault {
        let cause = format!("the running server cannot read its database: {fault}");
        return DiagnosisFinding::problem(CHECK, place, cause).remedy("journalctl -u tutti -n 50");
    }
    if told.version != VERSION {
        let cause = format!("it runs, and version {VERSION} is installed");
        return DiagnosisFinding::note(CHECK, place, cause).remedy("systemctl restart tutti");
    }
    DiagnosisFinding::ok(CHECK, place, "it runs and answers")
}

fn agents(agents: &AgentVersions) -> Vec<DiagnosisFinding> {
    let own = version_numbers(VERSION);
    let is_older = |version: &str| version_numbers(version) < own;
    let older: BTreeMap<_, _> = agents.tutti.iter().filter(|(it, _)| is_older(it)).collect();
    let mut findings = Vec::new();
    if !older.is_empty() {
        let versions = older
            .iter()
            .map(|(version, count)| format!("{count} of {version}"));
        let cause = format!(
            "older than the server: {}; they lack what newer agents can do",
            versions.collect::<Vec<_>>().join(", ")
        );
        findings.push(
            DiagnosisFinding::note(AGENTS, "fleet", cause)
                .remedy("install tutti-agent of the server's version there"),
        );
    }
    let current: u64 = agents
        .tutti
        .iter()
        .filter(|(it, _)| !is_older(it))
        .map(|(_, count)| count)
        .sum();
    let stock = match agents.stock {
        0 => String::new(),
        count => format!(", and {count} stock pxp-agents, which have no live output"),
    };
    let cause = format!("connected agents of this version: {current}{stock}");
    findings.push(DiagnosisFinding::ok(AGENTS, "fleet", cause));
    findings
}

/// The numbers of a version; a part that is not a number counts as 0.
fn version_numbers(version: &str) -> Vec<u64> {
    let parts = version.split(['.', '-', '+']);
    parts
        .take(3)
        .map(|part| part.parse().unwrap_or(0))
        .collect()
}

fn brokers(told: &ServerDiagnosis, config: &Config) -> Vec<DiagnosisFinding> {
    let is_connected = |name: &String| {
        let uri = format!("pcp://{name}/");
        told.brokers.iter().any(|it| it.uri.starts_with(&uri))
    };
    let away = config
        .broker
        .remote_brokers
        .iter()
        .filter(|name| !is_connected(name));
    let mut findings: Vec<DiagnosisFinding> = away
        .map(|name| {
            let cause =
                "it is in broker.remote_brokers and is not connected: its nodes cannot be reached";
            let command = format!("tutti doctor --config /etc/tutti/broker.toml  # on {name}");
            DiagnosisFinding::problem(BROKERS, name, cause).remedy(command)
        })
        .collect();
    let connected = told.brokers.iter();
    findings.extend(connected.map(|it| {
        let cause = format!("it is connected; its nodes: {}", it.nodes);
        DiagnosisFinding::ok(BROKERS, &it.uri, cause)
    }));
    findings
}

#[cfg(test)]
mod tests {
    use api_types::{ConnectedBroker, PreciseTimestamp, ServiceFault};
    use doctor::FindingSeverity;

    use super::*;

    fn told() -> ServerDiagnosis {
        ServerDiagnosis {
            version: VERSION.to_owned(),
            time: PreciseTimestamp::from_ms(0),
            agents: AgentVersions {
                stock: 0,
                tutti: [(VERSION.to_owned(), 3)].into(),
            },
            brokers: vec![ConnectedBroker {
                uri: "pcp://tutti.example.com/server".to_owned(),
                nodes: 3,
            }],
            faults: Vec::new(),
            code_obstacles: Vec::new(),
            database_fault: None,
            puppetdb_queue: None,
        }
    }

    fn config(remote_brokers: &[&str]) -> Config {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tutti.toml");
        let text = format!("certname = 'a'\n[broker]\nremote_brokers = {remote_brokers:?}\n");
        std::fs::write(&path, text).unwrap();
        Config::read(&path).unwrap()
    }

    /// The findings that are not ok.
    fn faults(
        told: &ServerDiagnosis,
        remote_brokers: &[&str],
    ) -> Vec<(FindingSeverity, &'static str, String)> {
        let findings = judge(told, &config(remote_brokers)).into_iter();
        let faults = findings.filter(|it| it.severity != FindingSeverity::Ok);
        faults.map(|it| (it.severity, it.check, it.cause)).collect()
    }

    #[test]
    fn a_fleet_of_this_version_on_its_brokers_is_fine() {
        assert_eq!(faults(&told(), &["tutti.example.com"]), []);
    }

    #[test]
    fn data_that_waits_for_puppetdb_is_a_problem_when_it_is_old() {
        let waiting = |commands, oldest_seconds| ServerDiagnosis {
            puppetdb_queue: Some(PuppetDbQueue {
                commands,
                oldest_seconds,
                last_error: Some("no route".to_owned()),
            }),
            ..told()
        };
        assert_eq!(faults(&waiting(0, None), &[]), []);
        assert_eq!(faults(&waiting(3, Some(20)), &[]), []);
        let cause =
            "3 commands with data of nodes wait for it, the oldest for 60 minutes: no route";
        assert_eq!(
            faults(&waiting(3, Some(3_600)), &[]),
            [(FindingSeverity::Problem, PUPPETDB, cause.to_owned())]
        );
    }

    #[test]
    fn each_fault_of_a_running_server_is_one_line() {
        let fault = ServiceFault {
            service: "oidc-service".to_owned(),
            fault: "cannot read x".to_owned(),
        };
        let old = AgentVersions {
            stock: 2,
            tutti: [("0.0.9".to_owned(), 7), (VERSION.to_owned(), 1)].into(),
        };
        for (told, remote, severity, check, part) in [
            (
                told(),
                &["broker2.example.com"][..],
                FindingSeverity::Problem,
                "brokers",
                "not connected",
            ),
            (
                ServerDiagnosis {
                    faults: vec![fault],
                    ..told()
                },
                &[],
                FindingSeverity::Problem,
                "features",
                "cannot read x",
            ),
            (
                ServerDiagnosis {
                    agents: old,
                    ..told()
                },
                &[],
                FindingSeverity::Note,
                "agents",
                "7 of 0.0.9",
            ),
            (
                ServerDiagnosis {
                    version: "0.0.1".to_owned(),
                    ..told()
                },
                &[],
                FindingSeverity::Note,
                "server",
                "is installed",
            ),
            (
                ServerDiagnosis {
                    database_fault: Some("disk full".to_owned()),
                    ..told()
                },
                &[],
                FindingSeverity::Problem,
                "server",
                "disk full",
            ),
        ] {
            let faults = faults(&told, remote);
            assert_eq!(faults.len(), 1, "{faults:?}");
            assert_eq!((faults[0].0, faults[0].1), (severity, check));
            assert!(faults[0].2.contains(part), "{faults:?}");
        }
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(version_numbers("0.9.0") < version_numbers("0.10.0"));
        assert!(version_numbers("1.0.0-rc1") >= version_numbers("1.0.0"));
        assert!(version_numbers("nonsense") < version_numbers("0.0.1"));
    }
}
