//! Integration tests of the PCP codec.
