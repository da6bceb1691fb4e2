//! Encryption of connections to PostgreSQL, by libpq's names: [`TlsOptions`].
//!
//! The URL may contain `sslmode`, `sslrootcert`, `sslcert` and `sslkey`. Invariant: a connection to
//! another machine is encrypted and the server's certificate verified, name included, unless the
//! URL requests otherwise.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use pki::tls::{ClientTls, ServerCheck};
use rustls::ClientConfig;
use rustls_platform_verifier::Verifier;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode as Negotiation};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::OpenStoreError;

/// Protection of a connection, as libpq's `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SslMode {
    Disable,
    /// Encrypted if the server supports it; the server's certificate is not checked.
    Prefer,
    /// Encrypted; the server's certificate is not checked.
    Require,
    /// Encrypted; the server must have a certificate of a trusted CA.
    VerifyCa,
    /// As `VerifyCa`, and the certificate must contain the name of the host.
    VerifyFull,
}

/// libpq's name for the roots of the operating system.
const SYSTEM: &str = "system";

/// Parameters of a URL that concern encryption.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TlsOptions {
    mode: Option<SslMode>,
    root: Option<String>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
}

// === impl TlsOptions ===

impl TlsOptions {
    /// Extracts the options from the URL. Returns them and the URL without them, for the other
    /// parser.
    pub(super) fn extract_options(url: &str) -> Result<(Self, String), OpenStoreError> {
        let mut options = Self::default();
        let Some((base, query)) = url.split_once('?') else {
            return Ok((options, url.to_owned()));
        };
        let mut others = Vec::new();
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let text = || decode(name, value);
            match name {
                "sslmode" => options.mode = Some(SslMode::parse(&text()?)?),
                "sslrootcert" => options.root = Some(text()?),
                "sslcert" => options.cert = Some(text()?.into()),
                "sslkey" => options.key = Some(text()?.into()),
                _ => others.push(pair),
            }
        }
        let rest = match others.is_empty() {
            true => base.to_owned(),
            false => format!("{base}?{}", others.join("&")),
        };
        Ok((options, rest))
    }

    /// Sets the negotiation, and returns the TLS connector. Reads the files.
    pub(super) fn into_connector(
        self,
        config: &mut Config,
    ) -> Result<MakeRustlsConnect, OpenStoreError> {
        let only_sockets = is_every_host(config, |host| matches!(host, Host::Unix(_)));
        let mode = match self.mode {
            // As in libpq, a socket of this machine is not encrypted.
            _ if only_sockets => SslMode::Disable,
            Some(mode) => mode,
            None if is_local(config) => SslMode::Prefer,
            None => SslMode::VerifyFull,
        };
        config.ssl_mode(match mode {
            SslMode::Disable => Negotiation::Disable,
            SslMode::Prefer => Negotiation::Prefer,
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => Negotiation::Require,
        });
        let client = match mode {
            SslMode::Disable => ClientTls::first_contact(),
            _ => self.client_config(mode)?,
        };
        Ok(MakeRustlsConnect::new(Arc::unwrap_or_clone(client)))
    }

    fn client_config(&self, mode: SslMode) -> Result<Arc<ClientConfig>, OpenStoreError> {
        let root = self.root.as_deref();
        let check = match (mode, root) {
            (SslMode::VerifyFull, None | Some(SYSTEM)) => {
                let verifier = Verifier::new(pki::tls::provider()).map_err(tls_error)?;
                ServerCheck::By(Arc::new(verifier))
            }
            (_, Some(SYSTEM)) => {
                return Err(invalid_url_error(
                    "sslrootcert=system: needs sslmode=verify-full",
                ));
            }
            (SslMode::VerifyFull, Some(root)) => ServerCheck::Full(root.into()),
            (SslMode::VerifyCa, None) => {
                return Err(invalid_url_error(
                    "sslmode=verify-ca: needs sslrootcert=FILE",
                ));
            }
            // As in libpq, naming a CA means checking it.
            (SslMode::VerifyCa | SslMode::Require, Some(root)) => ServerCheck::Chain(root.into()),
            _ => ServerCheck::Nothing,
        };
        let identity = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => Some((cert.as_path(), key.as_path())),
            (None, None) => None,
            _ => return Err(invalid_url_error("sslcert and sslkey: one needs the other")),
        };
        ClientTls::with_certname_check(check, identity).map_err(tls_error)
    }
}

// === impl SslMode ===

impl SslMode {
    fn parse(name: &str) -> Result<Self, OpenStoreError> {
        Ok(match name {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => {
                return Err(invalid_url_error(
                    "sslmode: expected disable, prefer, require, verify-ca or verify-full",
                ));
            }
        })
    }
}

fn tls_error(source: impl std::error::Error + Send + Sync + 'static) -> OpenStoreError {
    OpenStoreError::Tls {
        source: Box::new(source),
    }
}

fn invalid_url_error(what: &str) -> OpenStoreError {
    OpenStoreError::InvalidUrl {
        what: what.to_owned(),
    }
}

/// True if no packet leaves this machine: a socket or a loopback address.
fn is_local(config: &Config) -> bool {
    let addresses = config.get_hostaddrs();
    if !addresses.is_empty() {
        return addresses.iter().all(IpAddr::is_loopback);
    }
    is_every_host(config, |host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            let is_loopback = |address: IpAddr| address.is_loopback();
            let name = name.trim_start_matches('[').trim_end_matches(']');
            name == "localhost" || name.parse().is_ok_and(is_loopback)
        }
    })
}

fn is_every_host(config: &Config, is: impl Fn(&Host) -> bool) -> bool {
    config.get_hosts().iter().all(is)
}

/// Decodes percent-encoded characters such as `%2F`.
fn decode(name: &str, value: &str) -> Result<String, OpenStoreError> {
    let bad = || invalid_url_error(&format!("{name}: not a percent-encoded text"));
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
            return Err(bad());
        };
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| bad())?);
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn negotiated(url: &str) -> Result<Negotiation, String> {
        let (options, rest) =
            TlsOptions::extract_options(url).map_err(|error| error.to_string())?;
        let mut config: Config = rest
            .parse()
            .map_err(|error: tokio_postgres::Error| error.to_string())?;
        options
            .into_connector(&mut config)
            .map_err(|error| error.to_string())?;
        Ok(config.get_ssl_mode())
    }

    #[test]
    fn another_machine_is_never_reached_in_clear_unless_the_url_says_so() {
        for url in [
            "postgresql://u@db.example/x",
            "postgresql://u@10.0.0.1/x",
            "postgresql://u@localhost,db.example/x",
            "postgresql://u@localhost/x?hostaddr=10.0.0.1",
            "postgresql://u@localhost.example/x",
        ] {
            assert_eq!(negotiated(url), Ok(Negotiation::Require), "{url}");
        }
        for url in ["postgresql://u@localhost/x", "postgresql://u@127.0.0.1:1/x"] {
            assert_eq!(negotiated(url), Ok(Negotiation::Prefer), "{url}");
        }
        let url = "postgresql://u@%2Frun%2Fpostgresql/x?sslmode=require";
        assert_eq!(negotiated(url), Ok(Negotiation::Disable));
        let url = "postgresql://u@db.example/x?sslmode=disable";
        assert_eq!(negotiated(url), Ok(Negotiation::Disable));
    }

    #[test]
    fn options_that_cannot_hold_are_refused() {
        for (options, part) in [
            ("sslmode=verify", "expected disable"),
            ("sslmode=verify-ca", "sslrootcert"),
            ("sslmode=verify-ca&sslrootcert=system", "verify-full"),
            ("sslmode=require&sslcert=/x", "sslkey"),
            ("sslmode=require&sslcert=%zz", "percent"),
            ("sslrootcert=/missing.pem", "cannot be used"),
        ] {
            let error = negotiated(&format!("postgresql://u@db.example/x?{options}"));
            let error = error.unwrap_err();
            assert!(error.contains(part), "{options}: {error}");
        }
    }

    #[test]
    fn other_options_stay() {
        let url = "postgresql://u@h/x?a=1&sslmode=disable&b=%2F";
        let (options, rest) = TlsOptions::extract_options(url).unwrap();
        assert_eq!(rest, "postgresql://u@h/x?a=1&b=%2F");
        assert_eq!(options.mode, Some(SslMode::Disable));
    }
}
