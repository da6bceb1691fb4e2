//! Regular expressions of `Pattern[…]`, as Ruby reads them as far as the `regex` crate can.

use crate::defaults::MAX_REGEX_BYTES;

/// A compiled expression that remembers how it was written.
#[derive(Clone, Debug)]
pub struct Regex {
    source: String,
    compiled: regex::Regex,
}

impl Regex {
    /// Compiles what stands between the slashes. The error is one line for people.
    pub(crate) fn new(source: &str) -> Result<Self, String> {
        regex::RegexBuilder::new(&to_rust(source))
            .multi_line(true)
            .size_limit(MAX_REGEX_BYTES)
            .build()
            .map(|compiled| Self {
                source: source.to_owned(),
                compiled,
            })
            .map_err(|error| explain(&error))
    }

    /// What stands between the slashes.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Whether it is found anywhere in `text`.
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled.is_match(text)
    }
}

impl PartialEq for Regex {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

/// Ruby's `\Z` is the end, or just before a final line feed; `\/` is a slash. The crate has neither.
fn to_rust(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut chars = source.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('Z')) => out.push_str(r"(?:\n?\z)"),
            ('\\', Some('/')) => out.push('/'),
            ('\\', Some(escaped)) => out.extend(['\\', escaped]),
            (plain, _) => out.push(plain),
        }
    }
    out
}

fn explain(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => {
            format!("the regular expression needs more than {MAX_REGEX_BYTES} bytes of memory")
        }
        // The last line of a syntax error is the cause; those before draw a picture.
        other => {
            let text = other.to_string();
            let cause = text.lines().last().unwrap_or_default();
            let cause = cause.trim().trim_start_matches("error: ");
            format!("the regular expression is not supported: {cause}")
        }
    }
}
