//! `ruby-regex` against Ruby: every pattern of `cases/patterns.txt` on every subject.

use oracles::{ask, cases};
use ruby_regex::{Regex, RegexCaptures, RegexFlags};
use serde_json::{Value, json};

/// Patterns of which Ruby gives another answer, with the reason.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "(?~abc)",
        "the engine stops before the text that must not be held, Ruby within it",
    ),
    ("(?i)[[:upper:]]+", "Ruby folds no letters but ASCII's here"),
    ("(?i)[[:lower:]]+", "Ruby folds no letters but ASCII's here"),
    ("(?<=a+)b", "the engine takes it, Ruby refuses it"),
    ("(?<!a*)b", "the engine takes it, Ruby refuses it"),
    ("(?=a)*", "the engine does not repeat what looks around"),
    ("(?<=a)+", "the engine does not repeat what looks around"),
];

#[test]
fn patterns_find_what_ruby_finds() {
    let subjects: Vec<String> = cases("subjects.txt")
        .unwrap()
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let patterns: Vec<(String, String)> = cases("patterns.txt")
        .unwrap()
        .iter()
        .map(|line| line.split_once('\t').unwrap())
        .map(|(flags, pattern)| (pattern.to_owned(), flags.to_owned()))
        .collect();
    let question = json!({"patterns": patterns, "subjects": subjects});
    let answers = ask("regex.rb", &question).unwrap();
    let mut wrong = Vec::new();
    let mut asked = 0;
    for ((pattern, flags), theirs) in patterns.iter().zip(answers.as_array().unwrap()) {
        let ours = answer(pattern, flags, &subjects);
        asked += theirs["found"].as_array().map_or(1, Vec::len);
        if DIFFERENT.iter().any(|(known, _)| known == pattern) {
            assert_ne!(&ours, theirs, "{pattern} is as in Ruby now");
        } else {
            differences(pattern, &ours, theirs, &subjects, &mut wrong);
        }
    }
    assert!(asked > 5000, "only {asked} questions");
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn answer(pattern: &str, flags: &str, subjects: &[String]) -> Value {
    let flags = RegexFlags {
        extended: flags.contains('x'),
        ignore_case: flags.contains('i'),
        multiline: flags.contains('m'),
    };
    let regex = match Regex::with_flags(pattern, flags) {
        Ok(regex) => regex,
        Err(error) => return json!({"error": error.to_string()}),
    };
    let names: serde_json::Map<String, Value> = regex
        .names()
        .iter()
        .map(|(name, groups)| (name.clone(), json!(groups)))
        .collect();
    let found: Vec<Value> = subjects.iter().map(|it| found(&regex, it)).collect();
    json!({
        "inspect": regex.inspect(),
        "names": names,
        "found": found,
    })
}

fn found(regex: &Regex, subject: &str) -> Value {
    let groups = |it: RegexCaptures<'_>| -> Value {
        let spans = (0..it.len()).map(|group| it.span(group).map(|span| [span.start, span.end]));
        json!(spans.collect::<Vec<_>>())
    };
    let all: Vec<Value> = regex
        .matches(subject)
        .map(|it| groups(it.unwrap()))
        .collect();
    json!({
        "first": regex.captures(subject).unwrap().map(groups),
        "all": all,
        "gsub": regex.replace(subject, r"<\0|\1|\\|\`|\'|\q>", true).unwrap(),
        "split": regex.split(subject).unwrap(),
    })
}

/// One line for each part of an answer that differs.
fn differences(
    pattern: &str,
    ours: &Value,
    theirs: &Value,
    subjects: &[String],
    wrong: &mut Vec<String>,
) {
    for part in ["error", "inspect", "names"] {
        if ours[part] != theirs[part] {
            wrong.push(format!(
                "/{pattern}/ {part}: ours {} Ruby {}",
                ours[part], theirs[part]
            ));
        }
    }
    let (Some(ours), Some(theirs)) = (ours["found"].as_array(), theirs["found"].as_array()) else {
        return;
    };
    for ((ours, theirs), subject) in ours.iter().zip(theirs).zip(subjects) {
        for part in ["first", "all", "gsub", "split"] {
            if ours[part] != theirs[part] {
                wrong.push(format!(
                    "/{pattern}/ {part} in {subject:?}: ours {} Ruby {}",
                    ours[part], theirs[part]
                ));
            }
        }
    }
}
