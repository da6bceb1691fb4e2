//! Findings of the rules of names and prose in a crate: [`Findings`].

use std::path::Path;

use super::rust_source::RustSource;

/// Number of words that the documentation of a public item must exceed.
const EMPTY_DOCUMENTATION_WORDS: usize = 3;

/// Words that open a question instead of naming a subject.
const QUESTION_WORDS: &[&str] = &["What", "Who", "Whether", "How", "Why", "Where", "When"];

/// Pronouns that leave open which program or person is meant.
const PRONOUNS: &[&str] = &[
    "he", "his", "him", "himself", "somebody", "someone", "nobody", "anybody", "anyone", "whoever",
];

/// A violation of a rule, with its place.
#[derive(Debug)]
struct Finding {
    place: String,
    message: String,
}

#[derive(Debug, Default)]
pub(super) struct Findings {
    comment_lines: usize,
    empty_documentation: Vec<Finding>,
    question_openings: Vec<Finding>,
    pronouns: Vec<Finding>,
}

impl Findings {
    pub(super) fn examine(&mut self, file: &Path, source: &RustSource) {
        self.comment_lines += source.comments.len();
        for comment in &source.comments {
            self.examine_pronouns(file, comment.line, &comment.text);
            if !comment.continues
                && let Some(word) = question_word(&comment.text)
            {
                self.question_openings.push(finding(
                    file,
                    comment.line,
                    format!("a comment opens with \"{word}\": {}", comment.text),
                ));
            }
        }
        let is_listed = |text: &str| PRONOUNS.contains(&text);
        for literal in source.literals.iter().filter(|it| !is_listed(&it.text)) {
            self.examine_pronouns(file, literal.line, &literal.text);
        }
        for item in &source.items {
            let Some(documentation) = &item.documentation else {
                continue;
            };
            if documentation.split_whitespace().count() <= EMPTY_DOCUMENTATION_WORDS {
                self.empty_documentation.push(finding(
                    file,
                    item.line,
                    format!("documentation says nothing beyond the name: {documentation}"),
                ));
            }
        }
    }

    /// Examines the sentences of a document, but not its code.
    pub(super) fn examine_prose(&mut self, file: &Path, text: &str) {
        let mut in_code = false;
        for (index, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            } else if !in_code {
                self.examine_pronouns(file, index + 1, line);
            }
        }
    }

    /// Drops the findings about question openings if there are at most `per_1000` per 1,000 lines.
    pub(super) fn limit_question_openings(&mut self, per_1000: usize) {
        if self.question_openings.len() * 1000 <= per_1000 * self.comment_lines {
            self.question_openings.clear();
        }
    }

    pub(super) fn figures(&self) -> String {
        format!(
            "{:5} comment lines, {:4} question openings, {:4} empty documentation, {:4} pronouns",
            self.comment_lines,
            self.question_openings.len(),
            self.empty_documentation.len(),
            self.pronouns.len()
        )
    }

    /// Prints every finding; returns their number.
    pub(super) fn print(&self) -> usize {
        let all = [
            &self.empty_documentation,
            &self.question_openings,
            &self.pronouns,
        ];
        for finding in all.into_iter().flatten() {
            println!("{}: {}", finding.place, finding.message);
        }
        all.iter().map(|findings| findings.len()).sum()
    }

    fn examine_pronouns(&mut self, file: &Path, line: usize, text: &str) {
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'') {
            let word = word
                .trim_matches('\'')
                .trim_end_matches("'s")
                .to_lowercase();
            if PRONOUNS.contains(&word.as_str()) {
                self.pronouns.push(finding(
                    file,
                    line,
                    format!("\"{word}\": name the user or the program: {}", text.trim()),
                ));
            }
        }
    }
}

fn question_word(text: &str) -> Option<&'static str> {
    let first = text.split(|c: char| !c.is_alphanumeric()).next()?;
    QUESTION_WORDS.iter().copied().find(|word| *word == first)
}

fn finding(file: &Path, line: usize, message: String) -> Finding {
    Finding {
        place: format!("{}:{line}", file.display()),
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Findings {
        let mut findings = Findings::default();
        findings.examine(Path::new("a.rs"), &RustSource::read(text));
        findings
    }

    fn counts(findings: &Findings) -> (usize, usize, usize) {
        (
            findings.empty_documentation.len(),
            findings.question_openings.len(),
            findings.pronouns.len(),
        )
    }

    #[test]
    fn empty_documentation_questions_and_pronouns_are_found() {
        assert_eq!(counts(&of("/// Where.\npub scope: Scope,\n")), (1, 1, 0));
        assert_eq!(
            counts(&of("/// The nodes that he chose.\npub scope: Scope,\n")),
            (0, 0, 1)
        );
        assert_eq!(
            counts(&of("fn f() { bail!(\"nobody's turn\") }\n")),
            (0, 0, 1)
        );
        let plain = "/// The nodes to run on, before groups are resolved.\n/// When empty, all nodes.\npub scope: Scope,\n";
        assert_eq!(counts(&of(plain)), (0, 0, 0));
    }

    #[test]
    fn a_few_question_openings_are_allowed() {
        let mut findings = of(&format!(
            "// When a job ends.\n\n{}",
            "// A line.\n".repeat(99)
        ));
        findings.limit_question_openings(15);
        assert_eq!(counts(&findings), (0, 0, 0));
        let mut findings = of(&format!(
            "// When a job ends.\n\n{}",
            "// A line.\n".repeat(9)
        ));
        findings.limit_question_openings(15);
        assert_eq!(counts(&findings), (0, 1, 0));
    }

    #[test]
    fn documents_are_examined_outside_their_code() {
        let mut findings = Findings::default();
        findings.examine_prose(Path::new("a.md"), "Somebody asks.\n```\nhe\n```\n");
        assert_eq!(counts(&findings), (0, 0, 1));
    }
}
