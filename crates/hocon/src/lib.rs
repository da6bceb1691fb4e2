//! hocon
