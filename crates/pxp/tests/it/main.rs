//! Integration tests of the PXP types.
