//! Parsing of texts to units, with a cache of parsed files. Main type: [`ParseCache`].
//!
//! Invariant: a cached unit is used only for exactly the bytes from which it was parsed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use syntax::SourceText;
use syntax::ast::Expr;

use crate::budget::StackBudget;
use crate::code::LoweredUnit;
use crate::defaults::PARSED_FILES_MAX;
use crate::error::{EvalError, EvalResult, SourceLocation, raise};
use crate::host::SourceFile;
use crate::lower::{self, FileScope};

/// Cache of parsed files, shared by all evaluations of a process.
#[derive(Debug, Default)]
pub struct ParseCache {
    units: Mutex<HashMap<(Arc<str>, SourceLanguage), CachedUnit>>,
}

#[derive(Debug)]
struct CachedUnit {
    bytes: Arc<[u8]>,
    unit: Arc<LoweredUnit>,
}

/// Language of a source text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SourceLanguage {
    /// A manifest of a catalog: resources and classes, no plans.
    Manifest,
    /// A file of a plan, or a function or type for one.
    Plan,
    /// An EPP template.
    Template,
}

impl ParseCache {
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Parses a file to a unit, or returns the unit that it has already.
    pub(crate) fn parse_file(
        &self,
        file: &SourceFile,
        language: SourceLanguage,
        stack: StackBudget,
    ) -> EvalResult<Arc<LoweredUnit>> {
        let key = (Arc::clone(&file.path), language);
        if let Some(kept) = self.lock().get(&key)
            && kept.bytes == file.bytes
        {
            return Ok(Arc::clone(&kept.unit));
        }
        let Ok(text) = std::str::from_utf8(&file.bytes) else {
            return raise(encoding_message(file));
        };
        let scope = match language {
            SourceLanguage::Manifest | SourceLanguage::Plan => FileScope::Top,
            SourceLanguage::Template => FileScope::Local,
        };
        let unit = text_unit(text, Some(&file.path), language, scope, stack)?;
        let mut units = self.lock();
        if units.len() >= PARSED_FILES_MAX {
            forget_some(&mut units);
        }
        units.insert(
            key,
            CachedUnit {
                bytes: Arc::clone(&file.bytes),
                unit: Arc::clone(&unit),
            },
        );
        Ok(unit)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(Arc<str>, SourceLanguage), CachedUnit>> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the units that no evaluation uses, and every second one if all are used.
fn forget_some(units: &mut HashMap<(Arc<str>, SourceLanguage), CachedUnit>) {
    units.retain(|_, cached| Arc::strong_count(&cached.unit) > 1);
    if units.len() >= PARSED_FILES_MAX {
        let mut is_kept = false;
        units.retain(|_, _| {
            is_kept = !is_kept;
            is_kept
        });
    }
}

/// Error text for a file that is not valid UTF-8: the position, and the next step.
fn encoding_message(file: &SourceFile) -> String {
    let (source, fault) = SourceText::decode(None, &file.bytes);
    let place = source.position(fault.map_or(0, |fault| fault.span.start));
    format!(
        "{} is not UTF-8 (line: {}, column: {}): store the file in that encoding",
        file.path, place.line, place.column
    )
}

/// Parses a text to a unit. The first syntax error is returned.
pub(crate) fn text_unit(
    text: &str,
    file: Option<&str>,
    language: SourceLanguage,
    scope: FileScope,
    stack: StackBudget,
) -> EvalResult<Arc<LoweredUnit>> {
    let source = Arc::new(SourceText::new(file, text));
    let options = syntax::SyntaxOptions {
        epp: language == SourceLanguage::Template,
        tasks: language != SourceLanguage::Manifest,
    };
    let parsed = syntax::parse(&source, options);
    let mut errors = parsed.diagnostics.iter().filter(|it| it.is_error());
    if let Some(first) = errors.next() {
        let source = parsed.ast.source();
        let position = source.position(first.span.start);
        let place = SourceLocation {
            file: source.name().cloned(),
            line: position.line,
            column: position.column,
        };
        let mut error = EvalError::preformatted(first.code, first.message.clone(), place);
        error
            .hints
            .extend(first.label.iter().map(ToString::to_string));
        error
            .hints
            .extend(first.help.iter().map(ToString::to_string));
        for other in errors {
            let position = source.position(other.span.start);
            error.hints.push(format!(
                "also at line {}, column {}: {}",
                position.line, position.column, other.message
            ));
        }
        return Err(error.into());
    }
    lower::unit(Arc::new(parsed.ast), scope, stack)
}

/// True if a file contains nothing but its single definition.
pub(crate) fn is_only_a_definition(unit: &LoweredUnit) -> bool {
    unit.ast
        .body()
        .is_some_and(|body| matches!(unit.ast.expr(body), Expr::Definition(_)))
}
