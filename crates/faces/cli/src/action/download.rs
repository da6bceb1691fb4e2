//! `tutti file download SOURCE DIRECTORY`: a job of the task `bolt_shim::download`, whose results become files.
//! Main type: [`DownloadedFiles`].
//!
//! Invariant: nodes choose names and contents, never paths: whatever a node sends is written below
//! `DIRECTORY/NODE/`, through no link.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use api_types::{JobCreated, JobNode, Object, TaskCommand};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::start::ActionOptions;
use crate::client::ApiClient;
use crate::failure::usage;
use crate::job::requests::nodes_in;
use crate::present::print_indented;
use crate::task::print_left_out_nodes;
use crate::terminal::{
    escape_control, escaped_name, style_failure, style_heading, style_state, style_success,
};
use crate::values::result_lines;
use crate::{EXIT_NODES_FAILED, OutputFormat, Result, VerbResult, follow};

/// The task that returns the content of files.
const TASK: &str = "bolt_shim::download";

/// Arguments of `tutti file download`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Absolute path of a file or directory on the nodes
    source: String,
    /// Directory on this machine, in which each node gets a subdirectory
    directory: PathBuf,
    #[command(flatten)]
    action: ActionOptions,
}

/// The result of the task.
#[derive(Debug, Deserialize)]
struct DownloadedFiles {
    is_directory: bool,
    items: Vec<DownloadedItem>,
}

#[derive(Debug, Deserialize)]
struct DownloadedItem {
    /// Path relative to the downloaded directory; empty for a single file.
    path: String,
    /// Content in Base64; `None` for a directory.
    content: Option<String>,
    #[serde(default)]
    is_executable: bool,
}

pub(super) async fn run(options: Options, client: &ApiClient) -> VerbResult {
    let Options {
        source,
        directory,
        action,
    } = options;
    let name = last_path_component(&source)?;
    let scope = action.targets.scope(client).await?;
    let told = action.targets.describe_targets(&scope);
    let command = TaskCommand {
        environment: action.environment.effective_environment(client),
        task: TASK.to_owned(),
        params: [("path".to_owned(), Value::from(source.as_str()))]
            .into_iter()
            .collect(),
        scope,
        targets: Vec::new(),
        noop: false,
        description: action.description.unwrap_or_default(),
        userdata: Object::new(),
        timeout: action.limits.timeout,
        concurrency: action.limits.concurrency,
        batch: action.limits.rollout.batch,
        pause_between_batches: action.limits.rollout.pause_between_batches,
        max_failures: action.limits.rollout.max_failures,
        splay: action.limits.rollout.splay,
        plan_job: None,
    };
    let created: JobCreated = client
        .post(&["orchestrator", "v1", "command", "task"], &command)
        .await?;
    print_left_out_nodes(&created);
    let number = created.job.name;
    let format = action.shown.format;
    if format == OutputFormat::Human {
        let what = style_heading(format!("download of {source}"));
        say!("Job {}: {what} on {told}\n", style_heading(&number));
    }
    let code = follow::watch(client, &number).await?;
    let nodes = nodes_in(client, &number, None).await?;
    let written = nodes
        .iter()
        .map(|node| (node, write_files(node, &directory, &name)));
    let written: Vec<_> = written.collect();
    format.present(&to_json_document(&number, &written), |_| {
        for (node, path) in &written {
            print(node, path, &source);
        }
    })?;
    Ok(match written.iter().all(|(_, path)| path.is_ok()) {
        true => code,
        false => EXIT_NODES_FAILED.max(code),
    })
}

/// The last component of the path, which the file or directory keeps as its name.
fn last_path_component(source: &str) -> Result<String> {
    let name = source.trim_end_matches('/').rsplit('/').next();
    let name = name.unwrap_or_default();
    if !source.starts_with('/') || !is_plain_component(name) {
        return usage(format!(
            "`{source}` is not the absolute path of a file or directory on the nodes, such as /etc/hosts"
        ));
    }
    Ok(name.to_owned())
}

/// True for one path component that is no `..` and has no separator.
fn is_plain_component(part: &str) -> bool {
    !part.contains('\0')
        && matches!(Path::new(part).components().collect::<Vec<_>>().as_slice(),
        [Component::Normal(only)] if *only == part)
}

/// Writes the files that a node sent; returns the path, or the reason why there is none.
fn write_files(node: &JobNode, directory: &Path, name: &str) -> Result<PathBuf, String> {
    if node.state != "finished" {
        return Err(result_lines(node.result.as_ref().unwrap_or(&Value::Null)).join("\n"));
    }
    let unreadable = || {
        "its result is not that of a download; check that its module bolt_shim is of this version"
            .to_owned()
    };
    let result = node.result.clone().ok_or_else(unreadable)?;
    let collected: DownloadedFiles = serde_json::from_value(result).map_err(|_| unreadable())?;
    if !is_plain_component(&node.name) {
        return Err("its name cannot be that of a directory".to_owned());
    }
    let top = directory.join(&node.name);
    let place = top.join(name);
    let written = || -> std::io::Result<()> {
        make_directory(&top)?;
        if collected.is_directory {
            make_directory(&place)?;
        }
        let mut items = collected.items.iter();
        items.try_for_each(|item| write(&place, item, collected.is_directory))
    };
    written().map_err(|error| format!("cannot write {}: {error}", place.display()))?;
    Ok(place)
}

fn write(place: &Path, item: &DownloadedItem, in_directory: bool) -> std::io::Result<()> {
    let refused =
        |what: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, what.to_owned());
    let mut path = place.to_owned();
    if in_directory {
        if !item.path.split('/').all(is_plain_component) {
            return Err(refused("the node names a file outside of the directory"));
        }
        let mut parts = item.path.split('/').peekable();
        while let Some(part) = parts.next() {
            path.push(part);
            if parts.peek().is_some() {
                make_directory(&path)?;
            }
        }
    }
    let Some(content) = &item.content else {
        return make_directory(&path);
    };
    let bytes = STANDARD
        .decode(content)
        .map_err(|_| refused("the content is not Base64"))?;
    // An existing link is replaced, not followed.
    match std::fs::symlink_metadata(&path) {
        Ok(there) if !there.is_dir() => std::fs::remove_file(&path)?,
        _ => {}
    }
    let mode = if item.is_executable { 0o755 } else { 0o644 };
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&path)?;
    file.write_all(&bytes)
}

/// Creates a directory unless it exists; a link in its place is refused.
fn make_directory(path: &Path) -> std::io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => Ok(()),
        Ok(_) => Err(std::io::Error::new(
            std::io::ErrorKind::AlreadyExists,
            format!("{} is there and is no directory", path.display()),
        )),
        Err(_) => DirBuilder::new().recursive(true).mode(0o755).create(path),
    }
}

fn to_json_document(number: &str, kept: &[(&JobNode, Result<PathBuf, String>)]) -> Value {
    let items = kept.iter().map(|(node, kept)| match kept {
        Ok(path) => json!({"name": node.name, "state": node.state, "path": path}),
        Err(why) => json!({"name": node.name, "state": node.state, "error": why}),
    });
    json!({"job": number, "items": items.collect::<Vec<_>>()})
}

fn print(node: &JobNode, kept: &Result<PathBuf, String>, source: &str) {
    let name = escaped_name(&node.name);
    match kept {
        Ok(path) => {
            let (mark, source) = (style_success("✓"), escape_control(source));
            say!("{mark} {name}  {source} -> {}", path.display());
        }
        Err(why) => {
            let (mark, state) = (style_failure("✗"), style_state(&node.state));
            say!("{mark} {name} {state}");
            print_indented(why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(result: Value) -> JobNode {
        let node = json!({"name": "web1", "state": "finished", "transport": "pcp", "latest-event-id": 1,
            "details": {}, "result": result});
        serde_json::from_value(node).unwrap()
    }

    fn file(path: &str, content: &str) -> Value {
        json!({"path": path, "content": STANDARD.encode(content), "is_executable": true})
    }

    #[test]
    fn files_and_directories_are_kept_below_the_name_of_the_node() {
        let directory = tempfile::tempdir().unwrap();
        let one = node(json!({"is_directory": false, "items": [file("", "x")], "left_out": 0}));
        let path = write_files(&one, directory.path(), "hosts").unwrap();
        assert_eq!(path, directory.path().join("web1/hosts"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "x");
        let tree = node(json!({"is_directory": true, "left_out": 0,
            "items": [{"path": "a"}, file("a/b", "y"), file("c/d", "z")]}));
        let path = write_files(&tree, directory.path(), "conf.d").unwrap();
        assert_eq!(std::fs::read_to_string(path.join("a/b")).unwrap(), "y");
        assert_eq!(std::fs::read_to_string(path.join("c/d")).unwrap(), "z");
        // Again: files are replaced.
        write_files(&tree, directory.path(), "conf.d").unwrap();
    }

    #[test]
    fn a_node_cannot_write_elsewhere() {
        let directory = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let attack = |items: Value| {
            let told = json!({"is_directory": true, "items": items, "left_out": 0});
            write_files(&node(told), directory.path(), "x").unwrap_err()
        };
        for path in ["../x", "/etc/x", "a/../../x", "", "a//b", ".", "a\u{0}b"] {
            let why = attack(json!([file(path, "x")]));
            assert!(why.contains("outside of the directory"), "{path:?}: {why}");
        }
        let link = directory.path().join("web1/x/link");
        std::os::unix::fs::symlink(outside.path(), &link).unwrap();
        let why = attack(json!([file("link/evil", "x")]));
        assert!(why.contains("is no directory"), "{why}");
        assert!(!outside.path().join("evil").exists());
        let target = outside.path().join("target");
        std::fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, directory.path().join("web1/x/file")).unwrap();
        let told = json!({"is_directory": true, "items": [file("file", "x")], "left_out": 0});
        write_files(&node(told), directory.path(), "x").unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
    }

    #[test]
    fn sources_have_a_name() {
        assert_eq!(last_path_component("/etc/hosts").unwrap(), "hosts");
        assert_eq!(last_path_component("/etc/conf.d/").unwrap(), "conf.d");
        for bad in ["", "/", "hosts", "/a/..", "/a/."] {
            assert!(
                last_path_component(bad)
                    .unwrap_err()
                    .to_string()
                    .contains("absolute path"),
                "{bad}"
            );
        }
    }
}
