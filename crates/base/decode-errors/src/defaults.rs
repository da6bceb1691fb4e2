//! Limits of this crate.

/// Characters of a key, name or path that an error repeats. A document of a peer may have keys of
/// any length; four of this length fit into a line of a log.
pub(crate) const QUOTED_CHARS: usize = 120;
/// Names that an error lists as known. The longest list of keys in a configuration section has
/// about 30.
pub(crate) const LISTED_NAMES: usize = 40;
/// Characters of a message of another type of the project: a sentence with one quoted name.
pub(crate) const MESSAGE_CHARS: usize = 4 * QUOTED_CHARS;
