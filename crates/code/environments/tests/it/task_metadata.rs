//! Valid and invalid task metadata files.

use environments::TaskMetadata;
use serde_json::json;

fn parse(json: &str) -> TaskMetadata {
    TaskMetadata::parse(json.as_bytes(), &|_| None)
        .unwrap_or_else(|error| panic!("{json}: {error}"))
}

#[test]
fn a_complete_file_is_understood() {
    let metadata = parse(
        r#"{
          "description": "Do things", "puppet_task_version": 1, "supports_noop": true,
          "private": true, "remote": true, "input_method": "stdin",
          "parameters": {
            "z": {"description": "Last", "type": "Enum['a','b']", "default": "a"},
            "password": {"type": "String", "sensitive": true},
            "token": {"type": "Optional[Sensitive[String]]"},
            "free": {}
          },
          "implementations": [
            {"name": "x.ps1", "requirements": ["powershell"], "input_method": "powershell"},
            {"name": "x.sh", "files": ["m/files/lib.sh"]}
          ],
          "files": ["m/lib/"], "extensions": {"discovery": {"x": 1}}
        }"#,
    );
    assert_eq!(metadata.description.as_deref(), Some("Do things"));
    assert!(metadata.supports_noop && metadata.private && metadata.remote);
    let parameters = metadata.parameters.as_ref().unwrap();
    assert_eq!(
        parameters.keys().collect::<Vec<_>>(),
        ["z", "password", "token", "free"]
    );
    assert_eq!(parameters["z"].default, Some(json!("a")));
    assert_eq!(parameters["free"].parameter_type.as_str(), "Any");
    let sensitive: Vec<bool> = ["z", "password", "token", "other"]
        .map(|name| metadata.is_sensitive(name))
        .into();
    assert_eq!(sensitive, [false, true, true, false]);
    assert_eq!(metadata.implementations[1].files, ["m/files/lib.sh"]);
    assert!(metadata.unknown_keys.is_empty());
    let for_agent = metadata.for_agent(vec!["f".into()]);
    assert_eq!(
        (for_agent.files, for_agent.features),
        (metadata.files.clone(), vec!["f".into()])
    );

    let written = serde_json::to_string(&metadata).unwrap();
    assert_eq!(parse(&written), metadata);
}

#[test]
fn an_empty_file_takes_anything() {
    assert_eq!(parse("{}").parameters, None);
    assert_eq!(
        parse("\u{feff}{}"),
        TaskMetadata::default(),
        "Windows editors write a mark"
    );
}

#[test]
fn unknown_keys_are_listed() {
    let metadata = parse(
        r#"{"suports_noop":true,"parameters":{"a":{"typ":"String"}},"implementations":[{"name":"x","os":"y"}]}"#,
    );
    assert_eq!(
        metadata.unknown_keys,
        ["suports_noop", "parameters.a.typ", "implementations[0].os"]
    );
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (json, expected) in [
        (
            "",
            "the metadata cannot be used: not JSON: the text ends where a value is needed (line 1, column 1)",
        ),
        ("[]", "the metadata must be an object, not an array"),
        (
            r#"{"private":"yes"}"#,
            "private must be a boolean, not a string",
        ),
        (
            r#"{"supports_noop":1}"#,
            "supports_noop must be a boolean, not a number",
        ),
        (
            r#"{"puppet_task_version":"1"}"#,
            "puppet_task_version must be an integer, not a string",
        ),
        (
            r#"{"puppet_task_version":2}"#,
            "puppet_task_version: version 2 is not known; 1 is",
        ),
        (
            r#"{"input_method":"telepathy"}"#,
            "input_method: must be stdin, environment, both or powershell",
        ),
        (
            r#"{"parameters":[]}"#,
            "parameters must be an object, not an array",
        ),
        (
            r#"{"parameters":{"a":"String"}}"#,
            "parameters.a must be an object, not a string",
        ),
        (
            r#"{"parameters":{"a":{"type":["String"]}}}"#,
            "parameters.a.type must be a string, not an array",
        ),
        (
            r#"{"parameters":{"a":{"type":"Strin[1]"}}}"#,
            "parameters.a.type: unknown type 'Strin'; it is neither a type of Puppet nor a type alias of a module in \
             this environment",
        ),
        (
            r#"{"parameters":{"a":{"type":"Integer","default":"x"}}}"#,
            "parameters.a.default: parameter 'a' expects an Integer value, got String",
        ),
        (
            r#"{"parameters":{"_noop":{}}}"#,
            "parameters._noop: a parameter's name begins with a lower-case letter and continues \
             with lower-case letters, digits and underscores",
        ),
        (
            r#"{"implementations":[{}]}"#,
            "implementations[0]: an implementation needs a name, the name of its file",
        ),
        (
            r#"{"implementations":[{"name":"x","requirements":[1]}]}"#,
            "implementations[0].requirements[0] must be a string, not a number",
        ),
        (r#"{"files":"x"}"#, "files must be an array, not a string"),
        (
            r#"{"private":true,"private":false}"#,
            "the metadata cannot be used: duplicate key \"private\" (line 1, column 32)",
        ),
    ] {
        let error = TaskMetadata::parse(json.as_bytes(), &|_| None).expect_err(json);
        assert_eq!(error.to_string(), expected);
    }
    let error = TaskMetadata::parse(b"{\"\xff\":1}", &|_| None).unwrap_err();
    assert_eq!(error.to_string(), "the metadata is not UTF-8 (at byte 2)");
    let error = TaskMetadata::parse(&vec![b' '; 2_000_000], &|_| None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the metadata has 2000000 bytes; the limit is 1048576"
    );
    let deep = "[".repeat(100_000);
    assert!(TaskMetadata::parse(deep.as_bytes(), &|_| None).is_err());
}
