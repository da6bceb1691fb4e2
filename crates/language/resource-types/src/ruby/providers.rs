//! The parameter `provider`, which Puppet adds to a type that has providers: [`has_provider`].
//!
//! Invariant: the answer is certain, or an error says why not.

use super::lexer::RubyFault;
use super::library::RubyLibrary;
use super::structure::RubyFile;
use super::token::RubyTokenKind;
use super::words::{DECLARING, find_name};
use crate::defaults::MAX_SEARCHED_FILES;

/// True if a file of the modules provides the type.
pub(super) fn has_provider(library: &dyn RubyLibrary, type_name: &str) -> Result<bool, RubyFault> {
    let mut found = false;
    let features = library.provider_features(type_name);
    if features.len() > MAX_SEARCHED_FILES {
        let reason = format!("the type has more than {MAX_SEARCHED_FILES} providers");
        return Err(RubyFault { line: 1, reason });
    }
    for feature in features {
        let Some(text) = library.read(&feature) else {
            continue;
        };
        let provided = provides(&text, type_name).map_err(|reason| RubyFault {
            line: 1,
            reason: format!("the provider {feature}.rb {reason}"),
        })?;
        found |= provided;
    }
    Ok(found)
}

fn provides(text: &str, type_name: &str) -> Result<bool, String> {
    if !text.contains("provide") && !DECLARING.iter().any(|it| text.contains(it)) {
        return Ok(false);
    }
    let file = RubyFile::parse(text)
        .map_err(|fault| format!("cannot be read: {} in line {}", fault.reason, fault.line))?;
    for token in file.all_tokens() {
        if let Some(name) = find_name(&file, token, DECLARING) {
            return Err(format!("uses `{name}`"));
        }
    }
    if let Some(name) = file.name_in_heredocs(DECLARING) {
        return Err(format!("contains `{name}` in a text with interpolations"));
    }
    let mut calls = 0;
    for statement in file.statements(file.all()) {
        calls += usize::from(is_provide_call(&file, statement, type_name));
    }
    let mentions = file
        .all()
        .filter(|index| file.is_identifier(*index, "provide"));
    match (calls, mentions.count()) {
        (_, 0) => Ok(false),
        (1.., _) => Ok(true),
        (0, _) => Err("calls `provide` in an unusual form".to_owned()),
    }
}

/// True for `Puppet::Type.type(:name).provide …`, without a condition at its end.
fn is_provide_call(
    file: &RubyFile<'_>,
    statement: std::ops::Range<usize>,
    type_name: &str,
) -> bool {
    let mut at = statement.start;
    if file.is_constant(at, "Puppet") && file.is_operator(at + 1, "::") {
        at += 2;
    }
    let is_type = file.is_constant(at, "Type")
        && file.is_operator(at + 1, ".")
        && file.is_identifier(at + 2, "type")
        && file.is_operator(at + 3, "(")
        && file.end_of(at + 3) == at + 5
        && file.is_operator(at + 6, ".")
        && file.is_identifier(at + 7, "provide");
    let is_named = match file.kind(at + 4) {
        Some(RubyTokenKind::Symbol(Some(name)) | RubyTokenKind::Text(Some(name))) => {
            name == type_name
        }
        _ => false,
    };
    is_type && is_named && !has_condition(file, at + 8..statement.end)
}

/// True if a keyword like `if` stands in a statement outside of its blocks.
fn has_condition(file: &RubyFile<'_>, range: std::ops::Range<usize>) -> bool {
    use super::token::Keyword::{If, Joint, Unless, Until, While};
    let mut at = range.start;
    while at < range.end {
        if let Some(RubyTokenKind::Keyword(If | Unless | While | Until | Joint)) = file.kind(at) {
            return true;
        }
        at = file.end_of(at).max(at) + 1;
    }
    false
}
