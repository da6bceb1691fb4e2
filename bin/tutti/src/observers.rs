//! Who outside is told of deployments: `code.post_environment_hooks` and `code.commit_statuses`. Main function:
//! [`observers`].

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use ::code_manager::post_hook::PostHook;
use ::code_manager::postrun::Postrun;
use ::code_manager::push::{Host, TYPES};
use ::code_manager::service::Observer;
use ::code_manager::statuses::{StatusSettings, Statuses};
use ::code_manager::{HookAddress, Settings};
use anyhow::{Context as _, Result};
use reqwest::Url;
use serde::Deserialize;

use crate::config::Config;

/// A program that is told how deployments ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hook {
    pub url: String,
    /// Whether it is shown this server's certificate, and must have one of the same authority.
    #[serde(default)]
    pub use_client_ssl: bool,
}

/// The forge of a source, which shows the statuses of commits.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommitStatus {
    /// `github`, `gitlab`, …
    #[serde(rename = "type")]
    pub kind: String,
    pub token_file: PathBuf,
    /// Where its API is, if the source's address does not say.
    #[serde(default)]
    pub api: Option<String>,
    /// `owner/name`, if the source's address does not say.
    #[serde(default)]
    pub repository: Option<String>,
    /// Where people get from a status.
    #[serde(default)]
    pub link: Option<String>,
}

impl Hook {
    fn address(&self) -> HookAddress {
        HookAddress {
            url: self.url.clone(),
            use_client_ssl: self.use_client_ssl,
        }
    }
}

/// All that the configuration names, and those of Code Manager's own settings.
pub(crate) fn observers(config: &Config, settings: &Settings) -> Result<Vec<Arc<dyn Observer>>> {
    let mut observers: Vec<Arc<dyn Observer>> = Vec::new();
    let own = config.code.post_environment_hooks.iter().map(Hook::address);
    for hook in own.chain(settings.hooks.iter().cloned()) {
        let tls = hook
            .use_client_ssl
            .then(|| config.client_files(None, None, None));
        let hook = PostHook::new(&hook.url, tls).context("code.post_environment_hooks")?;
        observers.push(Arc::new(hook));
    }
    if let Some(postrun) = Postrun::new(&settings.postrun) {
        observers.push(Arc::new(postrun));
    }
    let statuses = statuses(&config.code.commit_statuses)?;
    if !statuses.is_empty() {
        let sources = settings.sources.iter();
        let remotes = sources.map(|it| (it.name.clone(), it.remote.clone()));
        let statuses =
            Statuses::new(statuses, &remotes.collect()).context("code.commit_statuses")?;
        observers.push(Arc::new(statuses));
    }
    Ok(observers)
}

fn statuses(named: &BTreeMap<String, CommitStatus>) -> Result<HashMap<String, StatusSettings>> {
    let each = named.iter().map(|(source, named)| {
        let place = || format!("code.commit_statuses.{source}");
        let host: Host = named.kind.parse().ok().with_context(|| {
            let kind = &named.kind;
            format!("{}: the type is {TYPES}, not {kind:?}", place())
        })?;
        let path = &named.token_file;
        let token = std::fs::read_to_string(path)
            .with_context(|| format!("{}: cannot read {}", place(), path.display()))?;
        let settings = StatusSettings {
            host,
            token: token.trim().to_owned().into(),
            api: url(named.api.as_deref()).with_context(|| format!("{}.api", place()))?,
            repository: named.repository.clone(),
            link: url(named.link.as_deref()).with_context(|| format!("{}.link", place()))?,
        };
        Ok((source.clone(), settings))
    });
    each.collect()
}

fn url(text: Option<&str>) -> Result<Option<Url>> {
    let parsed = text.map(|text| {
        text.parse()
            .with_context(|| format!("{text:?} is no address"))
    });
    parsed.transpose()
}
