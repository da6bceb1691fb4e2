//! Hints about the likely intention: [`add_hints`].

use super::SourceParser;
use super::applications::APPLICATION_WORDS;
use crate::SourceSpan;
use crate::diagnostic::Diagnostic;
use crate::token::{KEYWORDS, SyntaxToken, TASK_KEYWORDS, TokenKind};

/// Looks for hints around the token that is not allowed here.
pub(super) fn add_hints(parser: &SourceParser<'_>, fault: Diagnostic) -> Diagnostic {
    let fault = brackets(parser, fault);
    let before = parser.at.checked_sub(1).map(|at| parser.tokens[at]);
    if parser.kind() == TokenKind::Other {
        let character = parser.source.slice(parser.span()).escape_debug();
        let help = format!("the character `{character}` means nothing here");
        return fault.with_help(help);
    }
    let hint = misspelt_keyword(parser)
        .or_else(|| braces_after_return(parser))
        .or_else(|| regex_after_name(parser))
        .or_else(|| removed_keyword(parser))
        .or_else(|| else_if(parser, before));
    match hint {
        Some(hint) => fault.with_help(hint),
        None => missing_comma(parser, before, fault),
    }
}

/// Adds the position of the innermost open bracket, if the input ends or another bracket closes.
fn brackets(parser: &SourceParser<'_>, fault: Diagnostic) -> Diagnostic {
    let closer = matches!(
        parser.kind(),
        TokenKind::End | TokenKind::RBrace | TokenKind::RParen | TokenKind::RBracket
    );
    let Some(opened) = parser.open.last().map(|at| parser.tokens[*at]) else {
        return match parser.kind() {
            TokenKind::RBrace | TokenKind::RParen | TokenKind::RBracket => {
                fault.with_help("there is no open bracket that this one closes")
            }
            _ => fault,
        };
    };
    let fits = matches!(
        (opened.kind, parser.kind()),
        (TokenKind::LBrace | TokenKind::SelBrace, TokenKind::RBrace)
            | (TokenKind::LParen | TokenKind::WsLParen, TokenKind::RParen)
            | (
                TokenKind::LBracket | TokenKind::ListStart,
                TokenKind::RBracket
            )
    );
    if closer && !fits {
        fault.with_label(opened.span, "opened here, and not closed")
    } else {
        fault
    }
}

/// `esle {`: a word at the fault, or before the brace around it, that resembles a keyword.
fn misspelt_keyword(parser: &SourceParser<'_>) -> Option<String> {
    let here = parser.at.saturating_sub(2)..parser.at + 1;
    let before_brace = parser.open.last().and_then(|at| at.checked_sub(1));
    here.rev().chain(before_brace).find_map(|at| {
        let token = parser.tokens[at];
        let word = (token.kind == TokenKind::Name)
            .then_some(token.value)
            .flatten()?;
        let word = parser.interner.text(word);
        let applications = APPLICATION_WORDS.iter().copied();
        let keyword = KEYWORDS
            .iter()
            .chain(TASK_KEYWORDS)
            .map(|(keyword, _)| *keyword)
            .chain(applications.filter(|_| parser.applications))
            .find(|keyword| keyword.len() > 3 && one_slip(word, keyword))?;
        Some(format!("did you mean `{keyword}` instead of `{word}`?"))
    })
}

/// True for one letter too many, missing or wrong, or two neighbours swapped.
fn one_slip(word: &str, keyword: &str) -> bool {
    let (word, keyword) = (word.as_bytes(), keyword.as_bytes());
    if word == keyword {
        return false;
    }
    let front = word.iter().zip(keyword).take_while(|(a, b)| a == b).count();
    let (word, keyword) = (&word[front..], &keyword[front..]);
    let ends = |word: &[u8], keyword: &[u8]| word == keyword;
    match (word, keyword) {
        ([a, b, rest @ ..], [c, d, tail @ ..]) if a == d && b == c => rest == tail,
        ([_, rest @ ..], [_, tail @ ..]) if rest == tail => true,
        ([_, rest @ ..], _) if ends(rest, keyword) => true,
        (_, [_, tail @ ..]) => ends(word, tail),
        _ => false,
    }
}

/// `return { 'a' => 1 }`
fn braces_after_return(parser: &SourceParser<'_>) -> Option<String> {
    if parser.kind() != TokenKind::Farrow {
        return None;
    }
    let brace = *parser.open.last()?;
    let name = parser.tokens[brace.checked_sub(1)?];
    if parser.tokens[brace].kind != TokenKind::LBrace || name.kind != TokenKind::Name {
        return None;
    }
    let name = parser.interner.text(name.value?);
    Some(format!(
        "`{name} {{` begins a resource; to give a hash to a function write `{name}({{ … }})`"
    ))
}

/// `return /x/`: after a name `/` divides.
fn regex_after_name(parser: &SourceParser<'_>) -> Option<String> {
    let from = parser.at.saturating_sub(8);
    let tokens = &parser.tokens[from..=parser.at];
    let name = tokens.windows(2).find(|pair| {
        pair[0].kind == TokenKind::Name
            && pair[1].kind == TokenKind::Div
            && pair[0].span.end < pair[1].span.start
    })?;
    let name = parser.interner.text(name[0].value?);
    Some(format!(
        "after a name `/` divides; to give a regular expression to a function write `{name}(/…/)`"
    ))
}

/// Words of applications at the start of a construct, in an environment that has none.
fn removed_keyword(parser: &SourceParser<'_>) -> Option<String> {
    if parser.applications {
        return None;
    }
    let from = parser.at.saturating_sub(8);
    let pairs = parser.tokens[from..=parser.at].windows(2);
    pairs
        .filter(|pair| {
            matches!(
                pair[1].kind,
                TokenKind::LBrace | TokenKind::Name | TokenKind::ClassRef | TokenKind::DqPre
            )
        })
        .find_map(|pair| {
            let word = (pair[0].kind == TokenKind::Name)
                .then_some(pair[0].value)
                .flatten()?;
            let word = parser.interner.text(word);
            is_removed(word).then(|| removed_word(word))
        })
}

fn is_removed(word: &str) -> bool {
    matches!(word, "application" | "site" | "produces" | "consumes")
}

/// The hint about a word that applications need.
pub(crate) fn removed_word(word: &str) -> String {
    format!(
        "`{word}` belongs to application orchestration, which Puppet 7 removed: to use it, write \
         `applications = true` in `environment.conf`"
    )
}

/// The same for a value that begins at `start`, if such a word is before it: `application foo($a) { }`.
pub(super) fn removed_keyword_before(parser: &SourceParser<'_>, start: u32) -> Option<String> {
    let tokens = &parser.tokens[..parser.at];
    let index = tokens.partition_point(|token| token.span.start < start);
    let token = tokens.get(index.checked_sub(1)?)?;
    let word = (token.kind == TokenKind::Name).then_some(token.value)??;
    let word = parser.interner.text(word);
    is_removed(word).then(|| removed_word(word))
}

fn else_if(parser: &SourceParser<'_>, before: Option<SyntaxToken>) -> Option<String> {
    let else_if =
        parser.kind() == TokenKind::If && before.is_some_and(|last| last.kind == TokenKind::Else);
    else_if.then(|| "write `elsif`".to_owned())
}

/// A value where a list continues: a comma is missing, or the end of the list.
fn missing_comma(
    parser: &SourceParser<'_>,
    before: Option<SyntaxToken>,
    fault: Diagnostic,
) -> Diagnostic {
    let (Some(before), Some(open)) = (before, parser.open.last()) else {
        return fault;
    };
    let open = parser.tokens[*open];
    let value_before = before.kind.ends_operand()
        || matches!(
            before.kind,
            TokenKind::RBrace | TokenKind::Undef | TokenKind::Default
        );
    let value = matches!(
        parser.kind(),
        TokenKind::Name
            | TokenKind::Word
            | TokenKind::String
            | TokenKind::DqPre
            | TokenKind::Variable
            | TokenKind::Number
            | TokenKind::ClassRef
            | TokenKind::True
            | TokenKind::False
            | TokenKind::Undef
    );
    let next_entry = parser.kind_after() == TokenKind::Farrow
        || parser.kind() == TokenKind::Variable
        || open.kind != TokenKind::LBrace;
    if !value_before || !value || !next_entry || open.kind == TokenKind::DqPre {
        return fault;
    }
    let end = SourceSpan::new(before.span.end, before.span.end);
    let fault = fault.with_label(end, "is a comma missing here?");
    if parser.first_on_line() && open.kind != TokenKind::LBrace {
        return fault.with_label(open.span, "this is still open");
    }
    fault
}
