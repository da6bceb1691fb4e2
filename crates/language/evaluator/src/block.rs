//! Blocks as values of Rust: what a function gets that is called with one. Main type: [`Block`].
//!
//! The rule that must hold: a block keeps the frame that it was written in, so it may be called at any
//! time after, on the thread that made it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use crate::code::{CodeBody, Unit};
use crate::frame::Frame;
use crate::matches::RegexMatch;

/// A block of a call, with the variables around it.
#[derive(Debug, Clone)]
pub struct Block {
    pub(crate) unit: Arc<Unit>,
    pub(crate) code: u32,
    pub(crate) frame: Option<Rc<Frame>>,
    pub(crate) matches: Option<Rc<RegexMatch>>,
    /// A frame of a call that is over: iterations use it again.
    pub(crate) spare: RefCell<Option<Rc<Frame>>>,
}

impl Block {
    pub(crate) fn code(&self) -> &CodeBody {
        self.unit.code(self.code)
    }

    /// The least and the most arguments that it takes.
    #[must_use]
    pub fn arity(&self) -> (usize, Option<usize>) {
        self.code().arity()
    }

    /// Whether it can be called with so many arguments.
    #[must_use]
    pub fn takes(&self, arguments: usize) -> bool {
        let (least, most) = self.arity();
        arguments >= least && most.is_none_or(|most| arguments <= most)
    }

    /// The names of its parameters.
    #[must_use]
    pub fn parameter_names(&self) -> Vec<Arc<str>> {
        self.code().parameter_names().cloned().collect()
    }

    /// A free frame for its next call, set to nothing.
    pub(crate) fn fresh_frame(&self) -> Rc<Frame> {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        Frame::new(&self.unit, self.code, self.frame.as_ref())
    }

    /// Keeps a frame for the next call, unless something still holds it. Its variables are free.
    pub(crate) fn give_back(&self, frame: Rc<Frame>) {
        if Rc::strong_count(&frame) == 1 {
            frame.clear();
            self.spare.replace(Some(frame));
        }
    }
}
