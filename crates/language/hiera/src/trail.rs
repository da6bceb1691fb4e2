//! What a lookup and the lookups within it share: [`Trail`].
//!
//! A function that a hierarchy names may look up itself. The rule: a name that is being looked up is never
//! looked up within itself, whoever asks, and all that is done for a lookup is told in its explanation.

use std::cell::{Cell, RefCell};

use pcore::Value;

use crate::defaults::{MAX_NESTING, MAX_PARTS};
use crate::explain::Step;
use crate::{Error, Explainer};

/// The names under way, and the explanation if one is wanted.
#[derive(Debug, Default)]
pub struct Trail {
    names: RefCell<Vec<String>>,
    parts: Cell<usize>,
    explainer: Option<RefCell<Explainer>>,
}

impl Trail {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One that is explained.
    #[must_use]
    pub fn explained(explainer: Explainer) -> Self {
        Self {
            explainer: Some(RefCell::new(explainer)),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn is_explained(&self) -> bool {
        self.explainer.is_some()
    }

    /// Something that the explanation tells where the lookup is.
    pub fn tell(&self, text: impl Into<String>) {
        self.explain(|it| it.text(text));
    }

    /// All that was told; empty if nothing is.
    #[must_use]
    pub fn explanation(&self) -> String {
        self.explainer
            .as_ref()
            .map(|it| it.borrow().explain())
            .unwrap_or_default()
    }

    /// The same for programs, as `puppet lookup --explain --render-as json` has it.
    #[must_use]
    pub fn explanation_data(&self) -> Value {
        self.explainer
            .as_ref()
            .map(|it| it.borrow().to_value())
            .unwrap_or_default()
    }

    pub(crate) fn only_options(&self) -> bool {
        self.explainer
            .as_ref()
            .is_some_and(|it| it.borrow().only_options())
    }

    pub(crate) fn explain(&self, tell: impl FnOnce(&mut Explainer)) {
        if let Some(explainer) = &self.explainer {
            tell(&mut explainer.borrow_mut());
        }
    }

    pub(crate) fn push(&self, step: Step) {
        self.explain(|it| it.push(step));
    }

    pub(crate) fn pop(&self) {
        self.explain(Explainer::pop);
    }

    /// Goes into a part of the lookup of a name; [`Self::leave`] goes out again.
    pub(crate) fn enter(&self, name: &str) -> Result<(), Error> {
        let mut names = self.names.borrow_mut();
        if names.iter().any(|known| known == name) {
            let stack = names.join(", ");
            return Err(Error::Recursive { stack });
        }
        if names.len() >= MAX_NESTING {
            let limit = MAX_NESTING;
            let stack = names.join(", ");
            return Err(Error::Nesting { limit, stack });
        }
        self.parts.set(self.parts.get() + 1);
        if self.parts.get() > MAX_PARTS {
            return Err(Error::Parts { limit: MAX_PARTS });
        }
        names.push(name.to_owned());
        Ok(())
    }

    pub(crate) fn leave(&self) {
        self.names.borrow_mut().pop();
    }
}
