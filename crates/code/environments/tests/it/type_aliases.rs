//! Types of task parameters that are aliases of modules and of the environment.

use environments::validate_params;
use serde_json::{Value, json};

use crate::tree::Tree;

fn problems(tree: &Tree, params: Value) -> Vec<String> {
    let task = tree.task("app").unwrap();
    let Value::Object(params) = params else {
        panic!("not an object")
    };
    match validate_params(&task.metadata, &params) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

/// A module with a task whose parameter `value` has this type, in addition to other files.
fn with_type(ty: &str, files: &[(&str, &str)]) -> Tree {
    let metadata = json!({"parameters": {"value": {"type": ty}}}).to_string();
    let mut all = vec![
        ("modules/app/tasks/init.sh", ""),
        ("modules/app/tasks/init.json", metadata.as_str()),
    ];
    all.extend(files);
    Tree::new(&all)
}

#[test]
fn aliases_of_modules_and_of_the_environment_check_values() {
    let files = [
        (
            "modules/app/types/port.pp",
            "type App::Port = Integer[1, 65535]\n",
        ),
        (
            "modules/app/types/init.pp",
            "type App = Struct[{port => App::Port}]\n",
        ),
        (
            "modules/net/types/deep/name.pp",
            "type Net::Deep::Name = Pattern[/\\A(?!-)[a-z-]+\\z/]\n",
        ),
        ("types/colour.pp", "type Colour = Enum['red', 'green']\n"),
    ];
    for (ty, good, bad, message) in [
        (
            "App::Port",
            json!(80),
            json!(0),
            "parameter 'value' expects an App::Port = Integer[1, 65535] value, got Integer",
        ),
        (
            "App",
            json!({"port": 1}),
            json!({"port": "x"}),
            "parameter 'value' entry 'port' expects an App::Port = Integer[1, 65535] value, got String",
        ),
        (
            "Net::Deep::Name",
            json!("a-b"),
            json!("-a"),
            "parameter 'value' expects a match for Net::Deep::Name = Pattern[/\\A(?!-)[a-z-]+\\z/], got String",
        ),
        (
            "Colour",
            json!("red"),
            json!("blue"),
            "parameter 'value' expects a match for Colour = Enum['green', 'red'], got String",
        ),
        (
            "Optional[Stdlib::Absolutepath]",
            json!("/etc"),
            json!("etc"),
            "",
        ),
        ("TargetSpec", json!(["a", ["b"]]), json!(["a", 5]), ""),
    ] {
        let tree = with_type(ty, &files);
        assert_eq!(
            problems(&tree, json!({"value": good})),
            Vec::<String>::new(),
            "{ty}"
        );
        let refused = problems(&tree, json!({"value": bad}));
        assert_eq!(refused.len(), 1, "{ty}: {refused:?}");
        if !message.is_empty() {
            assert_eq!(refused[0], message, "{ty}");
        }
    }
}

#[test]
fn an_alias_may_be_recursive() {
    let tree = with_type(
        "App::Tree",
        &[(
            "modules/app/types/tree.pp",
            "type App::Tree = Variant[Integer, Array[App::Tree]]",
        )],
    );
    assert!(problems(&tree, json!({"value": [1, [2, []]]})).is_empty());
    assert_eq!(problems(&tree, json!({"value": [1, ["x"]]})).len(), 1);
}

#[test]
fn a_secret_in_an_alias_is_a_secret() {
    let tree = with_type(
        "App::Password",
        &[(
            "modules/app/types/password.pp",
            "type App::Password = Sensitive[String]",
        )],
    );
    assert!(tree.task("app").unwrap().metadata.is_sensitive("value"));
    assert!(problems(&tree, json!({"value": "long enough"})).is_empty());
    let refused = problems(&tree, json!({"value": ["CANARY"]})).join("\n");
    assert!(
        refused.contains("expects a String value, got Tuple"),
        "{refused}"
    );
    assert!(!refused.contains("CANARY"), "{refused}");
}

#[test]
fn unusable_aliases_are_unknown_types() {
    let chain: Vec<(String, String)> = (0..40)
        .map(|index| {
            let file = format!("modules/app/types/a{index}.pp");
            (
                file,
                format!("type App::A{index} = Array[App::A{}]", index + 1),
            )
        })
        .collect();
    let mut files: Vec<(&str, &str)> = chain
        .iter()
        .map(|(file, text)| (file.as_str(), text.as_str()))
        .collect();
    let deep = format!(
        "type App::Deep = {}Any{}",
        "Array[".repeat(5_000),
        "]".repeat(5_000)
    );
    files.extend([
        ("modules/app/types/wrong.pp", "type App::Other = String"),
        ("modules/app/types/broken.pp", "type App::Broken = String["),
        (
            "modules/app/types/itself.pp",
            "type App::Itself = App::Itself",
        ),
        ("modules/app/types/code.pp", "notice('x')"),
        ("modules/app/types/deep.pp", deep.as_str()),
    ]);
    for name in [
        "App::Missing",
        "App::Wrong",
        "App::Broken",
        "App::Itself",
        "App::Code",
        "App::Deep",
        "App::A0",
        "Nothing",
    ] {
        let refusal = with_type(name, &files).refusal("app");
        assert!(
            refusal.contains("parameters.value.type: unknown type '"),
            "{name}: {refusal}"
        );
    }
}
