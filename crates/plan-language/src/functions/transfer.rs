//! `upload_file`, `write_file`; and files of modules that are sent to nodes.
//!
//! The rule that must hold: a file that a plan sends is a file of a module, read once and pinned like the
//! plan's code.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evaluator::function::{Call, Form, Function, one, optional};
use evaluator::{CodeFile, Eval, Evaluator, Host as _, Owner, Place};
use jobs::{Content, Native};
use pcore::Value;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::action::Action;
use super::options::Options;
use super::{Run, targets};
use crate::defaults::UPLOAD_BYTES;
use crate::failure;
use crate::host::PlanHost;
use crate::objects::Target;

const SPEC: &str = "Boltlib::TargetSpec";
const DATA: &str = "Hash[String[1], Any]";

/// Where `module/path` is looked for.
pub(super) const FILE_FOLDERS: &[&str] = &["files"];
pub(super) const SCRIPT_FOLDERS: &[&str] = &["files", "scripts"];

pub(super) const FUNCTIONS: &[(Function, Run)] = &[
    (
        Function::new(
            "upload_file",
            &[
                Form::host(&[
                    one("String[1]", "source"),
                    one("String[1]", "destination"),
                    one(SPEC, "targets"),
                    optional(DATA, "options"),
                ])
                .returning("ResultSet"),
                Form::host(&[
                    one("String[1]", "source"),
                    one("String[1]", "destination"),
                    one(SPEC, "targets"),
                    one("String", "description"),
                    optional(DATA, "options"),
                ])
                .returning("ResultSet"),
            ],
        ),
        upload_file,
    ),
    (
        Function::new(
            "write_file",
            &[Form::host(&[
                one("Variant[String, Sensitive[String]]", "content"),
                one("String[1]", "destination"),
                one(SPEC, "targets"),
                optional(DATA, "options"),
            ])
            .returning("ResultSet")],
        ),
        write_file,
    ),
];

/// A file to be sent.
pub(super) struct Local {
    bytes: Arc<[u8]>,
    pub(super) sha256: String,
}

impl Local {
    /// For the task.
    pub(super) fn base64(&self) -> String {
        STANDARD.encode(&*self.bytes)
    }

    /// For agents, which fetch it.
    pub(super) fn content(&self, name: &str) -> Content {
        Content {
            name: name.to_owned(),
            bytes: Arc::clone(&self.bytes),
        }
    }
}

/// The file `module/path` of one of these folders of the module.
pub(super) fn local(host: &PlanHost<'_>, _: &Place, name: &str, folders: &[&str]) -> Eval<Local> {
    let file = find(host, name, folders)?.ok_or_else(|| {
        failure::invalid(format!(
            "No such file or directory: {name}; files are named module/path and stand in the module's {}/",
            folders.join("/ or ")
        ))
    })?;
    if file.bytes.len() as u64 > UPLOAD_BYTES {
        let msg =
            format!("{name} has more than {UPLOAD_BYTES} bytes, which is too much to be sent");
        return Err(failure::invalid(msg));
    }
    Ok(Local {
        sha256: sha256(&file.bytes),
        bytes: file.bytes.clone(),
    })
}

/// A file of a module, by `module/path`; also where the folder itself is named, `module/files/path`.
pub(super) fn find(host: &PlanHost<'_>, name: &str, folders: &[&str]) -> Eval<Option<CodeFile>> {
    let Some((module, path)) = name
        .split_once('/')
        .filter(|(module, _)| !module.is_empty())
    else {
        return Err(failure::invalid(format!(
            "{name}: a plan on this server reads files of modules only, named module/path"
        )));
    };
    let is_inside = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !is_inside {
        return Err(failure::invalid(format!(
            "{name} is not a path inside of a module"
        )));
    }
    let inner = folders
        .iter()
        .any(|folder| path.starts_with(&format!("{folder}/")));
    let direct = inner.then(|| path.to_owned());
    let below = folders.iter().map(|folder| format!("{folder}/{path}"));
    for path in direct.into_iter().chain(below) {
        match host.code().read(Owner::Module(module), &path) {
            Ok(Some(file)) => return Ok(Some(file)),
            Ok(None) => {}
            Err(error) => return Err(failure::invalid(error.to_string())),
        }
    }
    Ok(None)
}

fn upload_file(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    let (source, destination, place) = (call.text(0), call.text(1), call.place());
    let targets = targets::of(host, &place, call.get(2))?;
    let options = Options::of(host, &call, 3)?;
    let file = local(host, &place, &source, FILE_FOLDERS)?;
    let shown = json!({"from": &*source, "sha256": file.sha256, "to": &*destination});
    let upload = Upload {
        source: &source,
        destination: &destination,
        content: file.base64(),
        native: Some(file.content(&source)),
        shown,
    };
    upload.run(host, &place, targets, &options)
}

fn write_file(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: Call<'_>) -> Eval {
    let (destination, place) = (call.text(1), call.place());
    let targets = targets::of(host, &place, call.get(2))?;
    let options = Options::of(host, &call, 3)?;
    let (content, is_secret) = match call.get(0) {
        Value::Sensitive(inner) => (inner.to_string(), true),
        content => (content.to_string(), false),
    };
    let told = match is_secret {
        true => Json::from(pcore::REDACTED),
        false => Json::from(sha256(content.as_bytes())),
    };
    let upload = Upload {
        source: "content",
        destination: &destination,
        content: STANDARD.encode(content.as_bytes()),
        // A secret does not lie on the server's disk for nodes to fetch: the task has it in its parameters.
        native: (!is_secret).then(|| Content {
            name: "content".to_owned(),
            bytes: content.as_bytes().into(),
        }),
        shown: json!({"sha256": told, "to": &*destination}),
    };
    upload.run(host, &place, targets, &options)
}

struct Upload<'a> {
    source: &'a str,
    destination: &'a str,
    /// In Base64.
    content: String,
    /// The same for agents; a secret has none.
    native: Option<Content>,
    shown: Json,
}

impl Upload<'_> {
    fn run(
        self,
        host: &PlanHost<'_>,
        place: &Place,
        targets: Vec<Target>,
        options: &Options,
    ) -> Eval {
        let (source, destination) = (self.source, self.destination);
        let is_secret = self.native.is_none();
        let params = [
            ("path".to_owned(), json!(destination)),
            ("content".to_owned(), Json::from(self.content)),
        ];
        let action = Action {
            name: "upload",
            function: "upload_file",
            object: source,
            // Agents put files in place as themselves; the task does it as whoever runs it.
            native: self
                .native
                .filter(|_| options.run_as.is_none())
                .map(|file| Native::Upload {
                    file,
                    destination: destination.to_owned(),
                }),
            task: "bolt_shim::upload",
            params: params.into_iter().collect(),
            sensitive: is_secret
                .then(|| "content".to_owned())
                .into_iter()
                .collect(),
            shown: self.shown,
            convert: &|target, value| uploaded(target, source, destination, value),
        };
        action.run(host, place, targets, options)
    }
}

/// Bolt's words for what was put in place.
fn uploaded(target: &Target, source: &str, destination: &str, value: Json) -> Json {
    if value.get("_error").is_some() || value.is_null() {
        return value;
    }
    let host = target.safe_name();
    json!({"_output": format!("Uploaded '{source}' to '{host}:{destination}'")})
}

fn sha256(bytes: &[u8]) -> String {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    deploy::Sha256::from(digest).to_string()
}
