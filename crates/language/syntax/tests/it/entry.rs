//! Invariants for any input; the fuzz targets of `/fuzz` run the same functions.

use std::sync::Arc;

use syntax::{SourceText, SyntaxOptions};

/// A manifest, with and without the keywords of plans, and with applications.
pub(crate) fn manifest(data: &[u8]) {
    for (tasks, applications) in [(false, false), (true, false), (false, true)] {
        let options = SyntaxOptions {
            tasks,
            applications,
            ..SyntaxOptions::default()
        };
        any(data, options);
    }
}

/// A template.
pub(crate) fn template(data: &[u8]) {
    any(
        data,
        SyntaxOptions {
            epp: true,
            ..SyntaxOptions::default()
        },
    );
}

fn any(data: &[u8], options: SyntaxOptions) {
    let (source, _) = SourceText::decode(None, data);
    let source = Arc::new(source);
    let text = source.text();
    let mut at = 0;
    for piece in syntax::pieces(&source, options) {
        assert_eq!(piece.span.start, at, "pieces lie side by side");
        assert!(!piece.span.is_empty());
        assert!(text.get(piece.span.range()).is_some(), "whole characters");
        at = piece.span.end;
    }
    assert_eq!(at as usize, text.len(), "pieces are the whole source");

    let parsed = syntax::parse(&source, options);
    let inside = |span: syntax::SourceSpan| {
        assert!(span.start <= span.end && span.end as usize <= text.len());
        source.position(span.start);
    };
    for id in parsed.ast.ids() {
        inside(parsed.ast.span(id));
        let _ = parsed.ast.label(id);
    }
    for one in &parsed.diagnostics {
        inside(one.span);
        one.labels.iter().for_each(|label| inside(label.span));
        assert!(!one.message.is_empty());
    }
    for definition in parsed.ast.definitions() {
        let _ = syntax::comments::doc_lines(&parsed.ast, definition);
    }
}
