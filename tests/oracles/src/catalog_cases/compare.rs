//! Differences of two answers to a case: [`compare_answers`], [`compare_catalogs`].
//!
//! Resources, edges and classes are sequences, since an agent applies them in their order; tags are
//! sets, and parameters are hashes without an order.
//!
//! Invariant: two documents without a difference are equal after normalization.

use std::collections::HashMap;
use std::fmt;

use serde_json::Value;

use super::CatalogAnswer;
use super::answer::normalized;

/// A value that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogDifference {
    /// The value's place, such as `File[/x] parameter mode`.
    pub place: String,
    /// Our value; `null` if it is missing.
    pub ours: Value,
    /// Real Puppet's value; `null` if it is missing.
    pub theirs: Value,
}

impl fmt::Display for CatalogDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: ours {}, Puppet's {}",
            self.place, self.ours, self.theirs
        )
    }
}

/// Compares two answers; values that ours does not have are not compared.
pub fn compare_answers(ours: &CatalogAnswer, theirs: &CatalogAnswer) -> Vec<CatalogDifference> {
    let mut found = Differences::default();
    match (&ours.catalog, &theirs.catalog) {
        (Ok(a), Ok(b)) => found.documents(a, b),
        (Err(a), Err(b)) => found.values("error", &a.as_str().into(), &b.as_str().into()),
        (a, b) => found.values("outcome", &outcome(a), &outcome(b)),
    }
    if let Some(place) = &ours.place {
        found.values(
            "place",
            place,
            theirs.place.as_ref().unwrap_or(&Value::Null),
        );
    }
    if let Some(a) = &ours.exported {
        found.resources(
            "exported",
            a,
            theirs.exported.as_ref().unwrap_or(&Value::Null),
        );
    }
    if let Some(a) = &ours.plain {
        let b = theirs.plain.as_ref().unwrap_or(&Value::Null);
        found.resources("plain", &a["resources"], &b["resources"]);
        found.members("plain", a, b, &["resources"]);
    }
    if let Some(logs) = &ours.logs {
        let theirs = theirs.logs.clone().unwrap_or_default();
        found.values("logs", &logs.clone().into(), &theirs.into());
    }
    found.list
}

/// Compares two documents.
pub fn compare_catalogs(ours: &Value, theirs: &Value) -> Vec<CatalogDifference> {
    let mut found = Differences::default();
    found.documents(&normalized(ours), &normalized(theirs));
    found.list
}

fn outcome(outcome: &Result<Value, String>) -> Value {
    match outcome {
        Ok(_) => Value::from("a catalog"),
        Err(message) => Value::from(format!("error: {message}")),
    }
}

#[derive(Debug, Default)]
struct Differences {
    list: Vec<CatalogDifference>,
}

impl Differences {
    fn values(&mut self, place: &str, ours: &Value, theirs: &Value) {
        if ours != theirs {
            self.list.push(CatalogDifference {
                place: place.to_owned(),
                ours: ours.clone(),
                theirs: theirs.clone(),
            });
        }
    }

    fn documents(&mut self, ours: &Value, theirs: &Value) {
        self.resources("resources", &ours["resources"], &theirs["resources"]);
        self.sequences(
            "edges",
            &texts(&ours["edges"], edge),
            &texts(&theirs["edges"], edge),
        );
        self.members("document", ours, theirs, &["resources", "edges"]);
    }

    /// Compares two lists of resources: their order, and those that both have.
    fn resources(&mut self, place: &str, ours: &Value, theirs: &Value) {
        let names = (texts(ours, reference), texts(theirs, reference));
        self.sequences(place, &names.0, &names.1);
        let own = ours.as_array().map_or(&[][..], Vec::as_slice);
        let known: HashMap<String, &Value> = own.iter().map(|it| (reference(it), it)).collect();
        for resource in theirs.as_array().into_iter().flatten() {
            let name = reference(resource);
            if let Some(own) = known.get(&name) {
                self.members(&name, own, resource, &["parameters"]);
                let place = format!("{name} parameter");
                self.members(&place, &own["parameters"], &resource["parameters"], &[]);
            }
        }
    }

    /// Compares two hashes by key. A missing key and `null` differ.
    fn members(&mut self, place: &str, ours: &Value, theirs: &Value, except: &[&str]) {
        let keys = |value: &Value| -> Vec<String> {
            let map = value.as_object().into_iter();
            map.flat_map(|it| it.keys().cloned()).collect()
        };
        let mut all = keys(theirs);
        all.extend(keys(ours).into_iter().filter(|it| theirs.get(it).is_none()));
        for key in all.iter().filter(|it| !except.contains(&it.as_str())) {
            let (a, b) = (ours.get(key), theirs.get(key));
            if a != b {
                self.list.push(CatalogDifference {
                    place: format!("{place} {key}"),
                    ours: a.cloned().unwrap_or(Value::Null),
                    theirs: b.cloned().unwrap_or(Value::Null),
                });
            }
        }
    }

    /// Compares two lists of texts: first their members, then their order.
    fn sequences(&mut self, place: &str, ours: &[String], theirs: &[String]) {
        if ours == theirs {
            return;
        }
        let before = self.list.len();
        for name in missing(ours, theirs) {
            self.values(place, &Value::Null, &name.into());
        }
        for name in missing(theirs, ours) {
            self.values(place, &name.into(), &Value::Null);
        }
        if self.list.len() == before {
            let at = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
            let from = |list: &[String]| Value::from(list.get(at..).unwrap_or_default().to_vec());
            self.values(
                &format!("order of {place} from {at}"),
                &from(ours),
                &from(theirs),
            );
        }
    }
}

/// The texts of `wanted` that `list` lacks, counting repetitions.
fn missing(list: &[String], wanted: &[String]) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for text in list {
        *counts.entry(text).or_default() += 1;
    }
    let mut missing = Vec::new();
    for text in wanted {
        match counts.get_mut(text.as_str()) {
            Some(count) if *count > 0 => *count -= 1,
            _ => missing.push(text.clone()),
        }
    }
    missing
}

fn texts(list: &Value, text: fn(&Value) -> String) -> Vec<String> {
    list.as_array().into_iter().flatten().map(text).collect()
}

fn reference(resource: &Value) -> String {
    let part = |key: &str| resource[key].as_str().unwrap_or("?").to_owned();
    format!("{}[{}]", part("type"), part("title"))
}

fn edge(edge: &Value) -> String {
    let part = |key: &str| edge[key].as_str().unwrap_or("?").to_owned();
    format!("{} -> {}", part("source"), part("target"))
}
