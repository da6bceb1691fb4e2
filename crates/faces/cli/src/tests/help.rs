//! Help that a person reads: every verb says what it does and has an example that is right.

use clap::{Command, CommandFactory as _, Parser as _};

use super::Arguments;

/// The audit's verbs are of another hand.
const ELSEWHERE: &[&str] = &["audit"];

fn verbs() -> Vec<(String, Command)> {
    let mut open = vec![("tutti".to_owned(), Arguments::command())];
    let mut verbs = Vec::new();
    while let Some((path, command)) = open.pop() {
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            if !ELSEWHERE.contains(&verb.get_name()) {
                open.push((format!("{path} {}", verb.get_name()), verb.clone()));
            }
        }
        if command.get_subcommands().next().is_none() {
            verbs.push((path, command));
        }
    }
    verbs
}

#[test]
fn the_command_line_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn every_verb_has_an_example_of_itself() {
    for (path, verb) in verbs() {
        let about = verb
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(!about.is_empty(), "{path} does not say what it does");
        let help = verb
            .get_after_long_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(help.contains(&path), "{path} has no example: {help}");
    }
}

#[test]
fn every_example_is_accepted() {
    for (path, verb) in verbs() {
        let help = verb
            .get_after_long_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let help = help.replace("\\\n", " ");
        let examples = help
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with("tutti "));
        for example in examples {
            // What comes behind is the shell's.
            let typed = example.split(['>', '|', '&']).next().unwrap_or_default();
            if typed.matches('\'').count() % 2 == 1 {
                continue;
            }
            if let Err(error) = Arguments::try_parse_from(split(typed)) {
                panic!("{path}: {example}\n{error}");
            }
        }
    }
}

/// Words as a shell takes them, with single quotes.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in line.trim().chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => {
                if words.last().is_some_and(|word| !word.is_empty()) {
                    words.push(String::new());
                }
            }
            letter => words.last_mut().unwrap().push(letter),
        }
    }
    words
}
