//! A server with the API of a Forge, on a free port: [`ForgeServer`]; and archives: [`Tar`].
#![expect(
    clippy::unwrap_used,
    reason = "a test cannot go on without its server, and the panic names the line"
)]

use std::collections::HashMap;
use std::fmt;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::Response;
use md5::Digest as _;
use tar::{EntryType, Header};

/// A Forge with the releases that a test publishes. It ends when it is dropped.
#[derive(Debug)]
pub struct ForgeServer {
    /// Base address of the Forge, `http://127.0.0.1:port`.
    pub address: String,
    state: Arc<Mutex<State>>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Debug, Default)]
struct State {
    answers: HashMap<String, Vec<u8>>,
    /// For each address, the number of failures before it answers, and their status.
    failures: HashMap<String, (u32, u16)>,
    asked: Vec<String>,
    headers: HashMap<String, HeaderMap>,
}

/// An archive in the form `tar.gz`.
pub struct Tar {
    builder: tar::Builder<Vec<u8>>,
}

// === impl ForgeServer ===

impl ForgeServer {
    /// Starts a Forge without modules.
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        let app = axum::Router::new().fallback(move |uri: Uri, headers: HeaderMap| async move {
            shared.lock().unwrap().answer(uri.path(), headers)
        });
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            address,
            state,
            task,
        }
    }

    /// Sets the body of the answer for a path.
    pub fn answer(&self, path: &str, body: impl Into<Vec<u8>>) {
        let mut state = self.state.lock().unwrap();
        state.answers.insert(path.to_owned(), body.into());
    }

    /// Makes the next `times` requests for a path fail with this status.
    pub fn fail(&self, path: &str, times: u32, status: u16) {
        let mut state = self.state.lock().unwrap();
        state.failures.insert(path.to_owned(), (times, status));
    }

    /// Publishes a release as the newest.
    pub fn publish(&self, slug: &str, version: &str, archive: &[u8]) {
        let sha256 = sha256(archive);
        self.publish_with(
            slug,
            version,
            archive,
            &format!(r#""file_sha256": "{sha256}""#),
        );
    }

    /// Publishes a release as the newest, with this text as its checksum.
    pub fn publish_with(&self, slug: &str, version: &str, archive: &[u8], checksum: &str) {
        let file = format!("/v3/files/{slug}-{version}.tar.gz");
        self.answer(&file, archive);
        let release = format!(
            r#"{{"slug": "{slug}-{version}", "version": "{version}", "file_uri": "{file}",
            "deleted_at": null, "more": {{}}, {checksum}}}"#
        );
        self.answer(&format!("/v3/releases/{slug}-{version}"), release.clone());
        let module = format!(r#"{{"slug": "{slug}", "current_release": {release}}}"#);
        self.answer(&format!("/v3/modules/{slug}"), module);
    }

    /// Paths of the requests since the last call.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().asked)
    }

    /// Value of a header of the last request for a path.
    pub fn header(&self, path: &str, name: &str) -> Option<String> {
        let state = self.state.lock().unwrap();
        let value = state.headers.get(path)?.get(name)?;
        Some(value.to_str().unwrap().to_owned())
    }
}

impl Drop for ForgeServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    fn answer(&mut self, path: &str, headers: HeaderMap) -> Response {
        self.asked.push(path.to_owned());
        self.headers.insert(path.to_owned(), headers);
        // r10k's library parses only answers whose type is JSON.
        let kind = match path.ends_with(".gz") {
            true => "application/gzip",
            false => "application/json",
        };
        let respond = |status: u16, body: Vec<u8>| {
            let mut response = Response::new(Body::from(body));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            response
        };
        if let Some((times, status)) = self.failures.get_mut(path)
            && *times > 0
        {
            *times -= 1;
            return respond(*status, br#"{"message": "not now"}"#.to_vec());
        }
        match self.answers.get(path) {
            Some(body) => respond(200, body.clone()),
            None => respond(404, br#"{"message": "404 Not Found"}"#.to_vec()),
        }
    }
}

/// SHA-256 in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let digest: [u8; 32] = sha2::Sha256::digest(bytes).into();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// MD5 in hexadecimal digits.
pub fn md5(bytes: &[u8]) -> String {
    let digest: [u8; 16] = md5::Md5::digest(bytes).into();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

// === impl Tar ===

impl Tar {
    /// An archive without entries.
    pub fn new() -> Self {
        let builder = tar::Builder::new(Vec::new());
        Self { builder }
    }

    /// A module in the format in which the Forge packs it.
    pub fn module(slug: &str, version: &str) -> Self {
        let metadata = format!(r#"{{"name": "{slug}", "version": "{version}"}}"#);
        let root = format!("{slug}-{version}");
        Self::new()
            .file(&format!("{root}/metadata.json"), &metadata)
            .file(&format!("{root}/VERSION"), version)
    }

    /// Adds a regular file.
    pub fn file(self, path: &str, content: &str) -> Self {
        self.raw(path, EntryType::Regular, 0o644, "", content.as_bytes())
    }

    /// Adds an entry of this kind that points to `target`.
    pub fn entry(self, path: &str, kind: EntryType, target: &str) -> Self {
        self.raw(path, kind, 0o644, target, b"")
    }

    /// Adds an entry that the `tar` crate itself may refuse to write.
    pub fn raw(
        mut self,
        path: &str,
        kind: EntryType,
        mode: u32,
        target: &str,
        content: &[u8],
    ) -> Self {
        let mut header = Header::new_gnu();
        let gnu = header.as_gnu_mut().unwrap();
        gnu.name[..path.len()].copy_from_slice(path.as_bytes());
        gnu.linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(content.len() as u64);
        header.set_cksum();
        self.builder.append(&header, content).unwrap();
        self
    }

    /// The bytes of the packed archive.
    pub fn gz(self) -> Vec<u8> {
        let plain = self.builder.into_inner().unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&plain).unwrap();
        gz.finish().unwrap()
    }
}

impl fmt::Debug for Tar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tar").finish_non_exhaustive()
    }
}

impl Default for Tar {
    fn default() -> Self {
        Self::new()
    }
}
