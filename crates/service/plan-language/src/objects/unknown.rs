//! Values that are unknown in a preview. Main type: [`UnknownResult`].
//!
//! Invariant: a value that is derived from unknown values names every step that they come from.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use pcore::{Hash, PuppetObject, Type, Value};

/// Numbers of the effects that a preview showed.
pub(crate) type PreviewStepNumbers = BTreeSet<u32>;

/// Placeholder for a value of which only the originating effects are known. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownResult {
    steps: Arc<PreviewStepNumbers>,
    /// A string with placeholders in it; `None` if nothing of the value is known.
    text: Option<Arc<str>>,
}

impl UnknownResult {
    pub(crate) fn new(steps: PreviewStepNumbers, text: Option<String>) -> Self {
        Self {
            steps: Arc::new(steps),
            text: text.map(Arc::from),
        }
    }

    /// Creates the unknown result of the effect with this number.
    pub(crate) fn of(step: u32) -> Self {
        Self::new(PreviewStepNumbers::from([step]), None)
    }

    pub(crate) fn steps(&self) -> &PreviewStepNumbers {
        &self.steps
    }

    /// Returns the text that is shown, such as `<result of step 3>`.
    pub(crate) fn to_display_text(&self) -> String {
        match &self.text {
            Some(text) => text.to_string(),
            None => format!("<result of {}>", step_names(&self.steps)),
        }
    }
}

/// Formats step numbers: `step 3`, `steps 3 and 4`.
pub(crate) fn step_names(steps: &PreviewStepNumbers) -> String {
    let mut names: Vec<String> = steps.iter().map(u32::to_string).collect();
    match (names.pop(), names.is_empty()) {
        (Some(only), true) => format!("step {only}"),
        (Some(last), false) => format!("steps {} and {last}", names.join(", ")),
        (None, _) => "no step".to_owned(),
    }
}

impl PuppetObject for UnknownResult {
    /// The type `Unit`, which fits every parameter type.
    fn object_type(&self) -> Type {
        Type::unit()
    }

    fn attribute(&self, _: &str) -> Option<Value> {
        None
    }

    fn equals(&self, other: &dyn PuppetObject) -> bool {
        other.as_any().downcast_ref::<Self>() == Some(self)
    }

    fn init_hash(&self) -> Hash {
        Hash::new()
    }

    fn text(&self) -> Option<String> {
        Some(self.to_display_text())
    }

    fn is_unknown(&self) -> bool {
        true
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
