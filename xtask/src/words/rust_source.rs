//! The comments, texts and public items of a Rust file: [`RustSource`].
//!
//! Invariant: only the parts that the rules of words need are distinguished. For these rules, a
//! file ends at its first `#[cfg(test)]` at the start of a line.

/// A comment line, without its slashes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommentLine {
    /// Line in the file, counted from 1.
    pub line: usize,
    pub text: String,
    /// True if the line before belongs to the same comment.
    pub continues: bool,
}

/// A string literal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Literal {
    /// Line of the opening quote, counted from 1.
    pub line: usize,
    pub text: String,
}

/// A public item with the words of its documentation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PublicItem {
    /// Line of the declaration in the file, counted from 1.
    pub line: usize,
    /// The first line of the item.
    pub declaration: String,
    /// `None` if the item has no documentation of its own.
    pub documentation: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct RustSource {
    pub comments: Vec<CommentLine>,
    pub literals: Vec<Literal>,
    pub items: Vec<PublicItem>,
}

impl RustSource {
    pub(super) fn read(text: &str) -> Self {
        let text = text
            .find("\n#[cfg(test)]")
            .map_or(text, |end| &text[..=end]);
        let mut source = Self::default();
        source.read_lines(text);
        source.read_literals(text);
        source
    }

    /// Names of the public structs, enums, traits and type aliases.
    pub(super) fn public_types(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(|item| {
            let mut words = item.declaration.strip_prefix("pub ")?.split_whitespace();
            let kind = words.next()?;
            let name = words.next()?;
            ["struct", "enum", "trait", "type"]
                .contains(&kind)
                .then(|| {
                    name.split(|c: char| !c.is_alphanumeric() && c != '_')
                        .next()
                })
                .flatten()
        })
    }

    fn read_lines(&mut self, text: &str) {
        let mut documentation: Vec<&str> = Vec::new();
        let mut continues = false;
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            let line = line.trim();
            if let Some(comment) = line.strip_prefix("//") {
                let is_documentation = comment.starts_with('/');
                let comment = comment.trim_start_matches(['/', '!']).trim();
                self.comments.push(CommentLine {
                    line: line_number,
                    text: comment.to_owned(),
                    continues,
                });
                continues = true;
                if is_documentation {
                    documentation.push(comment);
                }
                continue;
            }
            continues = false;
            if line.starts_with("#[") {
                // The help of an option may have any length.
                if line.starts_with("#[arg") {
                    documentation.clear();
                }
                continue;
            }
            if line.starts_with("pub ") {
                self.items.push(PublicItem {
                    line: line_number,
                    declaration: line.to_owned(),
                    documentation: (!documentation.is_empty()).then(|| documentation.join(" ")),
                });
            }
            documentation.clear();
        }
    }

    /// Finds string literals, skipping comments, characters and lifetimes.
    fn read_literals(&mut self, text: &str) {
        let mut rest = text;
        let mut line = 1;
        while let Some(first) = rest.chars().next() {
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if let Some((open, close)) = raw_quotes(rest) {
                let inner = &rest[open..];
                let end = inner.find(&close).unwrap_or(inner.len());
                self.literals.push(Literal {
                    line,
                    text: inner[..end].to_owned(),
                });
                (open + end + close.len()).min(rest.len())
            } else if first == '"' {
                let end = quoted_length(rest);
                self.literals.push(Literal {
                    line,
                    text: rest[1..end - 1].to_owned(),
                });
                end
            } else if first == '\'' {
                character_length(rest)
            } else {
                first.len_utf8()
            };
            line += rest[..length].matches('\n').count();
            rest = &rest[length..];
        }
    }
}

/// The length of the opening of a raw string, and its closing delimiter.
fn raw_quotes(rest: &str) -> Option<(usize, String)> {
    let hashes = rest.strip_prefix('r')?;
    let count = hashes.chars().take_while(|c| *c == '#').count();
    hashes[count..]
        .starts_with('"')
        .then(|| (count + 2, format!("\"{}", "#".repeat(count))))
}

/// The length of a string with its quotes; an unterminated one ends with the file.
fn quoted_length(rest: &str) -> usize {
    let mut escaped = false;
    for (index, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return index + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a character literal, or of the quote alone if it begins a lifetime.
fn character_length(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match characters.next() {
        Some((_, '\\')) => rest[2..]
            .char_indices()
            .skip(1)
            .find(|(_, c)| *c == '\'')
            .map_or(1, |(index, _)| index + 3),
        Some(_) => match characters.next() {
            Some((index, '\'')) => index + 1,
            _ => 1,
        },
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_told_from_comments_characters_and_lifetimes() {
        let text = "// \"no\"\nfn f<'a>(c: &'a str) { let q = '\"'; let e = '\\''; g(\"yes \\\" he\", r#\"raw \"him\"\"#); }\n";
        let source = RustSource::read(text);
        let texts: Vec<_> = source
            .literals
            .iter()
            .map(|l| (l.line, l.text.as_str()))
            .collect();
        assert_eq!(texts, [(2, "yes \\\" he"), (2, "raw \"him\"")]);
    }

    #[test]
    fn documentation_belongs_to_the_item_below_its_attributes() {
        let text = "/// A queue\n/// of jobs.\n#[derive(Debug)]\npub struct Queue;\npub(crate) struct Own;\npub enum Bare {}\n";
        let source = RustSource::read(text);
        let items: Vec<_> = source
            .items
            .iter()
            .map(|i| (i.line, i.documentation.as_deref()))
            .collect();
        assert_eq!(items, [(4, Some("A queue of jobs.")), (6, None)]);
        assert_eq!(source.public_types().collect::<Vec<_>>(), ["Queue", "Bare"]);
    }

    #[test]
    fn tests_at_the_end_are_left_out() {
        let source = RustSource::read("// one\n\n#[cfg(test)]\nmod tests { // two\n}\n");
        assert_eq!(source.comments.len(), 1);
    }
}
