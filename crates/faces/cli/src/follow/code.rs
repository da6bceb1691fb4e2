//! The code versions that a job's Puppet runs used. Main type: [`CodeVersionCounts`].
//!
//! Invariant: each run is counted when its result is printed, without another request; at most
//! [`CODE_VERSIONS`] versions are counted separately, however many nodes report.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::code::short;
use crate::defaults::CODE_VERSIONS;
use crate::terminal::{escape_control, style_warning};

/// Start of a code id in the form of Puppet Enterprise; the signature, `;` and the environment
/// follow.
const CODE_ID: &str = "urn:puppet:code-id:1:";

/// The code versions of many runs.
#[derive(Debug, Default)]
pub(crate) struct CodeVersionCounts {
    versions: BTreeMap<RunVersion, VersionNodeCounts>,
    /// Nodes with versions that are not counted separately.
    others: u64,
    /// Nodes whose catalog names no version.
    unknown: u64,
}

/// The code version of one run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunVersion {
    environment: String,
    /// The signature if the code id has Puppet Enterprise's form, otherwise the whole code id.
    signature: String,
}

#[derive(Debug, Default)]
struct VersionNodeCounts {
    all: u64,
    /// The nodes of these that applied the catalog of an earlier run.
    cached: u64,
}

// === impl RunVersion ===

impl RunVersion {
    /// Reads the version from a run's result, if it has one.
    pub(crate) fn from_result(result: &Value) -> Option<Self> {
        let id = result["code_id"].as_str().filter(|id| !id.is_empty())?;
        let parts = id.strip_prefix(CODE_ID).and_then(|id| id.split_once(';'));
        let (environment, signature) = match parts {
            Some((signature, environment)) => (environment, signature),
            // From a custom code-id-command.
            None => (result["environment"].as_str().unwrap_or("-"), id),
        };
        Some(Self {
            environment: environment.to_owned(),
            signature: signature.to_owned(),
        })
    }

    /// The short form, as in `code versions`.
    pub(crate) fn short(&self) -> String {
        escape_control(short(&self.signature))
    }

    fn describe_version(&self) -> String {
        format!("{} {}", escape_control(&self.environment), self.short())
    }
}

// === impl CodeVersionCounts ===

impl CodeVersionCounts {
    /// Counts a run by its result. A run without a catalog used no code.
    pub(crate) fn count_run(&mut self, result: &Value) {
        let Some(version) = RunVersion::from_result(result) else {
            let catalog = &result["configuration_version"];
            self.unknown += u64::from(!matches!(catalog, Value::Null) && *catalog != "");
            return;
        };
        if self.versions.len() >= CODE_VERSIONS && !self.versions.contains_key(&version) {
            self.others += 1;
            return;
        }
        let nodes = self.versions.entry(version).or_default();
        let cached = result["cached_catalog_status"].as_str();
        nodes.all += 1;
        nodes.cached += u64::from(matches!(
            cached,
            Some("explicitly_requested" | "on_failure")
        ));
    }

    /// The lines for `job show`: none if there are no code versions, one if all runs used the same,
    /// and otherwise the number of nodes for each.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut versions = self.versions.iter();
        match (versions.next(), versions.next()) {
            (None, _) => Vec::new(),
            (Some((only, nodes)), None) if self.unknown == 0 && nodes.cached == 0 => {
                vec![only.describe_version()]
            }
            _ => {
                let mixed = self
                    .describe_mixed()
                    .map(|what| style_warning(format!("mixed: {what}")));
                mixed.into_iter().chain(self.rows()).collect()
            }
        }
    }

    /// The warning at the end of a watched job: empty unless nodes of one environment used
    /// different code.
    pub(crate) fn warning(&self) -> Vec<String> {
        let Some(mixed) = self.describe_mixed() else {
            return Vec::new();
        };
        let heading = style_warning(format!("The code is mixed: {mixed}"));
        let rows = self.rows().into_iter().map(|row| format!("  {row}"));
        std::iter::once(heading).chain(rows).collect()
    }

    /// The environments with several versions.
    fn describe_mixed(&self) -> Option<String> {
        let mut environments: BTreeMap<&str, usize> = BTreeMap::new();
        for version in self.versions.keys() {
            *environments.entry(&version.environment).or_default() += 1;
        }
        let several = environments.into_iter().filter(|(_, count)| *count > 1);
        let several: Vec<_> = several
            .map(|(environment, count)| {
                format!("{count} versions of {}", escape_control(environment))
            })
            .collect();
        (!several.is_empty()).then(|| several.join(", "))
    }

    fn rows(&self) -> Vec<String> {
        let mut versions: Vec<_> = self.versions.iter().collect();
        versions.sort_by_key(|(version, nodes)| (&version.environment, u64::MAX - nodes.all));
        let known = versions.into_iter().map(|(version, nodes)| {
            let cached = match nodes.cached {
                0 => String::new(),
                cached => format!(" ({cached} with a cached catalog)"),
            };
            (
                version.describe_version(),
                format!("{}{cached}", format_node_count(nodes.all)),
            )
        });
        let rest = [("other versions", self.others), ("not known", self.unknown)];
        let rest = rest.into_iter().filter(|(_, nodes)| *nodes > 0);
        let rest = rest.map(|(what, nodes)| (what.to_owned(), format_node_count(nodes)));
        let rows: Vec<_> = known.chain(rest).collect();
        let width = rows.iter().map(|(what, _)| what.chars().count()).max();
        let width = width.unwrap_or(0);
        rows.iter()
            .map(|(what, nodes)| format!("{what:width$}  {nodes}"))
            .collect()
    }
}

fn format_node_count(nodes: u64) -> String {
    match nodes {
        1 => "1 node".to_owned(),
        nodes => format!("{nodes} nodes"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(digit: &str, environment: &str) -> String {
        format!("urn:puppet:code-id:1:{};{environment}", digit.repeat(40))
    }

    fn ran(code_id: &str) -> Value {
        json!({"status": "changed", "environment": "production", "configuration_version": "42",
            "code_id": code_id})
    }

    fn used(results: &[Value]) -> CodeVersionCounts {
        let mut used = CodeVersionCounts::default();
        results.iter().for_each(|result| used.count_run(result));
        used
    }

    fn plain(lines: Vec<String>) -> Vec<String> {
        let lines = lines.iter();
        lines
            .map(|line| anstream::adapter::strip_str(line).to_string())
            .collect()
    }

    #[test]
    fn one_version_is_one_line_and_no_warning() {
        let one = ran(&id("a", "production"));
        let failed = json!({"status": "failed", "configuration_version": ""});
        let error = json!({"_error": {"msg": "disabled"}});
        let used = used(&[one.clone(), failed, error, Value::Null, one]);
        assert_eq!(used.lines(), ["production aaaaaaaaaa"]);
        assert_eq!(used.warning(), [""; 0]);
    }

    #[test]
    fn without_versions_nothing_is_said() {
        let mut without = ran("");
        let used = used(&[without.clone(), {
            without.as_object_mut().unwrap().remove("code_id");
            without
        }]);
        assert_eq!((used.lines(), used.warning()), (Vec::new(), Vec::new()));
    }

    #[test]
    fn several_versions_are_counted_and_marked() {
        let [old, new] = ["a", "b"].map(|digit| ran(&id(digit, "production")));
        let mut cached = old.clone();
        cached["cached_catalog_status"] = "on_failure".into();
        let mut unknown = old.clone();
        unknown["code_id"] = Value::Null;
        let used = used(&[old, new.clone(), new.clone(), new, cached, unknown]);
        let rows = [
            "production bbbbbbbbbb  3 nodes",
            "production aaaaaaaaaa  2 nodes (1 with a cached catalog)",
            "not known              1 node",
        ];
        let told = plain(used.lines());
        assert_eq!(told[0], "mixed: 2 versions of production");
        assert_eq!(told[1..], rows);
        let told = plain(used.warning());
        assert_eq!(told[0], "The code is mixed: 2 versions of production");
        assert_eq!(told[1..], rows.map(|row| format!("  {row}")));
    }

    #[test]
    fn each_environment_has_its_own_code_and_that_is_no_mixture() {
        let [production, staging] = ["production", "staging"].map(|name| ran(&id("a", name)));
        let used = used(&[production.clone(), staging, production]);
        let rows = [
            "production aaaaaaaaaa  2 nodes",
            "staging aaaaaaaaaa     1 node",
        ];
        assert_eq!(used.lines(), rows);
        assert_eq!(used.warning(), [""; 0]);
    }

    #[test]
    fn ids_of_another_form_belong_to_the_environment_of_the_run() {
        let used = used(&[ran("0123456789abcdef"), ran("v1:main")]);
        let told = plain(used.warning());
        let expected = [
            "The code is mixed: 2 versions of production",
            "  production 0123456789  1 node",
            "  production v1:main     1 node",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_fleet_that_lies_takes_little_room_and_moves_no_cursor() {
        let mut used = CodeVersionCounts::default();
        for number in 0..10_000 {
            let mut result = ran(&format!("{number}\u{1b}[2J"));
            result["environment"] = "\u{1b}[2J\u{202e}".into();
            used.count_run(&result);
        }
        let told = plain(used.lines());
        assert_eq!(told.len(), CODE_VERSIONS + 2);
        assert!(
            told.last()
                .unwrap()
                .ends_with(&format!("{} nodes", 10_000 - CODE_VERSIONS))
        );
        assert!(
            told.iter()
                .all(|line| !line.contains(['\u{1b}', '\u{202e}']))
        );
        for odd in [
            json!(7),
            json!({"code_id": ["a"]}),
            json!([]),
            json!({"code_id": 5}),
        ] {
            used.count_run(&odd);
        }
    }
}
