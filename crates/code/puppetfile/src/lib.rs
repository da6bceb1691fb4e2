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
mod error;
mod lexer;
mod model;
mod module;
mod parser;
mod path;
mod strings;
mod token;
mod value;

pub use error::{PuppetfileError, PuppetfileErrors, PuppetfilePosition};
pub use model::{ForgeVersion, GitRef, ModName, ModuleDeclaration, ModuleSource, Puppetfile};
pub use path::{InnerPath, InnerPathError};
pub use value::PuppetfileValue;

use module::StatementArgument;

/// Parses a Puppetfile.
///
/// ```
/// let file = puppetfile::parse("mod 'puppetlabs/stdlib', '9.4.1'").expect("it is well formed");
/// assert_eq!(file.mods[0].name.to_string(), "puppetlabs/stdlib");
/// ```
pub fn parse(text: &str) -> Result<Puppetfile, PuppetfileErrors> {
    if text.len() > defaults::MAX_BYTES {
        let what = format!("the file is larger than {} bytes", defaults::MAX_BYTES);
        return Err(PuppetfileErrors::from_single(PuppetfileError::new(
            PuppetfilePosition::START,
            what,
        )));
    }
    let (tokens, mut mistakes) = lexer::tokenize(text);
    let file = parser::parse_file(tokens, &mut mistakes);
    match mistakes.is_empty() {
        true => Ok(file),
        false => Err(mistakes),
    }
}

/// Builds a module declared in a document other than a Puppetfile, from a name, and a version of a
/// Forge or the options of `mod`. Its errors have the position `at`.
///
/// ```
/// use puppetfile::{PuppetfilePosition, PuppetfileValue, module_from_value};
///
/// let version = PuppetfileValue::Text("9.4.1".to_owned());
/// let module = module_from_value(PuppetfilePosition::START, "puppetlabs-stdlib", version)
///     .expect("it is well formed");
/// assert_eq!(module.name.to_string(), "puppetlabs/stdlib");
/// ```
pub fn module_from_value(
    at: PuppetfilePosition,
    name: &str,
    said: PuppetfileValue,
) -> Result<ModuleDeclaration, PuppetfileError> {
    let mut arguments = vec![(
        at,
        StatementArgument::Plain(PuppetfileValue::Text(name.to_owned())),
    )];
    match said {
        PuppetfileValue::Nil => {}
        PuppetfileValue::Hash(options) => arguments.push((at, StatementArgument::Options(options))),
        version => arguments.push((at, StatementArgument::Plain(version))),
    }
    module::to_declaration(at, arguments)
}
