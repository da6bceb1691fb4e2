//! `hiera` against `Puppet::Pops::Lookup`: values, errors and explanations of every key of the
//! site under `hiera`, with every strategy.

use std::path::Path;
use std::sync::Arc;

use hiera::{
    DataFileCache, HieraSettings, LookupExplainer, LookupRequest, LookupSession, LookupTrail,
};
use oracles::{Puppet, ask_puppet};
use serde_json::{Map, Value, json};

use crate::site::{Disk, from_json, hash, to_json};

/// The merge takes what it knocks out from the values it merged too, so Puppet explains others than
/// were found.
const EXPLAINED_OTHERWISE: &str = "knock";

const KEYS: &[&str] = &[
    "string",
    "integer",
    "float",
    "truth",
    "octal",
    "empty",
    "empty_list",
    "empty_hash",
    "nothing",
    "not_there",
    "forced",
    "only_node",
    "by_role",
    "family",
    "group",
    "beta_only",
    "globbed",
    "glob_list",
    "from_json",
    "from_json.a.1",
    "merged_globally",
    "layered",
    "list",
    "deep",
    "knock",
    "mixed",
    "sorted",
    "list_unique",
    "layered_deep",
    "convert",
    "convert_bad",
    "secret",
    "pattern_one",
    "pattern_two",
    "pattern_first",
    "hash",
    "hash.a.b.c",
    "hash.a.nope",
    "hash.list.0",
    "hash.list.1.one",
    "hash.list.2.0",
    "hash.list.9",
    "hash.'dotted.key'",
    "hash.\"dotted.key\"",
    "'top.dotted'",
    "hash.a.b.c.d",
    "string.x",
    "hash. a .b",
    "hash..a",
    ".a",
    "hash.",
    "hash.1",
    "i_var",
    "i_top",
    "i_fact",
    "i_trusted",
    "i_env",
    "i_list",
    "i_missing",
    "i_undefined",
    "i_empty",
    "i_lookup",
    "i_lookup_double",
    "i_lookup_dotted",
    "i_lookup_missing",
    "i_lookup_hash",
    "i_lookup_list",
    "i_lookup_types",
    "i_alias",
    "i_alias_dotted",
    "i_alias_missing",
    "i_alias_part",
    "i_scope",
    "i_literal",
    "i_unknown",
    "i_nested",
    "i_in_key",
    "i_spaces",
    "i_quote",
    "i_unclosed",
    "i_brace",
    "i_override",
    "i_indirect",
    "loop_a",
    "loop_self",
    "loop_alias",
    "broken",
    "app::own",
    "app::env_wins",
    "app::global_wins",
    "app::merged",
    "app::pattern_x",
    "app::port",
    "app::family",
    "app::default_only",
    "app::default_merged",
    "app::default_hash.a.b",
    "app::not_there",
    "plain::from_env",
    "plain::not_there",
    "notamodule::x",
    "notamodule::y",
    "lookup_options",
    "lookup_options.convert",
    "symbol_key",
    "app::merged.shared",
    "layered.shared",
    "deep.a.b.0",
];

fn question(names: &[&str], merge: Value) -> Value {
    json!({
        "names": names, "merge": merge, "overrides": {}, "defaults": {}, "only_options": false,
        "facts": {
            "role": "web", "os": {"family": "Debian", "name": "Debian"},
            "groups": ["alpha", "beta"], "list": ["l0", "l1"], "over": "a fact",
        },
    })
}

fn questions() -> Vec<Value> {
    let mut questions = Vec::new();
    for key in KEYS {
        questions.push(question(&[key], Value::Null));
    }
    let deep = |options: &[(&str, Value)]| {
        let mut merge = json!({"strategy": "deep"});
        for (key, value) in options {
            merge[*key] = value.clone();
        }
        merge
    };
    for key in [
        "list",
        "layered",
        "deep",
        "knock",
        "mixed",
        "sorted",
        "string",
        "app::merged",
        "merged_globally",
        "not_there",
        "layered.shared",
        "app::default_merged",
        "beta_only",
    ] {
        for merge in [
            json!("first"),
            json!("unique"),
            json!("hash"),
            json!("deep"),
            json!("nope"),
            json!({"strategy": "unique"}),
            deep(&[("knockout_prefix", json!("--"))]),
            deep(&[("sort_merged_arrays", json!(true))]),
            deep(&[("merge_hash_arrays", json!(true))]),
        ] {
            questions.push(question(&[key], merge));
        }
    }
    let mut with = |names: &[&str], changes: Value| {
        let mut question = question(names, Value::Null);
        for (key, value) in changes.as_object().unwrap() {
            question[key] = value.clone();
        }
        questions.push(question);
    };
    with(&["not_there", "string"], json!({}));
    with(&["not_there", "nor_there"], json!({}));
    with(&["not_there"], json!({"default": "d"}));
    with(&["not_there"], json!({"default": null}));
    with(
        &["not_there"],
        json!({"defaults": {"not_there": [1]}, "default": "d"}),
    );
    with(&["string"], json!({"overrides": {"string": "o"}}));
    with(&["i_override"], json!({"overrides": {"over": "o"}}));
    with(
        &["i_undefined"],
        json!({"defaults": {"undefined_variable": "d"}}),
    );
    with(&["i_lookup"], json!({"overrides": {"string": "o"}}));
    with(&["string"], json!({"only_options": true}));
    with(&["app::own"], json!({"only_options": true}));
    questions
}

#[test]
fn lookups_find_what_puppet_finds() {
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("hiera");
    let questions = questions();
    assert!(questions.len() > 200, "only {} questions", questions.len());
    let question = json!({"site": site, "questions": questions});
    let answers = ask_puppet(Puppet::Seven, "lookup.rb", &question).unwrap();
    let cache = Arc::new(DataFileCache::default());
    let mut wrong = Vec::new();
    for (question, theirs) in questions.iter().zip(answers.as_array().unwrap()) {
        let ours = answer(question, &site, &cache);
        let known = question["names"][0].as_str().unwrap();
        for part in ["value", "error", "explain"] {
            let same = ours[part] == theirs[part];
            if part == "explain" && known == EXPLAINED_OTHERWISE {
                continue;
            }
            if !same {
                wrong.push(format!(
                    "{} {} {part}:\nours   {}\nPuppet {}",
                    question["names"],
                    question["merge"],
                    shown(&ours[part], &theirs[part]),
                    shown(&theirs[part], &ours[part]),
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Of a long text, from the first line that differs.
fn shown(text: &Value, other: &Value) -> String {
    let (Some(text), Some(other)) = (text.as_str(), other.as_str()) else {
        return text.to_string();
    };
    let same = text
        .lines()
        .zip(other.lines())
        .take_while(|(a, b)| a == b)
        .count();
    let lines: Vec<&str> = text.lines().skip(same).take(3).collect();
    format!("…{same}: {}", lines.join(" / "))
}

fn answer(question: &Value, site: &Path, cache: &Arc<DataFileCache>) -> Value {
    let facts = question["facts"].as_object().unwrap();
    let mut variables = hash(facts);
    variables.insert("facts", from_json(&question["facts"]));
    variables.insert(
        "trusted",
        from_json(&json!({"certname": "web1.example.com"})),
    );
    variables.insert("environment", "production");
    let mut disk = Disk {
        site: site.to_owned(),
        variables,
    };
    let settings = HieraSettings {
        has_classifier_data: false,
        global_config: Some(site.join("global/hiera.yaml")),
        environment_root: Some(site.join("environments/production")),
        plan: false,
        strict: true,
    };
    let session = LookupSession::new(settings, cache.clone());
    let names: Vec<String> = question["names"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect();
    let empty = Map::new();
    let request = LookupRequest {
        names: &names,
        value_type: None,
        merge: from_json(&question["merge"]),
        overrides: hash(question["overrides"].as_object().unwrap_or(&empty)),
        defaults: hash(question["defaults"].as_object().unwrap_or(&empty)),
        default: question.get("default").map(from_json),
        global_only: false,
    };
    let trail = LookupTrail::with_explainer(LookupExplainer::new(question["only_options"] == true));
    let found = session.lookup(&mut disk, &request, &trail);
    let explain = trail.explanation();
    match found {
        Ok(Some(value)) => json!({"value": to_json(&value), "explain": explain}),
        Ok(None) => json!({"error": request.not_found(), "explain": explain}),
        Err(error) => json!({"error": error.to_string(), "explain": explain}),
    }
}
