//! pxp
