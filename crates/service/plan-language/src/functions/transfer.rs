//! `upload_file`, `write_file`, `download_file`, and files of modules that are sent to nodes.
//!
//! Invariant: a file that a plan sends is a file of a module, read once and pinned like the plan's
//! code, or content that the plan computed.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{
    CodeOwner, EvalResult, EvalUnwind, EvaluationHost as _, Evaluator, SourceFile, SourceLocation,
};
use jobs::{FileContent, NativeAction, TaskPlugins, TaskPurpose, TreeItem};
use pcore::Value;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::action::PlanAction;
use super::action_options::PlanActionOptions;
use super::plan_function::PlanFunctionBody;
use super::targets;
use crate::defaults::UPLOAD_BYTES;
use crate::failure;
use crate::host::PlanHost;
use crate::objects::PlanTarget;
use crate::tree;

const SPEC: &str = "Boltlib::TargetSpec";
const DATA: &str = "Hash[String[1], Any]";

/// The mode of files with secret content that the upload task creates. Agents with the native
/// action use the same mode.
const SECRET_FILE_MODE: u32 = 0o600;

/// The directories of a module in which `module/path` is searched.
pub(super) const FILE_FOLDERS: &[&str] = &["files"];
pub(super) const SCRIPT_FOLDERS: &[&str] = &["files", "scripts"];

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[
    (
        FunctionSpec::new(
            "upload_file",
            &[
                FunctionDispatch::host(&[
                    one("String[1]", "source"),
                    one("String[1]", "destination"),
                    one(SPEC, "targets"),
                    optional(DATA, "options"),
                ])
                .returning("ResultSet"),
                FunctionDispatch::host(&[
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
        FunctionSpec::new(
            "write_file",
            &[FunctionDispatch::host(&[
                one("Variant[String, Sensitive[String]]", "content"),
                one("String[1]", "destination"),
                one(SPEC, "targets"),
                optional(DATA, "options"),
            ])
            .returning("ResultSet")],
        ),
        write_file,
    ),
    (
        FunctionSpec::new(
            "download_file",
            &[
                FunctionDispatch::host(&[
                    one("String[1]", "source"),
                    one("String[1]", "destination"),
                    one(SPEC, "targets"),
                    optional(DATA, "options"),
                ])
                .returning("ResultSet"),
                FunctionDispatch::host(&[
                    one("String[1]", "source"),
                    one("String[1]", "destination"),
                    one(SPEC, "targets"),
                    one("String", "description"),
                    optional(DATA, "options"),
                ])
                .returning("ResultSet"),
            ],
        ),
        download_file,
    ),
];

/// A file of a module that is to be sent.
pub(super) struct LocalFile {
    bytes: Arc<[u8]>,
    pub(super) sha256: String,
}

impl LocalFile {
    /// The content in Base64, for the task.
    pub(super) fn base64(&self) -> String {
        STANDARD.encode(&*self.bytes)
    }

    /// The content for agents, which fetch it.
    pub(super) fn content(&self, name: &str) -> FileContent {
        FileContent {
            name: name.to_owned(),
            bytes: Arc::clone(&self.bytes),
        }
    }
}

/// Reads the file `module/path` from one of these folders of the module.
pub(super) fn read_local_file(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    name: &str,
    folders: &[&str],
) -> EvalResult<LocalFile> {
    let file = find(host, name, folders)?.ok_or_else(|| absent_file_error(name, place))?;
    check_file_size(file, name)
}

/// The error of a missing file: as in Bolt, a mistake in the plan, which cannot be caught.
pub(super) fn absent_file_error(name: &str, place: &SourceLocation) -> Box<EvalUnwind> {
    failure::plan_mistake(&format!("No such file or directory: {name}"), place).into()
}

fn check_file_size(file: SourceFile, name: &str) -> EvalResult<LocalFile> {
    if file.bytes.len() as u64 > UPLOAD_BYTES {
        let msg =
            format!("{name} has more than {UPLOAD_BYTES} bytes, which is too much to be sent");
        return Err(failure::invalid_value_error(msg));
    }
    Ok(LocalFile {
        sha256: sha256(&file.bytes),
        bytes: file.bytes,
    })
}

/// Finds a file of a module as `module/path`, or with the folder as `module/files/path`.
pub(super) fn find(
    host: &PlanHost<'_>,
    name: &str,
    folders: &[&str],
) -> EvalResult<Option<SourceFile>> {
    let (module, paths) = candidate_paths(name, folders)?;
    for path in paths {
        match host.code().read(CodeOwner::Module(module), &path) {
            Ok(Some(file)) => return Ok(Some(file)),
            Ok(None) => {}
            Err(error) => return Err(failure::invalid_value_error(error.to_string())),
        }
    }
    Ok(None)
}

enum TransferSource {
    File(LocalFile),
    Tree(Vec<TreeItem>),
}

/// Finds a file or a directory. The file is read first, since older journals contain only that
/// step.
fn find_source(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    name: &str,
) -> EvalResult<TransferSource> {
    let plain = name.trim_end_matches('/');
    if let Some(file) = find(host, plain, FILE_FOLDERS)? {
        return Ok(TransferSource::File(check_file_size(file, name)?));
    }
    let items = directory(host, plain)?;
    items
        .map(TransferSource::Tree)
        .ok_or_else(|| absent_file_error(name, place))
}

/// Reads a directory of a module, which is named as a file is.
fn directory(host: &PlanHost<'_>, name: &str) -> EvalResult<Option<Vec<TreeItem>>> {
    let (module, paths) = candidate_paths(name, FILE_FOLDERS)?;
    for path in paths {
        let found = host
            .code
            .read_tree(module, &path)
            .map_err(failure::invalid_value_error)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Returns the module and the candidate paths inside it.
fn candidate_paths<'n>(name: &'n str, folders: &[&str]) -> EvalResult<(&'n str, Vec<String>)> {
    let Some((module, path)) = name
        .split_once('/')
        .filter(|(module, _)| !module.is_empty())
    else {
        return evaluator::raise(format!(
            "No such file or directory: {name}; a plan on this server reads files of modules only, named module/path"
        ));
    };
    let is_inside = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !is_inside {
        return evaluator::raise(format!(
            "No such file or directory: {name}; it is not a path inside of a module"
        ));
    }
    let inner = folders
        .iter()
        .any(|folder| path.starts_with(&format!("{folder}/")));
    let direct = inner.then(|| path.to_owned());
    let below = folders.iter().map(|folder| format!("{folder}/{path}"));
    Ok((module, direct.into_iter().chain(below).collect()))
}

fn upload_file(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let (source, destination, place) = (call.text(0), call.text(1), call.location());
    let targets = targets::of(host, &place, call.get(2))?;
    let options = PlanActionOptions::of(host, &call, 3)?;
    let mut shown = json!({"from": &*source, "to": &*destination});
    let payload = match find_source(host, &place, &source)? {
        TransferSource::Tree(items) => {
            if options.run_as.is_some() {
                return Err(failure::invalid_value_error(format!(
                    "{source} is a directory, which agents put in place as themselves only; _run_as is for single files"
                )));
            }
            let files = items.iter().filter(|item| item.sha256.is_some()).count();
            shown["files"] = json!(files);
            shown["sha256"] =
                Json::from(sha256(tree::to_journal_json(&items).to_string().as_bytes()));
            UploadPayload::Tree(items)
        }
        TransferSource::File(file) => {
            shown["sha256"] = Json::from(file.sha256);
            UploadPayload::File(file.bytes)
        }
    };
    let upload = FileUpload {
        source: &source,
        destination: &destination,
        payload,
        shown,
    };
    upload.run(host, &place, targets, &options)
}

fn write_file(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let (destination, place) = (call.text(1), call.location());
    let targets = targets::of(host, &place, call.get(2))?;
    let options = PlanActionOptions::of(host, &call, 3)?;
    let (content, is_secret) = match call.get(0) {
        Value::Sensitive(inner) => (inner.to_string(), true),
        content => {
            let text = content.to_string();
            let has_secret = host.run.unwrapped.is_in(&text);
            (text, has_secret)
        }
    };
    let bytes: Arc<[u8]> = content.as_bytes().into();
    let (told, payload) = match is_secret {
        true => (Json::from(pcore::REDACTED), UploadPayload::Secret(bytes)),
        false => (Json::from(sha256(&bytes)), UploadPayload::File(bytes)),
    };
    let upload = FileUpload {
        source: "content",
        destination: &destination,
        payload,
        shown: json!({"sha256": told, "to": &*destination}),
    };
    upload.run(host, &place, targets, &options)
}

struct FileUpload<'a> {
    source: &'a str,
    destination: &'a str,
    payload: UploadPayload,
    shown: Json,
}

/// The content that is uploaded.
enum UploadPayload {
    File(Arc<[u8]>),
    /// A file that is never stored on the server's disk for nodes to fetch.
    Secret(Arc<[u8]>),
    Tree(Vec<TreeItem>),
}

impl FileUpload<'_> {
    fn run(
        self,
        host: &PlanHost<'_>,
        place: &SourceLocation,
        targets: Vec<PlanTarget>,
        options: &PlanActionOptions,
    ) -> EvalResult {
        let (source, destination) = (self.source, self.destination);
        let is_secret = matches!(self.payload, UploadPayload::Secret(_));
        let (content, is_directory) = match &self.payload {
            UploadPayload::File(bytes) | UploadPayload::Secret(bytes) => {
                (STANDARD.encode(bytes), false)
            }
            UploadPayload::Tree(_) => (String::new(), true),
        };
        let mut params = Map::new();
        params.insert("path".to_owned(), json!(destination));
        params.insert("content".to_owned(), Json::from(content));
        if is_secret {
            params.insert("mode".to_owned(), json!(SECRET_FILE_MODE));
        }
        if is_directory {
            params.insert("directory".to_owned(), json!(true));
        }
        let action = PlanAction {
            name: "upload",
            purpose: TaskPurpose::Task,
            plugins: TaskPlugins::None,
            node_params: None,
            function: "upload_file",
            object: source,
            native: Some(self.payload.native(source, destination)),
            task: "bolt_shim::upload",
            params,
            sensitive: is_secret
                .then(|| "content".to_owned())
                .into_iter()
                .collect(),
            shown: self.shown,
            convert: &|target, value| to_upload_result(target, source, destination, value),
        };
        action.run(host, place, targets, options)
    }
}

impl UploadPayload {
    fn native(self, source: &str, destination: &str) -> NativeAction {
        let (name, destination) = (source.to_owned(), destination.to_owned());
        match self {
            Self::File(bytes) => {
                let file = FileContent { name, bytes };
                NativeAction::Upload { file, destination }
            }
            Self::Secret(bytes) => {
                let file = FileContent { name, bytes };
                NativeAction::Secret { file, destination }
            }
            Self::Tree(items) => NativeAction::UploadTree {
                name,
                items,
                destination,
            },
        }
    }
}

/// Checks the destination of a download, which is relative to the directory of the plan job. The
/// job engine checks it again.
fn check_destination(destination: &str) -> EvalResult<()> {
    let path = destination.trim();
    let msg = match () {
        () if path.is_empty() => "Destination cannot be an empty string".to_owned(),
        () if path.starts_with('/') => {
            format!("Destination must be a relative path, received absolute path {path}")
        }
        () if path.split('/').any(|part| matches!(part, "." | "..")) => {
            format!("Destination must not include path traversal, received {path}")
        }
        () => return Ok(()),
    };
    Err(failure::invalid_value_error(msg))
}

fn download_file(
    host: &PlanHost<'_>,
    _: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    let (source, destination, place) = (call.text(0), call.text(1), call.location());
    check_destination(&destination)?;
    let targets = targets::of(host, &place, call.get(2))?;
    let options = PlanActionOptions::of(host, &call, 3)?;
    let action = PlanAction {
        name: "download",
        purpose: TaskPurpose::Task,
        plugins: TaskPlugins::None,
        node_params: None,
        function: "download_file",
        object: &source,
        native: Some(NativeAction::Download {
            source: source.to_string(),
            destination: destination.to_string(),
        }),
        task: "bolt_shim::download",
        params: Map::from_iter([("path".to_owned(), json!(&*source))]),
        sensitive: Vec::new(),
        shown: json!({"from": &*source, "to": &*destination}),
        convert: &|target, value| to_download_result(target, &source, value),
    };
    action.run(host, &place, targets, &options)
}

/// Adds Bolt's message to the result of a download.
fn to_download_result(target: &PlanTarget, source: &str, mut value: Json) -> Json {
    let path = value["path"].as_str().map(std::path::Path::new);
    let Some(directory) = path.and_then(std::path::Path::parent) else {
        return value;
    };
    let (host, directory) = (target.safe_name(), directory.display());
    value["_output"] = json!(format!("Downloaded '{host}:{source}' to '{directory}'"));
    value
}

/// Replaces the result of an upload by Bolt's message.
fn to_upload_result(target: &PlanTarget, source: &str, destination: &str, value: Json) -> Json {
    if value.get("_error").is_some() || value.is_null() {
        return value;
    }
    let host = target.safe_name();
    json!({"_output": format!("Uploaded '{source}' to '{host}:{destination}'")})
}

fn sha256(bytes: &[u8]) -> String {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    environments::Sha256::from(digest).to_string()
}
