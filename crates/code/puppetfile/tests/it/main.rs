//! The content of Puppetfiles, and the errors in them.
#![cfg(test)]

mod forms;
mod mistakes;
mod properties;

use puppetfile::{ModuleDeclaration, Puppetfile};

fn read(text: &str) -> Puppetfile {
    match puppetfile::parse(text) {
        Ok(file) => file,
        Err(mistakes) => panic!("{text}\n{mistakes}"),
    }
}

/// Parses a text with a single module.
fn one(text: &str) -> ModuleDeclaration {
    let file = read(text);
    assert_eq!(file.mods.len(), 1, "{text}");
    file.mods[0].clone()
}

/// The errors in a text, one line each.
fn wrong(text: &str) -> String {
    match puppetfile::parse(text) {
        Ok(file) => panic!("{text}\n{file:?}"),
        Err(mistakes) => mistakes.to_string(),
    }
}
