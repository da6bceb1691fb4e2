//! Invariants for fuzzing and property tests with arbitrary text: no panic; matches are inside the
//! text and at character boundaries.

use ruby_regex::{Regex, RegexFlags};

/// Length of the longest searched text; exponential patterns are bounded, but slow.
const SUBJECT_CHARS: usize = 40;

/// The first line of the data is a pattern, the rest a text.
pub(crate) fn pattern_and_text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (pattern, subject) = text.split_once('\n').unwrap_or((&text, "abc aab"));
    let subject: String = subject.chars().take(SUBJECT_CHARS).collect();
    let flags = RegexFlags {
        extended: data.len() % 5 == 1,
        ignore_case: data.len() % 3 == 1,
        multiline: data.len() % 2 == 1,
    };
    let Ok(regex) = Regex::with_flags(pattern, flags) else {
        return;
    };
    let mut from = 0;
    for found in regex.matches(&subject).take(100) {
        let Ok(found) = found else { return };
        let whole = found.span(0).expect("the whole match is there");
        assert!(whole.start <= whole.end && whole.end <= subject.len());
        assert!(whole.end >= from, "the search goes on");
        from = whole.end;
        for group in 0..found.len() {
            if let Some(span) = found.span(group) {
                assert!(subject.get(span).is_some());
            }
        }
    }
    let _ = regex.replace(&subject, r"<\0\1\k<a>>", true);
    let _ = regex.split(&subject);
    let _ = regex.inspect();
}
