//! Parameters and results of actions.

use pxp::action::{
    ActionResult, CommandParams, FileKind, FileParams, StatusParams, StatusResult, TaskParams,
    TransactionStatus, decode, encode,
};
use pxp::task::choose_implementation;
use serde_json::value::RawValue;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).expect("JSON")
}

fn task(more: &str) -> String {
    let sha256 = "AB".repeat(32);
    format!(
        r#"{{"task":"package::init","input":{{"b":1,"a":null,"_noop":true}},"files":[{{"filename":"package/tasks/init.sh","sha256":"{sha256}","uri":{{"path":"/puppet/v3/file_content/tasks/package/init.sh","params":{{"environment":"production"}}}}}}]{more}}}"#
    )
}

#[test]
fn a_task_is_read_as_orchestrators_send_it() {
    let metadata = r#","input_method":"both","features":["x"],"unheard_of":1,"metadata":{"implementations":[{"name":"init.ps1","requirements":["powershell"]},{"name":"init.sh","requirements":["shell"],"input_method":"environment"}],"features":["y"]}"#;
    let params: TaskParams = decode(&raw(&task(metadata))).unwrap();
    assert_eq!(params.task.as_str(), "package");
    assert_eq!(params.input.keys().collect::<Vec<_>>(), ["b", "a", "_noop"]);
    assert_eq!(params.files[0].sha256.to_string(), "ab".repeat(32));
    let implementations = params.metadata.unwrap().implementations;
    let chosen = choose_implementation(&implementations, &["shell", "y"])
        .unwrap()
        .unwrap();
    assert_eq!(chosen.name, "init.sh");
    let error = choose_implementation(&implementations, &["cobol"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no implementations match supported features: cobol"
    );
    assert_eq!(choose_implementation(&[], &["shell"]), Ok(None));
}

#[test]
fn a_task_that_could_do_harm_is_refused() {
    let refused = |from: &str, to: &str, expected: &str| {
        let json = task("").replacen(from, to, 1);
        let error = decode::<TaskParams>(&raw(&json)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refused(
        "package/tasks/init.sh",
        "../../etc/passwd",
        "a file name is a relative path",
    );
    refused("package::init", "../x", "a task's name is");
    refused(&"AB".repeat(32), "../x", "a SHA-256 digest is");
    refused(r#""a":null"#, r#""b":2"#, r#"duplicate key "b""#);
    refused(
        r#"{"b":1,"a":null,"_noop":true}"#,
        "[]",
        "must be an object, not an array",
    );
}

#[test]
fn command_and_status_are_closed() {
    assert!(decode::<CommandParams>(&raw(r#"{"command":"id"}"#)).is_ok());
    assert!(decode::<CommandParams>(&raw(r#"{"command":"id","user":"root"}"#)).is_err());
    assert!(decode::<CommandParams>(&raw(r#"["id"]"#)).is_err());
    assert!(decode::<StatusParams>(&raw(r#"{"transaction_id":"../x"}"#)).is_err());
}

#[test]
fn only_files_have_a_digest() {
    let json = r#"{"files":[{"destination":"/a","link_source":"","uri":{"path":"","params":{}},"sha256":"","kind":"directory"}]}"#;
    let params: FileParams = decode(&raw(json)).unwrap();
    assert_eq!(
        (params.files[0].kind, params.files[0].sha256),
        (FileKind::Directory, None)
    );
    assert_eq!(encode(&params).get(), json);
}

#[test]
fn a_stock_result_has_only_stock_keys() {
    let result = ActionResult {
        exitcode: 3,
        stdout: Some("x".into()),
        ..Default::default()
    };
    assert_eq!(encode(&result).get(), r#"{"exitcode":3,"stdout":"x"}"#);
    let stock: ActionResult = decode(&raw(r#"{"exitcode":-56,"anything":1}"#)).unwrap();
    assert_eq!(
        stock,
        ActionResult {
            exitcode: -56,
            ..Default::default()
        }
    );
}

#[test]
fn a_status_carries_the_result() {
    let id: pxp::TransactionId = "7".parse().unwrap();
    let result = ActionResult {
        exitcode: 137,
        signal: Some(9),
        stdout: Some("part".into()),
        stdout_truncated: true,
        stdout_bytes: Some(70_000_000),
        cancelled: true,
        ..Default::default()
    };
    let status = StatusResult::finished(id.clone(), result.clone());
    assert_eq!(status.status, TransactionStatus::Failure);
    let read: StatusResult = decode(&encode(&status)).unwrap();
    assert_eq!(read.into_result(), Some(result));
    let unknown = StatusResult::new(id, TransactionStatus::Unknown);
    assert_eq!(
        encode(&unknown).get(),
        r#"{"transaction_id":"7","status":"unknown"}"#
    );
    assert_eq!(unknown.into_result(), None);
}
