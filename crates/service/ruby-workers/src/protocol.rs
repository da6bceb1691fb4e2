//! Messages between a session and its process, and the types in them.
//!
//! Invariant: the names of the fields are those that `ruby/session.rb` and `ruby/calls.rb` use.

use std::path::PathBuf;

use pcore::Value;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// Parameters of a block of the compiler that is passed to a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RubyBlockShape {
    /// Tells [`crate::RubyCallbacks::call_block`] which block is meant.
    pub id: u32,
    pub required: u32,
    pub optional: u32,
    /// True if the last parameter takes all further arguments.
    pub rest: bool,
}

/// A block of Ruby code that is passed to a function of the compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct RubyBlock {
    pub(crate) id: u64,
    pub required: u32,
    pub optional: u32,
    pub rest: bool,
}

impl RubyBlock {
    /// Tells [`crate::RubySession::call_block`] which block is meant.
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.id
    }
}

/// An ERB template, inline or in a file of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RubyTemplate {
    /// The text itself (`inline_template`).
    Text(String),
    /// Absolute path of a file.
    File(PathBuf),
}

/// A call of a Hiera 5 backend: the function's arguments before its context.
#[derive(Debug, Clone)]
pub struct RubyHieraCall {
    pub function: String,
    /// `[options]` for `data_hash`, `[key, options]` for `lookup_key`, `[segments, options]` for
    /// `data_dig`.
    pub arguments: Vec<Value>,
    /// Module of the data; `None` for the environment and global layers.
    pub module: Option<String>,
    /// Entry of the hierarchy. Calls with the same one share the cache of their context.
    pub cache: String,
}

/// Facts about a resource type that a compiler needs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RubyResourceType {
    pub name: String,
    pub properties: Vec<String>,
    /// Parameters other than metaparameters and properties.
    pub parameters: Vec<String>,
    pub namevars: Vec<String>,
    /// Empty if the type has several namevars and no patterns.
    pub title_patterns: Vec<RubyTitlePattern>,
    /// True if two resources with the same namevar are the same resource.
    pub isomorphic: bool,
}

/// A regular expression over titles: source, ignores case, dot matches newlines, and the attributes that
/// its groups set (`None` if Ruby code computes them).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RubyTitlePattern(pub String, pub bool, pub bool, pub Option<Vec<String>>);

/// Failure of a call as the process reports it.
#[derive(Debug, Deserialize)]
pub(crate) struct CallFailure {
    pub(crate) kind: FailureKind,
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) class: String,
    pub(crate) file: Option<PathBuf>,
    pub(crate) line: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailureKind {
    Raised,
    Aborted,
    NotIsolated,
    Value,
    Exit,
    Memory,
    /// A block was left by `break`, `return` or `throw`; its Ruby code goes on elsewhere.
    Left,
}

/// A question of Ruby code.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum Question {
    Variable {
        name: String,
    },
    Variables {
        names: Option<Vec<String>>,
    },
    HasFunction {
        name: String,
    },
    Call {
        name: String,
        args: Json,
        block: Option<RubyBlock>,
    },
    Yield {
        id: u32,
        args: Json,
    },
    Declare {
        #[serde(rename = "type")]
        ty: String,
        title: Json,
        parameters: Json,
    },
    Tags,
    Classes,
    Interpolate {
        value: Json,
    },
    Explain {
        text: String,
    },
}
