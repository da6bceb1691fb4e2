//! Catalogs as an agent asks for them, and what is wrong with them. Main types: [`Asker`], [`Catalog`], [`Tally`].

use std::collections::BTreeSet;
use std::fmt::Write as _;

use pki::{ClientTls, TlsFiles};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::world::{NODE, World};

/// A node with its certificate.
#[derive(Debug)]
pub(crate) struct Asker {
    http: reqwest::Client,
    base: String,
}

/// An answer that is no JSON.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Catalog(Value);

/// What became of many catalogs.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    good: u32,
    /// With parts of two versions.
    mixed: Vec<String>,
    /// Without the checksum of its file.
    not_static: u32,
    failed: Vec<String>,
    releases: BTreeSet<String>,
}

const NOT_STATIC: &str = "it is not static";

// === impl Asker ===

impl Asker {
    pub(crate) fn new(world: &World) -> Self {
        let installation = &world.installation;
        let (cert, key) = installation.certificate(NODE).unwrap();
        let files = TlsFiles {
            cert,
            key,
            ca: installation.ca_dir().join("ca_crt.pem"),
            crl: None,
        };
        let tls = ClientTls::load(&files).unwrap();
        let http = reqwest::Client::builder()
            .no_proxy()
            .tls_backend_preconfigured((*tls).clone())
            .build();
        Self {
            http: http.unwrap(),
            base: format!("https://localhost:{}/puppet/v3", world.puppetserver.port()),
        }
    }

    pub(crate) async fn catalog(&self) -> Result<Catalog, String> {
        self.catalog_of("production").await
    }

    pub(crate) async fn catalog_of(&self, environment: &str) -> Result<Catalog, String> {
        let facts = json!({"name": NODE, "values": {"clientcert": NODE}}).to_string();
        // Escaped twice, as agents send them.
        let form = format!(
            "environment={environment}&facts_format=application%2Fjson&facts={}&static_catalog=true&\
             checksum_type=sha256&transaction_uuid=2f0d4f1e-6d4f-4e1c-8f5e-0f3b5f5f5f5f",
            escaped(&escaped(&facts))
        );
        let url = format!("{}/catalog/{NODE}?environment={environment}", self.base);
        let request = self.http.post(url).header("accept", "application/json");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(form).send().await;
        let answer = request.map_err(|error| error.to_string())?;
        let status = answer.status();
        let text = answer.text().await.map_err(|error| error.to_string())?;
        match status.is_success() {
            true => Ok(Catalog(serde_json::from_str(&text).unwrap())),
            false => Err(format!("{status}: {text}")),
        }
    }

    pub(crate) async fn content(&self, path: &str, code_id: &str) -> Answer {
        self.content_of("production", path, code_id).await
    }

    pub(crate) async fn content_of(&self, environment: &str, path: &str, code_id: &str) -> Answer {
        let url = format!("{}/static_file_content/{path}", self.base);
        let query = [("environment", environment), ("code_id", code_id)];
        let request = self.http.get(url).query(&query);
        let request = request.header("accept", "application/octet-stream");
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.bytes().await.unwrap().to_vec();
        Answer { status, body }
    }

    pub(crate) async fn environments(&self) -> Vec<String> {
        let request = self.http.get(format!("{}/environments", self.base));
        let text = request.send().await.unwrap().text().await.unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        answer["environments"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    }
}

// === impl Catalog ===

impl Catalog {
    pub(crate) fn code_id(&self) -> &str {
        self.0["code_id"].as_str().unwrap_or_default()
    }

    pub(crate) fn has(&self, kind: &str, title: &str) -> bool {
        let resources = self.0["resources"].as_array().unwrap();
        resources
            .iter()
            .any(|it| it["type"] == kind && it["title"] == title)
    }

    /// What site, class and data say, in this order.
    fn said(&self) -> Vec<String> {
        let resources = self.0["resources"].as_array().unwrap();
        let notify = resources.iter().find(|it| it["type"] == "Notify");
        let message = notify.and_then(|it| it["parameters"]["message"].as_str());
        message
            .unwrap_or_default()
            .split(' ')
            .map(str::to_owned)
            .collect()
    }

    pub(crate) fn release(&self) -> String {
        self.said().first().cloned().unwrap_or_default()
    }

    fn metadata(&self) -> Option<&Value> {
        self.0["metadata"].as_object()?.values().next()
    }

    /// Where its file is, below the environment.
    pub(crate) fn content_path(&self) -> Option<String> {
        let uri = self.metadata()?["content_uri"].as_str()?;
        Some(
            uri.trim_start_matches("puppet:")
                .trim_start_matches('/')
                .to_owned(),
        )
    }

    /// Whatever is not of one version, or not there.
    pub(crate) async fn mistakes(&self, world: &World, asker: &Asker) -> Vec<String> {
        let mut mistakes = Vec::new();
        let release = world.release_of(self.code_id());
        let release = release.unwrap_or_else(|| format!("unknown {:?}", self.code_id()));
        let said = self.said();
        if said.len() != 3 || said.iter().any(|said| *said != release) {
            mistakes.push(format!("the code id is of {release}, and it says {said:?}"));
        }
        let Some(path) = self.content_path() else {
            mistakes.push(NOT_STATIC.to_owned());
            return mistakes;
        };
        let expected = format!("motd of {release}\n");
        let checksum = self.metadata().map(|it| it["checksum"]["value"].clone());
        if checksum != Some(json!(format!("{{sha256}}{}", digits(expected.as_bytes())))) {
            mistakes.push(format!(
                "the checksum is not that of {release}: {checksum:?}"
            ));
        }
        let answer = asker.content(&path, self.code_id()).await;
        if answer.status != 200 || answer.body != expected.as_bytes() {
            mistakes.push(format!("the content of {path} by its id: {answer:?}"));
        }
        mistakes
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        write!(escaped, "%{byte:02X}").unwrap();
    }
    escaped
}

fn digits(content: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(content) {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

// === impl Tally ===

impl Tally {
    pub(crate) async fn add(
        &mut self,
        catalog: Result<Catalog, String>,
        world: &World,
        asker: &Asker,
    ) {
        let catalog = match catalog {
            Ok(catalog) => catalog,
            Err(error) => return self.failed.push(error),
        };
        let mut mistakes = catalog.mistakes(world, asker).await;
        match mistakes.is_empty() {
            true => self.good += 1,
            false => self.not_static += u32::from(mistakes.iter().any(|it| it == NOT_STATIC)),
        }
        mistakes.retain(|it| it != NOT_STATIC);
        self.mixed
            .extend((!mistakes.is_empty()).then(|| mistakes.join("; ")));
        self.releases.insert(catalog.release());
    }

    pub(crate) fn extend(&mut self, more: Self) {
        self.good += more.good;
        self.not_static += more.not_static;
        self.mixed.extend(more.mixed);
        self.failed.extend(more.failed);
        self.releases.extend(more.releases);
    }

    pub(crate) fn wrong(&self) -> usize {
        self.mixed.len() + self.failed.len() + usize::try_from(self.not_static).unwrap()
    }

    /// How many releases the catalogs are of.
    pub(crate) fn releases(&self) -> usize {
        self.releases.len()
    }
}
