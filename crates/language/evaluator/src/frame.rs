//! Storage of variables. Main types: [`VariableFrame`] for the variables of one call,
//! [`GlobalVariables`] for those of the top scope.
//!
//! Invariant: a variable is set once in its frame, and a frame is read only by the code for which
//! it was made and by the blocks inside that code.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use pcore::{FastHashMap, Value};

use crate::code::LoweredUnit;
use crate::fact_reads::FactReadRecorder;

/// The variables of one call of a function, a block, a plan.
#[derive(Debug)]
pub(crate) struct VariableFrame {
    layout: FrameLayout,
    slots: RefCell<Vec<Option<Value>>>,
    /// For a block, the frame of the code around it. For a class, a defined type and a function
    /// that are used inside a node block, the frame of the class that it inherits, or of that block.
    parent: Option<Rc<VariableFrame>>,
    /// Scope of the catalog to which the code belongs; blocks have that of the code around them.
    catalog_scope: CatalogScopeId,
    is_node_block: bool,
}

/// Index of a scope of a catalog compilation: the top scope, a node block, a class, a resource of a
/// defined type. The compiler assigns them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct CatalogScopeId(pub u32);

impl CatalogScopeId {
    /// The top scope, to which all code outside of catalogs belongs.
    pub const TOP: Self = Self(0);
}

/// Assignment of variable names to slots.
#[derive(Debug)]
enum FrameLayout {
    /// Slots of the variables that the code declares.
    Code { unit: Arc<LoweredUnit>, code: u32 },
    /// Slots in order of definition, for a frame filled by a host.
    Free(RefCell<Vec<Arc<str>>>),
}

impl FrameLayout {
    fn position(&self, name: &str) -> Option<usize> {
        let find = |names: &[Arc<str>]| names.iter().position(|it| **it == *name);
        match self {
            Self::Code { unit, code } => unit.code(*code).slot_of(name),
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

impl VariableFrame {
    /// A frame without code, whose variables are defined by name.
    pub(crate) fn new_growable() -> Rc<Self> {
        Self::new_growable_inside(None)
    }

    pub(crate) fn new_growable_inside(parent: Option<&Rc<Self>>) -> Rc<Self> {
        Rc::new(Self {
            layout: FrameLayout::Free(RefCell::default()),
            slots: RefCell::default(),
            parent: parent.cloned(),
            catalog_scope: scope_of(parent),
            is_node_block: false,
        })
    }

    /// Sets a variable of a free frame. False if it is already set, or if the frame belongs to
    /// code.
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

    pub(crate) fn new(unit: &Arc<LoweredUnit>, code: u32, parent: Option<&Rc<Self>>) -> Rc<Self> {
        let variables = unit.code(code).variables.len();
        Rc::new(Self {
            layout: FrameLayout::Code {
                unit: Arc::clone(unit),
                code,
            },
            slots: RefCell::new(vec![None; variables]),
            parent: parent.cloned(),
            catalog_scope: scope_of(parent),
            is_node_block: false,
        })
    }

    /// A frame for the body of a class, a defined type or a node block.
    pub(crate) fn new_catalog_scope(
        unit: &Arc<LoweredUnit>,
        code: u32,
        parent: Option<&Rc<Self>>,
        catalog_scope: CatalogScopeId,
        is_node_block: bool,
    ) -> Rc<Self> {
        let variables = unit.code(code).variables.len();
        Rc::new(Self {
            layout: FrameLayout::Code {
                unit: Arc::clone(unit),
                code,
            },
            slots: RefCell::new(vec![None; variables]),
            parent: parent.cloned(),
            catalog_scope,
            is_node_block,
        })
    }

    pub(crate) fn catalog_scope(&self) -> CatalogScopeId {
        self.catalog_scope
    }

    /// Frame of the node block around this code; `None` if there is none.
    pub(crate) fn node_block(self: &Rc<Self>) -> Option<&Rc<Self>> {
        if self.catalog_scope == CatalogScopeId::TOP {
            return None;
        }
        let mut frame = Some(self);
        while let Some(here) = frame {
            if here.is_node_block {
                return Some(here);
            }
            frame = here.parent.as_ref();
        }
        None
    }

    /// Value of a variable of this frame alone.
    pub(crate) fn own(&self, name: &str) -> Option<Value> {
        let index = self.layout.position(name)?;
        self.slots.borrow().get(index).cloned().flatten()
    }

    /// Clears all variables, to reuse the frame for another call of the same code.
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

    pub(crate) fn unset(&self, index: u16) {
        if let Some(slot) = self.slots.borrow_mut().get_mut(usize::from(index)) {
            *slot = None;
        }
    }

    /// Values of the variables that are set.
    pub(crate) fn values(&self) -> Vec<Value> {
        self.slots.borrow().iter().flatten().cloned().collect()
    }

    /// The frame `up` blocks further out.
    pub(crate) fn ancestor(self: &Rc<Self>, up: u16) -> Option<&Rc<Self>> {
        let mut frame = self;
        for _ in 0..up {
            frame = frame.parent.as_ref()?;
        }
        Some(frame)
    }

    /// Value of a variable by its name, in this frame or further out.
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

    /// Names of the variables that are set, in this frame and further out.
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

fn scope_of(parent: Option<&Rc<VariableFrame>>) -> CatalogScopeId {
    parent.map_or(CatalogScopeId::TOP, |parent| parent.catalog_scope)
}

/// Variables of the top scope, by their names without a leading `::`.
#[derive(Debug, Default)]
pub(crate) struct GlobalVariables {
    variables: RefCell<FastHashMap<Arc<str>, Value>>,
    pub(crate) fact_reads: FactReadRecorder,
}

impl GlobalVariables {
    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        self.fact_reads.record_variable(name);
        self.get_unrecorded(name)
    }

    /// The value of a variable for a caller that records what it reads of it.
    pub(crate) fn get_unrecorded(&self, name: &str) -> Option<Value> {
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
