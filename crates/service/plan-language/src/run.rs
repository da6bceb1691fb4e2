//! The state that all branches of one plan share. Main type: [`PlanEvaluation`].
//!
//! Invariant: the state follows only from the plan's steps and their results, so it is the same
//! when the plan is evaluated again.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use evaluator::{CodeModule, EvalError, SourceFile};
use indexmap::{IndexMap, IndexSet};
use lookup::{FileIdentity, Lookup};
use pcore::{Hash, Value};
use plans::{BranchId, PlanLaunch};

use crate::code::DataRoots;
use crate::global_layer::GlobalDataPaths;
use crate::objects::{PlanResource, PlanTarget, PreviewStepNumbers};
use crate::preview::PreviewTally;
use crate::unwrapped_secrets::UnwrappedSecrets;
use crate::world::{PlanOwner, PlanServices};

/// One evaluation of a plan.
pub(crate) struct PlanEvaluation {
    pub(crate) world: PlanServices,
    pub(crate) launch: PlanLaunch,
    pub(crate) targets: RefCell<HashMap<Arc<str>, TargetState>>,
    /// Targets that the plan created, by name and alias.
    pub(crate) made: RefCell<IndexMap<Arc<str>, PlanTarget>>,
    /// Members of the groups that the plan created or changed, by group name.
    pub(crate) groups: RefCell<IndexMap<Arc<str>, Vec<PlanTarget>>>,
    pub(crate) futures: RefCell<Vec<ParallelBlock>>,
    pub(crate) modules: RefCell<HashMap<Arc<str>, Option<CodeModule>>>,
    pub(crate) files: RefCell<HashMap<FileKey, Option<SourceFile>>>,
    pub(crate) identities: RefCell<HashMap<PathBuf, Option<FileIdentity>>>,
    pub(crate) roots: OnceCell<DataRoots>,
    pub(crate) named_globally: RefCell<GlobalDataPaths>,
    pub(crate) lookup: OnceCell<Lookup>,
    pub(crate) unwrapped: UnwrappedSecrets,
    /// Number of plans started so far: this one and those that it called.
    begun: Cell<u64>,
    /// Functions for which the plan was already warned that the environment's version is replaced.
    pub(crate) told_replaced: RefCell<BTreeSet<String>>,
    /// Counters of a preview.
    pub(crate) tally: PreviewTally,
}

/// Module name, or `None` for the environment itself, and a path inside it.
pub(crate) type FileKey = (Option<Arc<str>>, Arc<str>);

/// The state that a plan has set for a target.
#[derive(Default)]
pub(crate) struct TargetState {
    pub(crate) vars: Hash,
    pub(crate) facts: Hash,
    pub(crate) config: Hash,
    pub(crate) features: IndexSet<Arc<str>>,
    pub(crate) plugin_hooks: Hash,
    /// Resources that the plan set, by reference.
    pub(crate) resources: IndexMap<Arc<str>, PlanResource>,
    /// Aliases of the target, as the plan gave them: a string or a list.
    pub(crate) aliases: Option<Value>,
}

/// A block that runs in parallel to the plan.
pub(crate) struct ParallelBlock {
    pub(crate) branch: BranchId,
    /// The name that the plan gave it, or the id of the branch.
    pub(crate) name: String,
    /// Number of the plan that started it, from [`PlanEvaluation::begin_plan`].
    pub(crate) plan: u64,
    pub(crate) end: ParallelBlockResult,
    pub(crate) decided: DecidingResults,
}

/// Result of a parallel block; `None` while it runs.
pub(crate) type ParallelBlockResult = Rc<RefCell<Option<Result<Value, EvalError>>>>;

/// The results on which the control flow of a parallel block depends. Complete when it has ended.
pub(crate) type DecidingResults = Rc<RefCell<PreviewStepNumbers>>;

impl PlanEvaluation {
    pub(crate) fn new(world: PlanServices, launch: PlanLaunch) -> Self {
        Self {
            world,
            launch,
            targets: RefCell::default(),
            made: RefCell::default(),
            groups: RefCell::default(),
            futures: RefCell::default(),
            modules: RefCell::default(),
            files: RefCell::default(),
            identities: RefCell::default(),
            roots: OnceCell::new(),
            named_globally: RefCell::default(),
            lookup: OnceCell::new(),
            unwrapped: UnwrappedSecrets::default(),
            begun: Cell::new(0),
            told_replaced: RefCell::default(),
            tally: PreviewTally::default(),
        }
    }

    /// The user with whose permissions the plan queries nodes.
    pub(crate) fn owner(&self) -> PlanOwner {
        PlanOwner {
            login: self.launch.owner.clone(),
            id: self.launch.owner_id.clone(),
        }
    }

    /// Returns the number of a plan that starts.
    pub(crate) fn begin_plan(&self) -> u64 {
        self.begun.replace(self.begun.get() + 1)
    }

    /// Returns the results on which the control flow of an ended branch depends.
    pub(crate) fn deciding_results(&self, branch: &BranchId) -> PreviewStepNumbers {
        let futures = self.futures.borrow();
        let found = futures.iter().find(|beside| beside.branch == *branch);
        found
            .map(|it| it.decided.borrow().clone())
            .unwrap_or_default()
    }

    /// Returns the result of a branch; `None` if it has not ended.
    pub(crate) fn block_result(&self, branch: &BranchId) -> Option<Result<Value, EvalError>> {
        let futures = self.futures.borrow();
        let found = futures.iter().find(|beside| beside.branch == *branch)?;
        found.end.borrow().clone()
    }
}
