//! `docs/getting-started.md`, from nothing to a first task, a revocation and a restart.

use testkit::typed_document::TypedStep;

use crate::site::{DocumentedSite, document, require, types};

const REVOKE: &str = "tutti ca revoke";
const DOCTOR: &str = "doctor";
const RESTART: &str = "systemctl restart tutti";
/// What `tutti node list` prints without nodes.
const NONE: &str = "No node is connected";

/// What a person waits for before typing this block.
fn before(site: &DocumentedSite, step: &TypedStep) {
    if types(step, "tutti ca list") {
        site.until_on_server("tutti ca list", "requested  web1.example.com");
    }
    if types(step, "tutti node list") {
        site.until_on_server("tutti node list", "1 connected");
    }
    if types(step, RESTART) {
        // What root typed is left so that the service's user can go on with it.
        let foreign = "find /var/lib/tutti ! -user tutti";
        assert_eq!(site.server.expect(foreign).unwrap(), "");
    }
}

/// What a person sees after it.
fn after(site: &DocumentedSite, step: &TypedStep, printed: &str) {
    if types(step, "tutti task run") {
        assert!(printed.contains("1 of 1 nodes succeeded"), "{printed}");
    }
    if types(step, DOCTOR) {
        assert!(printed.contains("no problems"), "{printed}");
        if step.machine == "server" {
            the_doctor_names_files_that_root_wrote(site);
        }
    }
    if types(step, REVOKE) {
        assert!(printed.contains("revoked web1.example.com"), "{printed}");
        // At once: the answer came when the session had ended. And it does not come back.
        let list = site.until_on_server("tutti node list", "connected");
        assert!(list.contains(NONE), "{list}");
        let refused = "journalctl --no-pager -u tutti-agent -o cat";
        site.node.until(refused, "next attempt").unwrap();
        let list = site.until_on_server("tutti node list", "connected");
        assert!(list.contains(NONE), "{list}");
    }
    if types(step, RESTART) {
        site.until_on_server("tutti node list", NONE);
        // The node asks for a new certificate, and all goes on.
        site.node.expect("systemctl start tutti-agent").unwrap();
        site.until_on_server("tutti ca list", "requested  web1.example.com");
        site.until_on_server("tutti ca sign web1.example.com", "signed");
        site.until_on_server("tutti node list", "1 connected");
        site.until_on_server(
            "tutti task run disk::free -n web1.example.com",
            "1 of 1 nodes succeeded",
        );
    }
}

/// Files of the CA that root wrote are one line, and the command below it mends them.
fn the_doctor_names_files_that_root_wrote(site: &DocumentedSite) {
    let list = "/var/lib/tutti/ca/ca_crl.pem";
    let written_by_root = format!("chown root:root {list} && chmod 640 {list}");
    site.server.expect(&written_by_root).unwrap();
    let (found, is_well) = site.try_on_server("tutti doctor");
    assert!(!is_well && found.contains("\n1 problem, "), "{found}");
    let mut lines = found
        .lines()
        .skip_while(|line| !line.starts_with("problem"));
    let (problem, remedy) = (lines.next().unwrap(), lines.next().unwrap());
    assert!(problem.contains(list), "{found}");
    let remedy = remedy.trim().trim_start_matches("→ ");
    site.server.expect(remedy).unwrap();
    let (mended, is_well) = site.try_on_server("tutti doctor");
    assert!(is_well, "{mended}");
}

#[test]
fn getting_started_is_typed_as_root_and_works() {
    let Some(site) = DocumentedSite::boot() else {
        return;
    };
    let document = document("getting-started.md");
    let awaited = [
        REVOKE,
        RESTART,
        DOCTOR,
        "tutti task run",
        "tutti ca list",
        "tutti node list",
    ];
    require(&document, &awaited);
    for step in &document.steps {
        before(&site, step);
        let printed = site.type_step(step);
        after(&site, step, &printed);
    }
}
