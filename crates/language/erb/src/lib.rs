//! ERB templates of Puppet modules without Ruby, as far as they use the common part of Ruby.
//!
//! [`ErbTemplate::parse`] reads a template with Puppet's trim mode `-`. Its code may use variables,
//! `scope`, ordinary control flow, blocks, and the common methods of strings, arrays, hashes and numbers.
//! [`ErbTemplate::render`] gives the text that Puppet's TemplateWrapper gives. Everything else is
//! [`NotNative`], at once or when it is reached, and the caller renders the template with Ruby instead.
//!
//! Invariants: a rendered text is byte for byte that of Ruby; wherever Ruby would raise an exception, or
//! its result depends on its version or platform, the result is [`ErbError::NotNative`]. A template never
//! changes a value of the scope. Steps, depth and text are bounded.

mod defaults;
mod error;
mod interpreter;
mod methods;
mod parser;
mod scope;
mod source;
mod syntax;
mod template;
mod value;

pub use error::{ErbError, NotNative};
pub use scope::{ErbCallKind, ErbScope, ErbScopeError};
pub use template::ErbTemplate;
