//! `tutti ca …`: the certificate authority. Main type: [`Options`].
//!
//! Invariant: a verb is sent to the running server, which audits it and completes it; it works on
//! the files only if no server is running, or if requested by `--local` or `--cadir`. It either
//! completes durably, or reports the steps that were not done.

mod authority;
mod list;
mod revocation;
mod setup;
mod start;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use api_types::RevocationInForce;
use cli::certificates::SigningRights;
use cli::{escape_control, say};
use owo_colors::OwoColorize as _;
use pki::KeyType;
use pki::ca::GenerateOptions;

use self::authority::AuthorityAccess;
pub(crate) use self::start::{ensure_own_certificate, open_or_init};
use crate::config::Config;

/// Manage the certificate authority
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    place: AuthorityPlace,
    #[command(subcommand)]
    verb: CaVerb,
}

/// Selects the authority and the way to reach it.
#[derive(Debug, clap::Args)]
struct AuthorityPlace {
    /// Work on the files of this directory, without a server
    #[arg(long, global = true, value_name = "DIR")]
    cadir: Option<PathBuf>,
    /// Work on the files of the CA that the configuration names, without a server
    #[arg(long, global = true)]
    local: bool,
    /// Authenticate to the server with this client certificate instead of a token
    #[arg(long, global = true, requires = "key", value_name = "FILE")]
    cert: Option<PathBuf>,
    /// The key of --cert
    #[arg(long, global = true, requires = "cert", value_name = "FILE")]
    key: Option<PathBuf>,
    /// The server's configuration
    #[arg(long, global = true, env = "TUTTI_CONFIG", hide_env_values = true, default_value = crate::config::DEFAULT_PATH, value_name = "FILE")]
    config: PathBuf,
    #[command(flatten)]
    connection: cli::ConnectionFlags,
}

#[derive(Debug, clap::Subcommand)]
enum CaVerb {
    /// Create a new CA in Puppet's layout
    Init {
        /// The CA's common name
        #[arg(long, default_value = "Puppet CA: tutti", value_name = "NAME")]
        common_name: String,
        /// The CA's key: RSA-4096, as Puppet makes them, or EC P-256
        #[arg(long, value_enum, default_value_t, value_name = "TYPE")]
        key_type: AuthorityKeyType,
    },
    /// Take over the CA of a puppetserver
    Import {
        /// puppetserver's ca directory (usually /etc/puppetlabs/puppetserver/ca)
        #[arg(value_name = "DIR")]
        from: PathBuf,
    },
    /// List requests (and with --all, certificates)
    List {
        /// Also list certificates
        #[arg(long)]
        all: bool,
    },
    /// Sign waiting requests
    Sign {
        /// Certnames of the requests to sign
        #[arg(required_unless_present = "all")]
        certnames: Vec<String>,
        /// Sign every waiting request
        #[arg(long, conflicts_with = "certnames")]
        all: bool,
        /// Sign the alternative names that a request contains
        #[arg(long)]
        allow_alt_names: bool,
        /// Sign extensions that grant rights
        #[arg(long)]
        allow_authorization_extensions: bool,
        /// Sign names that grant rights, such as those of brokers and programs
        #[arg(long)]
        allow_privileged_names: bool,
    },
    /// Revoke certificates, and wait until the brokers have ended their sessions
    Revoke {
        /// Certnames of the certificates to revoke
        #[arg(required = true)]
        certnames: Vec<String>,
    },
    /// Revoke and forget, so that the name can be used again
    Clean {
        /// Certnames of the certificates to remove
        #[arg(required = true)]
        certnames: Vec<String>,
    },
    /// Create a key and a certificate in one step
    Generate {
        /// The certificate's name
        certname: String,
        /// Alternative names, such as tutti.example.com or 10.0.0.1
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        alt_names: Vec<String>,
        /// Directory in which NAME.key.pem and NAME.cert.pem are written
        #[arg(long, default_value = ".", value_name = "DIR")]
        out: PathBuf,
        /// The key: RSA-4096 or EC P-256
        #[arg(long, value_enum, default_value = "ec", value_name = "TYPE")]
        key_type: AuthorityKeyType,
        /// Let the holder administer the CA over HTTP
        #[arg(long)]
        ca_administrator: bool,
    },
}

/// Type of a key: RSA-4096 or EC P-256.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum AuthorityKeyType {
    #[default]
    Rsa,
    Ec,
}

/// Runs the verb.
pub(crate) fn run(options: Options) -> Result<()> {
    let place = &options.place;
    match options.verb {
        CaVerb::Init {
            common_name,
            key_type,
        } => setup::init(&place.directory()?, common_name, key_type),
        CaVerb::Import { from } => setup::import(&place.directory()?, &from),
        CaVerb::List { all } => {
            list::print(AuthorityAccess::at(place)?.list()?, all);
            Ok(())
        }
        CaVerb::Sign {
            certnames,
            all,
            allow_alt_names,
            allow_authorization_extensions,
            allow_privileged_names,
        } => {
            let authority = AuthorityAccess::at(place)?;
            let rights = SigningRights {
                alt_names: allow_alt_names,
                authorization_extensions: allow_authorization_extensions,
                privileged_names: allow_privileged_names,
            };
            let certnames = if all {
                authority.list_requests()?
            } else {
                certnames
            };
            run_for_each(&certnames, "signed", |name| {
                authority.sign(name, rights)?;
                Ok(RevocationInForce::default())
            })
        }
        CaVerb::Revoke { certnames } => {
            let authority = AuthorityAccess::at(place)?;
            run_for_each(&certnames, "revoked", |name| authority.revoke(name))?;
            authority.note_revocation();
            Ok(())
        }
        CaVerb::Clean { certnames } => {
            let authority = AuthorityAccess::at(place)?;
            run_for_each(&certnames, "cleaned", |name| authority.clean(name))?;
            authority.note_revocation();
            Ok(())
        }
        CaVerb::Generate {
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
            generate(&AuthorityAccess::at(place)?, &certname, &what, &out)
        }
    }
}

// === impl AuthorityPlace ===

impl AuthorityPlace {
    /// The directory of the authority, for verbs that work on its files.
    fn directory(&self) -> Result<PathBuf> {
        match (&self.cadir, self.config.exists()) {
            (Some(dir), _) => Ok(dir.clone()),
            (None, true) => Ok(Config::read(&self.config)?.ca_dir()),
            (None, false) => bail!(
                "there is no configuration at {}; give --config or --cadir",
                self.config.display()
            ),
        }
    }
}

/// Runs an operation for each name. Goes on after a failure, so that one bad name does not block
/// the others.
fn run_for_each(
    certnames: &[String],
    done: &str,
    act: impl Fn(&str) -> Result<RevocationInForce>,
) -> Result<()> {
    let (mut failed, mut unfinished) = (0, 0);
    for name in certnames {
        match act(name) {
            Ok(revocation) => {
                say!("{} {}", done.green(), escape_control(name));
                if let Some(note) = revocation::describe_unreached(name, &revocation) {
                    anstream::eprintln!("note: {}", escape_control(&note));
                }
                if let Some(error) = revocation::describe_unfinished(name, &revocation) {
                    unfinished += 1;
                    anstream::eprintln!("{} {}", "error:".red(), escape_control(&error));
                }
            }
            Err(error) => {
                failed += 1;
                let why = escape_control(&format!("{name}: {error}"));
                anstream::eprintln!("{} {why}", "error:".red());
            }
        }
    }
    if failed > 0 {
        bail!("{failed} of {} could not be {done}", certnames.len());
    }
    if unfinished > 0 {
        bail!("{unfinished} of {} are still of use", certnames.len());
    }
    Ok(())
}

fn generate(
    authority: &AuthorityAccess,
    certname: &str,
    what: &GenerateOptions,
    out: &Path,
) -> Result<()> {
    let (key, cert) = (
        out.join(format!("{certname}.key.pem")),
        out.join(format!("{certname}.cert.pem")),
    );
    // All steps that can fail come before the certificate is created: its name can be issued only
    // once.
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    for file in [&key, &cert] {
        anyhow::ensure!(
            !file.exists(),
            "{} is there already; move it away or give --out",
            file.display()
        );
    }
    tempfile::tempfile_in(out).with_context(|| format!("cannot write into {}", out.display()))?;
    let made = authority.generate(certname, what)?;
    pki::durable::write_atomic(&key, made.key_pem.as_bytes(), 0o600)?;
    pki::durable::write_atomic(&cert, made.cert_pem.as_bytes(), 0o644)?;
    say!("{}\n{}", key.display(), cert.display());
    Ok(())
}

impl From<AuthorityKeyType> for KeyType {
    fn from(key: AuthorityKeyType) -> Self {
        match key {
            AuthorityKeyType::Rsa => Self::Rsa4096,
            AuthorityKeyType::Ec => Self::EcP256,
        }
    }
}
