//! Prints findings with the marked source. Main function: [`print_findings`].

use annotate_snippets::{AnnotationKind, Element, Level, Renderer, Snippet};
use syntax::{Diagnostic, DiagnosticSeverity, SourceSpan};

use super::CheckedSource;
use cli::say;
use cli::terminal;

/// Prints every finding of a source, errors first.
pub(super) fn print_findings(checked: &CheckedSource) {
    for one in &checked.diagnostics {
        say!("{}\n", render_finding(checked, one));
    }
}

fn render_finding(checked: &CheckedSource, one: &Diagnostic) -> String {
    let text = &**checked.source.text();
    let level = match one.severity {
        DiagnosticSeverity::Error => Level::ERROR,
        DiagnosticSeverity::Warning | DiagnosticSeverity::Deprecation => Level::WARNING,
    };
    let label = one.label.as_deref().map(terminal::escape_control);
    let mut primary = AnnotationKind::Primary.span(visible_range(text, one.span));
    if let Some(label) = &label {
        primary = primary.label(label.as_str());
    }
    let mut snippet = Snippet::source(text)
        .path(checked.name.as_str())
        .annotation(primary);
    for other in &one.labels {
        let mark = AnnotationKind::Context.span(visible_range(text, other.span));
        snippet = snippet.annotation(mark.label(terminal::escape_control(&other.message)));
    }
    let title = terminal::escape_control(&one.message);
    let mut group = level
        .primary_title(title.as_str())
        .id(one.code)
        .element(Element::from(snippet));
    for help in &one.help {
        group = group.element(Level::HELP.message(terminal::escape_control(help)));
    }
    Renderer::styled()
        .term_width(terminal::width())
        .render(&[group])
}

/// The range to mark: within the text and, if it is empty, wide enough to be visible.
fn visible_range(text: &str, span: SourceSpan) -> std::ops::Range<usize> {
    let start = floor_boundary(text, (span.start as usize).min(text.len()));
    let end = ceil_boundary(text, (span.end as usize).min(text.len()));
    // A long range is marked on its first line.
    let line = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let end = end.clamp(start, line.max(start));
    start..end
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
