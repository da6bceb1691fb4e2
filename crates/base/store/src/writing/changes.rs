//! Changes that a Puppet run made on its node, according to its result: [`ResourceChanges`].
//!
//! Invariant: they are read once, when the result is written, so that counting changes by day does
//! not require reading the results. A result without metrics, or with invalid ones, counts nothing.

use serde::Deserialize;

use crate::defaults::RUN_CHANGES;

/// Numbers of changed resources, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceChanges {
    /// Resources that were changed outside Puppet, and were restored.
    pub(crate) corrective: i64,
    /// Resources for which the catalog required something new.
    pub(crate) intentional: i64,
}

#[derive(Deserialize)]
struct RunResultMetrics {
    metrics: ReportedChanges,
}

#[derive(Deserialize)]
struct ReportedChanges {
    changed: i64,
    #[serde(default)]
    corrective_change: i64,
}

/// Reads the changes from the JSON of a result; `None` if it contains none.
pub(crate) fn from_result(result: &str) -> Option<ResourceChanges> {
    // Most results are large and from tasks; only those of Puppet contain this.
    if !result.contains(r#""metrics""#) {
        return None;
    }
    let RunResultMetrics { metrics } = serde_json::from_str(result).ok()?;
    let changed = metrics.changed.clamp(0, RUN_CHANGES);
    // Puppet's count also includes corrective changes that noop held back.
    let corrective = metrics.corrective_change.clamp(0, changed);
    Some(ResourceChanges {
        corrective,
        intentional: changed - corrective,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_back_is_told_from_what_is_new() {
        let of = |metrics: &str| {
            let said = from_result(&format!(r#"{{"status":"x","metrics":{metrics}}}"#))?;
            Some((said.corrective, said.intentional))
        };
        assert_eq!(of(r#"{"changed":5,"corrective_change":2}"#), Some((2, 3)));
        assert_eq!(of(r#"{"total":7,"changed":5}"#), Some((0, 5)));
        assert_eq!(
            of(r#"{"changed":0,"corrective_change":4}"#),
            Some((0, 0)),
            "noop"
        );
        assert_eq!(of(r#"{"changed":1,"corrective_change":4}"#), Some((1, 0)));
    }

    #[test]
    fn nonsense_counts_nothing() {
        for said in [
            "",
            "null",
            r#""metrics""#,
            r#"{"metrics":null}"#,
            r#"{"metrics":{}}"#,
            r#"{"metrics":{"changed":"5"}}"#,
            r#"{"metrics":{"changed":1.5}}"#,
            r#"{"metrics":{"changed":99999999999999999999}}"#,
            r#"{"_output":"metrics"}"#,
        ] {
            assert_eq!(from_result(said), None, "{said}");
        }
        let most =
            from_result(r#"{"metrics":{"changed":9223372036854775807,"corrective_change":-1}}"#);
        let (corrective, intentional) = (0, RUN_CHANGES);
        assert_eq!(
            most,
            Some(ResourceChanges {
                corrective,
                intentional
            })
        );
        let less = from_result(r#"{"metrics":{"changed":-5,"corrective_change":-7}}"#);
        assert_eq!(less, Some(ResourceChanges::default()));
    }
}
