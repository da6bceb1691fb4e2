//! A whole diagnosis, as text and as JSON: [`Report`].
//!
//! Invariant: text of other programs and files reaches the terminal without control characters.

use serde::Serialize;

use crate::finding::{Finding, Severity};

/// Exit code of a diagnosis with problems. 1 and 2 already stand for failed nodes and wrong usage.
pub const EXIT_PROBLEMS: u8 = 3;

/// Gap between two columns of the table.
const GAP: &str = "  ";

/// Colour of the words in the first column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Colours by escape sequences of a terminal.
    Ansi,
    /// Text without escape sequences.
    Plain,
}

/// All findings of one diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// One line that names the subject of the diagnosis and the user that runs it.
    pub subject: String,
    /// The findings, in the order of the checks.
    pub findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Document<'r> {
    subject: &'r str,
    ok: usize,
    notes: usize,
    problems: usize,
    findings: &'r [Finding],
}

// === impl Report ===

impl Report {
    /// 0, or [`EXIT_PROBLEMS`] if there is a problem.
    pub fn exit_code(&self) -> u8 {
        match self.count(Severity::Problem) {
            0 => 0,
            _ => EXIT_PROBLEMS,
        }
    }

    fn count(&self, severity: Severity) -> usize {
        let of_it = self.findings.iter().filter(|it| it.severity == severity);
        of_it.count()
    }

    /// One line for each finding, its remedy below it, and a summary at the end.
    pub fn text(&self, paint: Paint) -> String {
        let width = |words: &mut dyn Iterator<Item = &str>| words.map(str::len).max().unwrap_or(0);
        let severities = width(&mut self.findings.iter().map(|it| it.severity.word()));
        let checks = width(&mut self.findings.iter().map(|it| it.check));
        let indent = " ".repeat(severities + checks + 2 * GAP.len());
        let mut lines = vec![harmless(&self.subject), String::new()];
        for finding in &self.findings {
            let severity = format!("{:severities$}", finding.severity.word());
            let check = format!("{:checks$}", finding.check);
            let (place, cause) = (harmless(&finding.place), harmless(&finding.cause));
            let severity = painted(finding.severity, &severity, paint);
            lines.push(format!("{severity}{GAP}{check}{GAP}{place}: {cause}"));
            if let Some(remedy) = &finding.remedy {
                lines.push(format!("{indent}→ {}", harmless(remedy)));
            }
        }
        lines.push(String::new());
        lines.push(self.sum());
        lines.join("\n")
    }

    fn sum(&self) -> String {
        let counted = |count: usize, noun: &str| match count {
            0 => format!("no {noun}s"),
            1 => format!("1 {noun}"),
            _ => format!("{count} {noun}s"),
        };
        format!(
            "{}, {}, {} ok",
            counted(self.count(Severity::Problem), "problem"),
            counted(self.count(Severity::Note), "note"),
            self.count(Severity::Ok)
        )
    }

    /// One JSON document with the same findings.
    pub fn json(&self) -> String {
        let document = Document {
            subject: &self.subject,
            ok: self.count(Severity::Ok),
            notes: self.count(Severity::Note),
            problems: self.count(Severity::Problem),
            findings: &self.findings,
        };
        // Serialising only texts, numbers and lists cannot fail.
        serde_json::to_string_pretty(&document).unwrap_or_default()
    }
}

fn painted(severity: Severity, word: &str, paint: Paint) -> String {
    let code = match (paint, severity) {
        (Paint::Plain, _) | (_, Severity::Ok) => return word.to_owned(),
        (Paint::Ansi, Severity::Note) => "33",
        (Paint::Ansi, Severity::Problem) => "31;1",
    };
    format!("\u{1b}[{code}m{word}\u{1b}[0m")
}

/// The text in one line, with control characters and marks that change the writing direction
/// replaced.
fn harmless(text: &str) -> String {
    let is_unsafe = |letter: char| {
        letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let shown = text.trim().chars().map(|letter| match letter {
        '\n' | '\t' => ' ',
        letter if is_unsafe(letter) => '\u{fffd}',
        letter => letter,
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            subject: "server tutti.example.com".to_owned(),
            findings: vec![
                Finding::ok("files", "/var/lib/tutti", "12 entries"),
                Finding::note("disk", "/", "900 MiB are free"),
                Finding::problem("service", "tutti.service", "it is\nnot\u{1b}[31m enabled")
                    .remedy("systemctl enable tutti"),
            ],
        }
    }

    #[test]
    fn each_finding_is_one_line_and_its_remedy_the_next() {
        assert_eq!(
            report().text(Paint::Plain),
            "server tutti.example.com\n\
             \n\
             ok       files    /var/lib/tutti: 12 entries\n\
             note     disk     /: 900 MiB are free\n\
             problem  service  tutti.service: it is not\u{fffd}[31m enabled\n                  \
             → systemctl enable tutti\n\
             \n\
             1 problem, 1 note, 1 ok"
        );
    }

    #[test]
    fn programs_get_the_same_findings() {
        let document: serde_json::Value = serde_json::from_str(&report().json()).unwrap();
        assert_eq!(document["problems"], 1);
        assert_eq!(document["findings"][2]["severity"], "problem");
        assert_eq!(document["findings"][2]["remedy"], "systemctl enable tutti");
        assert_eq!(document["findings"][0].get("remedy"), None);
    }

    #[test]
    fn the_exit_code_is_that_of_the_worst_finding() {
        let mut report = report();
        assert_eq!(report.exit_code(), EXIT_PROBLEMS);
        report.findings.pop();
        assert_eq!(report.exit_code(), 0, "a note is no problem");
        assert!(report.text(Paint::Ansi).contains("\u{1b}[33mnote"));
    }
}
