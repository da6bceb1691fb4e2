//! `docs/code.md`: a control repository, deployments with the shipped unit, a rollback, a restart and a webhook.

use testkit::typed_document::TypedStep;

use crate::site::{DocumentedSite, document, require, types};

const DRY_RUN: &str = "tutti code deploy production --dry-run";
const ROLLBACK: &str = "tutti code rollback production";
const WEBHOOK: &str = "$TUTTI_SERVICE_URL/code-manager/v1/webhook";
const ENVIRONMENTS: &str = "/etc/puppetlabs/code/environments";

/// Obstacles that the first dry run names, each with its remedy.
fn obstacles(site: &DocumentedSite) {
    let refused = |parts: &[&str]| {
        let (told, succeeded) = site.try_on_server(DRY_RUN);
        assert!(!succeeded, "{told}");
        for part in parts {
            assert!(told.contains(part), "{part:?}: {told}");
        }
        let (status, _) = site.try_on_server("tutti code status");
        assert!(
            status.contains("deployments are refused") || parts.contains(&"chown -R"),
            "{status}"
        );
    };
    let production = format!("{ENVIRONMENTS}/production");
    site.server
        .expect(&format!("chown root: {production}"))
        .unwrap();
    let owned = format!("{production}: belongs to root");
    refused(&["could not go live", &owned, "runs as tutti", "chown -R"]);
    site.server
        .expect(&format!("chown tutti: {production}"))
        .unwrap();

    // A unit that does not name the directory of environments.
    let drop_in = "/etc/systemd/system/tutti.service.d/override.conf";
    let text = "[Service]\nReadWritePaths=\nReadWritePaths=-/opt/puppetlabs/tutti\n";
    site.server.write(drop_in, text).unwrap();
    restart(site);
    let read_only =
        format!("{ENVIRONMENTS}: is read-only for tutti, though the file system is not");
    let remedy = format!("`ReadWritePaths={ENVIRONMENTS}`");
    refused(&[
        "could not go live",
        &read_only,
        "`systemctl edit tutti`",
        &remedy,
    ]);
    // The remedy helps.
    let mended = format!("{text}ReadWritePaths={ENVIRONMENTS}\n");
    site.server.write(drop_in, &mended).unwrap();
    restart(site);
    let (told, succeeded) = site.try_on_server(DRY_RUN);
    assert!(succeeded && told.contains("could go live"), "{told}");
    site.server.expect(&format!("rm {drop_in}")).unwrap();
    restart(site);
}

fn restart(site: &DocumentedSite) {
    site.server
        .expect("systemctl daemon-reload && systemctl restart tutti")
        .unwrap();
    site.until_on_server("tutti node list", "1 connected");
}

fn before(site: &DocumentedSite, step: &TypedStep) {
    if types(step, DRY_RUN) {
        site.until_on_server("tutti node list", "1 connected");
        obstacles(site);
    }
}

fn after(site: &DocumentedSite, step: &TypedStep, printed: &str) {
    if types(step, DRY_RUN) {
        for part in ["could go live", "is live", "1 of 1 nodes succeeded"] {
            assert!(printed.contains(part), "{printed}");
        }
        // The hand-made environment of before is kept.
        let kept =
            format!("ls {ENVIRONMENTS}/.replaced-production-*/production/modules/disk/tasks");
        assert!(site.server.expect(&kept).unwrap().contains("free.sh"));
    }
    if types(step, ROLLBACK) {
        assert!(printed.contains("the kernel is enough"), "{printed}");
        let task = format!("{ENVIRONMENTS}/production/modules/site/tasks/kernel.sh");
        let task = site.server.expect(&format!("cat {task}")).unwrap();
        assert!(task.ends_with("uname -r\n"), "{task}");
    }
    if types(step, WEBHOOK) {
        assert!(printed.contains("\"status\":\"OK\""), "{printed}");
        let task = format!("cat {ENVIRONMENTS}/production/modules/site/tasks/kernel.sh");
        site.server.until(&task, "uname -rm").unwrap();
    }
}

/// What the unit allows beside: `puppet generate types`, a program after deployments, another tool's staging directory.
fn programs_of_the_settings(site: &DocumentedSite) {
    if site.server.run("test -x /usr/bin/puppet").unwrap().code != Some(0) {
        eprintln!("SKIPPED: there is no /usr/bin/puppet, so no types are generated");
        return;
    }
    let settings = format!(
        "sources:\n  main:\n    remote: /srv/control\n    basedir: {ENVIRONMENTS}\ndeploy:\n  generate_types: true\n  \
         puppet_path: /usr/bin/puppet\n  puppet_conf: /etc/puppet/puppet.conf\npostrun: [/usr/bin/touch, \
         /var/lib/tutti/postrun]\n"
    );
    site.server
        .write("/etc/tutti/r10k.yaml", &settings)
        .unwrap();
    let staging = "/opt/puppetlabs/tutti/staging";
    let config = format!(
        "certname = \"tutti.example.com\"\n[code]\nr10k_config = \"r10k.yaml\"\nstaging_directory = \"{staging}\"\n"
    );
    site.server.write("/etc/tutti/tutti.toml", &config).unwrap();
    let type_file = "modules/site/lib/puppet/type/thing.rb";
    let text = "Puppet::Type.newtype(:thing) do\n  newparam(:name)\nend\n";
    site.server
        .write(&format!("/srv/control/{type_file}"), text)
        .unwrap();
    site.server
        .write(&format!("{staging}/environments/lab/manifests/site.pp"), "")
        .unwrap();
    let git = "runuser -u tutti -- git -C /srv/control";
    let made = format!(
        "chown -R tutti: /srv/control {staging} && {git} add . && {git} commit --quiet --message Type && \
         systemctl restart tutti"
    );
    site.server.expect(&made).unwrap();
    let (told, succeeded) = site.try_on_server("tutti code deploy production");
    assert!(succeeded, "{told}");
    let types = format!("cat {ENVIRONMENTS}/production/.resource_types/thing.pp");
    site.server.expect(&types).unwrap();
    site.server
        .expect("test -e /var/lib/tutti/postrun")
        .unwrap();
    let publish = "curl --silent --fail --cacert $TUTTI_CACERT -H \"X-Authentication: $(cat ~/.puppetlabs/token)\" -H \
                   'Content-Type: application/json' -d '{\"repo-id\": \"puppet-code\", \"submodule-id\": \"lab\"}' \
                   $TUTTI_SERVICE_URL/file-sync/v1/commit";
    let (told, succeeded) = site.try_on_server(publish);
    assert!(succeeded && told.contains("lab"), "{told}");
    site.until_on_server("tutti code status", "lab ");
}

#[test]
fn code_is_deployed_by_the_shipped_unit_as_documented() {
    let Some(site) = DocumentedSite::boot_with_a_connected_node() else {
        return;
    };
    let document = document("code.md");
    require(&document, &[DRY_RUN, ROLLBACK, WEBHOOK]);
    for step in &document.steps {
        before(&site, step);
        let printed = site.type_step(step);
        after(&site, step, &printed);
    }
    programs_of_the_settings(&site);
}
