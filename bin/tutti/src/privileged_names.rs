//! The registry of names with rights, from the configuration. Main function: [`registry`].
//!
//! Invariant: a key of the configuration that gives rights to a certname is read only here, so the
//! CA knows each of these names.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use broker::AuthorizationPolicy;
use pki::{CertnamePrivilege, NamePattern, PrivilegedNames};
use reqwest::Url;

use crate::config::Config;

/// Names at which agents contact their servers by default, and that every server's certificate
/// contains.
const USUAL_NAMES: &[&str] = &["localhost", "127.0.0.1", "::1", "puppet"];

/// Reads every key that gives rights to certnames, and the server's own certificate.
pub(crate) fn registry(config: &Config) -> Result<Arc<PrivilegedNames>> {
    let mut names = PrivilegedNames::default();
    let own = std::slice::from_ref(&config.certname);
    add_patterns(&mut names, CertnamePrivilege::Server, "certname", own)?;
    for name in USUAL_NAMES {
        let pattern = NamePattern::Exact((*name).to_owned());
        names.grant(
            CertnamePrivilege::Server,
            "a usual name of servers",
            pattern,
        );
    }
    add_own_names(&mut names, config)?;
    for (privilege, key, list) in [
        (
            CertnamePrivilege::CaAdministrator,
            "ca.administrators",
            &config.ca.administrators,
        ),
        (
            CertnamePrivilege::Program,
            "access.certificate_allowlist",
            &config.access.certificate_allowlist,
        ),
        (
            CertnamePrivilege::RemoteBroker,
            "broker.remote_brokers",
            &config.broker.remote_brokers,
        ),
        (
            CertnamePrivilege::Peer,
            "broker.controller_certnames",
            &config.broker.controller_certnames,
        ),
    ] {
        add_certnames(&mut names, privilege, key, list)?;
    }
    let followers = &config.code.followers;
    add_patterns(
        &mut names,
        CertnamePrivilege::Follower,
        "code.followers",
        followers,
    )?;
    add_peer_services(&mut names, config);
    if let Some(path) = &config.broker.authorization {
        policy(path)?.grant_to(&mut names, "broker.authorization");
    }
    Ok(Arc::new(names))
}

/// Reads the rules of a broker.
pub(crate) fn policy(path: &Path) -> Result<AuthorizationPolicy> {
    AuthorizationPolicy::read_file(path)
        .with_context(|| format!("the authorization rules {}", path.display()))
}

/// Adds a list that may contain domains.
fn add_patterns(
    names: &mut PrivilegedNames,
    privilege: CertnamePrivilege,
    key: &str,
    list: &[String],
) -> Result<()> {
    for text in list {
        let pattern = NamePattern::name_or_domain(text).ok_or_else(|| {
            anyhow!(
                "{key}: {text:?} is neither a certname nor a domain such as *.compilers.example"
            )
        })?;
        names.grant(privilege, key, pattern);
    }
    Ok(())
}

/// Adds a list of certnames.
fn add_certnames(
    names: &mut PrivilegedNames,
    privilege: CertnamePrivilege,
    key: &str,
    list: &[String],
) -> Result<()> {
    for text in list.iter().filter(|text| *text != "*") {
        let certname: pcp::Certname = text.parse().with_context(|| format!("{key}: {text:?}"))?;
        let pattern = NamePattern::Exact(certname.as_str().to_owned());
        names.grant(privilege, key, pattern);
    }
    Ok(())
}

/// Adds every name of the server's certificate, since the server is reached under it. If the
/// certificate does not exist yet, the CA will issue it with the certname and the usual names.
fn add_own_names(names: &mut PrivilegedNames, config: &Config) -> Result<()> {
    let files = config.tls_files();
    if !files.cert.exists() {
        return Ok(());
    }
    let origin = format!("in the server's certificate {}", files.cert.display());
    for name in files.own_names()? {
        let pattern = NamePattern::name_or_domain(&name).unwrap_or(NamePattern::Exact(name));
        names.grant(CertnamePrivilege::Server, &origin, pattern);
    }
    Ok(())
}

/// Adds the services that this configuration connects to. An invalid address is refused at its use.
fn add_peer_services(names: &mut PrivilegedNames, config: &Config) {
    let puppetdb = config.puppetdb.iter().flat_map(|it| &it.server_urls);
    let puppetserver = config.puppetserver.iter().map(|it| &it.url);
    let controllers = config.broker.controller_uris.iter();
    let keyed = puppetdb
        .map(|url| ("puppetdb.server_urls", url))
        .chain(puppetserver.map(|url| ("puppetserver.url", url)))
        .chain(controllers.map(|uri| ("broker.controller_uris", uri)));
    for (key, url) in keyed {
        let url = Url::parse(url).ok();
        if let Some(host) = url.as_ref().and_then(Url::host_str) {
            names.grant(
                CertnamePrivilege::Peer,
                key,
                NamePattern::Exact(host.to_owned()),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tutti.toml");
        std::fs::write(&path, format!("certname = 'tutti.example'\n{text}")).unwrap();
        Config::read(&path).unwrap()
    }

    #[test]
    fn every_key_that_gives_rights_is_in_the_registry() {
        let config = config(
            "[access]\ncertificate_allowlist = ['ops']\n\
             [ca]\nadministrators = ['ca-admin']\n\
             [broker]\nremote_brokers = ['broker2']\ncontroller_uris = ['wss://orch:8143/server']\n\
             [code]\nfollowers = ['*.compilers.example']\n\
             [puppetdb]\nserver_urls = ['https://pdb.example:8081']\n\
             [puppetserver]\nurl = 'https://ps.example:8140'\n",
        );
        let names = registry(&config).unwrap();
        for (name, key) in [
            ("tutti.example", "certname"),
            ("localhost", "a usual name of servers"),
            ("puppet", "a usual name of servers"),
            ("ops", "access.certificate_allowlist"),
            ("ca-admin", "ca.administrators"),
            ("broker2", "broker.remote_brokers"),
            ("orch", "broker.controller_uris"),
            ("a.compilers.example", "code.followers"),
            ("pdb.example", "puppetdb.server_urls"),
            ("ps.example", "puppetserver.url"),
        ] {
            assert_eq!(names.find_privileged(name).unwrap().origin, key, "{name}");
        }
        assert!(names.find_privileged("web1.example").is_none());
    }

    #[test]
    fn the_names_of_the_servers_certificate_are_in_the_registry() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tutti.toml");
        std::fs::write(&path, "certname = 'tutti.example'\ndata_dir = 'data'").unwrap();
        let config = Config::read(&path).unwrap();
        std::fs::create_dir(&config.data_dir).unwrap();
        let ca = crate::ca::open_or_init(&config).unwrap();
        let what = pki::ca::GenerateOptions {
            alt_names: vec!["orchestrator.example".parse().unwrap()],
            ..pki::ca::GenerateOptions::default()
        };
        let made = ca.generate("tutti.example", &what).unwrap();
        let cert = config.tls_files().cert;
        std::fs::create_dir_all(cert.parent().unwrap()).unwrap();
        std::fs::write(&cert, made.cert_pem).unwrap();
        let names = registry(&config).unwrap();
        let alias = names.find_privileged("orchestrator.example").unwrap();
        assert!(alias.origin.contains("the server's certificate"), "{alias}");
    }

    #[test]
    fn a_list_with_something_else_is_refused_with_its_key() {
        for (text, key) in [
            ("[code]\nfollowers = ['*']", "code.followers"),
            (
                "[broker]\nremote_brokers = ['a/b']",
                "broker.remote_brokers",
            ),
        ] {
            let refused = registry(&config(text)).unwrap_err();
            assert!(refused.to_string().contains(key), "{refused}");
        }
    }
}
