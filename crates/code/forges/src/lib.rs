//! Forges, such as GitHub and GitLab: their webhooks about pushes, and the statuses that they show
//! at commits.
//!
//! Main types: [`incoming_webhooks::ForgePush`], one branch that a webhook is about;
//! [`commit_statuses::CommitStatuses`], which sends the outcome of each deployment to the forge of
//! its control repository.
//!
//! Invariant: a webhook with an invalid signature, token or password starts nothing, and a token
//! goes only to the API of its own forge.

pub mod commit_statuses;
pub mod defaults;
pub mod incoming_webhooks;
