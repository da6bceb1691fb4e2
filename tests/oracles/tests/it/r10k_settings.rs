//! Every setting that r10k knows means something here, or is named as one that does not.

use std::collections::BTreeSet;

use code_settings::R10kSettings;

/// A setting, a file that has it, and whether it is named as one that nothing is done with.
const SETTINGS: &[(&str, &str, bool)] = &[
    ("sources", "", false),
    ("purgedirs", "purgedirs: [/x]", true),
    ("cachedir", "cachedir: /var/cache/r10k", false),
    ("postrun", "postrun: [/bin/true]", false),
    ("pool_size", "pool_size: 4", false),
    ("proxy", "proxy: 'http://proxy:3128'", false),
    ("forge.proxy", "forge: {proxy: ''}", false),
    (
        "forge.baseurl",
        "forge: {baseurl: 'https://forge.example.com'}",
        false,
    ),
    (
        "forge.authorization_token",
        "forge: {authorization_token: Bearer x}",
        false,
    ),
    (
        "forge.allow_puppetfile_override",
        "forge: {allow_puppetfile_override: true}",
        false,
    ),
    ("git.provider", "git: {provider: rugged}", false),
    ("git.username", "git: {username: git}", true),
    ("git.private_key", "git: {private_key: /etc/id}", false),
    ("git.oauth_token", "git: {oauth_token: /etc/token}", false),
    (
        "git.github_app_id",
        "git: {github_app_id: '1', github_app_key: /etc/key}",
        false,
    ),
    (
        "git.github_app_key",
        "git: {github_app_key: /etc/key, github_app_id: 1}",
        false,
    ),
    ("git.github_app_ttl", "git: {github_app_ttl: '120'}", false),
    ("git.proxy", "git: {proxy: 'http://proxy:3128'}", false),
    ("git.repositories", "git: {repositories: []}", false),
    (
        "git.repositories.remote",
        "git: {repositories: [{remote: u}]}",
        false,
    ),
    (
        "git.repositories.private_key",
        "git: {repositories: [{remote: u, private_key: /etc/id}]}",
        false,
    ),
    (
        "git.repositories.oauth_token",
        "git: {repositories: [{remote: u, oauth_token: /etc/t}]}",
        false,
    ),
    (
        "git.repositories.github_app_id",
        "git: {repositories: [{remote: u, github_app_id: '1', github_app_key: /etc/key}]}",
        false,
    ),
    (
        "git.repositories.github_app_key",
        "git: {github_app_id: '1', github_app_key: /k, repositories: [{remote: u, github_app_key: /etc/key}]}",
        false,
    ),
    (
        "git.repositories.github_app_ttl",
        "git: {repositories: [{remote: u, github_app_ttl: '60'}]}",
        false,
    ),
    (
        "git.repositories.proxy",
        "git: {repositories: [{remote: u, proxy: ''}]}",
        false,
    ),
    (
        "git.repositories.ignore_branch_prefixes",
        "git: {repositories: [{remote: u, ignore_branch_prefixes: [x]}]}",
        true,
    ),
    (
        "deploy.write_lock",
        "deploy: {write_lock: another program deploys}",
        true,
    ),
    (
        "deploy.purge_levels",
        "deploy: {purge_levels: deployment}",
        false,
    ),
    (
        "deploy.purge_levels",
        "deploy: {purge_levels: [deployment, :environment]}",
        false,
    ),
    (
        "deploy.purge_levels",
        "deploy: {purge_levels: [puppetfile]}",
        true,
    ),
    (
        "deploy.purge_allowlist",
        "deploy: {purge_allowlist: ['**/*.pyc']}",
        true,
    ),
    (
        "deploy.purge_whitelist",
        "deploy: {purge_whitelist: ['**/*.pyc']}",
        true,
    ),
    (
        "deploy.generate_types",
        "deploy: {generate_types: true}",
        false,
    ),
    (
        "deploy.puppet_path",
        "deploy: {puppet_path: /usr/bin/puppet}",
        false,
    ),
    (
        "deploy.puppet_conf",
        "deploy: {puppet_conf: /etc/puppet.conf}",
        false,
    ),
    (
        "deploy.exclude_spec",
        "deploy: {exclude_spec: false}",
        false,
    ),
    ("logging.level", "logging: {level: warn}", false),
    (
        "logging.outputs",
        "logging: {outputs: [{type: syslog}]}",
        false,
    ),
    (
        "logging.disable_default_stderr",
        "logging: {disable_default_stderr: true}",
        false,
    ),
];

#[test]
fn every_setting_of_r10k_is_read_or_named() {
    let names = oracles::ask("r10k_settings.rb", &serde_json::Value::Null).unwrap();
    let names: BTreeSet<String> = serde_json::from_value(names).unwrap();
    let known: BTreeSet<String> = SETTINGS
        .iter()
        .map(|(name, ..)| (*name).to_owned())
        .collect();
    assert_eq!(known, names);
    for (name, text, is_named) in SETTINGS {
        let text = format!("sources: {{a: {{remote: u, basedir: /x}}}}\n{text}\n");
        let read = R10kSettings::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let named: Vec<&str> = read.ignored.iter().map(String::as_str).collect();
        match is_named {
            true => assert_eq!(named, [*name]),
            false => assert!(named.is_empty(), "{name}: {named:?}"),
        }
    }
}
