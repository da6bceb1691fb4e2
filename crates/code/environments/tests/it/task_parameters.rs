//! Checks of the parameters of a task run.

use environments::{ParameterType, TaskMetadata, validate_params};
use serde_json::{Map, Value, json};

const METADATA: &str = r#"{"parameters":{
    "action": {"type": "Enum['status','install']"},
    "version": {"type": "Optional[String[1]]"},
    "count": {"type": "Integer", "default": 3},
    "password": {"type": "Sensitive[String]", "default": "none"},
    "hosts": {"type": "Optional[Array[Struct[{port => Integer}]]]"}
}}"#;

fn check(metadata: &str, params: Value) -> Result<(Value, Vec<String>), Vec<String>> {
    let metadata = TaskMetadata::parse(metadata.as_bytes(), &|_| None).expect("good metadata");
    let Value::Object(params) = params else {
        panic!("not an object")
    };
    validate_params(&metadata, &params)
        .map(|valid| (Value::Object(valid.params), valid.sensitive))
        .map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

#[test]
fn defaults_are_filled_in() {
    let (params, sensitive) = check(METADATA, json!({"action": "status", "count": 5})).unwrap();
    assert_eq!(
        params,
        json!({"action": "status", "count": 5, "password": "none"})
    );
    assert_eq!(sensitive, ["password"]);
}

#[test]
fn all_problems_are_told_at_once() {
    let params = json!({
        "versoin": "1",
        "count": "three",
        "hosts": [{"port": 1}, {"port": "x"}],
        "_noop": true,
    });
    let expected = [
        "unknown parameter 'versoin'; the task takes action, version, count, password, hosts",
        "parameter 'count' expects an Integer value, got String",
        "parameter 'hosts' index 1 entry 'port' expects an Integer value, got String",
        "parameter '_noop' is reserved: names that begin with '_' are set by the orchestrator",
        "parameter 'action' is missing; it expects a value of type Enum['status','install']",
    ];
    assert_eq!(check(METADATA, params).unwrap_err(), expected);
}

#[test]
fn a_null_is_not_a_default() {
    let problems = check(METADATA, json!({"action": "status", "count": null})).unwrap_err();
    assert_eq!(
        problems,
        ["parameter 'count' expects an Integer value, got Undef"]
    );
}

#[test]
fn no_parameters_section_is_not_an_empty_one() {
    assert!(check("{}", json!({"anything": [1]})).is_ok());
    let problems = check(r#"{"parameters":{}}"#, json!({"a": 1})).unwrap_err();
    assert_eq!(
        problems,
        ["unknown parameter 'a'; the task takes no parameters"]
    );
}

#[test]
fn values_are_never_told() {
    let params = json!({"action": "hunter2", "password": 12345});
    let problems = check(METADATA, params).unwrap_err().join("\n");
    assert!(
        !problems.contains("hunter2") && !problems.contains("12345"),
        "{problems}"
    );
    assert!(validate_params(&TaskMetadata::default(), &Map::new()).is_ok());
}

#[test]
fn types_are_bounded() {
    let refusal = |text: &str| {
        let refused = ParameterType::parse(text, &|_| None);
        refused.expect_err("the type is too large").to_string()
    };
    let deep = format!("{}Any{}", "Array[".repeat(33), "]".repeat(33));
    assert_eq!(refusal(&deep), "the type is nested deeper than 32 levels");
    let deep = format!("{}Any{}", "Struct[{a=>".repeat(1_000), "}]".repeat(1_000));
    assert_eq!(refusal(&deep), "the type is nested deeper than 32 levels");
    let long = format!("Enum['{}']", "x".repeat(20_000));
    assert_eq!(
        refusal(&long),
        "a type of 20008 bytes is too long; the limit is 16384"
    );
}

#[test]
fn a_pattern_that_backtracks_ends() {
    let hostile = ParameterType::parse("Pattern[/\\A(a+)+\\z/]", &|_| None).expect("a type");
    let value = json!(format!("{}!", "a".repeat(5_000)));
    let message = hostile.check("p", &value).expect_err("no match");
    assert!(
        message.starts_with("parameter 'p' expects a match"),
        "{message}"
    );
}
