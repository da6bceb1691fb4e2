//! The argument whose value is being typed. Main function: [`find_cursor`].
//!
//! Invariant: words are interpreted by the command definition alone; an unknown word ends the
//! search.

use clap::{Arg, Command};

/// The position in a command line at which a value is being typed.
#[derive(Debug)]
pub(super) struct CompletionCursor<'c> {
    /// The verbs, such as `task` and `run`.
    pub(super) verbs: Vec<String>,
    /// The argument whose value is typed.
    pub(super) argument: &'c Arg,
    /// The text before the value in the same word: `--nodes=`, or empty.
    pub(super) before: String,
    /// The part of the value typed so far.
    pub(super) typed: String,
    /// Values typed before, by the ids of their arguments.
    pub(super) values: Vec<(String, String)>,
}

/// The argument of the last word; `None` if it is a verb, an option, or unknown.
pub(super) fn find_cursor<'c>(
    command: &'c Command,
    words: &[String],
) -> Option<CompletionCursor<'c>> {
    let (typed, before) = words.split_last()?;
    let mut state = CursorSearch {
        command,
        verbs: Vec::new(),
        position: 0,
        waiting: None,
        is_escaped: false,
        values: Vec::new(),
    };
    for word in before.iter().skip(1) {
        state.take(word)?;
    }
    state.value(typed)
}

struct CursorSearch<'c> {
    command: &'c Command,
    verbs: Vec<String>,
    /// Index of the next positional argument.
    position: usize,
    /// An option whose value is the next word.
    waiting: Option<&'c Arg>,
    /// `--` was typed.
    is_escaped: bool,
    values: Vec<(String, String)>,
}

// === impl CompletionCursor ===

impl CompletionCursor<'_> {
    /// The last value typed for an argument.
    pub(super) fn value_of(&self, id: &str) -> Option<&str> {
        let of = self.values.iter().rev().find(|(of, _)| of == id);
        of.map(|(_, value)| value.as_str())
    }
}

// === impl CursorSearch ===

impl<'c> CursorSearch<'c> {
    fn take(&mut self, word: &str) -> Option<()> {
        if let Some(option) = self.waiting.take() {
            self.remember_value(option, word);
        } else if !self.is_escaped && word == "--" {
            self.is_escaped = true;
        } else if let Some((option, value)) = self.option(word) {
            match value {
                Some(value) => self.remember_value(option, value),
                None if option.get_action().takes_values() && !option.is_require_equals_set() => {
                    self.waiting = Some(option);
                }
                None => {}
            }
        } else if self.is_flag(word) {
            // An unknown option, or several in one word: they take no value that matters here.
        } else if self.position == 0
            && let Some(verb) = self.command.find_subcommand(word)
        {
            self.verbs.push(verb.get_name().to_owned());
            self.command = verb;
        } else {
            let argument = self.positional()?;
            self.remember_value(argument, word);
            if !takes_many(argument) {
                self.position += 1;
            }
        }
        Some(())
    }

    fn value(mut self, typed: &str) -> Option<CompletionCursor<'c>> {
        let (argument, before, typed) = if let Some(option) = self.waiting.take() {
            (option, String::new(), typed)
        } else if let Some((option, Some(value))) = self.option(typed) {
            let before = &typed[..typed.len() - value.len()];
            (option, before.to_owned(), value)
        } else if self.is_flag(typed) {
            return None;
        } else {
            (self.positional()?, String::new(), typed)
        };
        Some(CompletionCursor {
            verbs: self.verbs,
            argument,
            before,
            typed: typed.to_owned(),
            values: self.values,
        })
    }

    fn is_flag(&self, word: &str) -> bool {
        !self.is_escaped && word.len() > 1 && word.starts_with('-')
    }

    /// An option, and its value if that is in the same word.
    fn option<'w>(&self, word: &'w str) -> Option<(&'c Arg, Option<&'w str>)> {
        if !self.is_flag(word) {
            return None;
        }
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            let is_it = |arg: &&Arg| {
                let aliases = arg.get_all_aliases().unwrap_or_default();
                arg.get_long() == Some(name) || aliases.contains(&name)
            };
            return Some((self.command.get_arguments().find(is_it)?, value));
        }
        let short = word.chars().nth(1)?;
        let is_it = |arg: &&Arg| {
            let aliases = arg.get_all_short_aliases().unwrap_or_default();
            arg.get_short() == Some(short) || aliases.contains(&short)
        };
        let option = self.command.get_arguments().find(is_it)?;
        let value = &word[1 + short.len_utf8()..];
        Some((option, (!value.is_empty()).then_some(value)))
    }

    fn positional(&self) -> Option<&'c Arg> {
        self.command.get_positionals().nth(self.position)
    }

    fn remember_value(&mut self, argument: &Arg, value: &str) {
        let id = argument.get_id().to_string();
        self.values.push((id, value.to_owned()));
    }
}

fn takes_many(argument: &Arg) -> bool {
    let values = argument.get_num_args();
    values.is_some_and(|values| values.max_values() > 1)
        || matches!(argument.get_action(), clap::ArgAction::Append)
}
