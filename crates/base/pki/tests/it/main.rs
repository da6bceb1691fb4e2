//! The authority against OpenSSL, TLS over real sockets, and hostile input.

#![cfg(test)]

mod ca;
mod clients;
mod csr;
mod import;
mod openssl;
mod properties;
mod reload;
mod tls;
