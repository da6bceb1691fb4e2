//! `docs/server.md` but for its section on puppetservers: watching, backup and restore, the CA's verbs.

use testkit::typed_document::TypedStep;

use crate::site::{DocumentedSite, document, require, types};

const STATUS: &str = "/status/v1/simple";
const RESTORE: &str = "tutti accept-older-history --yes";
const GENERATE: &str = "tutti ca generate broker2.example.com";

fn after(site: &DocumentedSite, step: &TypedStep, printed: &str) {
    if types(step, STATUS) {
        assert_eq!(printed, "running");
    }
    if types(step, RESTORE) {
        // What root put back and touched, the service's user can go on with; and all goes on.
        let foreign = "find /var/lib/tutti ! -user tutti";
        assert_eq!(site.server.expect(foreign).unwrap(), "");
        site.until_on_server("tutti node list", "1 connected");
        let again = "tutti task run disk::free -n web1.example.com";
        site.until_on_server(again, "1 of 1 nodes succeeded");
    }
    if types(step, GENERATE) {
        assert!(printed.contains("signed     web1.example.com"), "{printed}");
        site.server
            .expect("test -s /etc/tutti/ssl/broker2.example.com.key.pem")
            .unwrap();
    }
}

#[test]
fn the_server_is_watched_and_restored_as_documented() {
    let Some(site) = DocumentedSite::boot_with_a_connected_node() else {
        return;
    };
    let document = document("server.md");
    require(&document, &[STATUS, RESTORE, GENERATE]);
    for step in document
        .steps
        .iter()
        .filter(|step| step.machine == "server")
    {
        let printed = site.type_step(step);
        after(&site, step, &printed);
    }
}
