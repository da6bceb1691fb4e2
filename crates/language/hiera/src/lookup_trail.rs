//! The state that a lookup and its nested lookups share: [`LookupTrail`].
//!
//! A function that a hierarchy names may perform lookups itself. Invariant: a name that is being
//! looked up is never looked up within itself, whatever the caller, and all steps of a lookup are
//! part of its explanation.

use std::cell::{Cell, RefCell};

use pcore::Value;

use crate::defaults::{MAX_NESTING, MAX_PARTS};
use crate::explain::ExplainStep;
use crate::{Error, LookupExplainer};

/// The names that are being looked up, and the explanation if one is wanted.
#[derive(Debug, Default)]
pub struct LookupTrail {
    names: RefCell<Vec<String>>,
    parts: Cell<usize>,
    explainer: Option<RefCell<LookupExplainer>>,
}

impl LookupTrail {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a trail that records an explanation.
    #[must_use]
    pub fn with_explainer(explainer: LookupExplainer) -> Self {
        Self {
            explainer: Some(RefCell::new(explainer)),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn is_explained(&self) -> bool {
        self.explainer.is_some()
    }

    /// Adds a text to the explanation at the current step.
    pub fn record_text(&self, text: impl Into<String>) {
        self.explain(|it| it.record_text(text));
    }

    /// The text of the explanation; empty if none is recorded.
    #[must_use]
    pub fn explanation(&self) -> String {
        self.explainer
            .as_ref()
            .map(|it| it.borrow().explain())
            .unwrap_or_default()
    }

    /// The explanation as data, as `puppet lookup --explain --render-as json` prints it.
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

    pub(crate) fn explain(&self, tell: impl FnOnce(&mut LookupExplainer)) {
        if let Some(explainer) = &self.explainer {
            tell(&mut explainer.borrow_mut());
        }
    }

    pub(crate) fn push(&self, step: ExplainStep) {
        self.explain(|it| it.push(step));
    }

    pub(crate) fn pop(&self) {
        self.explain(LookupExplainer::pop);
    }

    /// Enters a part of the lookup of a name; [`Self::leave`] leaves it.
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
