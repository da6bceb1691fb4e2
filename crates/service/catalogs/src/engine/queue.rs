//! The order in which compilations start: [`CompileQueue`]. No I/O and no clock.
//!
//! Invariants: no more compilations run than there are slots; environments take turns, so that one
//! with many waiting compilations does not delay the others; a background compilation starts only if
//! no other one waits.

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

/// A place in the queue, and later a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CompileTicket(u64);

/// Reason that a compilation cannot wait.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{waiting} compilations already wait{}; try again later, or raise catalogs.concurrent_compiles",
    environment.as_ref().map(|it| format!(" for {it}")).unwrap_or_default()
)]
pub struct CompileQueueFull {
    pub waiting: usize,
    /// The environment whose part of the queue is full; `None` if the whole queue is full.
    pub environment: Option<EnvironmentName>,
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
}

/// Waiting and running compilations.
#[derive(Debug)]
pub(super) struct CompileQueue {
    bounds: QueueBounds,
    next_ticket: u64,
    foreground: TurnQueue,
    background: TurnQueue,
    running: HashSet<CompileTicket>,
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
        }
    }

    /// Adds a compilation to the end of its environment's part of the queue.
    pub(super) fn enter(
        &mut self,
        environment: &EnvironmentName,
        priority: CompilePriority,
    ) -> Result<CompileTicket, CompileQueueFull> {
        let of_environment =
            self.foreground.waiting_for(environment) + self.background.waiting_for(environment);
        let waiting = self.waiting();
        if waiting >= self.bounds.waiting_max {
            return Err(CompileQueueFull {
                waiting,
                environment: None,
            });
        }
        if of_environment >= self.bounds.waiting_each_max {
            return Err(CompileQueueFull {
                waiting: of_environment,
                environment: Some(environment.clone()),
            });
        }
        let ticket = CompileTicket(self.next_ticket);
        self.next_ticket += 1;
        match priority {
            CompilePriority::Foreground => self.foreground.push(environment, ticket),
            CompilePriority::Background => self.background.push(environment, ticket),
        }
        Ok(ticket)
    }

    /// The next compilation to start, which has a slot from now on; `None` if no slot is free or
    /// none waits.
    pub(super) fn start_next(&mut self) -> Option<CompileTicket> {
        if self.running.len() >= self.bounds.slots {
            return None;
        }
        let next = self.foreground.pop().or_else(|| self.background.pop())?;
        self.running.insert(next);
        Some(next)
    }

    /// Removes a compilation that ended, or that no longer waits.
    pub(super) fn leave(&mut self, ticket: CompileTicket) {
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
