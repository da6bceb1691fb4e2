//! Accepted and refused bodies and query parameters; a refusal names the place.

use api_types::parameters::Parameters;
use api_types::{
    ApiError, JobsQuery, NodesQuery, Order, Scope, ScopeKind, StopCommand, TaskCommand, strict,
};
use serde_json::json;

const TASK: &str = r#"{"task":"package","params":{},"scope":{"nodes":["a"]}}"#;

fn task(body: &str) -> Result<TaskCommand, ApiError> {
    let command: TaskCommand = strict::decode(body.as_bytes())?;
    command.check()?;
    Ok(command)
}

fn refused(body: &str) -> (String, String) {
    let error = task(body).expect_err("refused");
    assert_eq!(error.status, 400);
    assert_eq!(error.body.kind, "puppetlabs.orchestrator/validation-error");
    let wording = decode_errors::LIBRARY_WORDING;
    assert!(
        !wording.iter().any(|part| error.body.msg.contains(part)),
        "{error}"
    );
    let path = error
        .body
        .details
        .get("path")
        .map_or(String::new(), |path| path.to_string());
    (error.body.msg, path)
}

#[test]
fn a_task_command_fills_in_the_defaults() {
    let command = task(TASK).unwrap();
    assert_eq!(command.environment, "production");
    assert!(!command.noop);
    assert_eq!(command.timeout, None);
    assert_eq!(command.scope, Scope::nodes(["a"]));
}

#[test]
fn what_bolt_sends_is_accepted() {
    let body = json!({"task": "package", "environment": "production", "noop": null,
        "params": {"name": "vim"}, "scope": {"nodes": ["a", "b"]}, "targets": [],
        "description": "from bolt"});
    let command = task(&body.to_string()).unwrap();
    assert!(!command.noop);
    assert_eq!(command.description, "from bolt");
}

#[test]
fn an_unknown_key_is_named() {
    let (msg, _) = refused(r#"{"task":"x","scope":{"nodes":[]},"parms":{}}"#);
    assert!(msg.contains("\"parms\""), "{msg}");
    let (msg, path) = refused(r#"{"task":"x","scope":{"node":[]}}"#);
    assert!(
        msg.contains("\"node\"") && path.contains("scope"),
        "{msg} {path}"
    );
    let error = task(r#"{"task":"x","scope":{"nodes":[]},"parms":{}}"#).unwrap_err();
    assert_eq!(error.body.details["key"], "parms");
}

#[test]
fn a_wrong_type_names_its_path() {
    let (msg, path) = refused(r#"{"task":"x","scope":{"nodes":["a",3]}}"#);
    assert_eq!(path, r#""scope.nodes[1]""#);
    assert_eq!(msg, "scope.nodes[1]: must be a string, not the number 3");
    for (body, expected) in [
        (r#"{"task":3,"scope":{}}"#, "task"),
        (r#"{"task":"x","scope":[]}"#, "scope"),
        (r#"{"task":"x","scope":{},"noop":"yes"}"#, "noop"),
        (r#"{"task":"x","scope":{},"params":null}"#, "params"),
        (r#"{"task":"x","scope":{},"params":[]}"#, "params"),
        (r#"{"task":"x","scope":{},"timeout":-1}"#, "timeout"),
        (r#"{"task":"x","scope":{},"timeout":1.5}"#, "timeout"),
        (
            r#"{"task":"x","scope":{},"timeout":99999999999}"#,
            "timeout",
        ),
        (r#"{"task":"x","scope":{},"concurrency":0}"#, "concurrency"),
        (r#"{"task":"x","scope":{},"targets":3}"#, "targets"),
    ] {
        let (msg, path) = refused(body);
        assert_eq!(path, format!("{expected:?}"), "{body}: {msg}");
    }
}

#[test]
fn what_is_not_json_names_line_and_column() {
    for body in ["{\n \"task\": }", "{\"task\":\"x\"", "nothing", "{} {}"] {
        let error = task(body).unwrap_err();
        if body == "{} {}" {
            // The missing key is found before the second document.
            assert!(error.body.msg.contains("\"task\" is missing"), "{error}");
            continue;
        }
        assert!(error.body.details.contains_key("line"), "{error}");
    }
    let error = strict::decode::<StopCommand>(br#"{"job":"1"} {}"#).unwrap_err();
    assert!(
        error
            .body
            .msg
            .contains("remove what follows the end of the value (line 1, column 13)"),
        "{error}"
    );
    let error = strict::decode::<StopCommand>(b"  \n").unwrap_err();
    assert!(error.body.msg.contains("no body"), "{error}");
    let error = strict::decode::<StopCommand>(b"{\"job\":\"\xff\xfe\"}").unwrap_err();
    assert!(error.body.msg.contains("line 1, column"), "{error}");
}

#[test]
fn a_deep_document_is_refused_and_not_a_crash() {
    let deep = format!(
        r#"{{"task":"x","scope":{{"nodes":[]}},"params":{{"a":{}{}}}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let (msg, _) = refused(&deep);
    assert!(msg.contains("nested more than 127 levels"), "{msg}");
}

#[test]
fn long_texts_are_refused_by_name() {
    let long = "x".repeat(5_000);
    let body = json!({"task": "x", "scope": {"nodes": ["a"]}, "description": long});
    assert_eq!(refused(&body.to_string()).1, r#""description""#);
    let long = "x".repeat(70_000);
    let body = json!({"task": "x", "scope": {"nodes": ["a"]}, "userdata": {"a": long}});
    assert_eq!(refused(&body.to_string()).1, r#""userdata""#);
}

#[test]
fn a_scope_has_exactly_one_key() {
    let scope: Scope = strict::decode(br#"{"nodes":["a"]}"#).unwrap();
    assert_eq!(
        scope.into_kind().unwrap(),
        ScopeKind::Nodes(vec!["a".to_owned()])
    );
    for body in [
        r#"{}"#,
        r#"{"nodes":["a"],"query":"x"}"#,
        r#"{"whole_environment":false}"#,
    ] {
        let scope: Scope = strict::decode(body.as_bytes()).unwrap();
        let error = scope.into_kind().unwrap_err();
        assert_eq!(error.body.details["path"], "scope", "{body}");
    }
}

fn parameters(text: &str) -> Parameters {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').expect("a pair");
        (name.to_owned(), value.to_owned())
    };
    Parameters::new(pairs.map(pair).collect()).expect("no name twice")
}

#[test]
fn query_parameters_are_read() {
    let text = "limit=2&offset=4&order_by=owner&order=desc&type=task&task=pack&token=secret";
    let query = JobsQuery::read(parameters(text)).unwrap();
    assert_eq!((query.page.limit, query.page.offset), (Some(2), 4));
    assert_eq!(
        (query.order_by.as_str(), query.order),
        ("owner", Order::Desc)
    );
    let empty = JobsQuery::read(parameters("")).unwrap();
    assert_eq!(empty, JobsQuery::default());
}

#[test]
fn a_wrong_query_parameter_is_named() {
    for (text, name) in [
        ("limit=x", "limit"),
        ("limit=-1", "limit"),
        ("limit=+1", "limit"),
        ("offset=99999999999999999999", "offset"),
        ("order=up", "order"),
        ("order_by=colour", "order_by"),
        ("type=plan", "type"),
        ("type=deploy&task=x", "task"),
        ("min_finish_timestamp=yesterday", "min_finish_timestamp"),
        ("colour=red", "colour"),
    ] {
        let error = JobsQuery::read(parameters(text)).unwrap_err();
        assert_eq!(error.body.details["path"], name, "{text}");
    }
    let error = NodesQuery::read(parameters("state=asleep")).unwrap_err();
    assert!(error.body.msg.contains("finished"), "{error}");
    let twice = vec![("limit".to_owned(), "1".to_owned()); 2];
    assert_eq!(
        Parameters::new(twice).unwrap_err().body.details["path"],
        "limit"
    );
}
