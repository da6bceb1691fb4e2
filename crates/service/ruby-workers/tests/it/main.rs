//! Ruby workers with the real Ruby and Puppet of this machine, on modules of their own and Debian's.
//! Without them, each test is skipped with a message.

mod blocks;
mod bounds;
mod callbacks;
mod fixture;
mod functions;
mod hidden_files;
mod hiera;
mod hostile;
mod interrupt;
mod isolation;
mod templates;
mod transports;
mod types;
