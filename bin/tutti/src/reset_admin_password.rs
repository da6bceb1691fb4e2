//! `tutti reset-admin-password`: restores the login of an administrator who lost the password. Main
//! function: [`run`].
//!
//! Invariant: every user who may read the server's key may do it, and it is recorded in the audit
//! log, even if the server is not running.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use cli::local_server::read_password;
use cli::say;
use rbac::{ADMIN_ID, Rbac};
use secrecy::{ExposeSecret as _, SecretString};
use store::Store;

use crate::config::Config;
use crate::local_server::{self, LocalServer};

/// Set a new password for the user admin and end its sessions, as root or as the user of the
/// service
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti reset-admin-password
  tutti reset-admin-password --password-file /root/new-password")]
pub(crate) struct Options {
    /// The server's configuration
    #[arg(long, env = "TUTTI_CONFIG", hide_env_values = true, default_value = crate::config::DEFAULT_PATH, value_name = "FILE")]
    config: PathBuf,
    /// The first line of this file is the new password [default: a random one, written to
    /// <data_dir>/admin-password]
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// Sets the password through the running server, or in its database.
pub(crate) fn run(options: &Options) -> Result<()> {
    let config = Config::read(&options.config)?;
    ensure!(
        config.data_dir.join("seal.key").exists(),
        "there is no seal.key in {}: no server has started with this configuration, or this user may not look there; \
         run it as root on the server",
        config.data_dir.display()
    );
    let password = match &options.password_file {
        Some(path) => read_password(path)?,
        None => rbac::random_password(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    match local_server::find(&config)? {
        LocalServer::Running(login) => {
            runtime.block_on(login.reset_password(ADMIN_ID, &password))?;
        }
        LocalServer::Stopped => {
            runtime.block_on(Box::pin(reset_in_store(&config, password.clone())))?;
        }
        LocalServer::WithoutKey => bail!(
            "cannot read {}; run it as root or as the user of the service",
            config.tls_files().key.display()
        ),
    }
    say!("The password of admin is set, and its sessions have ended.");
    if options.password_file.is_none() {
        write_password_file(&config, &password)?;
    }
    Ok(())
}

/// Writes a generated password to the file that the first start writes.
fn write_password_file(config: &Config, password: &SecretString) -> Result<()> {
    let path = config.data_dir.join("admin-password");
    let line = format!("{}\n", password.expose_secret());
    pki::durable::write_atomic(&path, line.as_bytes(), 0o600)
        .context("the new password is set but cannot be kept; run this again")?;
    say!("It is in {}.", path.display());
    Ok(())
}

async fn reset_in_store(config: &Config, password: SecretString) -> Result<()> {
    let store = Store::open(&config.store_config()).await?;
    let done = reset_between_entries(config, &store, password).await;
    store.close().await;
    done
}

async fn reset_between_entries(
    config: &Config,
    store: &Store,
    password: SecretString,
) -> Result<()> {
    let access = Box::pin(Rbac::open(store.clone(), &config.data_dir)).await?;
    let audit = crate::audit::open(config, store.clone()).await;
    let reset = async {
        // Before the change: if it cannot be recorded, nothing is changed.
        let intent = audit.intent(reset_event()).await?;
        let token = access.reset_token(&access.api_user(), ADMIN_ID).await?;
        let reset = access.reset_password(token.expose_secret(), password);
        let done = Box::pin(reset).await;
        let outcome = audit::AuditOutcome {
            error: done.as_ref().err().map(ToString::to_string),
            ..audit::AuditOutcome::default()
        };
        intent.finish(outcome).await;
        anyhow::Ok(done?)
    };
    let done = Box::pin(reset).await;
    access.shutdown().await;
    audit.shutdown().await;
    done
}

fn reset_event() -> audit::AuditedAction {
    audit::AuditedAction {
        actor: audit::AuditActor::server(),
        service: "rbac".to_owned(),
        action: "reset_admin_password".to_owned(),
        object: audit::AuditObject::named("user", "admin"),
        ..audit::AuditedAction::default()
    }
}
