//! Functions, ERB templates, Hiera backends, resource types and schemas of transports written in Ruby, run in
//! `ruby` processes with the Puppet or OpenVox library of this machine.
//!
//! [`RubyWorkers`] keeps one process per environment version, which has Puppet and the environment's
//! loaders in memory. [`RubyWorkers::session`] forks it for one compile; the fork costs little, and its
//! changes to globals, classes and the process environment end with it. A [`RubySession`] makes calls one
//! after the other. Ruby code asks for variables, functions of the compiler and the like through
//! [`RubyCallbacks`]. The calls block: use them from threads that may block. A [`RubyInterrupt`] ends them from
//! another thread.
//!
//! Invariants: a process serves one version of one environment, and a session process serves one compile;
//! a session that hangs, dies, prints or allocates beyond its bounds fails its call and is killed with the
//! processes that it started; processes end when the server's end of their socket closes.

mod callbacks;
mod channel;
mod defaults;
mod environment;
mod environment_process;
mod error;
mod frame;
mod function_files;
mod hidden_files;
mod interrupt;
mod pool;
mod preloaded_code;
mod process;
mod protocol;
mod session;
mod session_slots;
mod settings;
mod template_process;

pub use callbacks::{RubyCallbacks, RubyVariable};
pub use environment::RubyEnvironment;
pub use error::{RubyAbort, RubyCallError, RubyCallbackError, RubyException, RubyWorkerError};
pub use function_files::{RubyFunctionApi, RubyFunctionFile, list_ruby_functions};
pub use hidden_files::{HiddenPaths, HideFilesError};
pub use interrupt::RubyInterrupt;
pub use pool::RubyWorkers;
pub use protocol::{
    RubyBlock, RubyBlockShape, RubyHieraCall, RubyResourceType, RubyTemplate, RubyTitlePattern,
};
pub use session::RubySession;
pub use settings::{RubyUser, RubyUserError, RubyWorkerSettings};
