//! The order in which compilations start: [`CompileQueue`]. No I/O and no clock.
//!
//! Invariants: no more compilations run than there are slots; environments take turns, so that one
//! with many waiting compilations does not delay the others; a background compilation starts only if
//! no other one waits; one caller has no more than its part of the queue, in number and in bytes.

use std::collections::{HashMap, HashSet, VecDeque};

use environments::EnvironmentName;

/// Urgency of a compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompilePriority {
    /// A node or a user waits for the catalog.
    Foreground,
    /// Many catalogs are compiled, and none of them is urgent.
    Background,
}

/// The client that a catalog is compiled for. Each has a part of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CompileCaller {
    /// Name of a user or program that requested the catalog. One that waits for too many is refused.
    Client(String),
    /// Id of the user who owns the plans whose blocks are compiled. They wait for one another.
    PlansOf(String),
}

/// The caller and the urgency of a compilation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileOrigin {
    pub caller: CompileCaller,
    pub priority: CompilePriority,
}

/// A place in the queue, and later a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CompileTicket(u64);

/// Reason that a compilation cannot wait.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileQueueFull {
    #[error(
        "{waiting} compilations already wait; try again later, or raise catalogs.concurrent_compiles"
    )]
    All { waiting: usize },
    #[error(
        "{waiting} compilations already wait for {environment}; try again later, or raise \
         catalogs.concurrent_compiles"
    )]
    Environment {
        waiting: usize,
        environment: EnvironmentName,
    },
    #[error(
        "the facts of nodes whose catalogs wait to be compiled have {} MiB already; try again later, or raise \
         catalogs.concurrent_compiles",
        bytes >> 20
    )]
    AllBytes { bytes: usize },
    #[error(
        "the facts of the catalogs that you requested and that wait to be compiled have {} MiB already, which \
         is as much as one caller may have; request further ones when these have been compiled",
        bytes >> 20
    )]
    CallerBytes { bytes: usize },
    /// The caller's part of the queue is full.
    #[error(
        "{waiting} catalogs that you requested already wait to be compiled, which is as many as one caller \
         may have; request further ones when these have been compiled"
    )]
    Caller { waiting: usize },
}

/// Bounds of the queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueBounds {
    /// Compilations that run at the same time.
    pub(super) slots: usize,
    /// Compilations that wait.
    pub(super) waiting_max: usize,
    /// Compilations that wait for one environment.
    pub(super) waiting_each_max: usize,
    /// Compilations of one caller that wait.
    pub(super) waiting_of_caller_max: usize,
    /// Bytes that waiting compilations hold. One alone may have more.
    pub(super) waiting_bytes_max: usize,
    /// Bytes that waiting compilations of one caller hold. One alone may have more.
    pub(super) waiting_bytes_of_caller_max: usize,
}

/// Waiting and running compilations.
#[derive(Debug)]
pub(super) struct CompileQueue {
    bounds: QueueBounds,
    next_ticket: u64,
    foreground: TurnQueue,
    background: TurnQueue,
    running: HashSet<CompileTicket>,
    callers: WaitingCallers,
}

/// Waiting compilations by caller.
#[derive(Debug, Default)]
struct WaitingCallers {
    by_ticket: HashMap<CompileTicket, (CompileCaller, usize)>,
    by_caller: HashMap<CompileCaller, WaitingPart>,
    bytes: usize,
}

/// The waiting compilations of one caller.
#[derive(Debug, Default, Clone, Copy)]
struct WaitingPart {
    number: usize,
    bytes: usize,
}

/// Waiting compilations of one priority, by environment.
#[derive(Debug, Default)]
struct TurnQueue {
    waiting: HashMap<EnvironmentName, VecDeque<CompileTicket>>,
    /// Environments with waiting compilations, in the order of their turns.
    turns: VecDeque<EnvironmentName>,
}

impl CompileQueue {
    pub(super) fn new(bounds: QueueBounds) -> Self {
        Self {
            bounds,
            next_ticket: 0,
            foreground: TurnQueue::default(),
            background: TurnQueue::default(),
            running: HashSet::new(),
            callers: WaitingCallers::default(),
        }
    }

    /// Adds a compilation to the end of its environment's part of the queue. It holds `bytes` while it waits.
    pub(super) fn enter(
        &mut self,
        environment: &EnvironmentName,
        origin: &CompileOrigin,
        bytes: usize,
    ) -> Result<CompileTicket, CompileQueueFull> {
        self.check_bounds(environment, &origin.caller)?;
        self.check_bytes(&origin.caller, bytes)?;
        let ticket = CompileTicket(self.next_ticket);
        self.next_ticket += 1;
        self.callers.add(ticket, &origin.caller, bytes);
        match origin.priority {
            CompilePriority::Foreground => self.foreground.push(environment, ticket),
            CompilePriority::Background => self.background.push(environment, ticket),
        }
        Ok(ticket)
    }

    fn check_bounds(
        &self,
        environment: &EnvironmentName,
        caller: &CompileCaller,
    ) -> Result<(), CompileQueueFull> {
        let waiting = self.callers.part(caller).number;
        if waiting >= self.bounds.waiting_of_caller_max {
            return Err(CompileQueueFull::Caller { waiting });
        }
        let waiting = self.waiting();
        if waiting >= self.bounds.waiting_max {
            return Err(CompileQueueFull::All { waiting });
        }
        let waiting =
            self.foreground.waiting_for(environment) + self.background.waiting_for(environment);
        if waiting >= self.bounds.waiting_each_max {
            return Err(CompileQueueFull::Environment {
                waiting,
                environment: environment.clone(),
            });
        }
        Ok(())
    }

    fn check_bytes(&self, caller: &CompileCaller, bytes: usize) -> Result<(), CompileQueueFull> {
        let is_too_much = |held: usize, max: usize| held > 0 && held.saturating_add(bytes) > max;
        let held = self.callers.part(caller).bytes;
        if is_too_much(held, self.bounds.waiting_bytes_of_caller_max) {
            return Err(CompileQueueFull::CallerBytes { bytes: held });
        }
        let held = self.callers.bytes;
        if is_too_much(held, self.bounds.waiting_bytes_max) {
            return Err(CompileQueueFull::AllBytes { bytes: held });
        }
        Ok(())
    }

    /// The next compilation to start, which has a slot from now on; `None` if no slot is free or
    /// none waits.
    pub(super) fn start_next(&mut self) -> Option<CompileTicket> {
        if self.running.len() >= self.bounds.slots {
            return None;
        }
        let next = self.foreground.pop().or_else(|| self.background.pop())?;
        self.callers.remove(next);
        self.running.insert(next);
        Some(next)
    }

    /// Removes a compilation that ended, or that no longer waits.
    pub(super) fn leave(&mut self, ticket: CompileTicket) {
        self.callers.remove(ticket);
        if !self.running.remove(&ticket) && !self.foreground.remove(ticket) {
            self.background.remove(ticket);
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.foreground.len() + self.background.len()
    }

    pub(super) fn running(&self) -> usize {
        self.running.len()
    }
}

impl WaitingCallers {
    fn add(&mut self, ticket: CompileTicket, caller: &CompileCaller, bytes: usize) {
        let part = self.by_caller.entry(caller.clone()).or_default();
        part.number += 1;
        part.bytes += bytes;
        self.bytes += bytes;
        self.by_ticket.insert(ticket, (caller.clone(), bytes));
    }

    fn remove(&mut self, ticket: CompileTicket) {
        let Some((caller, bytes)) = self.by_ticket.remove(&ticket) else {
            return;
        };
        self.bytes -= bytes;
        if let Some(part) = self.by_caller.get_mut(&caller) {
            part.number -= 1;
            part.bytes -= bytes;
            if part.number == 0 {
                self.by_caller.remove(&caller);
            }
        }
    }

    fn part(&self, caller: &CompileCaller) -> WaitingPart {
        self.by_caller.get(caller).copied().unwrap_or_default()
    }
}

impl TurnQueue {
    fn push(&mut self, environment: &EnvironmentName, ticket: CompileTicket) {
        match self.waiting.get_mut(environment) {
            Some(tickets) => tickets.push_back(ticket),
            None => {
                self.waiting.insert(environment.clone(), [ticket].into());
                self.turns.push_back(environment.clone());
            }
        }
    }

    /// Takes the first compilation of the environment whose turn it is.
    fn pop(&mut self) -> Option<CompileTicket> {
        let environment = self.turns.pop_front()?;
        let tickets = self.waiting.get_mut(&environment)?;
        let ticket = tickets.pop_front();
        match tickets.is_empty() {
            true => drop(self.waiting.remove(&environment)),
            false => self.turns.push_back(environment),
        }
        ticket
    }

    fn remove(&mut self, ticket: CompileTicket) -> bool {
        let found = self.waiting.iter_mut().find_map(|(environment, tickets)| {
            let index = tickets.iter().position(|it| *it == ticket)?;
            tickets.remove(index);
            Some((environment.clone(), tickets.is_empty()))
        });
        let Some((environment, is_empty)) = found else {
            return false;
        };
        if is_empty {
            self.waiting.remove(&environment);
            self.turns.retain(|it| *it != environment);
        }
        true
    }

    fn waiting_for(&self, environment: &EnvironmentName) -> usize {
        self.waiting.get(environment).map_or(0, VecDeque::len)
    }

    fn len(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
