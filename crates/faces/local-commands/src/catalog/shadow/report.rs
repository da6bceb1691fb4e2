//! The report of a comparison with a puppetserver: [`print`], [`document`].

use catalogs::{CauseGroup, CauseGroups, DifferenceCause};
use reqwest::Url;
use serde_json::{Value as Json, json};

use crate::catalog::diff::print_attribute;
use crate::catalog::node_facts::node_number;
use cli::{say, terminal};

/// The report as JSON; `total` is the number of nodes.
pub(super) fn document(groups: &CauseGroups, total: usize) -> Json {
    let sorted = groups.sorted();
    let sorted: Vec<Json> = sorted
        .into_iter()
        .map(|(cause, group)| group_document(cause, group))
        .collect();
    json!({
        "nodes": total,
        "equal": groups.equal,
        "different": groups.different,
        "without_answer": groups.without_answer,
        "groups": sorted,
    })
}

fn group_document(cause: &DifferenceCause, group: &CauseGroup) -> Json {
    let example = &group.example;
    let mut document = match cause {
        DifferenceCause::NoAnswer(reason) => json!({"kind": "no-answer", "reason": reason}),
        DifferenceCause::FirstFailed(message) => {
            json!({"kind": "puppetserver-error", "puppetserver": message})
        }
        DifferenceCause::SecondFailed(message) => json!({"kind": "tutti-error", "tutti": message}),
        DifferenceCause::BothFailed(theirs, ours) => {
            json!({"kind": "different-errors", "puppetserver": theirs, "tutti": ours})
        }
        DifferenceCause::Removed(ty) => json!({"kind": "missing", "type": ty}),
        DifferenceCause::Added(ty) => json!({"kind": "additional", "type": ty}),
        DifferenceCause::Changed(ty, attribute) => json!({
            "kind": "changed",
            "type": ty,
            "attribute": attribute,
            "puppetserver": example.values.0,
            "tutti": example.values.1,
        }),
        DifferenceCause::Edges => json!({"kind": "edges"}),
    };
    document["nodes"] = json!(group.nodes);
    document["example"] = json!({"node": example.certname, "subject": example.subject});
    document
}

/// Prints the report; `total` is the number of nodes.
pub(super) fn print(groups: &CauseGroups, total: usize, server: &Url) {
    for (cause, group) in groups.sorted() {
        print_group(cause, group);
    }
    let compared = groups.equal + groups.different;
    say!(
        "{} of {compared} nodes have the same catalog as on {server}",
        groups.equal
    );
    let rest = total - compared;
    if rest > 0 {
        let line = format!("{} not compared", node_number(rest));
        say!("{}", terminal::style_failure(line));
    }
}

fn print_group(cause: &DifferenceCause, group: &CauseGroup) {
    let heading = format!("{}: {}", node_number(group.nodes), title(cause));
    say!("{}", terminal::escaped_heading(&heading));
    let example = &group.example;
    let first = match example.subject.is_empty() {
        true => example.certname.clone(),
        false => format!("{}: {}", example.certname, example.subject),
    };
    say!("  {}", terminal::escape_control(&first));
    match cause {
        DifferenceCause::BothFailed(theirs, ours) => {
            say!("    puppetserver: {}", terminal::escape_control(theirs));
            say!("    Tutti: {}", terminal::escape_control(ours));
        }
        DifferenceCause::NoAnswer(message)
        | DifferenceCause::FirstFailed(message)
        | DifferenceCause::SecondFailed(message) => {
            say!("    {}", terminal::escape_control(message));
        }
        DifferenceCause::Changed(_, attribute) => {
            print_attribute(attribute, &example.values.0, &example.values.1);
        }
        DifferenceCause::Removed(_) | DifferenceCause::Added(_) | DifferenceCause::Edges => {}
    }
}

fn title(cause: &DifferenceCause) -> String {
    match cause {
        DifferenceCause::NoAnswer(_) => "no answer of the puppetserver".to_owned(),
        DifferenceCause::FirstFailed(_) => "only the puppetserver reports an error".to_owned(),
        DifferenceCause::SecondFailed(_) => "only Tutti reports an error".to_owned(),
        DifferenceCause::BothFailed(..) => "different errors".to_owned(),
        DifferenceCause::Removed(ty) => format!("{ty} only on the puppetserver"),
        DifferenceCause::Added(ty) => format!("{ty} only from Tutti"),
        DifferenceCause::Changed(ty, attribute) => {
            format!("{ty} {attribute} (puppetserver => Tutti)")
        }
        DifferenceCause::Edges => "containment (- puppetserver, + Tutti)".to_owned(),
    }
}
