//! A parsed template: [`ErbTemplate`].

use crate::error::{NativeRubyError, NotNative};
use crate::interpreter::Interpreter;
use crate::parser::Parser;
use crate::scope::RubyScope;
use crate::source::RubySource;
use crate::syntax::Body;

/// A template whose code is native. It is immutable and can be rendered by several threads.
#[derive(Debug)]
pub struct ErbTemplate {
    pub(crate) texts: Vec<String>,
    pub(crate) body: Body,
    pub(crate) locals: usize,
}

// === impl ErbTemplate ===

impl ErbTemplate {
    /// Parses a template; the error names the first construct for which Ruby is needed.
    pub fn parse(text: &str) -> Result<Self, NotNative> {
        let source = RubySource::new(text)?;
        let (body, locals) = Parser::new(&source.code).parse_template()?;
        Ok(Self {
            texts: source.texts,
            body,
            locals,
        })
    }

    /// Renders the template with the variables and functions of a scope.
    pub fn render(&self, scope: &mut dyn RubyScope) -> Result<String, NativeRubyError> {
        Interpreter::new(self, scope).run(self)
    }
}
