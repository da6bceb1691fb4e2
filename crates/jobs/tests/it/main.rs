//! The engine against a real store and agents in memory.

mod chaos;
mod dispatch;
mod faults;
mod happy;
mod live;
mod pings;
mod recovery;
mod refusals;
mod secrets;
mod sim;
mod stop;
mod world;
