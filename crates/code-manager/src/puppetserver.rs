//! A puppetserver on the same code, which has to forget what it knows of an environment: [`Puppetserver`].
//!
//! `DELETE /puppet-admin-api/v1/environment-cache`, with a client certificate; the server's `auth.conf`
//! needs a rule. The rule here: a puppetserver that is away delays a deployment by [`FLUSH_TIMEOUT`] at the
//! most, and does not make it fail.

use std::error::Error;

use async_trait::async_trait;
use deploy::EnvironmentName;
use pki::{ClientTls, TlsFiles};
use reqwest::{StatusCode, Url};

use crate::defaults::FLUSH_TIMEOUT;
use crate::service::After;

/// A puppetserver.
#[derive(Debug)]
pub struct Puppetserver {
    url: Url,
    tls: TlsFiles,
}

// === impl Puppetserver ===

impl Puppetserver {
    /// At `url`, for example `https://puppet.example:8140`, shown the certificate of `tls`.
    pub fn new(url: Url, tls: TlsFiles) -> Self {
        Self { url, tls }
    }

    async fn flush(&self, environment: &EnvironmentName) -> Result<StatusCode, Box<dyn Error>> {
        let mut url = self.url.clone();
        url.set_path("/puppet-admin-api/v1/environment-cache");
        url.query_pairs_mut()
            .append_pair("environment", environment.as_str());
        let tls = self.tls.clone();
        // Read anew each time: certificates are renewed.
        let tls = tokio::task::spawn_blocking(move || ClientTls::load(&tls)).await??;
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(FLUSH_TIMEOUT)
            .tls_backend_preconfigured((*tls).clone())
            .build()?;
        let answer = http.delete(url).send().await;
        Ok(answer.map_err(reqwest::Error::without_url)?.status())
    }
}

#[async_trait]
impl After for Puppetserver {
    async fn switched(&self, environment: &EnvironmentName) -> Result<(), String> {
        let why = match self
            .flush(environment)
            .await
            .map_err(|error| chain(&*error))
        {
            Ok(StatusCode::NO_CONTENT) => return Ok(()),
            Ok(StatusCode::FORBIDDEN) => "it refuses it: its auth.conf needs a rule for DELETE on \
                 /puppet-admin-api/v1/environment-cache with this server's certname"
                .to_owned(),
            Ok(status) => format!("it answers {status}"),
            Err(why) => why,
        };
        Err(format!(
            "the puppetserver {} was not told to forget what it knows of {environment}: {why}",
            self.url.host_str().unwrap_or_default()
        ))
    }
}

/// An error with its causes, which reqwest keeps apart.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
