//! The reader of Puppetfiles, without Ruby. Main function: [`parse`]; its result: [`Puppetfile`].
//!
//! A Puppetfile is Ruby to r10k, which runs it. This reader knows the part of Ruby that people write into
//! it (`mod` and its options, `forge`, `moduledir`, strings, symbols, hashes, names for constant values)
//! and refuses the rest with its place and a reason, so that a deploy depends on nothing but its sources.
//!
//! The rules that must hold: reading does no I/O and runs nothing; text of any kind gives a [`Puppetfile`]
//! or all of its mistakes, within the limits of [`defaults`]; names and paths in the result can be joined
//! to a directory and stay inside of it.

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

/// Reads a Puppetfile.
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

/// A module as another document than a Puppetfile names it: a name, and a version of a Forge or the options of
/// `mod`. Its mistakes stand at `at`.
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
