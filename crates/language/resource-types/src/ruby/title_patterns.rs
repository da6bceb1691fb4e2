//! The method `title_patterns` of a type: patterns and symbols as literals.
//!
//! Invariant: a pattern is read only if it has no interpolation, and a procedure only if it returns
//! its argument.

use std::ops::Range;

use ruby_regex::RegexFlags;

use super::code::CodeCheck;
use super::lexer::RubyFault;
use super::token::{Keyword, RegexLiteral, RubyTokenKind};
use crate::TitlePattern;

impl CodeCheck<'_, '_> {
    /// Reads `def self.title_patterns … end`, which takes the whole statement.
    pub(super) fn title_patterns(
        &self,
        statement: &Range<usize>,
    ) -> Result<Vec<TitlePattern>, RubyFault> {
        let (file, start) = (self.file, statement.start);
        let mut body = start + 4..file.end_of(start);
        if file.end_of(start) + 1 != statement.end {
            return self.fault(start, "an unusual definition of `title_patterns`");
        }
        if file.is_operator(body.start, "(") && file.end_of(body.start) == body.start + 1 {
            body.start += 2;
        }
        let statements = file.statements(body);
        let Some((result, assignments)) = statements.split_last() else {
            return self.fault(start, "`title_patterns` is empty");
        };
        let mut identities = Vec::new();
        for assignment in assignments {
            let at = assignment.start;
            let is_identity = file.kind(at) == Some(&RubyTokenKind::Identifier)
                && file.is_operator(at + 1, "=")
                && self.is_identity(at + 2..assignment.end, &[]);
            if !is_identity {
                return self.fault(at, "`title_patterns` is computed");
            }
            identities.push(file.text(at));
        }
        let mut result = result.clone();
        if file.is_keyword(result.start, Keyword::Return) {
            result.start += 1;
        }
        let items = self.array(&result)?;
        let patterns = items.iter().map(|item| self.pattern(item, &identities));
        patterns.collect()
    }

    /// Reads `[/pattern/, [[:name], [:other, identity]]]`.
    fn pattern(
        &self,
        range: &Range<usize>,
        identities: &[&str],
    ) -> Result<TitlePattern, RubyFault> {
        let parts = self.array(range)?;
        let [regex, attributes] = &*parts else {
            return self.fault(range.start, "a title pattern that is no pair");
        };
        let mut names = Vec::new();
        for attribute in self.array(attributes)? {
            names.push(self.pattern_attribute(&attribute, identities)?);
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (source, flags) = self.plain_regex(regex)?;
        self.title_pattern(regex.start, source, flags, &names)
    }

    /// Reads `[:name]`, or `[:name, identity]`.
    fn pattern_attribute(
        &self,
        range: &Range<usize>,
        identities: &[&str],
    ) -> Result<String, RubyFault> {
        let parts = self.array(range)?;
        let (name, procedure) = match &*parts {
            [name] => (name, None),
            [name, procedure] => (name, Some(procedure)),
            _ => return self.fault(range.start, "an attribute of a title pattern is no symbol"),
        };
        if procedure.is_some_and(|it| !self.is_identity(it.clone(), identities)) {
            return self.fault(range.start, "a title pattern has a procedure");
        }
        match self.file.kind(name.start) {
            Some(RubyTokenKind::Symbol(Some(name))) => Ok(name.clone()),
            _ => self.fault(name.start, "an attribute of a title pattern is no symbol"),
        }
    }

    /// A regular expression without interpolation, as the only token of a range.
    pub(super) fn plain_regex(
        &self,
        range: &Range<usize>,
    ) -> Result<(&str, RegexFlags), RubyFault> {
        match self.file.kind(range.start) {
            Some(RubyTokenKind::Regex(RegexLiteral {
                source: Some(source),
                flags,
            })) if range.len() == 1 && flags.chars().all(|it| "imx".contains(it)) => {
                let flags = RegexFlags {
                    extended: flags.contains('x'),
                    ignore_case: flags.contains('i'),
                    multiline: flags.contains('m'),
                };
                Ok((source, flags))
            }
            _ => self.fault(
                range.start,
                "a title pattern is no plain regular expression",
            ),
        }
    }

    pub(super) fn title_pattern(
        &self,
        at: usize,
        source: &str,
        flags: RegexFlags,
        names: &[&str],
    ) -> Result<TitlePattern, RubyFault> {
        let pattern = TitlePattern::new(source, flags, names);
        pattern.map_err(|error| RubyFault {
            line: self.file.line(at),
            reason: error.to_string(),
        })
    }

    /// The items of an array literal that takes the whole range.
    pub(super) fn array(&self, range: &Range<usize>) -> Result<Vec<Range<usize>>, RubyFault> {
        let open = range.start;
        match self.file.is_operator(open, "[") && self.file.end_of(open) + 1 == range.end {
            true => Ok(self.file.items(self.file.inside(open))),
            false => self.fault(open, "a value that is no plain array"),
        }
    }

    /// True for `nil`, `lambda { |x| x }`, `->(x) { x }`, and variables with such a value.
    fn is_identity(&self, range: Range<usize>, identities: &[&str]) -> bool {
        let texts: Vec<&str> = range.map(|index| self.file.text(index)).collect();
        match &*texts {
            ["nil"] => true,
            [name] => identities.contains(name),
            ["lambda" | "proc", "{", "|", taken, "|", returned, "}"]
            | ["lambda" | "proc", "do", "|", taken, "|", returned, "end"]
            | ["->", "(", taken, ")", "{", returned, "}"]
            | ["->", taken, "{", returned, "}"]
            | ["Proc", ".", "new", "{", "|", taken, "|", returned, "}"] => taken == returned,
            _ => false,
        }
    }
}
