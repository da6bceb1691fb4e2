//! The styles in which a text can be written: [`analyse`].

/// The styles that would be read as the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScalarAnalysis {
    pub(super) multiline: bool,
    pub(super) plain: bool,
    pub(super) single_quoted: bool,
    pub(super) block: bool,
}

/// Combinations of neighbouring characters, found character by character.
#[derive(Default)]
struct CharacterFindings {
    indicators: bool,
    breaks: bool,
    special: bool,
    blank_at_an_end: bool,
    trailing_blank: bool,
    break_then_blank: bool,
    blank_then_break: bool,
}

pub(super) fn analyse(text: &str) -> ScalarAnalysis {
    if text.is_empty() {
        return ScalarAnalysis {
            multiline: false,
            plain: true,
            single_quoted: true,
            block: false,
        };
    }
    let found = find(text);
    ScalarAnalysis {
        multiline: found.breaks,
        plain: !(found.blank_at_an_end
            || found.break_then_blank
            || found.blank_then_break
            || found.special
            || found.breaks
            || found.indicators),
        single_quoted: !(found.break_then_blank || found.blank_then_break || found.special),
        block: !(found.trailing_blank || found.blank_then_break || found.special),
    }
}

fn find(text: &str) -> CharacterFindings {
    let mut found = CharacterFindings {
        indicators: text.starts_with("---") || text.starts_with("..."),
        ..CharacterFindings::default()
    };
    let mut before: Option<char> = None;
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        let after = letters.peek().copied();
        found.indicators |= is_indicator(before, c, after);
        found.special |= !is_printable(c);
        let at_an_end = before.is_none() || after.is_none();
        if c == ' ' {
            found.blank_at_an_end |= at_an_end;
            found.trailing_blank |= after.is_none();
            found.break_then_blank |= before.is_some_and(is_break);
        } else if is_break(c) {
            found.breaks = true;
            found.blank_at_an_end |= at_an_end;
            found.blank_then_break |= before == Some(' ');
        }
        before = Some(c);
    }
    found
}

/// True if a character has a meaning of its own in plain text of a block.
fn is_indicator(before: Option<char>, c: char, after: Option<char>) -> bool {
    let is_before_blank = after.is_none_or(is_blank_or_break);
    match (before, c) {
        (
            None,
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
            | '@' | '`',
        ) => true,
        (None, '?' | '-') | (_, ':') => is_before_blank,
        (Some(before), '#') => is_blank_or_break(before),
        _ => false,
    }
}

/// True for line breaks. The last three are line breaks in YAML 1.1.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

pub(super) fn is_blank_or_break(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\0') || is_break(c)
}

/// True for characters that libyaml writes unescaped: none beyond the basic plane.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && c != '\u{feff}'
}
