//! Type files in Ruby, read without running them: [`read_ruby_type`].
//!
//! A file is read if it declares its type plainly: `Puppet::Type.newtype` with `newparam`,
//! `newproperty`, `ensurable` and `title_patterns` of literals, or
//! `Puppet::ResourceApi.register_type` with a literal hash. Everything else in the file may be any
//! Ruby that cannot declare attributes: its tokens, and those of the files that it requires, contain
//! no name by which that is possible.
//!
//! Known limits: a type that another module's files change from outside is read as its own file
//! declares it, and a provider counts only if its file lies in the directory of the type.
//!
//! Invariant: a reading is complete only if Puppet would load the same type, provided that it loads
//! the file without an error.

mod code;
mod context;
mod declaration;
mod heredocs;
mod lexer;
mod library;
mod literals;
mod names;
mod providers;
mod requires;
mod resource_api;
mod structure;
mod title_patterns;
mod token;
mod transport;
mod type_body;
mod words;

use std::ops::Range;

use self::code::CodeCheck;
use self::lexer::RubyFault;
pub use self::library::RubyLibrary;
use self::structure::RubyFile;
use self::token::Keyword;
pub use self::transport::{UnreadTransport, read_ruby_transport};
use crate::ResourceType;

/// The result of reading a type file in Ruby.
#[derive(Debug, Clone, PartialEq)]
pub enum StaticReading {
    /// The type that Puppet would load.
    Complete(ResourceType),
    /// The file must be run to know its type.
    NeedsRuby {
        /// The code that cannot be read with certainty.
        reason: String,
        /// Line of that code, counted from 1; 1 if the reason lies in another file.
        line: u32,
    },
}

/// Reads the file `lib/puppet/type/NAME.rb` of a module.
pub fn read_ruby_type(name: &str, source: &str, library: &dyn RubyLibrary) -> StaticReading {
    match read(name, source, library) {
        Ok(read) => StaticReading::Complete(read),
        Err(RubyFault { line, reason }) => StaticReading::NeedsRuby { reason, line },
    }
}

fn read(name: &str, source: &str, library: &dyn RubyLibrary) -> Result<ResourceType, RubyFault> {
    let file = RubyFile::parse(source)?;
    let mut check = CodeCheck::new(&file, library, name);
    check.check_hidden_code()?;
    let mut registered = None;
    let mut waiting = vec![file.all()];
    while let Some(range) = waiting.pop() {
        for statement in file.statements(range) {
            let registration = Registration::find(&file, &statement);
            if let Some(registration) = registration {
                if registered
                    .replace((registration, statement.clone()))
                    .is_some()
                {
                    return file.fault(statement.start, "the file declares a second type");
                }
            } else if let Some(body) = module_body(&file, &statement) {
                waiting.push(body);
            } else {
                check.check_statement(statement)?;
            }
        }
    }
    let Some((registration, statement)) = registered else {
        return file.fault(0, "no plain call of `newtype` or `register_type`");
    };
    match registration {
        Registration::NewType(call) => type_body::read(&mut check, call, &statement),
        Registration::ResourceApi(call) => resource_api::read(&mut check, call, &statement),
    }
}

/// The call that declares a type, with the index of the method's name.
enum Registration {
    NewType(usize),
    ResourceApi(usize),
}

impl Registration {
    fn find(file: &RubyFile<'_>, statement: &Range<usize>) -> Option<Self> {
        let mut at = statement.start;
        at += usize::from(file.is_operator(at, "::"));
        if file.is_constant(at, "Puppet") && file.is_operator(at + 1, "::") {
            at += 2;
        }
        let is_call = |method| file.is_operator(at + 1, ".") && file.is_identifier(at + 2, method);
        if file.is_constant(at, "Type") && is_call("newtype") {
            Some(Self::NewType(at + 2))
        } else if file.is_constant(at, "ResourceApi") && is_call("register_type") {
            Some(Self::ResourceApi(at + 2))
        } else {
            None
        }
    }
}

/// The body of `module Puppet … end`.
fn module_body(file: &RubyFile<'_>, statement: &Range<usize>) -> Option<Range<usize>> {
    let start = statement.start;
    let is_module = file.is_keyword(start, Keyword::Module)
        && file.is_constant(start + 1, "Puppet")
        && file.end_of(start) + 1 == statement.end;
    is_module.then(|| start + 2..file.end_of(start))
}
