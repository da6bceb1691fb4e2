//! The limits of the PCP codec, each with its derivation.

/// Longest certname in bytes: the longest DNS name. The common name of an X.509 subject is limited
/// to 64 characters by the standard, but Puppet never enforced that.
pub const MAX_CERTNAME_BYTES: usize = 253;

/// Longest address in bytes: `pcp://` + a certname with a port + a client type of the same size
/// need some 520.
pub const MAX_URI_BYTES: usize = 1_024;

/// Longest message type in bytes; the longest known one has 51.
pub const MAX_MESSAGE_TYPE_BYTES: usize = 512;

/// Most targets that a v1 envelope may list. More than one target is refused later in any case, but
/// with an error that names this reason, for which the list must be parsed.
pub const MAX_V1_TARGETS: usize = 1_024;

/// Longest envelope of a v1 frame in bytes. With one target, the longest addresses and the longest
/// message type it has some 3 KB; 64 KiB suffice for [`MAX_V1_TARGETS`] addresses of 60 bytes, so
/// that such a list gets its proper error. The large part of a message is its data.
pub const MAX_V1_ENVELOPE_BYTES: usize = 64 * 1024;

/// Deepest nesting of a message's JSON, the depth at which `serde_json` stops by itself. Without
/// this limit a broker would forward JSON that overflows the stack of a recursive parser.
pub const MAX_JSON_DEPTH: usize = 127;

/// Longest part of the input that an error message quotes, in characters after escaping.
pub(crate) const MAX_QUOTED_CHARS: usize = 40;
