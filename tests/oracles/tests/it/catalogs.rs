//! The recorded answers to the cases of catalogs are those of real Puppet, and the comparison finds
//! every change of a document.

use anyhow::{Context as _, Result, bail};
use oracles::catalog_cases::{
    CatalogAnswer, CatalogCase, CatalogRecording, catalog_case_files, check_catalog_cases,
    compare_answers, compare_catalogs, read_catalog_cases,
};
use serde_json::{Value, json};

/// Fewer cases than this mean that a file of cases is missing.
const FEWEST: usize = 600;

fn recordings() -> Result<Vec<(String, Vec<CatalogCase>, CatalogRecording)>> {
    let mut all = Vec::new();
    for name in catalog_case_files()? {
        let cases = read_catalog_cases(&name)?;
        let recording = CatalogRecording::read(&name, &cases)?;
        all.push((name, cases, recording));
    }
    Ok(all)
}

#[test]
fn recorded_catalogs_are_what_puppet_compiles() -> Result<()> {
    let all = recordings()?;
    let cases: Vec<CatalogCase> = all.iter().flat_map(|it| it.1.clone()).collect();
    let mut current = CatalogRecording::ask(&cases)?.cases.into_iter();
    let mut faults = Vec::new();
    for (name, _, recording) in all {
        for recorded in recording.cases {
            let now = current.next().context("an answer is missing")?;
            let found = compare_answers(&recorded.answer, &now.answer);
            faults.extend(
                found
                    .iter()
                    .map(|it| format!("{name}: {}: {it}", recorded.title)),
            );
            if recorded.puppet_7 != now.puppet_7 {
                faults.push(format!(
                    "{name}: {}: Puppet 7 differs otherwise",
                    recorded.title
                ));
            }
        }
    }
    if !faults.is_empty() {
        bail!("recorded answers are old:\n{}", faults.join("\n"));
    }
    Ok(())
}

#[test]
fn recordings_agree_with_themselves() -> Result<()> {
    let mut count = 0;
    for (name, cases, recording) in recordings()? {
        let answer = |case: &CatalogCase| -> CatalogAnswer {
            let recorded = recording.cases.iter().find(|it| it.title == case.title);
            match recorded {
                Some(recorded) => recorded.answer.clone(),
                None => Err("no such case".to_owned()).into(),
            }
        };
        let report = check_catalog_cases(&name, answer)?;
        assert_eq!(report.passed, cases.len(), "{report}");
        count += report.passed;
    }
    assert!(count >= FEWEST, "{count} cases");
    Ok(())
}

#[test]
fn every_change_of_a_document_is_found() -> Result<()> {
    let mut changes = 0;
    for (name, _, recording) in recordings()? {
        for recorded in recording.cases {
            let Ok(document) = recorded.answer.catalog else {
                continue;
            };
            assert_eq!(compare_catalogs(&document, &document), []);
            for changed in changed_documents(&document) {
                let found = compare_catalogs(&changed, &document);
                assert!(!found.is_empty(), "{name}: {}: {changed}", recorded.title);
                changes += 1;
            }
        }
    }
    assert!(changes > FEWEST, "{changes} changes");
    Ok(())
}

/// Documents with one value added, removed or moved.
fn changed_documents(document: &Value) -> Vec<Value> {
    let last = |key: &str| {
        document[key]
            .as_array()
            .map_or(0, Vec::len)
            .saturating_sub(1)
    };
    let (resource, edge) = (last("resources"), last("edges"));
    let mut all: Vec<Value> = Vec::new();
    let mut change = |edit: &dyn Fn(&mut Value)| {
        let mut changed = document.clone();
        edit(&mut changed);
        all.push(changed);
    };
    change(&|it| it["environment"] = json!("other"));
    change(&|it| it["code_id"] = json!("some"));
    change(&|it| it["resources"][resource]["parameters"]["added"] = Value::Null);
    change(&|it| it["resources"][resource]["line"] = json!(0));
    change(&|it| it["resources"][resource]["tags"] = json!(["other"]));
    change(&|it| it["resources"][resource]["exported"] = json!(true));
    change(&|it| it["edges"][edge]["source"] = json!("Class[Other]"));
    for key in ["resources", "edges", "classes"] {
        let at = last(key);
        change(&|it| edit_list(it, key, &|list| list.truncate(at)));
        change(&|it| edit_list(it, key, &|list| list.push(list[0].clone())));
        change(&|it| edit_list(it, key, &|list| list.swap(0, at)));
    }
    all.retain(|changed| changed != document);
    all
}

fn edit_list(document: &mut Value, key: &str, edit: &dyn Fn(&mut Vec<Value>)) {
    match document.get_mut(key) {
        Some(Value::Array(list)) if !list.is_empty() => edit(list),
        _ => {}
    }
}

#[test]
fn orders_that_agents_do_not_see_are_no_difference() {
    let ours = json!({ "version": 5, "catalog_uuid": "a", "tags": ["b", "a"], "resources": [
        { "type": "File", "title": "/x", "tags": ["x", "file"], "parameters": { "b": 1, "a": 2 } },
    ]});
    let theirs = json!({ "version": 6, "catalog_uuid": "b", "tags": ["a", "b"], "resources": [
        { "type": "File", "title": "/x", "tags": ["file", "x"], "parameters": { "a": 2, "b": 1 } },
    ]});
    assert_eq!(compare_catalogs(&ours, &theirs), []);
    let found = compare_catalogs(&json!({ "version": "x" }), &json!({ "version": "y" }));
    assert_eq!(
        found.len(),
        1,
        "a version that the environment computes is compared"
    );
}
