//! `tutti ca …`: the certificate authority, on the machine where it is. Main type: [`Options`].
//!
//! The rule: a verb either does all it says, durably, or says why it did nothing; running servers
//! see a new CRL within a second without being told.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use cli::{harmless, say};
use owo_colors::OwoColorize as _;
use pki::ca::{AltName, Entry, GenerateOptions, ImportFiles, InitOptions, SignOptions, State};
use pki::{CertificateAuthority, KeyType};

use crate::config::Config;
use crate::privileged_names::registry;

/// Manage the certificate authority
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The CA's directory [default: the one that the configuration names]
    #[arg(long, global = true, value_name = "DIR")]
    cadir: Option<PathBuf>,
    /// The server's configuration
    #[arg(long, global = true, env = "TUTTI_CONFIG", hide_env_values = true, default_value = crate::DEFAULT_CONFIG, value_name = "FILE")]
    config: PathBuf,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Make a new CA in Puppet's layout
    Init {
        /// The CA's common name
        #[arg(long, default_value = "Puppet CA: tutti", value_name = "NAME")]
        common_name: String,
        /// The CA's key: RSA-4096, as Puppet makes them, or EC P-256
        #[arg(long, value_enum, default_value_t, value_name = "TYPE")]
        key_type: Key,
    },
    /// Take over the CA of a puppetserver
    Import {
        /// puppetserver's ca directory (usually /etc/puppetlabs/puppetserver/ca)
        #[arg(value_name = "DIR")]
        from: PathBuf,
    },
    /// List requests (and with --all, certificates)
    List {
        /// Certificates too
        #[arg(long)]
        all: bool,
    },
    /// Sign waiting requests
    Sign {
        /// Whose
        #[arg(required_unless_present = "all")]
        certnames: Vec<String>,
        /// Every waiting request
        #[arg(long, conflicts_with = "certnames")]
        all: bool,
        /// Sign the alternative names that a request asks for
        #[arg(long)]
        allow_alt_names: bool,
        /// Sign extensions that grant rights
        #[arg(long)]
        allow_authorization_extensions: bool,
        /// Sign names that grant rights, such as those of brokers and programs
        #[arg(long)]
        allow_privileged_names: bool,
    },
    /// Revoke certificates; sessions that use them are cut within a second
    Revoke {
        /// Whose
        #[arg(required = true)]
        certnames: Vec<String>,
    },
    /// Revoke and forget, so that the name can be used again
    Clean {
        /// Whose
        #[arg(required = true)]
        certnames: Vec<String>,
    },
    /// Make a key and a certificate at once
    Generate {
        /// The certificate's name
        certname: String,
        /// Alternative names, such as tutti.example.com or 10.0.0.1
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        alt_names: Vec<String>,
        /// Where to write NAME.key.pem and NAME.cert.pem
        #[arg(long, default_value = ".", value_name = "DIR")]
        out: PathBuf,
        /// The key: RSA-4096 or EC P-256
        #[arg(long, value_enum, default_value = "ec", value_name = "TYPE")]
        key_type: Key,
        /// Let the holder administer the CA over HTTP
        #[arg(long)]
        ca_administrator: bool,
    },
}

/// What kind of key: RSA-4096 or EC P-256.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Key {
    #[default]
    Rsa,
    Ec,
}

/// Does what the verb says.
pub(crate) fn run(options: Options) -> Result<()> {
    // A directory may be worked on where there is no server; no name has rights then.
    let config = match options.cadir {
        Some(_) if !options.config.exists() => None,
        _ => Some(Config::read(&options.config)?),
    };
    let names = match &config {
        Some(config) if matches!(options.verb, Verb::Sign { .. }) => registry(config)?,
        _ => Arc::default(),
    };
    let dir = match (options.cadir, &config) {
        (Some(dir), _) => dir,
        (None, Some(config)) => config.ca_dir(),
        (None, None) => bail!("there is no configuration; give --cadir"),
    };
    match options.verb {
        Verb::Init {
            common_name,
            key_type,
        } => init(&dir, common_name, key_type),
        Verb::Import { from } => import(&dir, &from),
        Verb::List { all } => list(&CertificateAuthority::open(&dir)?, all),
        Verb::Sign {
            certnames,
            all,
            allow_alt_names,
            allow_authorization_extensions,
            allow_privileged_names,
        } => {
            let ca = CertificateAuthority::open(&dir)?.with_privileged_names(names);
            let options = SignOptions {
                allow_alt_names,
                allow_authorization: allow_authorization_extensions,
                allow_privileged_names,
                ..SignOptions::default()
            };
            let certnames = if all { waiting(&ca)? } else { certnames };
            each(&certnames, "signed", |name| {
                ca.sign(name, &options).map(drop)
            })
        }
        Verb::Revoke { certnames } => {
            let ca = CertificateAuthority::open(&dir)?;
            each(&certnames, "revoked", |name| ca.revoke(name).map(drop))
        }
        Verb::Clean { certnames } => clean(&CertificateAuthority::open(&dir)?, &certnames),
        Verb::Generate {
            certname,
            alt_names,
            out,
            key_type,
            ca_administrator,
        } => {
            let alt_names = alt_names
                .iter()
                .map(|name| name.parse())
                .collect::<Result<_, _>>()?;
            let what = GenerateOptions {
                alt_names,
                key_type: key_type.into(),
                ca_administrator,
                lifetime: None,
            };
            generate(&CertificateAuthority::open(&dir)?, &certname, &what, &out)
        }
    }
}

/// The CA that a server starts with: the one that is there, or a new one.
pub(crate) fn open_or_init(config: &Config) -> Result<CertificateAuthority> {
    let dir = config.ca_dir();
    if dir.join("ca_crt.pem").exists() {
        return Ok(CertificateAuthority::open(&dir)?);
    }
    tracing::info!(dir = %dir.display(), "making a new certificate authority");
    let common_name = format!("Puppet CA: {}", config.certname);
    let options = InitOptions {
        common_name,
        key_type: KeyType::EcP256,
    };
    Ok(CertificateAuthority::init(&dir, &options)?)
}

/// The server's own key and certificate, made once. A crash between the files heals: without the
/// certificate, which is written last, all are made anew.
pub(crate) fn ensure_own_certificate(config: &Config, ca: &CertificateAuthority) -> Result<()> {
    let files = config.tls_files();
    if config.tls.is_some() || files.cert.exists() {
        return Ok(());
    }
    for file in [&files.cert, &files.key] {
        let parent = file
            .parent()
            .context("a certificate file without a directory")?;
        std::fs::create_dir_all(parent)
            .with_context(|| format!("cannot make {}", parent.display()))?;
    }
    let mut alt_names: Vec<AltName> = vec![config.certname.parse()?];
    for name in ["localhost", "127.0.0.1", "::1"] {
        alt_names.push(name.parse()?);
    }
    let what = GenerateOptions {
        alt_names,
        ca_administrator: true,
        ..GenerateOptions::default()
    };
    let made = ca.generate(&config.certname, &what).with_context(|| {
        format!(
            "cannot make the server's own certificate in {}; if {} has one with its key already, name \
             the files in the section [tls]",
            config.data_dir.join("ssl").display(),
            config.certname
        )
    })?;
    pki::durable::write_atomic(&files.ca, ca.ca_bundle()?.as_bytes(), 0o644)?;
    pki::durable::write_atomic(&files.key, made.key_pem.as_bytes(), 0o600)?;
    pki::durable::write_atomic(&files.cert, made.cert_pem.as_bytes(), 0o644)?;
    Ok(())
}

fn init(dir: &Path, common_name: String, key_type: Key) -> Result<()> {
    CertificateAuthority::init(
        dir,
        &InitOptions {
            common_name,
            key_type: key_type.into(),
        },
    )?;
    say!("The CA is in {}.", dir.display());
    Ok(())
}

fn import(dir: &Path, from: &Path) -> Result<()> {
    let crl_chain = Some(from.join("ca_crl.pem")).filter(|path| path.exists());
    let files = ImportFiles {
        cert_bundle: from.join("ca_crt.pem"),
        key: from.join("ca_key.pem"),
        crl_chain,
        ca_dir: Some(from.to_owned()),
    };
    let ca = CertificateAuthority::import(dir, &files)?;
    say!(
        "The CA of {} is in {} now: {} entries.",
        from.display(),
        dir.display(),
        ca.list()?.len()
    );
    say!("Run only one of the two from here on: each would give out the same serial numbers.");
    Ok(())
}

fn list(ca: &CertificateAuthority, all: bool) -> Result<()> {
    let mut entries = ca.list()?;
    entries.retain(|entry| all || entry.state == State::Requested);
    let names = entries.iter().map(|entry| entry.certname.chars().count());
    let width = names.max().unwrap_or(0);
    for entry in &entries {
        let state = match entry.state {
            State::Requested => "requested".yellow().to_string(),
            State::Signed => "signed   ".green().to_string(),
            State::Revoked => "revoked  ".red().to_string(),
        };
        let until = entry
            .certificate
            .as_ref()
            .map_or_else(String::new, |facts| {
                format!("  until {}", facts.not_after.strftime("%Y-%m-%d"))
            });
        let pad = " ".repeat(width - entry.certname.chars().count());
        say!(
            "{state}  {}{pad}{until}  (SHA256) {}",
            harmless(&entry.certname).bold(),
            entry.fingerprints.sha256.dimmed()
        );
        if let Some(extras) = extras(entry) {
            say!("           {extras}");
        }
    }
    if entries.is_empty() {
        say!(
            "{}",
            if all {
                "No requests and no certificates."
            } else {
                "No requests are waiting."
            }
        );
    }
    Ok(())
}

/// Names and rights beyond the certname; harmless, since anybody may send a request with any text.
fn extras(entry: &Entry) -> Option<String> {
    let rights = entry
        .authorization_extensions
        .iter()
        .map(|(oid, text)| format!("{oid}={text}"));
    let extras: Vec<_> = entry.alt_names.iter().cloned().chain(rights).collect();
    let verb = match entry.state {
        State::Requested => "asks for",
        State::Signed | State::Revoked => "with",
    };
    (!extras.is_empty()).then(|| harmless(&format!("{verb} {}", extras.join(", "))))
}

/// A name that the CA never saw is more likely misspelt than clean.
fn clean(ca: &CertificateAuthority, certnames: &[String]) -> Result<()> {
    let known: BTreeSet<_> = ca.list()?.into_iter().map(|entry| entry.certname).collect();
    each(certnames, "cleaned", |name| {
        anyhow::ensure!(
            known.contains(name),
            "there is neither a request nor a certificate for {name}"
        );
        Ok(ca.clean(name).map(drop)?)
    })
}

fn waiting(ca: &CertificateAuthority) -> Result<Vec<String>> {
    let entries = ca
        .list()?
        .into_iter()
        .filter(|entry| entry.state == State::Requested);
    Ok(entries.map(|entry| entry.certname).collect())
}

/// Goes on after a failure, so that one bad name does not keep the others waiting.
fn each<E: std::fmt::Display>(
    certnames: &[String],
    done: &str,
    act: impl Fn(&str) -> Result<(), E>,
) -> Result<()> {
    let mut failed = 0;
    for name in certnames {
        match act(name) {
            Ok(()) => say!("{} {}", done.green(), harmless(name)),
            Err(error) => {
                failed += 1;
                let why = harmless(&format!("{name}: {error}"));
                anstream::eprintln!("{} {why}", "error:".red());
            }
        }
    }
    if failed > 0 {
        bail!("{failed} of {} could not be {done}", certnames.len());
    }
    Ok(())
}

fn generate(
    ca: &CertificateAuthority,
    certname: &str,
    what: &GenerateOptions,
    out: &Path,
) -> Result<()> {
    let (key, cert) = (
        out.join(format!("{certname}.key.pem")),
        out.join(format!("{certname}.cert.pem")),
    );
    // All that can fail here comes before the certificate is made: its name can be had only once.
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    for file in [&key, &cert] {
        anyhow::ensure!(
            !file.exists(),
            "{} is there already; move it away or give --out",
            file.display()
        );
    }
    tempfile::tempfile_in(out).with_context(|| format!("cannot write into {}", out.display()))?;
    let made = ca.generate(certname, what)?;
    pki::durable::write_atomic(&key, made.key_pem.as_bytes(), 0o600)?;
    pki::durable::write_atomic(&cert, made.cert_pem.as_bytes(), 0o644)?;
    say!("{}\n{}", key.display(), cert.display());
    Ok(())
}

impl From<Key> for KeyType {
    fn from(key: Key) -> Self {
        match key {
            Key::Rsa => Self::Rsa4096,
            Key::Ec => Self::EcP256,
        }
    }
}

#[cfg(test)]
mod tests {
    use pki::ca::Fingerprints;

    use super::*;

    #[test]
    fn what_a_request_asks_for_cannot_move_the_cursor() {
        let mut entry = Entry {
            certname: "web1".to_owned(),
            state: State::Requested,
            fingerprints: Fingerprints::of(b""),
            alt_names: vec!["DNS:other".to_owned()],
            authorization_extensions: vec![("1.3.6".to_owned(), "a\x1b[2K\rsigned".to_owned())],
            certificate: None,
        };
        let shown = extras(&entry).unwrap();
        assert_eq!(
            shown,
            "asks for DNS:other, 1.3.6=a\u{241b}[2K\u{240d}signed"
        );
        entry.alt_names.clear();
        entry.authorization_extensions.clear();
        assert_eq!(extras(&entry), None);
    }
}
