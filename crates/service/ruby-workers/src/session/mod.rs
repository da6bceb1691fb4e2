//! Calls of Ruby code during one compile. Main type: [`RubySession`].
//!
//! Invariant: after an error that ends the process no further call is sent to it.

mod answers;
mod calls;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pcore::{RichDataError, Value};
use serde_json::{Value as Json, json};

use crate::callbacks::RubyCallbacks;
use crate::channel::{ChannelError, TimeBudget};
use crate::defaults::{NESTING_MAX, OUTPUT_TAIL_MAX};
use crate::environment_process::EnvironmentProcess;
use crate::error::{RubyAbort, RubyCallError, RubyException};
use crate::frame::encode;
use crate::function_files::list_ruby_functions;
use crate::interrupt::RubyInterrupt;
use crate::preloaded_code::PreloadedCode;
use crate::protocol::{CallFailure, FailureKind};
use crate::session_slots::SessionSlot;
use crate::settings::RubyWorkerSettings;
use crate::template_process::ForkedSession;

/// A process for the calls of one compile. Dropping it ends the process.
///
/// Calls take `&self`, since the compiler that answers a question of a call may make another call
/// meanwhile. Nothing of the session is borrowed while the compiler answers.
#[derive(Debug)]
pub struct RubySession {
    settings: Arc<RubyWorkerSettings>,
    process: Arc<EnvironmentProcess>,
    forked: RefCell<ForkedSession>,
    /// Functions and templates that are running, from the outermost.
    running: RefCell<Vec<String>>,
    /// Time that is left for the innermost running call, which its blocks use too.
    time_left: Cell<Duration>,
    is_ended: Cell<bool>,
    /// Functions and templates that did not end the process.
    called: RefCell<BTreeSet<PreloadedCode>>,
    /// Ends the calls; `None` if only their bounds do.
    interrupt: Option<RubyInterrupt>,
    _slot: SessionSlot,
}

// === impl RubySession ===

impl RubySession {
    pub(crate) fn new(
        settings: Arc<RubyWorkerSettings>,
        process: Arc<EnvironmentProcess>,
        forked: ForkedSession,
        slot: SessionSlot,
    ) -> Self {
        Self {
            settings,
            process,
            forked: RefCell::new(forked),
            running: RefCell::default(),
            time_left: Cell::default(),
            is_ended: Cell::new(false),
            called: RefCell::default(),
            interrupt: None,
            _slot: slot,
        }
    }

    pub(crate) fn with_interrupt(mut self, interrupt: Option<RubyInterrupt>) -> Self {
        self.interrupt = interrupt;
        self
    }

    /// True if a call ended the process; the compile needs a new session.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.is_ended.get()
    }

    /// Sends a call and answers the questions of Ruby code until its result comes.
    fn call(
        &self,
        callee: &str,
        message: &Json,
        callbacks: &mut dyn RubyCallbacks,
    ) -> Result<Json, RubyCallError> {
        let outer = self.time_left.get();
        let time = self.settings.call_time_max;
        let result = self.call_within(time, callee, message, callbacks);
        self.time_left.set(outer);
        if self.running.borrow().is_empty() && !self.is_ended.get() {
            match self.forked.borrow_mut().channel.take_output() {
                Ok(Some(text)) => callbacks.printed(&text),
                Ok(None) => {}
                Err(error) => return Err(self.end(callee, error)),
            }
        }
        result
    }

    /// Like [`call`](Self::call), with the time that is left of the call that passed the block.
    fn call_passed_block(
        &self,
        message: &Json,
        callbacks: &mut dyn RubyCallbacks,
    ) -> (String, Result<Json, RubyCallError>) {
        let running = self.running.borrow().last().cloned();
        let (callee, time) = match running {
            Some(callee) => (callee, self.time_left.get()),
            None => ("a block in Ruby".to_owned(), self.settings.call_time_max),
        };
        let result = self.call_within(time, &callee, message, callbacks);
        (callee, result)
    }

    fn call_within(
        &self,
        time: Duration,
        callee: &str,
        message: &Json,
        callbacks: &mut dyn RubyCallbacks,
    ) -> Result<Json, RubyCallError> {
        let callee = callee.to_owned();
        if self.is_ended.get() {
            return Err(RubyCallError::Ended { callee });
        }
        if self.running.borrow().len() >= NESTING_MAX {
            let max = NESTING_MAX;
            return Err(RubyCallError::TooDeep { callee, max });
        }
        self.running.borrow_mut().push(callee.clone());
        let mut budget = TimeBudget::interruptible(time, self.interrupt.as_ref());
        let result = self.exchange(&callee, message, &mut budget, callbacks);
        self.running.borrow_mut().pop();
        self.time_left.set(budget.left());
        result
    }

    fn exchange(
        &self,
        callee: &str,
        message: &Json,
        budget: &mut TimeBudget,
        callbacks: &mut dyn RubyCallbacks,
    ) -> Result<Json, RubyCallError> {
        self.send(callee, message, budget)?;
        let mut abort: Option<RubyAbort> = None;
        loop {
            let mut reply = self.receive(callee, budget)?;
            if let Some(outcome) = self.read_outcome(callee, &mut reply) {
                return match abort {
                    Some(abort) => Err(aborted(callee, abort)),
                    None => outcome,
                };
            }
            if let Some(log) = reply.get("log") {
                let text = |index: usize| log.get(index).and_then(Json::as_str);
                callbacks.log(text(0).unwrap_or("notice"), text(1).unwrap_or_default());
                continue;
            }
            let question = serde_json::from_value(reply);
            let question = question.map_err(|error| self.end_malformed(callee, &error))?;
            self.time_left.set(budget.left());
            let (answer, asked_abort) = self.answer(question, callbacks);
            budget.set_left(self.time_left.get());
            if self.is_ended.get() {
                return Err(ended_inside(callee, &answer, abort.or(asked_abort)));
            }
            abort = abort.or(asked_abort);
            self.send(callee, &answer, budget)?;
        }
    }

    /// The result of the innermost call if the message is one.
    fn read_outcome(&self, callee: &str, reply: &mut Json) -> Option<Result<Json, RubyCallError>> {
        if let Some(value) = reply.get_mut("done") {
            return Some(Ok(value.take()));
        }
        let failure = serde_json::from_value(reply.get_mut("fail")?.take());
        Some(Err(match failure {
            Ok(failure) => self.describe_failure(callee, failure),
            Err(error) => self.end_malformed(callee, &error),
        }))
    }

    fn receive(&self, callee: &str, budget: &mut TimeBudget) -> Result<Json, RubyCallError> {
        let received = self.forked.borrow_mut().channel.receive(budget);
        let frame = received.map_err(|error| self.end(callee, error))?;
        let reply = serde_json::from_slice(&frame);
        reply.map_err(|error| self.end_malformed(callee, &error))
    }

    /// Sends a message. An answer that is too long is replaced by an exception in Ruby.
    fn send(
        &self,
        callee: &str,
        message: &Json,
        budget: &mut TimeBudget,
    ) -> Result<(), RubyCallError> {
        let max = self.settings.frame_max_bytes;
        let frame = match encode(message, max) {
            Some(frame) => frame,
            None if message.get("op").is_some() => {
                let callee = callee.to_owned();
                return Err(RubyCallError::TooLong { callee, max });
            }
            None => {
                let text = format!("the answer is longer than {max} bytes");
                encode(&json!({ "raise": text }), usize::MAX).unwrap_or_default()
            }
        };
        let sent = self.forked.borrow_mut().channel.send(&frame, budget);
        sent.map_err(|error| self.end(callee, error))
    }

    /// Ends the process after a failure of the connection.
    fn end(&self, callee: &str, error: ChannelError) -> RubyCallError {
        let how = self.kill();
        let callee_name = callee.to_owned();
        let file = self.find_file(callee);
        match error {
            ChannelError::TimedOut => RubyCallError::TimedOut {
                callee: callee_name,
                file,
                after: self.settings.call_time_max,
            },
            ChannelError::Interrupted => RubyCallError::Interrupted {
                callee: callee_name,
                file,
            },
            ChannelError::TooMuchOutput => RubyCallError::TooMuchOutput {
                callee: callee_name,
                file,
                max: self.settings.output_max_bytes,
            },
            ChannelError::TooLong => RubyCallError::TooLong {
                callee: callee_name,
                max: self.settings.frame_max_bytes,
            },
            ChannelError::Closed | ChannelError::Io(_) => RubyCallError::Died {
                callee: callee_name,
                file,
                how: how.unwrap_or_else(|| "for an unknown reason".to_owned()),
                output: self
                    .forked
                    .borrow_mut()
                    .channel
                    .output_tail(OUTPUT_TAIL_MAX),
            },
        }
    }

    /// Ends the process after a message that is none of the protocol's.
    fn end_malformed(&self, callee: &str, error: &serde_json::Error) -> RubyCallError {
        self.kill();
        RubyCallError::BadMessage {
            callee: callee.to_owned(),
            message: error.to_string(),
        }
    }

    fn kill(&self) -> Option<String> {
        if self.is_ended.get() {
            return None;
        }
        self.is_ended.set(true);
        self.process.end_session(self.forked.borrow().pid)
    }

    fn describe_failure(&self, callee: &str, failure: CallFailure) -> RubyCallError {
        let callee = callee.to_owned();
        let CallFailure {
            kind,
            message,
            class,
            file,
            line,
        } = failure;
        match kind {
            FailureKind::Raised | FailureKind::Aborted => RubyCallError::Raised {
                callee,
                exception: RubyException {
                    class,
                    message,
                    file,
                    line,
                },
            },
            FailureKind::NotIsolated => RubyCallError::NotIsolated {
                callee,
                what: message,
                file,
                line,
            },
            FailureKind::Left => RubyCallError::BlockLeft { callee },
            FailureKind::Value => RubyCallError::NotAValue { callee, message },
            FailureKind::Exit => {
                self.kill();
                RubyCallError::Exited { callee, file, line }
            }
            FailureKind::Memory => {
                self.kill();
                let file = file.or_else(|| self.find_file(&callee));
                RubyCallError::OutOfMemory {
                    callee,
                    file,
                    line,
                    max: self.settings.memory_max_bytes,
                }
            }
        }
    }

    /// File of a function, for messages.
    fn find_file(&self, callee: &str) -> Option<PathBuf> {
        list_ruby_functions(&self.process.environment)
            .into_iter()
            .find(|function| function.name == callee)
            .map(|function| function.file)
    }
}

impl Drop for RubySession {
    fn drop(&mut self) {
        self.process.add_called(self.called.take());
        self.kill();
    }
}

fn aborted(callee: &str, abort: RubyAbort) -> RubyCallError {
    RubyCallError::Aborted {
        callee: callee.to_owned(),
        abort,
    }
}

/// The error of a call while whose question was answered the process ended.
fn ended_inside(callee: &str, answer: &Json, abort: Option<RubyAbort>) -> RubyCallError {
    if let Some(abort) = abort {
        return aborted(callee, abort);
    }
    let callee = callee.to_owned();
    match answer.get("raise").and_then(Json::as_str) {
        Some(cause) => RubyCallError::EndedInside {
            callee,
            cause: cause.to_owned(),
        },
        None => RubyCallError::Ended { callee },
    }
}

/// Rich data of values.
fn to_rich(values: &[Value]) -> Result<Vec<Json>, RichDataError> {
    values.iter().map(Value::to_rich_json).collect()
}

/// A value of rich data; types that are not Puppet's own are found by the compiler.
fn from_rich(json: &Json, callbacks: &mut dyn RubyCallbacks) -> Result<Value, RichDataError> {
    let callbacks = std::cell::RefCell::new(callbacks);
    Value::from_rich_json(json, &|name| callbacks.borrow_mut().find_type(name))
}
