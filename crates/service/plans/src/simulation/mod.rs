//! Plans without clock, disk and threads: random programs, random interleavings, and a crash at any
//! moment.
//!
//! [`SimulatedWorld`](world::SimulatedWorld) is the state that survives: the journal and the effects. Invariants under test: every
//! effect is done once; whatever a plan had seen when it began an effect, it has seen in the end; and a
//! plan whose steps do not race ends as if nothing had happened. Steps may be rollouts, whose batches, pauses
//! and failure limits are decided by the engine's own [`Rollout`](jobs::Rollout).

mod program;
mod rollout;
mod rules;
mod world;
