//! Recursion guard for checks of recursive aliases. Main type: [`TypeCheckTrail`].
//!
//! There are two sides: *this* (the type that is checked) and *that* (the type or value that it is
//! compared with). A side is recursive when the same alias (or value) is met again. When both sides
//! are recursive, no check has failed, so the result is true.
//!
//! Invariant: the trail is passed on exactly where Puppet passes its guard on, because a missing
//! guard changes results.

use crate::defaults::CHECK_DEPTH_MAX;

/// The sides that are recursive at this point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct AliasRecursion {
    pub(super) this: bool,
    pub(super) that: bool,
}

impl AliasRecursion {
    pub(super) fn is_in_both(self) -> bool {
        self.this && self.that
    }
}

/// Aliases visited on both sides.
#[derive(Debug, Default)]
pub(super) struct AliasGuard {
    this: Vec<usize>,
    that: Vec<usize>,
    recursion: AliasRecursion,
}

/// An assignability check that is not finished: the addresses of both types.
#[derive(Debug)]
struct OpenTypeQuestion<'g> {
    pair: (usize, usize),
    /// Nesting level of elements.
    level: u32,
    before: Option<&'g OpenTypeQuestion<'g>>,
}

/// The guard, if an alias has been met, and the open checks that led here.
#[derive(Debug)]
pub(super) struct TypeCheckTrail<'g> {
    guard: Option<&'g mut AliasGuard>,
    depth: u32,
    level: u32,
    open_question: Option<&'g OpenTypeQuestion<'g>>,
}

impl TypeCheckTrail<'_> {
    pub(super) fn new() -> Self {
        Self {
            guard: None,
            depth: 0,
            level: 0,
            open_question: None,
        }
    }

    /// The trail for a check inside this one.
    pub(super) fn descend(&mut self) -> TypeCheckTrail<'_> {
        TypeCheckTrail {
            guard: self.guard.as_deref_mut(),
            depth: self.depth + 1,
            level: self.level,
            open_question: self.open_question,
        }
    }

    /// The trail for a check of the elements of both sides.
    pub(super) fn enter_element(&mut self) -> TypeCheckTrail<'_> {
        let mut trail = self.descend();
        trail.level += 1;
        trail
    }

    /// The trail for a check inside this one that Puppet makes without its guard.
    pub(super) fn unguarded(&self) -> TypeCheckTrail<'_> {
        TypeCheckTrail {
            guard: None,
            depth: self.depth + 1,
            level: self.level,
            open_question: self.open_question,
        }
    }

    /// Runs a check that may lead back to itself. If it does on the same level of elements, the
    /// result is false; Puppet overflows its stack there.
    pub(super) fn ask_once(
        &mut self,
        pair: (usize, usize),
        ask: impl FnOnce(&mut TypeCheckTrail<'_>) -> bool,
    ) -> bool {
        let mut before = self.open_question;
        while let Some(asked) = before.filter(|asked| asked.level == self.level) {
            if asked.pair == pair {
                return false;
            }
            before = asked.before;
        }
        let asked = OpenTypeQuestion {
            pair,
            level: self.level,
            before: self.open_question,
        };
        ask(&mut TypeCheckTrail {
            guard: self.guard.as_deref_mut(),
            depth: self.depth + 1,
            level: self.level,
            open_question: Some(&asked),
        })
    }

    pub(super) fn is_too_deep(&self) -> bool {
        self.depth > CHECK_DEPTH_MAX
    }

    /// Runs a check with a guard: this trail's, or a new one that lasts for the check.
    pub(super) fn with_guard<R>(&mut self, ask: impl FnOnce(&mut TypeCheckTrail<'_>) -> R) -> R {
        let (depth, level, asked) = (self.depth + 1, self.level, self.open_question);
        let mut own = AliasGuard::default();
        let guard = self.guard.as_deref_mut().unwrap_or(&mut own);
        ask(&mut TypeCheckTrail {
            guard: Some(guard),
            depth,
            level,
            open_question: asked,
        })
    }

    /// Runs a check while `address` is recorded on this side.
    pub(super) fn with_this<R>(
        &mut self,
        address: usize,
        ask: impl FnOnce(&mut Self, AliasRecursion) -> R,
    ) -> R {
        let added = self.guard_mut(|guard| guard.enter_this(address));
        let recursion = self.recursion();
        let answer = ask(self, recursion);
        if added {
            self.guard_mut(|guard| guard.leave_this(address));
        }
        answer
    }

    /// Runs a check while `address` is recorded on that side.
    pub(super) fn with_that<R>(&mut self, address: usize, ask: impl FnOnce(&mut Self) -> R) -> R {
        let added = self.guard_mut(|guard| guard.enter_that(address));
        let answer = ask(self);
        if added {
            self.guard_mut(|guard| guard.leave_that(address));
        }
        answer
    }

    /// Records `address` on that side, permanently.
    pub(super) fn add_that(&mut self, address: usize) -> AliasRecursion {
        self.guard_mut(|guard| guard.enter_that(address));
        self.recursion()
    }

    fn recursion(&self) -> AliasRecursion {
        self.guard
            .as_ref()
            .map_or_else(AliasRecursion::default, |guard| guard.recursion)
    }

    fn guard_mut(&mut self, change: impl FnOnce(&mut AliasGuard) -> bool) -> bool {
        self.guard.as_deref_mut().is_some_and(change)
    }
}

impl AliasGuard {
    /// Records an alias on this side; true if it is new.
    fn enter_this(&mut self, address: usize) -> bool {
        if self.recursion.this {
            return false;
        }
        if self.this.contains(&address) {
            self.recursion.this = true;
            return false;
        }
        self.this.push(address);
        true
    }

    fn leave_this(&mut self, address: usize) -> bool {
        self.recursion.this = false;
        self.this.retain(|entered| *entered != address);
        true
    }

    /// Records an alias on that side; true if it is new.
    fn enter_that(&mut self, address: usize) -> bool {
        if self.recursion.that {
            return false;
        }
        if self.that.contains(&address) {
            self.recursion.that = true;
            return false;
        }
        self.that.push(address);
        true
    }

    fn leave_that(&mut self, address: usize) -> bool {
        self.recursion.that = false;
        self.that.retain(|entered| *entered != address);
        true
    }
}
