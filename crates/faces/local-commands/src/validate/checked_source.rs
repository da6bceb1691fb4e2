//! A source with its findings: [`CheckedSource`].

use std::sync::Arc;
use syntax::{Diagnostic, DiagnosticSeverity, SourceText};

/// The language of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckedLanguage {
    Puppet,
    YamlPlan,
    TaskMetadata,
}

/// A source with its findings.
pub(super) struct CheckedSource {
    pub(super) source: Arc<SourceText>,
    pub(super) name: String,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl CheckedSource {
    pub(super) fn count(&self, severity: DiagnosticSeverity) -> usize {
        let same = self
            .diagnostics
            .iter()
            .filter(|one| one.severity == severity);
        same.count()
    }
}
