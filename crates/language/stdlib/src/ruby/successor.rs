//! `String#succ`, and ranges of texts: [`successor`], [`upto`].

use std::ops::ControlFlow;

/// The next text: its last letter or digit is incremented, and carries to the one before.
pub(crate) fn successor(text: &str) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    if letters.is_empty() {
        return String::new();
    }
    let mut last: Option<usize> = None;
    for at in (0..letters.len()).rev() {
        let c = letters[at];
        if !c.is_ascii_alphanumeric() {
            continue;
        }
        if let Some(last) = last
            && last - at > 1
            && c.is_ascii_digit() != letters[last].is_ascii_digit()
        {
            // across signs, a carry goes only to a character of the same kind
            break;
        }
        last = Some(at);
        let (next, carries) = next(c);
        letters[at] = next;
        if !carries {
            return letters.into_iter().collect();
        }
    }
    match last {
        Some(at) => {
            // all letters wrapped around: prepend one of the first's kind
            let first = match letters[at] {
                '0' => '1',
                other => other,
            };
            letters.insert(at, first);
        }
        None => return without_letters(letters),
    }
    letters.into_iter().collect()
}

fn next(c: char) -> (char, bool) {
    match c {
        'z' => ('a', true),
        'Z' => ('A', true),
        '9' => ('0', true),
        _ => (char::from_u32(u32::from(c) + 1).unwrap_or(c), false),
    }
}

fn without_letters(mut letters: Vec<char>) -> String {
    if let Some(last) = letters.last_mut() {
        *last = char::from_u32(u32::from(*last) + 1).unwrap_or(*last);
    }
    letters.into_iter().collect()
}

/// Calls `each` for the texts from one to another, until it stops the iteration.
pub(crate) fn upto(
    from: &str,
    to: &str,
    excludes_end: bool,
    mut each: impl FnMut(&str) -> ControlFlow<()>,
) {
    if let ([a], [b]) = (from.as_bytes(), to.as_bytes())
        && a.is_ascii()
        && b.is_ascii()
    {
        let codes = *a..=*b;
        for code in codes.filter(|code| !(excludes_end && code == b)) {
            if each(&char::from(code).to_string()).is_break() {
                return;
            }
        }
        return;
    }
    if from > to || (excludes_end && from == to) {
        return;
    }
    let after_end = successor(to);
    let mut current = from.to_owned();
    while current != after_end {
        let is_end = current == to;
        if each(&current).is_break() || (!excludes_end && is_end) {
            return;
        }
        current = successor(&current);
        if (excludes_end && current == to) || current.len() > to.len() || current.is_empty() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_go_on_as_in_ruby() {
        let pairs = [
            ("a", "b"),
            ("az", "ba"),
            ("zz", "aaa"),
            ("a9", "b0"),
            ("Zz", "AAa"),
            ("1.9", "2.0"),
            ("a-9", "a-10"),
            ("-9", "-10"),
            ("9", "10"),
            ("***", "**+"),
            ("1.9.9", "2.0.0"),
            ("", ""),
            ("host9", "hosu0"),
            ("web-01", "web-02"),
            ("<<koala>>", "<<koalb>>"),
        ];
        for (text, next) in pairs {
            assert_eq!(successor(text), next, "after {text}");
        }
    }

    #[test]
    fn ranges_end_where_ruby_ends_them() {
        let all = |from: &str, to: &str, excludes_end| {
            let mut texts = Vec::new();
            upto(from, to, excludes_end, |text| {
                texts.push(text.to_owned());
                ControlFlow::Continue(())
            });
            texts.join(" ")
        };
        assert_eq!(all("a", "e", false), "a b c d e");
        assert_eq!(all("a", "e", true), "a b c d");
        assert_eq!(
            all("host08", "host11", false),
            "host08 host09 host10 host11"
        );
        assert_eq!(all("c", "a", false), "");
        assert_eq!(all("y", "ab", false), "");
        assert_eq!(all("aa", "ac", true), "aa ab");
    }
}
