//! Blocks (lambdas) as Rust values, passed to functions. Main type: [`CodeBlock`].
//!
//! Invariant: a block of the program is a closure: it keeps the frame around it, so it may be called at
//! any later time on the thread that made it.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use crate::code::{CodeBody, LoweredUnit};
use crate::frame::VariableFrame;
use crate::regex_matches::RegexMatch;

/// A block of a call.
#[derive(Debug, Clone)]
pub enum CodeBlock {
    /// Code of the program, with the variables around it.
    Puppet(PuppetBlock),
    /// Code in another language.
    Foreign(ForeignBlock),
}

/// A block in another language, which the host calls
/// ([`EvaluationHost::call_foreign_block`](crate::EvaluationHost::call_foreign_block)).
#[derive(Debug, Clone)]
pub struct ForeignBlock {
    /// Minimum number of arguments.
    pub required: usize,
    /// Maximum number of arguments; `None` if unlimited.
    pub most: Option<usize>,
    /// Value by which the host finds the code.
    pub code: Rc<dyn Any>,
}

/// A block of the program, with the variables around it.
#[derive(Debug, Clone)]
pub struct PuppetBlock {
    pub(crate) unit: Arc<LoweredUnit>,
    pub(crate) code: u32,
    pub(crate) frame: Option<Rc<VariableFrame>>,
    pub(crate) matches: Option<Rc<RegexMatch>>,
    /// Frame of a finished call, reused by iterations.
    pub(crate) spare: RefCell<Option<Rc<VariableFrame>>>,
}

impl CodeBlock {
    /// Minimum and maximum number of arguments; the maximum is `None` if unlimited.
    #[must_use]
    pub fn arity(&self) -> (usize, Option<usize>) {
        match self {
            Self::Puppet(block) => block.code().arity(),
            Self::Foreign(block) => (block.required, block.most),
        }
    }

    /// True if the block can be called with this number of arguments.
    #[must_use]
    pub fn accepts_arity(&self, arguments: usize) -> bool {
        let (least, most) = self.arity();
        arguments >= least && most.is_none_or(|most| arguments <= most)
    }

    /// Names of the parameters, in order; none of a block in another language.
    #[must_use]
    pub fn parameter_names(&self) -> Vec<Arc<str>> {
        match self {
            Self::Puppet(block) => block.code().parameter_names().cloned().collect(),
            Self::Foreign(_) => Vec::new(),
        }
    }
}

impl PuppetBlock {
    pub(crate) fn code(&self) -> &CodeBody {
        self.unit.code(self.code)
    }

    /// An empty frame for the next call.
    pub(crate) fn take_frame(&self) -> Rc<VariableFrame> {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        VariableFrame::new(&self.unit, self.code, self.frame.as_ref())
    }

    /// Clears a frame and keeps it for the next call, unless it is still referenced.
    pub(crate) fn return_frame(&self, frame: Rc<VariableFrame>) {
        if Rc::strong_count(&frame) == 1 {
            frame.clear();
            self.spare.replace(Some(frame));
        }
    }
}
