//! Dispatch of method calls by the class of the receiver.

use super::{Interpreter, libraries};
use crate::syntax::{Block, MethodCall};
use crate::value::{Eval, Interruption, RubyValue, refuse};

impl<'t> Interpreter<'t, '_> {
    pub(super) fn eval_call(&mut self, call: &'t MethodCall) -> Eval {
        let receiver = self.eval(&call.receiver)?;
        if call.is_safe && matches!(receiver, RubyValue::Nil) {
            return Ok(RubyValue::Nil);
        }
        let arguments = self.eval_list(&call.arguments)?;
        let result = match &call.block {
            Some(block) => self.call_with_block(&receiver, call.name, &arguments, block),
            None => self.call_method(&receiver, call.name, &arguments),
        };
        match result {
            Err(Interruption::Break) if call.block.is_some() => Ok(RubyValue::Nil),
            result => result,
        }
    }

    /// Calls a method without a block.
    pub(super) fn call_method(
        &mut self,
        receiver: &RubyValue,
        name: &'static str,
        arguments: &[RubyValue],
    ) -> Eval {
        if let Some(value) = Self::call_common(receiver, name, arguments)? {
            return Ok(value);
        }
        let result = match receiver {
            RubyValue::Str(text) => self.call_string(text, name, arguments)?,
            RubyValue::Array(array) => self.call_array(array, name, arguments)?,
            RubyValue::Hash(hash) => self.call_hash(hash, name, arguments)?,
            RubyValue::Int(_) | RubyValue::Float(_) => {
                self.call_number(receiver, name, arguments)?
            }
            RubyValue::Regex(regex) => self.call_regex(regex, name, arguments)?,
            RubyValue::Match(groups) => Self::call_match(groups, name, arguments)?,
            RubyValue::Nil => Self::call_nil(name, arguments),
            RubyValue::Symbol(text) => Self::call_symbol(text, name, arguments),
            RubyValue::Range(..) => self.call_range(receiver, name, arguments)?,
            RubyValue::IpAddress(is_v6) => libraries::call_ip_address(*is_v6, name, arguments),
            RubyValue::Scope => self.call_scope_value(name, arguments)?,
            RubyValue::Class(class) => Self::call_class(*class, name, arguments),
            _ => None,
        };
        match result {
            Some(value) => Ok(value),
            None => refuse(format!("the method {name} of {}", receiver.kind())),
        }
    }

    fn call_with_block(
        &mut self,
        receiver: &RubyValue,
        name: &'static str,
        arguments: &[RubyValue],
        block: &'t Block,
    ) -> Eval {
        let special = match receiver {
            RubyValue::Str(text) => self.call_string_with_block(text, name, arguments, block)?,
            RubyValue::Hash(hash) => self.call_hash_with_block(hash, name, arguments, block)?,
            RubyValue::Int(number) => self.count_with_block(*number, name, arguments, block)?,
            _ => None,
        };
        if let Some(value) = special {
            return Ok(value);
        }
        let Some(items) = self.items(receiver)? else {
            return refuse(format!("the method {name} of {}", receiver.kind()));
        };
        let enumerated = self.enumerate(receiver, &items, name, arguments, block)?;
        if let Some(value) = enumerated {
            return Ok(value);
        }
        match self.fold(&items, name, arguments, block)? {
            Some(value) => Ok(value),
            None => refuse(format!("the method {name} with a block")),
        }
    }
}
