//! Puppet's scope as templates see it. Main type: [`RubyScope`].

use std::sync::Arc;

use pcore::Value;

use crate::error::RubyScopeError;
use crate::template::ErbTemplate;

/// Variables and functions for a template.
pub trait RubyScope {
    /// The variable that a template sees as `@name`: visible here, and not `undef`. Each character of its
    /// name other than letters, digits and `_` is `_` in `name`.
    fn instance_variable(&mut self, name: &str) -> Result<Option<Value>, RubyScopeError>;

    /// A variable by `scope['name']` or `scope.lookupvar('name')`. `None` leaves the template to Ruby,
    /// since a variable that does not exist fails there or is `nil`, depending on settings.
    fn variable(&mut self, name: &str) -> Result<Option<Value>, RubyScopeError>;

    /// True if a variable exists and is not `undef` (`has_variable?`).
    fn has_variable(&mut self, name: &str) -> Result<bool, RubyScopeError>;

    /// A template of a module that is rendered with the same scope; `None` leaves it to Ruby.
    fn native_template(&mut self, name: &str) -> Option<Arc<ErbTemplate>>;

    /// Calls a function. `None` leaves the template to Ruby: the function is not available, or not by the
    /// kind of the call.
    fn call_function(
        &mut self,
        kind: RubyCallKind,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, RubyScopeError>;
}

/// Form of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RubyCallKind {
    /// `scope.function_name([…])`, which only 3.x functions have. The arguments are passed as they are.
    Legacy,
    /// `scope.call_function('name', […])`.
    Modern,
}
