//! Splits a command line that is being typed into words. Main function: [`split`].
//!
//! Invariant: split as shells do, with open quotes allowed; nothing of it is ever run.

/// The words of a line; the last one is being typed, and is empty after a blank.
pub(super) fn split(line: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let (mut is_begun, mut quote) = (false, None);
    let mut letters = line.chars();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '\\') | (None, '\\') => {
                is_begun = true;
                word.extend(letters.next());
            }
            (None, '\'' | '"') => {
                is_begun = true;
                quote = Some(c);
            }
            (None, c) if c.is_whitespace() => {
                if is_begun {
                    words.push(std::mem::take(&mut word));
                }
                is_begun = false;
            }
            (_, c) => {
                is_begun = true;
                word.push(c);
            }
        }
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_line_is_split_as_a_shell_does() {
        for (line, expected) in [
            ("", &[""][..]),
            ("tutti", &["tutti"]),
            ("tutti task ", &["tutti", "task", ""]),
            (
                "tutti  task run a=b,c::d",
                &["tutti", "task", "run", "a=b,c::d"],
            ),
            (r#"x 'a b' "c \" d" e\ f"#, &["x", "a b", "c \" d", "e f"]),
            ("x 'open and", &["x", "open and"]),
            ("x \"\"", &["x", ""]),
            ("x \\", &["x", ""]),
        ] {
            assert_eq!(split(line), expected, "{line}");
        }
    }
}
