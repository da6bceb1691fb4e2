//! Deployments of code by this server. Main function: [`start`].

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::code_manager::file_sync::{FileSync, FileSyncSettings};
use ::code_manager::gate::Gate;
use ::code_manager::puppetserver::Puppetserver;
use ::code_manager::push::Secret;
use ::code_manager::service::{After, InUse, Others};
use ::code_manager::{
    CodeManager, Deployer, EnvironmentName, Git, HookAddress, R10k, Settings, Signature,
};
use anyhow::{Context as _, Result, bail};
use async_trait::async_trait;
use serde_json::Value;
use store::Store;
use tokio::sync::{Mutex, watch};

use crate::config::Config;

/// Takes up the deployments of before; `None`: the configuration names neither sources nor a staging
/// directory.
pub(crate) async fn start(
    config: &Config,
    store: Store,
    plans: &::plans::Plans,
) -> Result<Option<api::CodeService>> {
    if config.code.r10k_config.is_none() && config.code.staging_directory.is_none() {
        return Ok(None);
    }
    let (mut settings, git, hooks) = sources(config)?;
    settings.staging.clone_from(&config.code.staging_directory);
    let sources = settings.sources.iter();
    let remotes = sources.map(|it| (it.name.clone(), it.remote.clone()));
    let observers = crate::observers::observers(config, hooks, &remotes.collect())?;
    settings.keep = config.code.keep();
    let opened = tokio::task::spawn_blocking(move || Deployer::open(settings, git)).await?;
    let deployer = opened.context("cannot open the directories of code")?;
    let after: Vec<Arc<dyn After>> = match &config.puppetserver {
        Some(named) => vec![Arc::new(puppetserver(config, named)?)],
        None => Vec::new(),
    };
    let in_use = Arc::new(Running {
        store: store.clone(),
        over: Mutex::new(plans.over()),
    });
    let followed = FileSyncSettings {
        lease: Duration::from_secs(config.code.followers_lease_s),
        timeout: Duration::from_secs(config.code.followers_timeout_s),
    };
    let file_sync = FileSync::start(followed, store.clone(), deployer.versions().clone()).await;
    let others = Others {
        after,
        observers,
        file_sync: Some(file_sync.context("cannot take up what followers were told")?),
    };
    let manager = CodeManager::start(deployer, store, in_use, others).await;
    let manager = manager.context("cannot take up the deployments of before")?;
    let secret = match &config.code.webhook_secret_file {
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| {
                format!("cannot read code.webhook_secret_file, {}", path.display())
            })?;
            Some(Secret::new(&text).context("code.webhook_secret_file")?)
        }
        None => None,
    };
    Ok(Some(api::CodeService::new(manager, secret)))
}

/// The control repositories, git, and who is told; none where only other tools publish.
fn sources(config: &Config) -> Result<(Settings, Git, Vec<HookAddress>)> {
    let environments = config.code.codedir.join("environments");
    let Some(path) = &config.code.r10k_config else {
        let settings = Settings::new(&config.code.directory, environments);
        return Ok((settings, Git::default(), Vec::new()));
    };
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read code.r10k_config, {shown}"))?;
    let r10k = R10k::parse(&text).with_context(|| format!("code.r10k_config, {shown}"))?;
    for key in &r10k.ignored {
        tracing::warn!(path = %shown, key, "this key is not used");
    }
    let settings = r10k.settings(&config.code.directory);
    if !is_same(&settings.environments, &environments)? {
        bail!(
            "{shown}: the basedir of the sources is {}, and the environments of this server are in {}: \
             change the one, or code.codedir",
            settings.environments.display(),
            environments.display()
        );
    }
    Ok((settings, r10k.git, r10k.hooks))
}

/// Whether two paths lead to the same directory, which need not be there yet.
fn is_same(one: &Path, other: &Path) -> Result<bool> {
    let real = |path: &Path| {
        path.canonicalize()
            .or_else(|_| std::path::absolute(path))
            .with_context(|| format!("cannot find {}", path.display()))
    };
    Ok(real(one)? == real(other)?)
}

pub(crate) fn puppetserver(
    config: &Config,
    named: &crate::classifier::Puppetserver,
) -> Result<Puppetserver> {
    let (url, files) = named.place(config)?;
    let puppetserver = Puppetserver::new(url, files);
    Ok(match named.code_ids {
        true => puppetserver.with_gate(Gate::new(&config.code.directory)),
        false => puppetserver,
    })
}

/// The plans that are not over stay with their versions.
#[derive(Debug)]
struct Running {
    store: Store,
    over: Mutex<watch::Receiver<u64>>,
}

#[async_trait]
impl InUse for Running {
    async fn versions(&self) -> Result<HashSet<(EnvironmentName, Signature)>, String> {
        let running = self.running().await?;
        let version = |(_, options): &(i64, Value)| {
            let code_id = options["code_id"].as_str()?;
            let (signature, environment) = code_id.rsplit(':').next()?.split_once(';')?;
            Some((environment.parse().ok()?, signature.parse().ok()?))
        };
        Ok(running.iter().filter_map(version).collect())
    }

    async fn holding(&self) -> Result<Vec<(i64, EnvironmentName)>, String> {
        let running = self.running().await?;
        let held = |(number, options): &(i64, Value)| {
            let environment = options["environment"].as_str()?.parse().ok()?;
            (options["code"] == "lock").then_some((*number, environment))
        };
        Ok(running.iter().filter_map(held).collect())
    }

    async fn plan_over(&self) {
        let mut over = self.over.lock().await;
        if over.changed().await.is_err() {
            // The plan engine has ended, and no plan ends any more.
            std::future::pending::<()>().await;
        }
    }
}

impl Running {
    /// The plans that are not over, with what was asked for.
    async fn running(&self) -> Result<Vec<(i64, Value)>, String> {
        let running = self.store.running_plans().await;
        let running = running.map_err(|error| error.to_string())?.into_iter();
        let read = |row: store::RunningPlanRow| {
            let options = serde_json::from_str(&row.options).unwrap_or_default();
            (row.number, options)
        };
        Ok(running.map(read).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_is_the_same_as_its_absolute_one() {
        let here = std::env::current_dir().unwrap();
        assert!(is_same(Path::new("."), &here).unwrap());
        assert!(is_same(Path::new("nowhere/yet"), &here.join("nowhere/yet")).unwrap());
        assert!(!is_same(Path::new("src"), &here).unwrap());
    }
}
