//! Simulation of plans without clock, disk and threads: random programs, random interleavings, and
//! crashes at random moments.
//!
//! [`SimulatedWorld`](world::SimulatedWorld) is the state that survives: the journal and the
//! effects. Invariants under test: every effect is performed once; everything that a plan had seen
//! when it started an effect, it has seen in the end; and a plan whose steps do not race has the
//! same result as without crashes. Steps may be rollouts, whose batches, pauses and failure limits
//! are decided by the job engine's [`Rollout`](jobs::Rollout).

mod program;
mod rollout;
mod rules;
mod world;
