//! `tutti file upload SOURCE DESTINATION`. Main type: [`Options`].

use std::io::Read as _;
use std::path::{Path, PathBuf};

use api_types::ActionType;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::start::JobOptions;
use crate::client::ApiClient;
use crate::defaults::ACTION_FILE_BYTES;
use crate::failure::usage;
use crate::{CommandFailure, Result, VerbResult};

/// Arguments of `tutti file upload`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// File on this machine
    source: PathBuf,
    /// Absolute path of the file on the nodes
    destination: String,
    #[command(flatten)]
    job: JobOptions,
}

pub(super) async fn run(options: Options, client: &ApiClient) -> VerbResult {
    let Options {
        source,
        destination,
        job,
    } = options;
    if !destination.starts_with('/') {
        return usage(format!(
            "`{destination}` is not an absolute path; write where the file goes on the nodes, \
            such as /etc/motd"
        ));
    }
    if destination.ends_with('/') {
        let name = file_name(&source)?;
        return usage(format!(
            "`{destination}` is a directory; write the file's whole path, such as {destination}{name}"
        ));
    }
    let name = file_name(&source)?;
    let heading = format!("upload of {name} to {destination}");
    let params = vec![
        ("content", content(&source)?),
        ("name", Value::from(name)),
        ("path", Value::from(destination)),
    ];
    Box::pin(job.start(client, ActionType::Upload, params, &heading)).await
}

/// The last component of a path, for the job's description.
pub(super) fn file_name(path: &Path) -> Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| {
        CommandFailure::Usage(format!(
            "`{}` does not end with the name of a file",
            path.display()
        ))
    })
}

/// The file's content in Base64.
pub(super) fn content(path: &Path) -> Result<Value> {
    let fail = CommandFailure::read(path);
    let file = std::fs::File::open(path).map_err(&fail)?;
    if file.metadata().map_err(&fail)?.is_dir() {
        let what = "it is a directory, and only single files can be sent; a plan's upload_file sends \
                    directories";
        return Err(CommandFailure::content(path.display(), what));
    }
    let mut bytes = Vec::new();
    file.take(ACTION_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > ACTION_FILE_BYTES {
        let what = format!(
            "it is larger than {} MiB, the most that is sent with a command; serve it to the \
            nodes another way",
            ACTION_FILE_BYTES >> 20
        );
        return Err(CommandFailure::content(path.display(), what));
    }
    Ok(Value::from(STANDARD.encode(&bytes)))
}
