//! `tutti ca init` and `tutti ca import`, which work if no server is running. Main functions:
//! [`init`], [`import`].

use std::path::Path;

use anyhow::Result;
use cli::say;
use pki::CertificateAuthority;
use pki::ca::{ImportFiles, InitOptions};

use super::AuthorityKeyType;

pub(super) fn init(dir: &Path, common_name: String, key_type: AuthorityKeyType) -> Result<()> {
    CertificateAuthority::init(
        dir,
        &InitOptions {
            common_name,
            key_type: key_type.into(),
        },
    )?;
    say!("The CA is in {}.", dir.display());
    Ok(())
}

pub(super) fn import(dir: &Path, from: &Path) -> Result<()> {
    let crl_chain = Some(from.join("ca_crl.pem")).filter(|path| path.exists());
    let files = ImportFiles {
        cert_bundle: from.join("ca_crt.pem"),
        key: from.join("ca_key.pem"),
        crl_chain,
        ca_dir: Some(from.to_owned()),
    };
    let ca = CertificateAuthority::import(dir, &files)?;
    say!(
        "The CA of {} is in {} now: {} entries.",
        from.display(),
        dir.display(),
        ca.list()?.len()
    );
    say!("Run only one of the two from here on: each would give out the same serial numbers.");
    Ok(())
}
