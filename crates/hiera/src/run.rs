//! One lookup under way: [`Run`].
//!
//! The rule: a name that is being looked up is never looked up within itself.

use pcore::{Hash, Value};

use crate::defaults::{MAX_NESTING, MAX_PARTS};
use crate::explain::{Explainer, Step};
use crate::{Error, Host};

pub(crate) struct Run<'a> {
    pub(crate) host: &'a mut dyn Host,
    explainer: Option<&'a mut Explainer>,
    /// Names that are being looked up.
    names: Vec<String>,
    parts: usize,
    pub(crate) overrides: &'a Hash,
    pub(crate) defaults: &'a Hash,
    /// The variable that an entry of `mapped_paths` has at the moment.
    pub(crate) mapped: Option<(String, Value)>,
    /// Variables that the hierarchy depends on, while it is made.
    pub(crate) depends_on: Option<Vec<(String, Option<Value>)>>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        host: &'a mut dyn Host,
        explainer: Option<&'a mut Explainer>,
        overrides: &'a Hash,
        defaults: &'a Hash,
    ) -> Self {
        Self {
            host,
            explainer,
            names: Vec::new(),
            parts: 0,
            overrides,
            defaults,
            mapped: None,
            depends_on: None,
        }
    }

    /// Carries out a step of the explanation.
    pub(crate) fn within<T>(
        &mut self,
        step: Step,
        body: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Some(explainer) = &mut self.explainer else {
            return body(self);
        };
        explainer.push(step);
        let done = body(self);
        if let Some(explainer) = &mut self.explainer {
            explainer.pop();
        }
        done
    }

    /// Carries out something that the explanation does not tell.
    pub(crate) fn untold<T>(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let explainer = self.explainer.take();
        let done = body(self);
        self.explainer = explainer;
        done
    }

    /// Carries out a part of the lookup of a name.
    pub(crate) fn check<T>(
        &mut self,
        name: &str,
        body: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let stack = || self.names.join(", ");
        if self.names.iter().any(|known| known == name) {
            return Err(Error::Recursive { stack: stack() });
        }
        if self.names.len() >= MAX_NESTING {
            let limit = MAX_NESTING;
            let stack = stack();
            return Err(Error::Nesting { limit, stack });
        }
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(Error::Parts { limit: MAX_PARTS });
        }
        self.names.push(name.to_owned());
        let done = body(self);
        self.names.pop();
        done
    }

    pub(crate) fn only_options(&self) -> bool {
        self.explainer.as_ref().is_some_and(|it| it.only_options())
    }

    pub(crate) fn explain(&mut self, tell: impl FnOnce(&mut Explainer)) {
        if let Some(explainer) = &mut self.explainer {
            tell(explainer);
        }
    }

    pub(crate) fn found(&mut self, key: &str, value: &Value) {
        self.explain(|it| it.found(key, value, ""));
    }

    pub(crate) fn not_found(&mut self, key: &str) {
        self.explain(|it| it.not_found(key));
    }

    /// A variable; `None` if there is none.
    pub(crate) fn variable(&mut self, name: &str) -> Result<Option<Value>, Error> {
        if let Some((mapped, value)) = &self.mapped
            && mapped == name
        {
            return Ok(Some(value.clone()));
        }
        let value = self.host.variable(name)?;
        if let Some(depends_on) = &mut self.depends_on
            && !depends_on.iter().any(|(known, _)| known == name)
        {
            depends_on.push((name.to_owned(), value.clone()));
        }
        Ok(value)
    }
}
