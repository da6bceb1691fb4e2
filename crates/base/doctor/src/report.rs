//! A whole diagnosis, as text and as JSON: [`DiagnosisReport`].
//!
//! Invariant: text of other programs and files reaches the terminal without control characters.

use serde::Serialize;

use crate::finding::{DiagnosisFinding, FindingSeverity};

/// Exit code of a diagnosis with problems. 1 and 2 already stand for failed nodes and wrong usage.
pub const EXIT_PROBLEMS: u8 = 3;

/// Gap between two columns of the table.
const GAP: &str = "  ";

/// Colour of the words in the first column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputColor {
    /// Colours by escape sequences of a terminal.
    Ansi,
    /// Text without escape sequences.
    Plain,
}

/// All findings of one diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiagnosisReport {
    /// One line that names the subject of the diagnosis and the user that runs it.
    pub subject: String,
    /// The findings, in the order of the checks.
    pub findings: Vec<DiagnosisFinding>,
}

#[derive(Serialize)]
struct ReportDocument<'r> {
    subject: &'r str,
    ok: usize,
    notes: usize,
    problems: usize,
    findings: &'r [DiagnosisFinding],
}

// === impl DiagnosisReport ===

impl DiagnosisReport {
    /// 0, or [`EXIT_PROBLEMS`] if there is a problem.
    pub fn exit_code(&self) -> u8 {
        match self.count(FindingSeverity::Problem) {
            0 => 0,
            _ => EXIT_PROBLEMS,
        }
    }

    fn count(&self, severity: FindingSeverity) -> usize {
        let of_it = self.findings.iter().filter(|it| it.severity == severity);
        of_it.count()
    }

    /// One line for each finding, its remedy below it, and a summary at the end.
    pub fn text(&self, paint: OutputColor) -> String {
        let width = |words: &mut dyn Iterator<Item = &str>| words.map(str::len).max().unwrap_or(0);
        let severities = width(&mut self.findings.iter().map(|it| it.severity.word()));
        let checks = width(&mut self.findings.iter().map(|it| it.check));
        let indent = " ".repeat(severities + checks + 2 * GAP.len());
        let mut lines = vec![escape_control(&self.subject), String::new()];
        for finding in &self.findings {
            let severity = format!("{:severities$}", finding.severity.word());
            let check = format!("{:checks$}", finding.check);
            let (place, cause) = (
                escape_control(&finding.place),
                escape_control(&finding.cause),
            );
            let severity = colorize(finding.severity, &severity, paint);
            lines.push(format!("{severity}{GAP}{check}{GAP}{place}: {cause}"));
            if let Some(remedy) = &finding.remedy {
                lines.push(format!("{indent}→ {}", escape_control(remedy)));
            }
        }
        lines.push(String::new());
        lines.push(self.summary_line());
        lines.join("\n")
    }

    fn summary_line(&self) -> String {
        let counted = |count: usize, noun: &str| match count {
            0 => format!("no {noun}s"),
            1 => format!("1 {noun}"),
            _ => format!("{count} {noun}s"),
        };
        format!(
            "{}, {}, {} ok",
            counted(self.count(FindingSeverity::Problem), "problem"),
            counted(self.count(FindingSeverity::Note), "note"),
            self.count(FindingSeverity::Ok)
        )
    }

    /// One JSON document with the same findings.
    pub fn json(&self) -> String {
        let document = ReportDocument {
            subject: &self.subject,
            ok: self.count(FindingSeverity::Ok),
            notes: self.count(FindingSeverity::Note),
            problems: self.count(FindingSeverity::Problem),
            findings: &self.findings,
        };
        // Serialising only texts, numbers and lists cannot fail.
        serde_json::to_string_pretty(&document).unwrap_or_default()
    }
}

fn colorize(severity: FindingSeverity, word: &str, paint: OutputColor) -> String {
    let code = match (paint, severity) {
        (OutputColor::Plain, _) | (_, FindingSeverity::Ok) => return word.to_owned(),
        (OutputColor::Ansi, FindingSeverity::Note) => "33",
        (OutputColor::Ansi, FindingSeverity::Problem) => "31;1",
    };
    format!("\u{1b}[{code}m{word}\u{1b}[0m")
}

/// The text in one line, with control characters and marks that change the writing direction
/// replaced.
fn escape_control(text: &str) -> String {
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

    fn report() -> DiagnosisReport {
        DiagnosisReport {
            subject: "server tutti.example.com".to_owned(),
            findings: vec![
                DiagnosisFinding::ok("files", "/var/lib/tutti", "12 entries"),
                DiagnosisFinding::note("disk", "/", "900 MiB are free"),
                DiagnosisFinding::problem(
                    "service",
                    "tutti.service",
                    "it is\nnot\u{1b}[31m enabled",
                )
                .remedy("systemctl enable tutti"),
            ],
        }
    }

    #[test]
    fn each_finding_is_one_line_and_its_remedy_the_next() {
        assert_eq!(
            report().text(OutputColor::Plain),
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
        assert!(report.text(OutputColor::Ansi).contains("\u{1b}[33mnote"));
    }
}
