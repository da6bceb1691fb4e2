//! Requests to the API. Main type: [`ApiClient`].
//!
//! Invariant: the server's certificate is always checked, and the token is in a header only: never
//! in the URL or an error.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use error_causes::{ConnectionError, ConnectionErrorKind};
use pki::tls::{ClientTls, LoadError, ServerCheck};
use reqwest::{Method, RequestBuilder, Response, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::defaults::{CONNECT_TIMEOUT, DEPLOY_TIMEOUT, PAGE, REQUEST_TIMEOUT};
use crate::failure::usage;
use crate::input::read_if_exists;
use crate::settings::{ClientIdentity, ClientSettings, ConnectionFlags};
use crate::values::or_empty;
use crate::{CommandFailure, ProgramName, Result};

#[derive(Clone, Debug)]
pub(crate) struct ApiClient {
    http: reqwest::Client,
    base: String,
    cacert: PathBuf,
    token: Option<SecretString>,
    /// The default environment of jobs, from the configuration files.
    pub(crate) environment: Option<String>,
    pub(crate) noop: bool,
    /// The name under which the program was called; output under Puppet's names has the lines that
    /// scripts look for.
    pub(crate) name: ProgramName,
}

// === impl ApiClient ===

impl ApiClient {
    /// Creates a client with the token of the token file.
    pub(crate) fn with_token(connection: &ConnectionFlags) -> Result<Self> {
        let settings = connection.settings()?;
        let token = token(&settings.token_file)?;
        let mut client = Self::without_token(&settings)?;
        client.token = Some(token);
        Ok(client)
    }

    /// Creates a client that authenticates with its certificate, and with the token if there is
    /// one.
    pub(crate) fn with_identity(settings: &ClientSettings) -> Result<Self> {
        let mut client = Self::without_token(settings)?;
        client.token = match token(&settings.token_file) {
            Ok(token) => Some(token),
            Err(CommandFailure::NoToken(_)) => None,
            Err(failure) => return Err(failure),
        };
        Ok(client)
    }

    /// Creates a client without a token, for `login`.
    pub(crate) fn without_token(settings: &ClientSettings) -> Result<Self> {
        if !settings.color {
            anstream::ColorChoice::Never.write_global();
        }
        let mut http = http_client::builder(tls_config(settings)?);
        if let Some(address) = settings.address
            && let Ok(url) = Url::parse(&settings.service_url)
            && let Some(host) = url.host_str()
        {
            http = http.resolve(host, address);
        }
        let http = http.https_only(true).connect_timeout(CONNECT_TIMEOUT);
        let fail = |error| CommandFailure::Usage(format!("cannot make an HTTPS client: {error}"));
        let http = http.build().map_err(fail)?;
        Ok(Self {
            http,
            base: settings.service_url.clone(),
            cacert: settings.cacert.clone().unwrap_or_default(),
            token: None,
            environment: settings.environment.clone(),
            noop: settings.noop,
            name: ProgramName::default(),
        })
    }

    /// The same client under the name of another tool.
    pub(crate) fn with_program_name(mut self, name: ProgramName) -> Self {
        self.name = name;
        self
    }

    /// The same client with another token.
    pub(crate) fn with_new_token(mut self, token: &str) -> Self {
        self.token = Some(SecretString::from(token.to_owned()));
        self
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T> {
        let request = self.request(Method::GET, path)?.query(query);
        decode(self.send(request.timeout(REQUEST_TIMEOUT)).await?).await
    }

    /// All items of a list that has pages, or those in one state.
    pub(crate) async fn all_pages<P: DeserializeOwned, T>(
        &self,
        path: &[&str],
        state: Option<&str>,
        items: impl Fn(P) -> Vec<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        loop {
            let (limit, offset) = (PAGE.to_string(), all.len().to_string());
            let mut query = vec![("limit", limit.as_str()), ("offset", offset.as_str())];
            query.extend(state.map(|state| ("state", state)));
            let page = items(self.get(path, &query).await?);
            let is_last = (page.len() as u64) < PAGE;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// The text of a response.
    pub(crate) async fn text(&self, path: &[&str]) -> Result<String> {
        let request = self.request(Method::GET, path)?.timeout(REQUEST_TIMEOUT);
        let response = check_response(self.send(request).await?).await?;
        response.text().await.map_err(unreachable)
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T> {
        decode(self.send_with_body(Method::POST, path, body).await?).await
    }

    /// Sends a command that takes as long as a deployment.
    pub(crate) async fn post_long<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T> {
        let request = self.request(Method::POST, path)?.json(body);
        decode(self.send(request.timeout(DEPLOY_TIMEOUT)).await?).await
    }

    /// Sends a request without a body and reads the reply.
    pub(crate) async fn send_for_reply<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
    ) -> Result<T> {
        let request = self.request(method, path)?.timeout(REQUEST_TIMEOUT);
        decode(self.send(request).await?).await
    }

    pub(crate) async fn put<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T> {
        decode(self.send_with_body(Method::PUT, path, body).await?).await
    }

    /// Posts a command whose response has no content.
    pub(crate) async fn command(&self, path: &[&str], body: &impl Serialize) -> Result<()> {
        self.send_without_content(Method::POST, path, body).await
    }

    /// Sends a request whose response has no content.
    pub(crate) async fn send_without_content(
        &self,
        method: Method,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<()> {
        check_response(self.send_with_body(method, path, body).await?).await?;
        Ok(())
    }

    pub(crate) async fn delete(&self, path: &[&str]) -> Result<()> {
        let request = self.request(Method::DELETE, path)?.timeout(REQUEST_TIMEOUT);
        check_response(self.send(request).await?).await?;
        Ok(())
    }

    async fn send_with_body(
        &self,
        method: Method,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<Response> {
        let request = self.request(method, path)?;
        self.send(request.json(body).timeout(REQUEST_TIMEOUT)).await
    }

    /// Opens a response that lasts as long as the job.
    pub(crate) async fn stream(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        last_event_id: Option<&str>,
    ) -> Result<Response> {
        let mut request = self.request(Method::GET, path)?.query(query);
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        check_response(self.send(request).await?).await
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response> {
        request.send().await.map_err(|error| {
            let kind = ConnectionError::from_error(&error).kind();
            match unreachable(error) {
                CommandFailure::Unreachable { url, cause }
                    if kind == ConnectionErrorKind::PeerCertificate =>
                {
                    CommandFailure::Untrusted {
                        url,
                        cacert: self.cacert.clone(),
                        cause,
                    }
                }
                failure => failure,
            }
        })
    }

    /// Builds a request. `path` segments are escaped, so that a name can never become another
    /// route.
    fn request(&self, method: Method, path: &[&str]) -> Result<RequestBuilder> {
        let invalid =
            |what: &str| CommandFailure::content(format_args!("--service-url {}", self.base), what);
        let mut url = Url::parse(&self.base).map_err(|_| {
            invalid("it is not a URL; write one such as https://tutti.example.com:8143")
        })?;
        if url.scheme() != "https" {
            return Err(invalid("the API is served over https:// only"));
        }
        url.path_segments_mut()
            .map_err(|()| invalid("it has no host"))?
            .pop_if_empty()
            .extend(path);
        let request = self.http.request(method, url);
        Ok(match &self.token {
            Some(token) => {
                let mut value =
                    http::HeaderValue::from_str(token.expose_secret()).map_err(|_| {
                        let what =
                            "it has characters that are invalid in a token; run `tutti login`";
                        CommandFailure::content("the token file", what)
                    })?;
                value.set_sensitive(true);
                request.header("x-authentication", value)
            }
            None => request,
        })
    }
}

/// The segments of a route below `prefix`.
pub(crate) fn route<'a, const P: usize, const N: usize>(
    prefix: [&'a str; P],
    rest: [&'a str; N],
) -> Vec<&'a str> {
    prefix.into_iter().chain(rest).collect()
}

/// Reads the token file.
pub(crate) fn token(path: &Path) -> Result<SecretString> {
    let text = read_if_exists(path)?.unwrap_or_default();
    match text.trim() {
        "" => Err(CommandFailure::NoToken(path.to_owned())),
        token => Ok(SecretString::from(token.to_owned())),
    }
}

fn tls_config(settings: &ClientSettings) -> Result<Arc<rustls::ClientConfig>> {
    let Some(ca) = &settings.cacert else {
        return usage(
            "no CA certificate to check the server against: give --cacert FILE or set TUTTI_CACERT \
             (on the server it is data_dir/ca/ca_crt.pem)",
        );
    };
    // First alone, so that a failure with the identity is about its files.
    let config = ClientTls::without_certificate(ca, None).map_err(|error| {
        let next =
            "give the CA's certificate in PEM with --cacert FILE; the server has it as ca_crt.pem";
        tls_file_failure(&error, next)
    })?;
    let Some(ClientIdentity { cert, key }) = &settings.identity else {
        return Ok(config);
    };
    let check = ServerCheck::Full(ca.clone());
    let config = ClientTls::with_certname_check(check, Some((cert, key)));
    config.map_err(|error| tls_file_failure(&error, "give a certificate and its key in PEM"))
}

fn tls_file_failure(error: &LoadError, next: &str) -> CommandFailure {
    CommandFailure::Usage(format!("{}; {next}", error_causes::chain(error)))
}

/// The failure of a request that got no response.
pub(crate) fn unreachable(error: reqwest::Error) -> CommandFailure {
    let url = error.url().map(|url| {
        let port = or_empty(url.port().map(|port| format!(":{port}")));
        format!(
            "{}://{}{port}",
            url.scheme(),
            url.host_str().unwrap_or_default()
        )
    });
    CommandFailure::Unreachable {
        url: url.unwrap_or_default(),
        cause: ConnectionError::from_error(&error).to_string(),
    }
}

async fn check_response(response: Response) -> Result<Response> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let url = response.url().to_string();
    let body = response.bytes().await.map_err(unreachable)?;
    match serde_json::from_slice::<api_types::ErrorBody>(&body) {
        Ok(error) => Err(CommandFailure::Refused {
            status: status.as_u16(),
            kind: error.kind,
            permission: (error.details.get("permission"))
                .and_then(|permission| permission.as_str())
                .map(str::to_owned),
            msg: error.msg,
            details: Box::new(error.details),
        }),
        Err(_) => Err(CommandFailure::Answer {
            url,
            what: format!("HTTP {status} without an error body"),
        }),
    }
}

async fn decode<T: DeserializeOwned>(response: Response) -> Result<T> {
    let response = check_response(response).await?;
    let url = response.url().to_string();
    let body = response.bytes().await.map_err(unreachable)?;
    decode_errors::json::from_slice(&body).map_err(|error| CommandFailure::Answer {
        url,
        what: error.to_string(),
    })
}
