//! puppet-api
