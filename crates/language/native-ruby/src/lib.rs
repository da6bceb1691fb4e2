//! ERB templates and functions in Ruby of Puppet modules without Ruby, as far as they use the common part
//! of the language.
//!
//! [`ErbTemplate::parse`] reads a template with Puppet's trim mode `-`. Its code may use variables,
//! `scope`, ordinary control flow, blocks, and the common methods of strings, arrays, hashes and numbers.
//! [`ErbTemplate::render`] gives the text that Puppet's TemplateWrapper gives. [`RubyFunction::parse`] reads
//! the file of a function for Puppet 4, with the same language in its methods. Everything else is
//! [`NotNative`], at once or when it is reached, and the caller uses Ruby instead.
//!
//! Invariants: a rendered text is byte for byte that of Ruby, and the result of a function is the same
//! value; wherever Ruby would raise an exception that is not rescued, or its result depends on its version
//! or platform, the result is [`NativeRubyError::NotNative`]. The code never changes a value of the scope or an
//! argument. Steps, depth and text are bounded.

mod defaults;
mod error;
mod function;
mod function_syntax;
mod interpreter;
mod methods;
mod parser;
mod scope;
mod source;
mod syntax;
mod template;
mod value;

pub use error::{NativeRubyError, NotNative, RubyScopeError};
pub use function::{RubyFunction, TypedRubyFunction};
pub use scope::{RubyCallKind, RubyScope};
pub use template::ErbTemplate;
