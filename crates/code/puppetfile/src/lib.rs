//! A parser of Puppetfiles, without Ruby. Main function: [`parse`]; its result: [`Puppetfile`].
//!
//! To r10k, a Puppetfile is Ruby, which it executes. This parser supports the part of Ruby that is
//! common in Puppetfiles (`mod` and its options, `forge`, `moduledir`, strings, symbols, hashes,
//! names for constant values) and refuses the rest with its position and a reason, so that a
//! deployment depends on nothing but its sources.
//!
//! Invariants: parsing does no I/O and executes nothing; any text results in a [`Puppetfile`] or
//! all of its errors, within the limits of [`defaults`]; names and paths in the result can be
//! joined to a directory and stay inside of it.

pub mod defaults;
mod lexer;
mod mistake;
mod model;
mod module;
mod parser;
mod path;
mod strings;
mod token;
mod value;

pub use mistake::{Mistake, Mistakes, Position};
pub use model::{ForgeVersion, GitRef, Mod, ModName, Puppetfile, Source};
pub use path::{InnerPath, InnerPathError};
pub use value::Value;

use module::Argument;

/// Parses a Puppetfile.
///
/// ```
/// let file = puppetfile::parse("mod 'puppetlabs/stdlib', '9.4.1'").expect("it is well formed");
/// assert_eq!(file.mods[0].name.to_string(), "puppetlabs/stdlib");
/// ```
pub fn parse(text: &str) -> Result<Puppetfile, Mistakes> {
    if text.len() > defaults::MAX_BYTES {
        let what = format!("the file is larger than {} bytes", defaults::MAX_BYTES);
        return Err(Mistakes::one(Mistake::new(Position::START, what)));
    }
    let (tokens, mut mistakes) = lexer::tokens(text);
    let file = parser::file(tokens, &mut mistakes);
    match mistakes.is_empty() {
        true => Ok(file),
        false => Err(mistakes),
    }
}

/// Builds a module declared in a document other than a Puppetfile, from a name, and a version of a
/// Forge or the options of `mod`. Its errors have the position `at`.
///
/// ```
/// use puppetfile::{Position, Value, module};
///
/// let version = Value::Text("9.4.1".to_owned());
/// let module = module(Position::START, "puppetlabs-stdlib", version).expect("it is well formed");
/// assert_eq!(module.name.to_string(), "puppetlabs/stdlib");
/// ```
pub fn module(at: Position, name: &str, said: Value) -> Result<Mod, Mistake> {
    let mut arguments = vec![(at, Argument::Plain(Value::Text(name.to_owned())))];
    match said {
        Value::Nil => {}
        Value::Hash(options) => arguments.push((at, Argument::Options(options))),
        version => arguments.push((at, Argument::Plain(version))),
    }
    module::module(at, arguments)
}
