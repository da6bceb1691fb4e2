//! The catalogs of `apply` blocks that real Puppet sends as syntax trees are those that real Puppet compiles.

use std::fs;
use std::path::Path;

use agent_catalogs::{BlockProgram, BlockVariables};
use anyhow::{Context as _, Result};
use compiler::DocumentForm;
use oracles::catalog_cases::{compare_catalogs, with_fixed_paths};
use oracles::compiled_catalog::environment_of;
use oracles::{Puppet, ask_puppet};
use serde_json::{Map, Value, json};

const CLASS: &str =
    "class m($text = 'default') { notify { \"m ${text} ${title} ${facts['os']}\": } }\n";
const THING: &str = "define m::thing($note) { notify { \"thing ${title} ${note}\": } }\n";
const TWICE: &str = "function m::twice($x) { \"${x}${x}\" }\n";

fn write_site(root: &Path) -> Result<()> {
    for (path, text) in [
        // which is not read for blocks
        ("manifests/site.pp", "notify { 'of the site': }\n"),
        ("modules/m/manifests/init.pp", CLASS),
        ("modules/m/manifests/thing.pp", THING),
        ("modules/m/functions/twice.pp", TWICE),
    ] {
        let path = root.join("environments/production").join(path);
        fs::create_dir_all(path.parent().context("a file is in a directory")?)?;
        fs::write(path, text)?;
    }
    fs::create_dir_all(root.join("global"))?;
    Ok(())
}

fn question(root: &Path, plan: &str, is_whole: bool) -> Value {
    json!({
        "root": root,
        "plan": format!("{plan}\n"),
        "whole": is_whole,
        "facts": {"os": "Linux", "kernel": "of a fact"},
        "trusted": {"certname": "web1", "extensions": {}},
        "variables": {
            "greeting": "hé",
            "color": "red",
            "kernel": "of the plan",
            "list": ["x", "ü"],
            "secret": {"__ptype": "Sensitive", "__pvalue": "s3cret"},
            "hash": {"x": 1, "ü": {"__ptype": "LocalRef", "__pvalue": "$['list'][1]"}},
        },
        "target_variables": {"shape": "round", "color": "of the target"},
    })
}

/// Our catalog of a tree, or the error.
async fn compile_tree(
    root: &Path,
    question: &Value,
    tree: &Value,
) -> Result<Result<Value, String>> {
    let values = |name: &str| -> Map<String, Value> {
        question[name].as_object().cloned().unwrap_or_default()
    };
    let variables = BlockVariables::Object(values("variables"));
    let program =
        BlockProgram::read(tree.to_string(), variables, values("target_variables"), ()).await;
    let mut request = program?.into_request("web1", values("facts"), values("trusted"));
    // the engine sets it
    request.version = pcore::Value::Int(0);
    let environment = environment_of(root, false)?;
    Ok(match compiler::compile(&environment, &request) {
        Ok(compiled) => Ok(with_fixed_paths(
            &compiled.document.to_json(DocumentForm::Rich)?,
            root,
        )),
        Err(error) => Err(error.message.clone()),
    })
}

/// The catalog without the exported resources, which a puppetserver leaves in it, and which agents would apply.
/// Virtual resources are left in it, too, but nothing tells them from others; the cases have only realized ones.
fn without_exported(mut catalog: Value) -> Value {
    let mut exported = Vec::new();
    if let Some(resources) = catalog["resources"].as_array_mut() {
        resources.retain(|it| {
            let is_exported = it["exported"] == true;
            if is_exported {
                let part = |key: &str| it[key].as_str().unwrap_or_default();
                exported.push(format!("{}[{}]", part("type"), part("title")));
            }
            !is_exported
        });
    }
    if let Some(edges) = catalog["edges"].as_array_mut() {
        edges.retain(|it| !exported.iter().any(|name| it["target"] == name.as_str()));
    }
    catalog
}

#[tokio::test(flavor = "multi_thread")]
async fn trees_of_puppet_are_compiled_as_by_puppet() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let root = scratch.path();
    write_site(root)?;
    let plans = oracles::blocks("apply_blocks.txt")?;
    let plans: Vec<&String> = plans.iter().filter(|it| !it.is_empty()).collect();
    let mut questions: Vec<Value> = Vec::new();
    for plan in plans {
        questions.push(question(root, plan, false));
        if !plan.contains("plan ") {
            questions.push(question(root, plan, true));
        }
    }
    let whole = "class own($x) { notify { $x: } }\nclass { 'own': x => $greeting }\nnode web1 { include m }";
    questions.push(question(root, whole, true));
    let answers = ask_puppet(Puppet::Seven, "apply_blocks.rb", &json!(questions))?;
    let mut blocks = 0;
    let mut differences = Vec::new();
    for (question, answers) in questions.iter().zip(answers.as_array().context("no list")?) {
        let answers = answers
            .as_array()
            .with_context(|| format!("no trees: {answers}"))?;
        for theirs in answers {
            blocks += 1;
            let ours = compile_tree(root, question, &theirs["tree"]).await?;
            let place = format!("byte {} of {}", theirs["tree"]["offset"], question["plan"]);
            match (ours, theirs["error"].as_str()) {
                (Ok(ours), None) => {
                    let theirs = without_exported(theirs["catalog"].clone());
                    let found = compare_catalogs(&ours, &theirs);
                    differences.extend(found.iter().map(|it| format!("{place}: {it}")));
                }
                (Err(ours), Some(theirs)) if theirs.contains(&ours) => {}
                (ours, theirs) => differences.push(format!("{place}: ours {ours:?}, {theirs:?}")),
            }
        }
    }
    assert!(blocks >= 20, "only {blocks} blocks");
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    Ok(())
}
