//! `file place`: writes a file whose content is in the request. An extension of Tutti; a stock
//! pxp-agent refuses it. [`place_main`] runs in a process of its own, so that it can run as another
//! user.
//!
//! Invariants: the content is passed on standard input only, never in an argument or in the spool;
//! the file appears whole or not at all, and nothing is changed through a link.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pxp::action::{self, PlaceParams};
use serde_json::json;
use serde_json::value::RawValue;

use super::file::{self, ItemInstallError};
use super::request_plan::{
    ActionPlan, PlannedProgram, ProcessInput, RequestPlan, RequestRefusal, RunPlan, parse,
    without_nul,
};
use crate::spool::ResultKind;

/// Keyword that makes a wrapper's executable write a file.
pub(crate) const PLACER: &str = "+place";

/// Error kind of a file that cannot be written.
const KIND: &str = "tutti/upload-error";

/// Reason for which a file cannot be written.
#[derive(Debug, thiserror::Error)]
enum FileUploadError {
    #[error("cannot read the file's content: {0}")]
    Input(io::Error),
    #[error("the file's content is not what was sent")]
    Content,
    #[error(transparent)]
    Place(#[from] ItemInstallError),
}

pub(super) fn plan(params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    let told: PlaceParams = parse(params)?;
    without_nul("`path`", &told.path)?;
    let path = Path::new(&told.path);
    if !path.is_absolute() || path.file_name().is_none() || told.path.ends_with('/') {
        let path = &told.path;
        return Err(RequestRefusal::Input(format!(
            "`path` {path:?} is no absolute path of a file"
        )));
    }
    if BASE64.decode(&told.content).is_err() {
        return Err(RequestRefusal::Input("`content` is no Base64".to_owned()));
    }
    if let Some(user) = &told.run_as {
        without_nul("`run_as`", user)?;
        if user.is_empty() {
            return Err(RequestRefusal::Input("`run_as` is empty".to_owned()));
        }
    }
    Ok(RequestPlan::Work(ActionPlan::Run(RunPlan {
        program: PlannedProgram::AgentExecutable,
        args: vec![PLACER.to_owned()],
        input: ProcessInput::Stdin(params.get().as_bytes().to_vec()),
        files: vec![],
        keep_files: false,
        result: ResultKind::Output,
        user: told.run_as,
        env: vec![],
    })))
}

/// Writes the file that is described on standard input.
pub(crate) fn place_main() -> ExitCode {
    let (told, code) = match place() {
        Ok(()) => (json!({}), ExitCode::SUCCESS),
        Err(error) => {
            let error = json!({"kind": KIND, "msg": error.to_string(), "details": {}});
            (json!({ "_error": error }), ExitCode::FAILURE)
        }
    };
    match io::stdout().lock().write_all(told.to_string().as_bytes()) {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

fn place() -> Result<(), FileUploadError> {
    let mut input = String::new();
    let read = io::stdin().lock().read_to_string(&mut input);
    read.map_err(FileUploadError::Input)?;
    let raw = RawValue::from_string(input).map_err(|_| FileUploadError::Content)?;
    let told: PlaceParams = action::decode(&raw).map_err(|_| FileUploadError::Content)?;
    let bytes = BASE64.decode(&told.content);
    let bytes = bytes.map_err(|_| FileUploadError::Content)?;
    Ok(file::write(Path::new(&told.path), &bytes, told.mode)?)
}
