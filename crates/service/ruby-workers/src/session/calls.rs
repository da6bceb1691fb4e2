//! The calls that a session has.

use std::path::Path;

use pcore::Value;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

use super::{RubySession, from_rich, to_rich};
use crate::callbacks::RubyCallbacks;
use crate::error::RubyCallError;
use crate::preloaded_code::PreloadedCode;
use crate::protocol::{RubyBlockShape, RubyHieraCall, RubyResourceType, RubyTemplate};

impl RubySession {
    /// Calls a function of the environment's modules, of either API. The arguments are those of the
    /// manifest; 3.x functions get them converted as in Puppet.
    pub fn call_function(
        &self,
        name: &str,
        arguments: &[Value],
        block: Option<RubyBlockShape>,
        callbacks: &mut dyn RubyCallbacks,
    ) -> Result<Value, RubyCallError> {
        let arguments = passable(name, arguments)?;
        let message = json!({"op": "function", "name": name, "args": arguments, "block": block});
        let result = self.call(name, &message, callbacks)?;
        self.called
            .borrow_mut()
            .insert(PreloadedCode::Function(name.to_owned()));
        read_value(name, &result, callbacks)
    }

    /// Renders an ERB template with the variables of the caller's scope.
    pub fn render_erb(
        &self,
        template: &RubyTemplate,
        callbacks: &mut dyn RubyCallbacks,
    ) -> Result<String, RubyCallError> {
        let (callee, message) = match template {
            RubyTemplate::Text(text) => (
                "inline template".to_owned(),
                json!({"op": "erb", "text": text, "path": null}),
            ),
            RubyTemplate::File(path) => (
                path.display().to_string(),
                json!({"op": "erb", "text": null, "path": path}),
            ),
        };
        let rendered = self.call(&callee, &message, callbacks)?;
        if let RubyTemplate::File(path) = template {
            let loaded = PreloadedCode::Template(path.clone());
            self.called.borrow_mut().insert(loaded);
        }
        match rendered {
            Json::String(text) => Ok(text),
            _ => Err(RubyCallError::NotAValue {
                callee,
                message: "its text is not UTF-8".to_owned(),
            }),
        }
    }

    /// Calls a block that Ruby code passed to a function of the compiler. Only good until that function
    /// returned.
    pub fn call_block(
        &self,
        block: u64,
        arguments: &[Value],
        callbacks: &mut dyn RubyCallbacks,
    ) -> Result<Value, RubyCallError> {
        let arguments = passable("a block in Ruby", arguments)?;
        let message = json!({"op": "block", "id": block, "args": arguments});
        let (callee, result) = self.call_passed_block(&message, callbacks);
        read_value(&callee, &result?, callbacks)
    }

    /// Calls a Hiera 5 backend; `None` if it found nothing (`context.not_found`).
    pub fn call_hiera(
        &self,
        call: &RubyHieraCall,
        callbacks: &mut dyn RubyCallbacks,
    ) -> Result<Option<Value>, RubyCallError> {
        let name = call.function.as_str();
        let message = json!({
            "op": "hiera",
            "name": name,
            "args": passable(name, &call.arguments)?,
            "module": call.module,
            "cache": call.cache,
        });
        let result = self.call(name, &message, callbacks)?;
        match result.get(0) {
            Some(value) => read_value(name, value, callbacks).map(Some),
            None => Ok(None),
        }
    }

    /// A resource type; `None` if neither Puppet nor a module has it.
    pub fn resource_type(
        &self,
        name: &str,
        callbacks: &mut dyn RubyCallbacks,
    ) -> Result<Option<RubyResourceType>, RubyCallError> {
        let callee = format!("resource type {name}");
        let message = json!({"op": "type", "name": name});
        let result = self.call(&callee, &message, callbacks)?;
        read_description(&callee, result)
    }

    /// The schemas of transports that a file registers, as JSON. Runs the file, so each file needs a session of its own.
    pub fn transport_schemas(
        &self,
        path: &Path,
        callbacks: &mut dyn RubyCallbacks,
    ) -> Result<Vec<Map<String, Json>>, RubyCallError> {
        let callee = path.display().to_string();
        let result = self.call(
            &callee,
            &json!({"op": "transports", "path": path}),
            callbacks,
        )?;
        Ok(read_description(&callee, result)?.unwrap_or_default())
    }
}

fn passable(callee: &str, values: &[Value]) -> Result<Vec<Json>, RubyCallError> {
    to_rich(values).map_err(|source| RubyCallError::Unpassable {
        callee: callee.to_owned(),
        source,
    })
}

fn read_value(
    callee: &str,
    json: &Json,
    callbacks: &mut dyn RubyCallbacks,
) -> Result<Value, RubyCallError> {
    from_rich(json, callbacks).map_err(|error| RubyCallError::NotAValue {
        callee: callee.to_owned(),
        message: error.to_string(),
    })
}

fn read_description<T: DeserializeOwned>(
    callee: &str,
    json: Json,
) -> Result<Option<T>, RubyCallError> {
    serde_json::from_value(json).map_err(|error| RubyCallError::BadMessage {
        callee: callee.to_owned(),
        message: error.to_string(),
    })
}
