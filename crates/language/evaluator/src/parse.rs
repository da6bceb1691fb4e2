//! Parsing of texts to units. Main method: [`ParseCache::parse_file`].
//!
//! Invariant: a text with a syntax error has no unit.

use std::sync::Arc;

use syntax::ast::{Ast, Expr, ExprId};
use syntax::{Diagnostic, ModuleLocation, ParsedSource, SourceText};

use crate::budget::StackBudget;
use crate::code::LoweredUnit;
use crate::code_source::SourceFile;
use crate::error::{EvalError, EvalResult, SourceLocation, raise};
use crate::lower;
use crate::parse_cache::ParseCache;
use crate::shared_units::UnitIdentity;
use crate::source_language::{FileScope, SourceLanguage};

/// Puppet's message for a text that ends too early, which has no line.
const END_OF_INPUT: &str = "Syntax error at end of input";

impl ParseCache {
    /// Parses a file to a unit, or returns the unit that it has already. `location` is the file's
    /// place in its module, which decides the names that a manifest may define.
    pub(crate) fn parse_file(
        &self,
        file: &SourceFile,
        language: SourceLanguage,
        location: Option<&ModuleLocation>,
        stack: StackBudget,
    ) -> EvalResult<Arc<LoweredUnit>> {
        if let Some(kept) = self.find(file, language) {
            return Ok(kept);
        }
        let Ok(text) = std::str::from_utf8(&file.bytes) else {
            return raise(encoding_message(file));
        };
        let location = location.filter(|_| language == SourceLanguage::Manifest);
        let applications = self.applications && language == SourceLanguage::Manifest;
        let identity = UnitIdentity::new(text, (language, applications), location);
        let known = self.shared.as_ref().and_then(|it| it.find(&identity));
        let unit = match known {
            Some(code) => LoweredUnit::with_shared_code(code, &file.path),
            None => {
                let source = Arc::new(SourceText::new(Some(&file.path), text));
                let scope = language.file_scope();
                let unit = source_unit(&source, (language, scope, applications), location, stack)?;
                if let Some(shared) = &self.shared {
                    shared.insert(identity, unit.shared_code());
                }
                unit
            }
        };
        self.insert(file, language, &unit);
        Ok(unit)
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
    source_unit(&source, (language, scope, false), None, stack)
}

fn source_unit(
    source: &Arc<SourceText>,
    (language, scope, applications): (SourceLanguage, FileScope, bool),
    location: Option<&ModuleLocation>,
    stack: StackBudget,
) -> EvalResult<Arc<LoweredUnit>> {
    let options = syntax::SyntaxOptions {
        epp: matches!(
            language,
            SourceLanguage::CatalogTemplate | SourceLanguage::Template
        ),
        tasks: matches!(language, SourceLanguage::Plan | SourceLanguage::Template),
        applications,
    };
    let parsed = syntax::parse_at(source, options, location);
    match source_error(source, language, &parsed) {
        None => lower::unit(Arc::new(parsed.ast), scope, stack),
        Some(error) => Err(error.into()),
    }
}

/// Parses a text, and lowers those of its statements that begin at these bytes: they are an `apply` block of
/// a plan, or all statements of the text. `None` if the text has no such statements.
pub(crate) fn statements_unit(
    source: &Arc<SourceText>,
    offsets: &[u32],
    stack: StackBudget,
) -> EvalResult<Option<Arc<LoweredUnit>>> {
    // only one of the two trees of the text is in memory
    let error_of_plan = match parse_without_errors(source, SourceLanguage::Plan) {
        Ok(ast) => match apply_with_statements(&ast, offsets) {
            Some(apply) => return lower::apply_block(ast, apply, stack).map(Some),
            None => None,
        },
        Err(error) => Some(error),
    };
    match (
        parse_without_errors(source, SourceLanguage::Manifest),
        error_of_plan,
    ) {
        (Ok(ast), _) if begin_at(&ast, ast.body(), offsets) => {
            lower::unit(ast, FileScope::Top, stack).map(Some)
        }
        (Err(_), Some(error)) => Err(error.into()),
        _ => Ok(None),
    }
}

fn parse_without_errors(
    source: &Arc<SourceText>,
    language: SourceLanguage,
) -> Result<Arc<Ast>, EvalError> {
    let options = syntax::SyntaxOptions {
        epp: false,
        tasks: language == SourceLanguage::Plan,
        applications: false,
    };
    let parsed = syntax::parse(source, options);
    match source_error(source, language, &parsed) {
        None => Ok(Arc::new(parsed.ast)),
        Some(error) => Err(error),
    }
}

/// The `apply` expression whose statements begin at these bytes.
fn apply_with_statements(ast: &Ast, offsets: &[u32]) -> Option<ExprId> {
    ast.ids().find(|id| match ast.expr(*id) {
        Expr::Apply { body, .. } => begin_at(ast, body, offsets),
        _ => false,
    })
}

/// True if a body has statements at these bytes, and no other ones.
fn begin_at(ast: &Ast, body: Option<ExprId>, offsets: &[u32]) -> bool {
    let statements = ast.statements(body);
    let starts = statements.iter().map(|id| ast.span(*id).start);
    !offsets.is_empty() && starts.eq(offsets.iter().copied())
}

/// The error of a manifest that was parsed, as a compilation gives it; `None` if it has none.
#[must_use]
pub fn manifest_error(source: &SourceText, parsed: &ParsedSource) -> Option<EvalError> {
    source_error(source, SourceLanguage::Manifest, parsed)
}

fn source_error(
    source: &SourceText,
    language: SourceLanguage,
    parsed: &ParsedSource,
) -> Option<EvalError> {
    let errors = parsed.diagnostics.iter().filter(|it| it.is_error());
    let errors: Vec<&Diagnostic> = errors.collect();
    if errors.is_empty() {
        return None;
    }
    let is_counted =
        language == SourceLanguage::Manifest && parsed.is_grammatical && errors.len() > 1;
    Some(parse_error(source, language, is_counted, &errors))
}

/// The error for a text with mistakes. It shows the first one; several mistakes of a manifest that
/// are no syntax errors are counted, as Puppet does, and named in the hints.
#[cold]
fn parse_error(
    source: &SourceText,
    language: SourceLanguage,
    is_counted: bool,
    errors: &[&Diagnostic],
) -> EvalError {
    let first = errors[0];
    let position = source.position(first.span.start);
    let mut place = SourceLocation {
        file: source.name().cloned(),
        line: position.line,
        column: position.column,
    };
    let shown = if is_counted {
        (place.line, place.column) = (0, 0);
        let text = format!(
            "Language validation logged {} errors. Giving up",
            errors.len()
        );
        EvalError::preformatted("ILLEGAL_PROGRAM", text, place)
    } else {
        if language == SourceLanguage::Manifest && first.message == END_OF_INPUT {
            (place.line, place.column) = (0, 0);
        }
        EvalError::preformatted(first.code, first.message.clone(), place)
    };
    let mut error = shown;
    error
        .hints
        .extend(first.label.iter().map(ToString::to_string));
    error
        .hints
        .extend(first.help.iter().map(ToString::to_string));
    let others = if is_counted { errors } else { &errors[1..] };
    for other in others {
        let position = source.position(other.span.start);
        error.hints.push(format!(
            "{}at line {}, column {}: {}",
            if is_counted { "" } else { "also " },
            position.line,
            position.column,
            other.message
        ));
    }
    error
}
