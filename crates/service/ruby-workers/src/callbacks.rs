//! Questions of Ruby code to the compiler. Main type: [`RubyCallbacks`].

use pcore::{Hash, Type, Value};

use crate::error::RubyCallbackError;
use crate::protocol::{RubyBlock, RubyBlockShape};
use crate::session::RubySession;

/// The compiler as Ruby code sees it. The session that asks is passed along, so that an answer may call
/// Ruby code itself. Names have no leading `function_`; variables may begin with `::`.
pub trait RubyCallbacks {
    /// Value of a variable seen from the caller's scope.
    fn variable(&mut self, name: &str) -> Result<RubyVariable, RubyCallbackError>;

    /// Visible variables other than those that are `undef`. With `names` only those are needed whose name
    /// is in it after each character other than letters, digits and `_` became `_`.
    fn variables(&mut self, names: Option<&[String]>) -> Result<Hash, RubyCallbackError>;

    /// True if the compiler has the function without Ruby. Ruby code calls every other one in its own
    /// process. The answer must be the same during a session.
    fn has_function(&mut self, name: &str) -> bool;

    /// Calls a function for which [`Self::has_function`] is true. A block is called through
    /// [`RubySession::call_block`].
    fn call_function(
        &mut self,
        session: &RubySession,
        name: &str,
        arguments: &[Value],
        block: Option<&RubyBlock>,
    ) -> Result<Value, RubyCallbackError>;

    /// Calls the block that was passed to [`RubySession::call_function`] with this id.
    fn call_block(
        &mut self,
        session: &RubySession,
        block: u32,
        arguments: &[Value],
    ) -> Result<Value, RubyCallbackError>;

    /// Adds a resource to the catalog (`scope.compiler.add_resource`).
    fn declare_resource(
        &mut self,
        ty: &str,
        title: &Value,
        parameters: &Hash,
    ) -> Result<(), RubyCallbackError> {
        let _ = (title, parameters);
        Err(RubyCallbackError::Raise(format!(
            "{ty} cannot be declared here"
        )))
    }

    /// Tags of the catalog.
    fn tags(&mut self) -> Result<Vec<String>, RubyCallbackError>;

    /// Names of the classes of the catalog.
    fn classes(&mut self) -> Result<Vec<String>, RubyCallbackError>;

    /// Replaces `%{…}` in a value (Hiera's `context.interpolate`).
    fn interpolate(&mut self, value: &Value) -> Result<Value, RubyCallbackError>;

    /// Takes a text for the explanation of a lookup.
    fn explain(&mut self, text: &str) {
        let _ = text;
    }

    /// Takes a message that was logged with a level of Puppet.
    fn log(&mut self, level: &str, message: &str);

    /// Takes text that Ruby code printed.
    fn printed(&mut self, text: &str) {
        let _ = text;
    }

    /// Finds a type that is not Puppet's own, for values that are instances of it.
    fn find_type(&mut self, name: &str) -> Option<Type> {
        let _ = name;
        None
    }
}

/// Answer to a question for a variable.
#[derive(Debug, Clone)]
pub enum RubyVariable {
    /// Its value, which may be `undef`.
    Value(Value),
    /// There is no such variable.
    Unknown,
}

// === impl RubyBlockShape ===

impl RubyBlockShape {
    /// A block with exactly this number of parameters.
    #[must_use]
    pub const fn exactly(id: u32, parameters: u32) -> Self {
        Self {
            id,
            required: parameters,
            optional: 0,
            rest: false,
        }
    }
}
