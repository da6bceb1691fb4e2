//! Catalogs of `apply` blocks: `POST /puppet/v3/compile`.
//!
//! `apply_trees.json` has the syntax trees that Puppet 7.23 makes of three blocks of one plan, whose text is in the
//! trees.

use serde_json::{Map, Value, json};

use crate::site::{Client, Site};

const TREES: &str = include_str!("apply_trees.json");

/// Variables of a plan as the classes of Bolt 4 and Puppet 7.23 write them, a block that reads them, and the messages of
/// its resources in the catalog that these compile.
const BOLT_VARIABLES: &str = include_str!("bolt_variables.json");

const RULES: &str = r#"
authorization: {
    version: 1
    rules: [
        {
            match-request: { path: "/puppet/v3/compile", type: path, method: post }
            allow: ["orchestrator"]
            sort-order: 500
            name: "compile"
        },
    ]
}
"#;

async fn site(auth_conf: Option<&str>) -> Site {
    Site::for_services(auth_conf, "notify { 'of the site': }\n").await
}

async fn post(client: &Client, body: &Value) -> (u16, String) {
    client.post_json("/puppet/v3/compile", body).await
}

fn tree(index: usize) -> Value {
    let mut trees: Vec<Value> = serde_json::from_str(TREES).unwrap();
    trees.swap_remove(index)
}

fn question(tree: &Value) -> Value {
    json!({
        "certname": "web1",
        "environment": "production",
        "code_ast": tree.to_string(),
        "facts": {"values": {"os": "Linux", "greeting": "of a fact"}},
        "trusted_facts": {"values": {"certname": "web1"}},
        "variables": {"values": [{"greeting": "hé"}, {"color": "red"}]},
        "target_variables": {"values": {"color": "of the target", "shape": "round"}},
        "options": {"compile_for_plan": true},
    })
}

fn resources(answer: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let resources = answer["catalog"]["resources"].as_array().unwrap().iter();
    let resources = resources.filter(|it| it["type"] == "Notify" || it["type"] == "File");
    resources
        .map(|it| {
            let (ty, title) = (it["type"].as_str().unwrap(), it["title"].as_str().unwrap());
            let message = it["parameters"]["message"].as_str().unwrap_or_default();
            format!(
                "{ty}[{title}] {}:{} {message}",
                it["file"].as_str().unwrap(),
                it["line"]
            )
        })
        .collect()
}

#[tokio::test]
async fn an_orchestrator_gets_the_catalogs_of_blocks() {
    let site = site(Some(RULES)).await;
    let orchestrator = site.node("orchestrator");
    let (status, body) = post(&orchestrator, &question(&tree(0))).await;
    assert_eq!(status, 200, "{body}");
    let expected = [
        // facts replace variables of the plan, and these those of the target
        "Notify[größe] /plans/deploy.pp:6 of a fact Linux web1 red",
        "File[/tmp/a] /plans/deploy.pp:7 ",
    ];
    assert_eq!(resources(&body), expected);
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["catalog"]["name"], "web1");
    assert!(answer.get("logs").is_none());

    let (status, body) = post(&orchestrator, &question(&tree(1))).await;
    assert_eq!((status, resources(&body).len()), (200, 0), "{body}");
    let (status, body) = post(&orchestrator, &question(&tree(2))).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(
        resources(&body),
        ["Notify[of the node] /plans/deploy.pp:10 "]
    );
    assert!(!site.inventory.has_facts(&"web1".parse().unwrap()));
}

#[tokio::test]
async fn trees_of_whole_manifests_are_compiled_with_their_definitions() {
    let site = site(Some(RULES)).await;
    let orchestrator = site.node("orchestrator");
    let text = "class a($x) { notify { \"${x} ${color}\": } }\nclass { a: x => $shape }\n";
    let locator = json!({"__ptype": "Puppet::AST::Locator", "string": text, "file": "/a.pp"});
    let tree = json!({"__ptype": "Puppet::AST::Program", "locator": locator, "body": {"x": [[1]]}});
    let (status, body) = post(&orchestrator, &question(&tree)).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(resources(&body), ["Notify[round red] /a.pp:1 "]);
    // statements of a manifest that is no plan
    let locator =
        json!({"__ptype": "Puppet::AST::Locator", "string": "notify { 'é': }", "file": "/b.pp"});
    let kind = "Puppet::AST::ResourceExpression";
    let tree = json!({"__ptype": kind, "locator": locator, "offset": 0});
    let (status, body) = post(&orchestrator, &question(&tree)).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(resources(&body), ["Notify[é] /b.pp:1 "]);
}

#[tokio::test]
async fn variables_are_rich_data_and_unknown_types_are_told() {
    let site = site(Some(RULES)).await;
    let orchestrator = site.node("orchestrator");
    let mut logged = question(&tree(0));
    logged["facts"] = json!({"values": {}});
    logged["options"] = json!({"capture_logs": true, "log_level": "error"});
    logged["variables"]["values"] = json!({
        "facts": "hostile",
        "color": {"__ptype": "LocalRef", "__pvalue": "$['list'][1]"},
        "list": [1, {"__ptype": "SemVer", "__pvalue": "1.2.3"}],
        "greeting": {"__ptype": "Sensitive", "__pvalue": "s"},
        "running": [{"__ptype": "Future"}],
    });
    let (status, body) = post(&orchestrator, &logged).await;
    assert_eq!(status, 200, "{body}");
    let found = resources(&body);
    assert!(
        found[0].ends_with("Sensitive [value redacted]  web1 1.2.3"),
        "{found:?}"
    );
    assert!(body.contains("\"logs\":[]"), "{body}");
    logged["options"] = json!({"capture_logs": true, "log_level": "warning"});
    let (_, body) = post(&orchestrator, &logged).await;
    assert!(body.contains("The variable 'running' is not set"), "{body}");
}

#[tokio::test]
async fn variables_that_are_not_set_are_named_if_the_compilation_fails() {
    let site = site(Some(RULES)).await;
    let orchestrator = site.node("orchestrator");
    let mut failing = question(&tree(0));
    failing["target_variables"] = json!({"values": {}});
    let values = json!({
        "greeting": "g",
        "color": [{"__ptype": "Future"}],
        "done": {"__ptype": "Other::Type", "a": 1},
    });
    failing["variables"]["values"] = values;
    let (status, body) = post(&orchestrator, &failing).await;
    assert_eq!(status, 500, "{body}");
    let expected = "; these variables of the plan are not set: color (Future), done (Other::Type)";
    assert!(
        body.contains("Unknown variable: 'color'") && body.ends_with(expected),
        "{body}"
    );
}

#[tokio::test]
async fn a_list_is_not_made_of_the_number_of_its_values() {
    let site = site(Some(RULES)).await;
    let orchestrator = site.node("orchestrator");
    let mut hostile = question(&tree(0));
    let list = json!({"__ptype": "Array", "__pvalue": 1_000_000});
    hostile["variables"]["values"] = json!({"greeting": "", "color": vec![list; 10]});
    let (status, body) = post(&orchestrator, &hostile).await;
    assert_eq!(status, 400, "{body}");
    let text = "Invalid input: variables: $color: rich data of type Array is not in its form";
    assert!(body.starts_with(text), "{body}");
}

/// The tree of a step `resources` of a YAML plan, whose text Puppet writes itself, without a file.
#[tokio::test]
async fn blocks_of_yaml_plans_are_compiled() {
    let site = site(Some(RULES)).await;
    let orchestrator = site.node("orchestrator");
    let text =
        "apply('placeholder') {\n  notify { 'é': message => $color }\n  -> file { '/tmp/b': }\n}";
    let locator = json!({"__ptype": "Puppet::AST::Locator", "string": text, "file": null});
    let at = text.find("->").unwrap();
    let kind = "Puppet::AST::ApplyBlockExpression";
    let tree = json!({
        "__ptype": kind,
        "locator": locator,
        "offset": text.find('{').unwrap(),
        "statements": [{"__ptype": "Puppet::AST::RelationshipExpression", "offset": at}],
    });
    let (status, body) = post(&orchestrator, &question(&tree)).await;
    assert_eq!(status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    let resources = answer["catalog"]["resources"].as_array().unwrap();
    let notify = resources.iter().find(|it| it["title"] == "é").unwrap();
    assert_eq!(notify["parameters"]["message"], "red");
    assert_eq!(notify["parameters"]["before"], json!(["File[/tmp/b]"]));
    assert!(notify.get("file").is_none(), "{notify}");
}

#[tokio::test]
async fn exported_resources_of_blocks_are_not_in_the_catalog() {
    let site = site(Some(RULES)).await;
    let orchestrator = site.node("orchestrator");
    let text = "plan a() { apply('x') { @@notify { 'exported': } notify { 'n': } } }";
    let offsets = [text.find("@@").unwrap(), text.find("notify { 'n'").unwrap()];
    let statements = offsets.map(|at| json!({"offset": at}));
    let locator = json!({"__ptype": "Puppet::AST::Locator", "string": text, "file": "/p.pp"});
    let kind = "Puppet::AST::BlockExpression";
    let tree = json!({"__ptype": kind, "locator": locator, "offset": offsets[0], "statements": statements});
    let (status, body) = post(&orchestrator, &question(&tree)).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(resources(&body), ["Notify[n] /p.pp:1 "]);
}

#[tokio::test]
async fn only_services_that_a_rule_allows_have_blocks_compiled() {
    let opened = site(Some(RULES)).await;
    for client in [opened.node("web1"), opened.nobody()] {
        assert_eq!(post(&client, &question(&tree(0))).await.0, 403);
    }
    let closed = site(None).await;
    let (status, body) = post(&closed.node("orchestrator"), &question(&tree(0))).await;
    assert_eq!(status, 403);
    assert!(body.contains("puppet_api.auth_conf"), "{body}");
}

#[tokio::test]
async fn hostile_trees_are_refused() {
    let site = site(Some(RULES)).await;
    let orchestrator = site.node("orchestrator");
    let block = |text: &str, offsets: &[u64]| {
        let locator = json!({"__ptype": "Puppet::AST::Locator", "string": text, "file": null});
        let statements = offsets.iter().map(|at| json!({"offset": at}));
        let statements: Vec<Value> = statements.collect();
        let kind = "Puppet::AST::BlockExpression";
        json!({"__ptype": kind, "locator": locator, "offset": 0, "statements": statements})
    };
    let reference = json!({"__ptype": "LocalRef", "__pvalue": "$['locator']"});
    let other = "neither an apply block of its source text nor all statements";
    let plan = "plan a() { apply('é') { notify { 'ü': } notify { b: } } }";
    let first = plan.find("notify").unwrap() as u64;
    let second = plan.rfind("notify").unwrap() as u64;
    let in_character = plan.find('é').unwrap() as u64 + 1;
    let accepted = post(&orchestrator, &question(&block(plan, &[first, second]))).await;
    assert_eq!(accepted.0, 200, "{}", accepted.1);
    for (tree, text) in [
        (block(plan, &[]), other),
        (block(plan, &[first]), other),
        (block(plan, &[second, first]), other),
        (block(plan, &[first, second, second]), other),
        (block(plan, &[in_character]), other),
        (block(plan, &[4_000_000_000]), other),
        (block(plan, &[1 << 40]), "it is not a syntax tree"),
        (block("notify {", &[0]), "its source text cannot be parsed"),
        (block("", &[0]), other),
        (
            block(&"#".repeat((128 << 10) + 1), &[0]),
            "longer than 131072 bytes",
        ),
        (
            block(&"[".repeat(100_000), &[0]),
            "its source text cannot be parsed",
        ),
        (
            json!({"__ptype": "Puppet::AST::Program", "locator": reference}),
            "has no locator",
        ),
        (json!({"__ptype": "Puppet::AST::Nop"}), "has no locator"),
        (reference.clone(), "has no locator"),
        (json!([]), "it is not a syntax tree"),
        (json!({}), "it is not a syntax tree"),
    ] {
        let (status, body) = post(&orchestrator, &question(&tree)).await;
        let shown: String = tree.to_string().chars().take(200).collect();
        assert_eq!(status, 400, "{shown}: {body}");
        assert!(
            body.starts_with("Invalid input: code_ast: ") && body.contains(text),
            "{shown}: {body}"
        );
    }
    // what is below the statements does not matter, however deep it is
    let mut deep = question(&tree(0));
    let nested = format!("{}{}", "[".repeat(500_000), "]".repeat(500_000));
    let with_deep = tree(0)
        .to_string()
        .replacen('{', &format!("{{\"x\": {nested},"), 1);
    deep["code_ast"] = json!(with_deep);
    let (status, body) = post(&orchestrator, &deep).await;
    assert_eq!(status, 200, "{body}");
}

#[tokio::test]
async fn questions_are_checked() {
    let site = site(Some(RULES)).await;
    let orchestrator = site.node("orchestrator");
    let changed = |key: &str, value: Value| {
        let mut question = question(&tree(0));
        question[key] = value;
        question
    };
    let mut without_environment = question(&tree(0));
    without_environment
        .as_object_mut()
        .unwrap()
        .remove("environment");
    let circle = json!({"values": {"a": {"__ptype": "LocalRef", "__pvalue": "$['a']"}}});
    for (body, status, text) in [
        (without_environment, 400, "must include an `environment`"),
        (
            changed("versioned_project", json!("p")),
            400,
            "this server has no projects",
        ),
        (
            changed("environment", json!("none")),
            404,
            "there is no environment none",
        ),
        (
            changed("environment", json!("../x")),
            400,
            "Invalid input: environment",
        ),
        (
            changed("certname", json!("../x")),
            400,
            "Invalid input: certname",
        ),
        (
            changed("hiera_config", json!("/etc/shadow")),
            400,
            "Invalid input: ",
        ),
        (changed("code_ast", tree(0)), 400, "Invalid input: "),
        (
            changed("code_ast", json!("{")),
            400,
            "it is not a syntax tree",
        ),
        (changed("facts", json!({})), 400, "Invalid input: "),
        (
            changed("job_id", json!("x".repeat(1000))),
            400,
            "Invalid input: job_id",
        ),
        (
            changed("variables", circle),
            400,
            "Invalid input: variables: the values take more",
        ),
        (
            changed("variables", json!({"values": {"A": 1}})),
            400,
            "not the name of a variable",
        ),
        (
            changed("variables", json!({"values": {}})),
            500,
            "Unknown variable: 'color'",
        ),
    ] {
        let mut body = body;
        if body["variables"]["values"] == json!({}) {
            body["target_variables"] = json!({"values": {}});
        }
        let (found, answer) = post(&orchestrator, &body).await;
        assert_eq!(found, status, "{answer}");
        assert!(
            answer.contains(text) && !answer.starts_with('{'),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn objects_of_plans_are_read_as_by_bolt() {
    let site = site(Some(RULES)).await;
    let orchestrator = site.node("orchestrator");
    let of_bolt: Value = serde_json::from_str(BOLT_VARIABLES).unwrap();
    let locator =
        json!({"__ptype": "Puppet::AST::Locator", "string": of_bolt["block"], "file": "/a.pp"});
    let tree = json!({"__ptype": "Puppet::AST::Program", "locator": locator});
    let mut asked = question(&tree);
    asked["variables"]["values"] = of_bolt["variables"].clone();
    let (status, body) = post(&orchestrator, &asked).await;
    assert_eq!(status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    let resources = answer["catalog"]["resources"].as_array().unwrap().iter();
    let notified = resources.filter(|it| it["type"] == "Notify");
    let messages: Map<String, Value> = notified
        .map(|it| {
            let title = it["title"].as_str().unwrap();
            (title.to_owned(), it["parameters"]["message"].clone())
        })
        .collect();
    assert_eq!(Value::Object(messages), of_bolt["messages"]);
}
