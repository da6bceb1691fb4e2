//! The state of one running lookup: [`LookupRun`].

use std::sync::Arc;

use pcore::{Hash, Value};

use crate::explain::{ExplainStep, LookupExplainer};
use crate::hierarchy_input::{FACTS, HierarchyInput};
use crate::lookup_trail::LookupTrail;
use crate::{Error, LookupHost};

pub(crate) struct LookupRun<'a> {
    pub(crate) host: &'a mut dyn LookupHost,
    trail: &'a LookupTrail,
    /// True if there is an explanation, and the steps are recorded in it.
    is_explained: bool,
    pub(crate) overrides: &'a Hash,
    pub(crate) defaults: &'a Hash,
    /// True if only the global layer is searched.
    pub(crate) global_only: bool,
    /// The current variable of an entry with `mapped_paths`.
    pub(crate) mapped: Option<(String, Value)>,
    /// Variables on which the hierarchy depends, recorded while it is built.
    pub(crate) depends_on: Option<Vec<HierarchyInput>>,
}

impl<'a> LookupRun<'a> {
    pub(crate) fn new(
        host: &'a mut dyn LookupHost,
        trail: &'a LookupTrail,
        overrides: &'a Hash,
        defaults: &'a Hash,
    ) -> Self {
        Self {
            host,
            trail,
            is_explained: trail.is_explained(),
            overrides,
            defaults,
            global_only: false,
            mapped: None,
            depends_on: None,
        }
    }

    /// Runs a function within a step of the explanation, which is only made if there is one.
    pub(crate) fn explain_within<T>(
        &mut self,
        step: impl FnOnce() -> ExplainStep,
        body: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.is_explained {
            return body(self);
        }
        self.trail.push(step());
        let done = body(self);
        self.trail.pop();
        done
    }

    /// Runs a function without recording it in the explanation.
    pub(crate) fn without_explanation<T>(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let told = std::mem::replace(&mut self.is_explained, false);
        let done = body(self);
        self.is_explained = told;
        done
    }

    /// Runs a part of the lookup of a name.
    pub(crate) fn check<T>(
        &mut self,
        name: &str,
        body: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.trail.enter(name)?;
        let done = body(self);
        self.trail.leave();
        done.map_err(Error::into_settled)
    }

    /// True if the steps are recorded in an explanation.
    pub(crate) const fn is_explained(&self) -> bool {
        self.is_explained
    }

    pub(crate) fn only_options(&self) -> bool {
        self.is_explained && self.trail.only_options()
    }

    pub(crate) fn explain(&mut self, tell: impl FnOnce(&mut LookupExplainer)) {
        if self.is_explained {
            self.trail.explain(tell);
        }
    }

    pub(crate) fn record_found(&mut self, key: &str, value: &Value) {
        self.explain(|it| it.record_found(key, value, ""));
    }

    pub(crate) fn record_not_found(&mut self, key: &str) {
        self.explain(|it| it.record_not_found(key));
    }

    /// The value of a variable; `None` if there is none.
    pub(crate) fn variable(&mut self, name: &str) -> Result<Option<Value>, Error> {
        if let Some((mapped, value)) = &self.mapped
            && mapped == name
        {
            return Ok(Some(value.clone()));
        }
        let value = self.host.variable(name)?;
        if let Some(depends_on) = &mut self.depends_on
            && !depends_on.iter().any(|it| it.is_variable(name))
        {
            depends_on.push(HierarchyInput::Variable(name.to_owned(), value.clone()));
        }
        Ok(value)
    }

    /// The value of the longest part of a path into the facts, as from
    /// [`LookupHost::fact_at`](crate::LookupHost::fact_at); `None` if the whole variable is needed.
    pub(crate) fn fact_at(&mut self, path: &[Arc<str>]) -> Option<(Value, usize)> {
        let is_mapped = self.mapped.as_ref().is_some_and(|(name, _)| name == FACTS);
        if is_mapped || self.is_explained || path.is_empty() {
            return None;
        }
        let (value, walked) = self.host.fact_at(path)?;
        if let Some(depends_on) = &mut self.depends_on {
            depends_on.push(HierarchyInput::Fact(path.to_vec(), value.clone()));
        }
        Some((value, walked))
    }
}
