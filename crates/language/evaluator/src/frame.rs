//! Where variables live. Main types: [`Frame`] for the variables of one call, [`Globals`] for those that
//! all code sees.
//!
//! The rule that must hold: a variable is set once in its frame, and a frame is only read by the code
//! that it was made for and by the blocks inside that code.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use pcore::Value;

use crate::code::Unit;

/// The variables of one call of a function, a block, a plan.
#[derive(Debug)]
pub(crate) struct Frame {
    layout: FrameLayout,
    slots: RefCell<Vec<Option<Value>>>,
    /// The frame of the code that the block stands in.
    parent: Option<Rc<Frame>>,
}

/// Which variable is in which slot.
#[derive(Debug)]
enum FrameLayout {
    /// As the code says.
    Code { unit: Arc<Unit>, code: u32 },
    /// As they came: a frame that a host fills.
    Free(RefCell<Vec<Arc<str>>>),
}

impl FrameLayout {
    fn position(&self, name: &str) -> Option<usize> {
        let find = |names: &[Arc<str>]| names.iter().position(|it| **it == *name);
        match self {
            Self::Code { unit, code } => find(&unit.code(*code).variables),
            Self::Free(names) => find(&names.borrow()),
        }
    }

    fn name(&self, index: usize) -> Option<Arc<str>> {
        match self {
            Self::Code { unit, code } => unit.code(*code).variables.get(index).cloned(),
            Self::Free(names) => names.borrow().get(index).cloned(),
        }
    }
}

impl Frame {
    /// A frame without code, for variables by name.
    pub(crate) fn free() -> Rc<Self> {
        Self::free_inside(None)
    }

    pub(crate) fn free_inside(parent: Option<&Rc<Self>>) -> Rc<Self> {
        Rc::new(Self {
            layout: FrameLayout::Free(RefCell::default()),
            slots: RefCell::default(),
            parent: parent.cloned(),
        })
    }

    /// Sets a variable of a free frame. False if it is set already, or the frame is a code's.
    pub(crate) fn define(&self, name: &str, value: Value) -> bool {
        let FrameLayout::Free(names) = &self.layout else {
            return false;
        };
        if self.layout.position(name).is_some() {
            return false;
        }
        names.borrow_mut().push(name.into());
        self.slots.borrow_mut().push(Some(value));
        true
    }

    pub(crate) fn new(unit: &Arc<Unit>, code: u32, parent: Option<&Rc<Self>>) -> Rc<Self> {
        let variables = unit.code(code).variables.len();
        Rc::new(Self {
            layout: FrameLayout::Code {
                unit: Arc::clone(unit),
                code,
            },
            slots: RefCell::new(vec![None; variables]),
            parent: parent.cloned(),
        })
    }

    /// Makes it as good as new, for another call of the same code.
    pub(crate) fn clear(&self) {
        self.slots.borrow_mut().fill(None);
    }

    pub(crate) fn get(&self, index: u16) -> Option<Value> {
        self.slots
            .borrow()
            .get(usize::from(index))
            .cloned()
            .flatten()
    }

    pub(crate) fn is_set(&self, index: u16) -> bool {
        self.slots
            .borrow()
            .get(usize::from(index))
            .is_some_and(Option::is_some)
    }

    pub(crate) fn set(&self, index: u16, value: Value) {
        if let Some(slot) = self.slots.borrow_mut().get_mut(usize::from(index)) {
            *slot = Some(value);
        }
    }

    /// The values of its variables.
    pub(crate) fn values(&self) -> Vec<Value> {
        self.slots.borrow().iter().flatten().cloned().collect()
    }

    /// The frame so many blocks further out.
    pub(crate) fn up(self: &Rc<Self>, up: u16) -> Option<&Rc<Self>> {
        let mut frame = self;
        for _ in 0..up {
            frame = frame.parent.as_ref()?;
        }
        Some(frame)
    }

    /// A variable by its name, here or further out.
    pub(crate) fn lookup(&self, name: &str) -> Option<Value> {
        let mut frame = Some(self);
        while let Some(here) = frame {
            if let Some(index) = here.layout.position(name)
                && let Some(Some(value)) = here.slots.borrow().get(index)
            {
                return Some(value.clone());
            }
            frame = here.parent.as_deref();
        }
        None
    }

    /// The names of what is set, here and further out.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        let mut frame = Some(self);
        while let Some(here) = frame {
            for (index, slot) in here.slots.borrow().iter().enumerate() {
                if slot.is_some()
                    && let Some(name) = here.layout.name(index)
                    && !names.contains(&name)
                {
                    names.push(name);
                }
            }
            frame = here.parent.as_deref();
        }
        names
    }
}

/// Variables of the top scope, by their names without a leading `::`.
#[derive(Debug, Default)]
pub(crate) struct Globals {
    variables: RefCell<HashMap<Arc<str>, Value>>,
}

impl Globals {
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        self.variables.borrow().get(name).cloned()
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.variables.borrow().contains_key(name)
    }

    pub(crate) fn set(&self, name: Arc<str>, value: Value) {
        self.variables.borrow_mut().insert(name, value);
    }

    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        self.variables.borrow().keys().cloned().collect()
    }
}
