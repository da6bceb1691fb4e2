//! pcp
