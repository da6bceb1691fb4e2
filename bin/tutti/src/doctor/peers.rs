//! Checks of the puppetserver and the PuppetDB of the configuration. Main function: [`checks`];
//! [`judge`] decides.

use std::sync::Arc;

use doctor::clock::{RemoteClock, parse_http_date};
use doctor::{DiagnosisFinding, DoctorCheck};
use error_causes::ConnectionError;
use http_client::ClientHeaders;
use jiff::Timestamp;
use pki::{ClientTls, TlsFiles};
use reqwest::header::HeaderMap;
use reqwest::{StatusCode, Url};

use super::installation::DiagnosedInstallation;

/// A kind of peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerKind {
    Puppetserver,
    PuppetDb,
}

/// A peer and the TLS files for requests to it.
struct PeerService {
    kind: PeerKind,
    url: Url,
    /// `None`: plain HTTP.
    files: Option<TlsFiles>,
    /// True if it is a puppetserver behind this server, which learns its clients from headers.
    is_behind: bool,
}

/// Result of a request to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PeerAnswer {
    /// It answered with this status and, if included, its version.
    Answered(StatusCode, Option<String>),
    /// A puppetserver behind this server took a request that names no client for one of this server.
    IgnoresHeaders,
    /// The TLS files for the request cannot be used.
    UnusableFiles(String),
    /// The connection failed, for this reason.
    Unreachable(String),
}

/// One check for each peer.
pub(super) fn checks(installation: &Arc<DiagnosedInstallation>) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    for found in peers(installation) {
        match found {
            Ok(peer) => {
                let of = Arc::clone(installation);
                let place = peer.url.to_string();
                checks.push(DoctorCheck::remote(peer.kind.check(), place, async move {
                    let answer = Box::pin(peer.query_peer(&of)).await;
                    vec![judge(&peer, &answer)]
                }));
            }
            Err(finding) => {
                let place = finding.place.clone();
                checks.push(DoctorCheck::local(finding.check, place, move || {
                    vec![finding]
                }));
            }
        }
    }
    checks
}

fn peers(installation: &DiagnosedInstallation) -> Vec<Result<PeerService, DiagnosisFinding>> {
    let config = &installation.config;
    let mut peers = Vec::new();
    if let Some(named) = &config.puppetserver {
        peers.push(match named.resolve_connection(config.tls_files()) {
            Ok((url, files)) => Ok(PeerService {
                kind: PeerKind::Puppetserver,
                url,
                files: Some(files),
                is_behind: named.front,
            }),
            Err(error) => Err(invalid_name_finding(PeerKind::Puppetserver, &error)),
        });
    }
    if let Some(named) = &config.puppetdb {
        match named.settings(config.tls_files()) {
            Ok(settings) => {
                let files = settings.tls().cloned();
                peers.extend(settings.server_urls().iter().map(|url| {
                    Ok(PeerService {
                        kind: PeerKind::PuppetDb,
                        url: url.clone(),
                        files: files.clone(),
                        is_behind: false,
                    })
                }));
            }
            Err(error) => peers.push(Err(invalid_name_finding(
                PeerKind::PuppetDb,
                &anyhow::Error::new(error),
            ))),
        }
    }
    peers
}

fn invalid_name_finding(kind: PeerKind, error: &anyhow::Error) -> DiagnosisFinding {
    let place = format!("[{}] of the configuration", kind.check());
    DiagnosisFinding::problem(kind.check(), place, format!("{error:#}"))
        .remedy("tutti doctor  # after mending it")
}

// === impl PeerKind ===

impl PeerKind {
    fn check(self) -> &'static str {
        match self {
            Self::Puppetserver => "puppetserver",
            Self::PuppetDb => "puppetdb",
        }
    }

    /// A route that is used in daily work, and that only permitted clients may read.
    fn probe_path(self) -> &'static str {
        match self {
            Self::Puppetserver => "/puppet/v3/environments",
            Self::PuppetDb => "/pdb/query/v4/nodes?limit=1",
        }
    }

    fn required_permission(self) -> &'static str {
        match self {
            Self::Puppetserver => {
                "allow this certname in /etc/puppetlabs/puppetserver/conf.d/auth.conf there, then: systemctl reload \
                 puppetserver"
            }
            Self::PuppetDb => {
                "add this certname to certificate-allowlist in /etc/puppetlabs/puppetdb/conf.d there, then: systemctl \
                 restart puppetdb"
            }
        }
    }
}

// === impl PeerService ===

impl PeerService {
    async fn query_peer(&self, installation: &DiagnosedInstallation) -> PeerAnswer {
        let (files, is_behind) = (self.files.clone(), self.is_behind);
        let making = tokio::task::spawn_blocking(move || client(files.as_ref(), is_behind));
        let http = making.await;
        let http = match http {
            Ok(Ok(http)) => http,
            Ok(Err(why)) => return PeerAnswer::UnusableFiles(why),
            Err(_) => return PeerAnswer::UnusableFiles("they could not be read".to_owned()),
        };
        let url = match self.url.join(self.kind.probe_path()) {
            Ok(url) => url,
            Err(error) => return PeerAnswer::Unreachable(error.to_string()),
        };
        let asked = Timestamp::now();
        let answer = match http.get(url).send().await {
            Ok(answer) => answer,
            Err(error) => {
                let error = ConnectionError::from_error(&error);
                return PeerAnswer::Unreachable(error.to_string());
            }
        };
        let header = |name: &str| answer.headers().get(name).and_then(|it| it.to_str().ok());
        if let Some(told) = header("date").and_then(parse_http_date) {
            installation.note_clock(RemoteClock {
                machine: self.kind.check().to_owned(),
                remote_time: told,
                local_time: asked + asked.duration_until(Timestamp::now()) / 2,
            });
        }
        let version = header("x-puppet-version").map(str::to_owned);
        let status = answer.status();
        if is_behind && status.is_success() && self.ignores_headers(&http).await {
            return PeerAnswer::IgnoresHeaders;
        }
        PeerAnswer::Answered(status, version)
    }

    /// True if the answer to a request that names no client is not a refusal. Without an answer nothing
    /// is known, and the server itself passes nothing on.
    async fn ignores_headers(&self, http: &reqwest::Client) -> bool {
        let Ok(url) = self.url.join(self.kind.probe_path()) else {
            return false;
        };
        let headers = ClientHeaders::unverified().into_headers();
        let answer = http.get(url).headers(headers).send().await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }
}

fn client(files: Option<&TlsFiles>, is_behind: bool) -> Result<reqwest::Client, String> {
    let builder = match files {
        Some(files) => {
            let tls = ClientTls::load(files)
                .map_err(|error| format!("{:#}", anyhow::Error::new(error)))?;
            let headers = match is_behind {
                true => ClientHeaders::own(files)
                    .map_err(|error| format!("{:#}", anyhow::Error::new(error)))?
                    .into_headers(),
                false => HeaderMap::new(),
            };
            http_client::builder(tls).default_headers(headers)
        }
        None => http_client::without_tls(),
    };
    builder.build().map_err(|error| error.to_string())
}

fn judge(peer: &PeerService, answer: &PeerAnswer) -> DiagnosisFinding {
    let (check, place) = (peer.kind.check(), peer.url.to_string());
    match answer {
        PeerAnswer::Answered(status, version) if status.is_success() => {
            let version = version
                .as_ref()
                .map_or_else(String::new, |it| format!(" (Puppet {it})"));
            DiagnosisFinding::ok(
                check,
                place,
                format!("it answers and permits what Tutti asks{version}"),
            )
        }
        PeerAnswer::IgnoresHeaders => {
            let cause = "no request is passed to it: it does not read the headers that name its clients, and \
                         would take all requests for this server's own";
            DiagnosisFinding::problem(check, place, cause).remedy(
                "set allow-header-cert-info: true in the section authorization of its auth.conf, then: systemctl \
                 restart puppetserver",
            )
        }
        PeerAnswer::Answered(StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED, _) => {
            let cause = "it answers, and does not permit this server's certificate";
            DiagnosisFinding::problem(check, place, cause).remedy(peer.kind.required_permission())
        }
        PeerAnswer::Answered(status, _) => {
            let cause = format!("it answers HTTP {}, which is unexpected", status.as_u16());
            let command = format!("journalctl -u {check} -n 50  # there");
            DiagnosisFinding::problem(check, place, cause).remedy(command)
        }
        PeerAnswer::UnusableFiles(why) => DiagnosisFinding::problem(
            check,
            place,
            format!("its certificate files cannot be used: {why}"),
        )
        .remedy(format!(
            "look at cacert, cert and key of the section [{check}]"
        )),
        PeerAnswer::Unreachable(why) => {
            let host = peer.url.host_str().unwrap_or_default();
            let port = peer.url.port_or_known_default().unwrap_or_default();
            DiagnosisFinding::problem(check, place, format!("it cannot be reached: {why}"))
                .remedy(format!("openssl s_client -connect {host}:{port}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use doctor::FindingSeverity;

    use super::*;

    /// A server that answers 200 to all, or 403 to requests without a verified client.
    async fn puppetserver(reads_headers: bool) -> Url {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer = move |headers: axum::http::HeaderMap| async move {
            let verified = headers
                .get("x-client-verify")
                .is_some_and(|it| it == "SUCCESS");
            match reads_headers && !verified {
                true => axum::http::StatusCode::FORBIDDEN,
                false => axum::http::StatusCode::OK,
            }
        };
        let router = axum::Router::new().fallback(answer);
        tokio::spawn(axum::serve(listener, router).into_future());
        url.parse().unwrap()
    }

    #[tokio::test]
    async fn a_puppetserver_that_ignores_the_headers_is_noticed() {
        for reads_headers in [true, false] {
            let peer = PeerService {
                kind: PeerKind::Puppetserver,
                url: puppetserver(reads_headers).await,
                files: None,
                is_behind: true,
            };
            let http = http_client::without_tls().build().unwrap();
            assert_eq!(peer.ignores_headers(&http).await, !reads_headers);
        }
    }

    #[test]
    fn answers_of_peers_are_told_apart() {
        let answered = |status| PeerAnswer::Answered(status, Some("8.10.0".to_owned()));
        for (kind, answer, severity, part) in [
            (
                PeerKind::Puppetserver,
                answered(StatusCode::OK),
                FindingSeverity::Ok,
                "Puppet 8.10.0",
            ),
            (
                PeerKind::Puppetserver,
                answered(StatusCode::FORBIDDEN),
                FindingSeverity::Problem,
                "auth.conf",
            ),
            (
                PeerKind::PuppetDb,
                answered(StatusCode::FORBIDDEN),
                FindingSeverity::Problem,
                "certificate-allowlist",
            ),
            (
                PeerKind::PuppetDb,
                answered(StatusCode::BAD_GATEWAY),
                FindingSeverity::Problem,
                "HTTP 502",
            ),
            (
                PeerKind::Puppetserver,
                PeerAnswer::IgnoresHeaders,
                FindingSeverity::Problem,
                "allow-header-cert-info: true",
            ),
            (
                PeerKind::PuppetDb,
                PeerAnswer::UnusableFiles("no key".to_owned()),
                FindingSeverity::Problem,
                "no key",
            ),
            (
                PeerKind::Puppetserver,
                PeerAnswer::Unreachable("connection refused".to_owned()),
                FindingSeverity::Problem,
                "openssl s_client -connect puppet:8140",
            ),
        ] {
            let peer = PeerService {
                kind,
                url: "https://puppet:8140".parse().unwrap(),
                files: None,
                is_behind: false,
            };
            let finding = judge(&peer, &answer);
            assert_eq!(finding.severity, severity, "{finding:?}");
            let text = format!("{} {}", finding.cause, finding.remedy.unwrap_or_default());
            assert!(text.contains(part), "{text}");
        }
    }
}
