//! External observers of deployments: `code.post_environment_hooks` and `code.commit_statuses`.
//! Main function: [`observers`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use code_deployments::post_hook::PostHook;
use code_deployments::postrun::PostrunCommand;
use code_deployments::service::DeploymentObserver;
use code_settings::{DeploymentSettings, HookAddress};
use forges::commit_statuses::{CommitStatusSettings, CommitStatuses};
use forges::incoming_webhooks::{ForgeKind, TYPES};
use optional_feature::{Feature, FeatureStatus};
use reqwest::Url;
use secrecy::SecretString;

use crate::config::Config;
use crate::config::code::{CommitStatus, PostEnvironmentHook};
use crate::configured_file::read_line;

/// All observers in the configuration, and those of Code Manager's own settings.
pub(crate) async fn observers(
    config: &Config,
    settings: &DeploymentSettings,
) -> Result<(Vec<Arc<dyn DeploymentObserver>>, Vec<FeatureStatus>)> {
    let mut observers: Vec<Arc<dyn DeploymentObserver>> = Vec::new();
    let own = config.code.post_environment_hooks.iter().map(hook_address);
    for hook in own.chain(settings.hooks.iter().cloned()) {
        let tls = hook.use_client_ssl.then(|| config.tls_files());
        let hook = PostHook::new(&hook.url, tls).context("code.post_environment_hooks")?;
        observers.push(Arc::new(hook));
    }
    if let Some(postrun) = PostrunCommand::new(&settings.postrun) {
        observers.push(Arc::new(postrun));
    }
    let statuses = commit_status_settings(&config.code.commit_statuses).await?;
    let features = statuses.values().map(|it| it.token.status()).collect();
    if !statuses.is_empty() {
        let sources = settings.sources.iter();
        let remotes = sources.map(|it| (it.name.clone(), it.remote.clone()));
        let statuses =
            CommitStatuses::new(statuses, &remotes.collect()).context("code.commit_statuses")?;
        observers.push(Arc::new(statuses));
    }
    Ok((observers, features))
}

fn hook_address(hook: &PostEnvironmentHook) -> HookAddress {
    HookAddress {
        url: hook.url.clone(),
        use_client_ssl: hook.use_client_ssl,
    }
}

async fn commit_status_settings(
    named: &BTreeMap<String, CommitStatus>,
) -> Result<HashMap<String, CommitStatusSettings>> {
    let mut settings = HashMap::new();
    for (source, named) in named {
        let place = format!("code.commit_statuses.{source}");
        settings.insert(source.clone(), commit_status_of(place, named).await?);
    }
    Ok(settings)
}

async fn commit_status_of(place: String, named: &CommitStatus) -> Result<CommitStatusSettings> {
    let host: ForgeKind = named.kind.parse().ok().with_context(|| {
        let kind = &named.kind;
        format!("{place}: the type is {TYPES}, not {kind:?}")
    })?;
    let api = parse_url(named.api.as_deref()).with_context(|| format!("{place}.api"))?;
    let link = parse_url(named.link.as_deref()).with_context(|| format!("{place}.link"))?;
    let (key, path) = (format!("{place}.token_file"), named.token_file.clone());
    let read = move || read_line(&key, &path).map(SecretString::from);
    let inability = "this server cannot show a forge how deployments end";
    Ok(CommitStatusSettings {
        host,
        token: Feature::start_by_reading("commit-status-service", inability, read).await,
        api,
        repository: named.repository.clone(),
        link,
    })
}

fn parse_url(text: Option<&str>) -> Result<Option<Url>> {
    let parsed = text.map(|text| {
        text.parse().ok().with_context(|| {
            format!("{text:?} is no address; write one such as https://forge.example")
        })
    });
    parsed.transpose()
}
