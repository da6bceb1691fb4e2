//! Regular expressions: searches, groups, replacements.

use std::rc::Rc;
use std::sync::Arc;

use ruby_regex::{Regex, RegexCaptures, RegexFlags};

use super::Interpreter;
use super::indexes::{part, position, range_part};
use crate::defaults::ELEMENTS_MAX;
use crate::syntax::Block;
use crate::value::{Eval, MatchGroups, RubyValue, refuse};

impl<'t> Interpreter<'t, '_> {
    pub(super) fn compile_regex(source: &str, flags: RegexFlags) -> Eval<Regex> {
        match Regex::with_flags(source, flags) {
            Ok(regex) => Ok(regex),
            Err(error) => refuse(format!("a regular expression: {error}")),
        }
    }

    /// A pattern that is a regular expression, or a text that is searched as it is.
    pub(super) fn pattern(value: &RubyValue) -> Eval<Regex> {
        match value {
            RubyValue::Regex(regex) => Ok(regex.clone()),
            RubyValue::Str(text) => {
                Self::compile_regex(&escape(&text.get()), RegexFlags::default())
            }
            other => refuse(format!("{} as a pattern", other.kind())),
        }
    }

    /// Searches a text, and keeps the match.
    pub(super) fn search(&mut self, regex: &Regex, text: &str) -> Eval<bool> {
        let found = match regex.captures(text) {
            Ok(found) => found,
            Err(error) => return refuse(error.to_string()),
        };
        self.last_match = found.map(|found| Rc::new(groups(&found, &text.into())));
        Ok(self.last_match.is_some())
    }

    pub(super) fn match_group(&self, group: usize) -> RubyValue {
        let groups = self.last_match.as_ref().map(|it| &it.groups);
        let group = groups.and_then(|groups| groups.get(group).cloned().flatten());
        group.map_or(RubyValue::Nil, RubyValue::string)
    }

    /// `=~`: the offset in characters.
    pub(super) fn match_offset(&mut self, regex: &Regex, text: &str) -> Eval {
        if !regex.names().is_empty() {
            return refuse("named groups");
        }
        if !self.search(regex, text)? {
            return Ok(RubyValue::Nil);
        }
        let before = self
            .last_match
            .as_ref()
            .map(|it| it.before().chars().count());
        Ok(before.map_or(RubyValue::Nil, RubyValue::count))
    }

    pub(super) fn match_value(&mut self, regex: &Regex, text: &str) -> Eval {
        self.search(regex, text)?;
        Ok(match &self.last_match {
            Some(groups) => RubyValue::Match(Rc::clone(groups)),
            None => RubyValue::Nil,
        })
    }

    pub(super) fn call_regex(
        &mut self,
        regex: &Regex,
        name: &str,
        arguments: &[RubyValue],
    ) -> Eval<Option<RubyValue>> {
        Ok(Some(match (name, arguments) {
            ("=~" | "match", [RubyValue::Nil]) => {
                self.last_match = None;
                RubyValue::Nil
            }
            ("=~", [RubyValue::Str(text)]) => self.match_offset(regex, &text.get())?,
            ("match", [RubyValue::Str(text)]) => self.match_value(regex, &text.get())?,
            ("match?", [RubyValue::Str(text)]) => match regex.is_match(&text.get()) {
                Ok(is_match) => RubyValue::Bool(is_match),
                Err(error) => return refuse(error.to_string()),
            },
            ("===", [subject]) => {
                let pattern = RubyValue::Regex(regex.clone());
                RubyValue::Bool(self.case_matches(&pattern, subject)?)
            }
            _ => return Ok(None),
        }))
    }

    pub(super) fn call_match(
        groups: &MatchGroups,
        name: &str,
        arguments: &[RubyValue],
    ) -> Eval<Option<RubyValue>> {
        let value = group_value;
        Ok(Some(match (name, arguments) {
            ("[]", [RubyValue::Int(index)]) => {
                let counted = position(*index, groups.groups.len());
                // from the end, the whole match is not reached
                let index = counted.filter(|counted| *index >= 0 || *counted > 0);
                let group = index.and_then(|index| groups.groups.get(index));
                group.map_or(RubyValue::Nil, value)
            }
            ("[]", [RubyValue::Int(start), RubyValue::Int(count)]) => {
                part_of(groups, part(*start, *count, groups.groups.len()))
            }
            ("[]", [RubyValue::Range(low, high, is_exclusive)]) => {
                let bounds = range_part(*low, *high, *is_exclusive, groups.groups.len());
                part_of(groups, bounds)
            }
            ("captures", []) => RubyValue::array(groups.groups.iter().skip(1).map(value).collect()),
            ("to_a", []) => RubyValue::array(groups.groups.iter().map(value).collect()),
            ("pre_match", []) => RubyValue::string(groups.before()),
            ("post_match", []) => RubyValue::string(groups.after()),
            _ => return Ok(None),
        }))
    }

    /// `sub` and `gsub` with a text; also keeps the last match.
    pub(super) fn replace(&mut self, text: &str, arguments: &[RubyValue], is_all: bool) -> Eval {
        let [pattern, RubyValue::Str(replacement)] = arguments else {
            return refuse("a replacement in another form");
        };
        let regex = Self::pattern(pattern)?;
        self.keep_last(&regex, text, is_all)?;
        match regex.replace(text, &replacement.get(), is_all) {
            Ok(replaced) => Ok(RubyValue::string(replaced)),
            Err(error) => refuse(error.to_string()),
        }
    }

    fn keep_last(&mut self, regex: &Regex, text: &str, is_all: bool) -> Eval<()> {
        let mut last = None;
        for found in regex.matches(text) {
            match found {
                Ok(found) => last = Some(found),
                Err(error) => return refuse(error.to_string()),
            }
            if !is_all {
                break;
            }
        }
        self.last_match = last.map(|found| Rc::new(groups(&found, &text.into())));
        Ok(())
    }

    /// `sub` and `gsub` with a block.
    pub(super) fn replace_with_block(
        &mut self,
        text: &str,
        pattern: &RubyValue,
        is_all: bool,
        block: &'t Block,
    ) -> Eval {
        let regex = Self::pattern(pattern)?;
        let searched: Arc<str> = text.into();
        let mut replaced = String::new();
        let mut copied = 0;
        let mut last = None;
        for found in regex.matches(text) {
            let found = match found {
                Ok(found) => found,
                Err(error) => return refuse(error.to_string()),
            };
            let span = found.span(0).unwrap_or_default();
            replaced.push_str(text.get(copied..span.start).unwrap_or_default());
            let groups = Rc::new(groups(&found, &searched));
            self.last_match = Some(Rc::clone(&groups));
            last = Some(groups);
            let matched = RubyValue::string(found.get(0).unwrap_or_default());
            self.yield_value(block, &matched)?
                .write_text(&mut replaced)?;
            copied = span.end;
            if !is_all {
                break;
            }
        }
        self.last_match = last;
        replaced.push_str(text.get(copied..).unwrap_or_default());
        Ok(RubyValue::string(replaced))
    }

    /// `scan`: matches, or their groups if there are any.
    pub(super) fn scan(&mut self, text: &str, pattern: &RubyValue) -> Eval {
        let regex = Self::pattern(pattern)?;
        let mut results = Vec::new();
        for found in regex.matches(text) {
            let found = match found {
                Ok(found) => found,
                Err(error) => return refuse(error.to_string()),
            };
            let value = |group: Option<&str>| group.map_or(RubyValue::Nil, RubyValue::string);
            let mut groups = found.iter().map(value);
            let whole = groups.next().unwrap_or(RubyValue::Nil);
            let parts: Vec<RubyValue> = groups.collect();
            results.push(match parts.is_empty() {
                true => whole,
                false => RubyValue::array(parts),
            });
            if results.len() > ELEMENTS_MAX {
                return refuse("a large array");
            }
        }
        self.keep_last(&regex, text, true)?;
        super::arrays::bounded(results)
    }
}

fn group_value(group: &Option<Arc<str>>) -> RubyValue {
    let group = group.clone();
    group.map_or(RubyValue::Nil, RubyValue::string)
}

/// Groups from the first to before the second of two numbers.
fn part_of(groups: &MatchGroups, bounds: Option<(usize, usize)>) -> RubyValue {
    let groups = bounds.and_then(|(start, end)| groups.groups.get(start..end));
    groups.map_or(RubyValue::Nil, |groups| {
        RubyValue::array(groups.iter().map(group_value).collect())
    })
}

fn groups(found: &RegexCaptures<'_>, text: &Arc<str>) -> MatchGroups {
    MatchGroups {
        groups: found.iter().map(|group| group.map(Arc::from)).collect(),
        text: Arc::clone(text),
        span: found.span(0).unwrap_or_default(),
    }
}

/// `Regexp.escape`
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            '\r' => escaped.push_str("\\r"),
            '\u{c}' => escaped.push_str("\\f"),
            '\u{b}' => escaped.push_str("\\v"),
            ' ' | '#' | '$' | '(' | ')' | '*' | '+' | '-' | '.' | '?' | '[' | '\\' | ']' | '^'
            | '{' | '|' | '}' => {
                escaped.push('\\');
                escaped.push(c);
            }
            other => escaped.push(other),
        }
    }
    escaped
}
