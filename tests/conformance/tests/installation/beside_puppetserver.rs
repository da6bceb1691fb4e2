//! `docs/server.md#running-beside-it` and `docs/puppet-runs.md`, on the machine of a real puppetserver.

use std::path::Path;

use testkit::typed_document::TypedStep;

use crate::site::{DocumentedSite, document, require, types};

const NODE_LIST: &str = "tutti node list";
const PUPPET_RUN: &str = "tutti job run -n web1.example.com -e production\n";
const MOTD: &str = "cat /srv/motd";
/// What the Debian package installs.
const PUPPETSERVER: &str = "/usr/share/puppetserver/puppetserver.jar";

/// The places of Puppet's own packages; Debian's has others unless it is told.
const PUPPET_CONF: &str = "[main]\nserver = puppet.example.com\nssldir = /etc/puppetlabs/puppet/ssl\n\
                           codedir = /etc/puppetlabs/code\ncertname = ";

/// The unit of the package sends its process a signal to see whether it lives, as the user puppet. On a busy machine the
/// process is still root's then, and the start fails.
const START_PUPPETSERVER: &str = "set -e
mkdir -p /etc/puppetlabs/code/environments/production/manifests
install -d -o puppet -g puppet /etc/puppetlabs/puppet
sed -i s,/etc/puppet/code,/etc/puppetlabs/code, /etc/puppet/puppetserver/conf.d/puppetserver.conf
sed -i s/1g/512m/g /etc/default/puppetserver
puppetserver ca setup
systemctl start puppetserver || systemctl start puppetserver || systemctl start puppetserver";

/// What stands there before a reader begins: a puppetserver that runs, and a node with a certificate of its CA.
fn prepare(site: &DocumentedSite) {
    for (machine, certname) in [
        (&site.server, "puppet.example.com"),
        (&site.node, "web1.example.com"),
    ] {
        let conf = format!("{PUPPET_CONF}{certname}\n");
        machine.write("/etc/puppet/puppet.conf", &conf).unwrap();
    }
    site.server.expect(START_PUPPETSERVER).unwrap();
    let request = "mkdir -p /etc/puppetlabs/puppet && puppet ssl submit_request";
    site.node.expect(request).unwrap();
    let sign = "puppetserver ca sign --certname web1.example.com";
    site.server.expect(sign).unwrap();
    site.node.expect("puppet ssl download_cert").unwrap();
}

fn before(site: &DocumentedSite, step: &TypedStep) {
    if types(step, NODE_LIST) {
        site.until_on_server(NODE_LIST, "1 connected");
    }
}

fn after(site: &DocumentedSite, step: &TypedStep, printed: &str) {
    if types(step, NODE_LIST) {
        assert!(printed.contains("1 of 1 nodes succeeded"), "{printed}");
        stock_agents_get_files(site);
    }
    if types(step, PUPPET_RUN) {
        assert!(printed.contains("SUCCESS! (changed)"), "{printed}");
    }
    if types(step, MOTD) {
        assert_eq!(printed, "Managed by Puppet\n");
    }
}

/// The address that a stock agent makes of its `primary-uris` and of the path that it is told. It fetches with libcurl,
/// as curl does, and the puppetserver at 8140 does not have this file.
fn stock_agents_get_files(site: &DocumentedSite) {
    let ssl = "/etc/puppetlabs/puppet/ssl";
    let path = "/puppet/v3/file_content/tasks/service/init.sh?environment=production";
    let fetch = |authority: &str| {
        format!(
            "curl --silent --show-error --fail --cacert {ssl}/certs/ca.pem --crlfile {ssl}/crl.pem \
             --cert {ssl}/certs/web1.example.com.pem --key {ssl}/private_keys/web1.example.com.pem \
             'https://puppet.example.com:8140{authority}{path}'"
        )
    };
    let told = site.node.run(&fetch("")).unwrap();
    assert_ne!(told.code, Some(0), "puppetserver has it: {}", told.text);
    let named = fetch("@tutti.example.com:8141");
    let told = site.node.expect(&named).unwrap();
    assert!(told.starts_with("#!"), "{told}");
}

/// A key that the service may not read is named with its owner, its mode and the next step.
fn unreadable_key(site: &DocumentedSite) {
    let key = "/etc/tutti/ssl/key.pem";
    let broken = format!("chown puppet: {key}; systemctl restart tutti --no-block");
    site.server.expect(&broken).unwrap();
    let log = "journalctl --no-pager -u tutti -o cat";
    let told = site.server.until(log, "belongs to puppet").unwrap();
    for part in [
        key,
        "with mode 0400",
        "runs as tutti",
        "install -o tutti -m 0400",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let mended = format!("chown tutti: {key}; systemctl restart tutti");
    site.server.expect(&mended).unwrap();
    site.until_on_server(NODE_LIST, "1 connected");
}

#[test]
fn beside_a_puppetserver_tasks_and_puppet_run_as_documented() {
    if !Path::new(PUPPETSERVER).exists() {
        eprintln!("SKIPPED: puppetserver is not installed");
        return;
    }
    let Some(site) = DocumentedSite::boot_as("puppet") else {
        return;
    };
    prepare(&site);
    let (server, runs) = (document("server.md"), document("puppet-runs.md"));
    require(&server, &[NODE_LIST]);
    require(&runs, &[PUPPET_RUN, MOTD]);
    let is_beside = |step: &&TypedStep| step.heading == "Running beside it";
    let steps: Vec<&TypedStep> = server
        .steps
        .iter()
        .filter(is_beside)
        .chain(&runs.steps)
        .collect();
    for step in steps {
        before(&site, step);
        let printed = site.type_step(step);
        after(&site, step, &printed);
    }
    unreadable_key(&site);
}
