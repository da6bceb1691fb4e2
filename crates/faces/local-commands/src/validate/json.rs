//! Prints findings as one JSON document.

use serde_json::{Value, json};
use syntax::{Diagnostic, DiagnosticSeverity, SourceSpan, SourceText};

use super::CheckedSource;

pub(super) fn document(all: &[CheckedSource], errors: usize) -> String {
    let files: Vec<Value> = all.iter().map(file).collect();
    let document = json!({ "files": files, "errors": errors });
    format!("{document:#}")
}

fn file(checked: &CheckedSource) -> Value {
    let found = checked.diagnostics.iter();
    let findings: Vec<Value> = found.map(|one| finding(&checked.source, one)).collect();
    json!({
        "file": checked.name,
        "errors": checked.count(DiagnosticSeverity::Error),
        "findings": findings,
    })
}

fn finding(source: &SourceText, one: &Diagnostic) -> Value {
    let severity = match one.severity {
        DiagnosticSeverity::Error => "error",
        DiagnosticSeverity::Warning => "warning",
        DiagnosticSeverity::Deprecation => "deprecation",
    };
    let labels: Vec<Value> = one
        .labels
        .iter()
        .map(|label| json!({ "message": label.message, "place": position(source, label.span) }))
        .collect();
    json!({
        "code": one.code,
        "severity": severity,
        "message": one.message,
        "place": position(source, one.span),
        "label": one.label,
        "labels": labels,
        "help": one.help,
    })
}

/// Start and end, as lines and columns from 1.
fn position(source: &SourceText, span: SourceSpan) -> Value {
    let from = source.position(span.start);
    let to = source.position(span.end);
    json!({
        "line": from.line,
        "column": from.column,
        "end_line": to.line,
        "end_column": to.column,
    })
}
