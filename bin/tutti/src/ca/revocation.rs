//! Output of `tutti ca revoke` and `clean` about a revocation that is not in force everywhere. Main
//! functions: [`describe_unfinished`], [`describe_unreached`].
//!
//! Invariant: a broker that still holds a session is a failure. One that cannot be reached passes
//! on no orders of this server meanwhile, and results in a note.

use api_types::RevocationInForce;

/// The brokers on which the certificate is still accepted; `None` if there are none.
pub(super) fn describe_unfinished(
    certname: &str,
    revocation: &RevocationInForce,
) -> Option<String> {
    let mut parts: Vec<String> = revocation.problem.iter().cloned().collect();
    if !revocation.still_connected.is_empty() {
        parts.push(format!(
            "a session of it is still held by {}: give these brokers the new revocation list, or stop them",
            revocation.still_connected.join(", "),
        ));
    }
    (!parts.is_empty()).then(|| {
        format!(
            "{certname} is revoked, but not everywhere: {}",
            parts.join("; ")
        )
    })
}

/// The brokers that could not be reached; `None` if there are none.
pub(super) fn describe_unreached(certname: &str, revocation: &RevocationInForce) -> Option<String> {
    let brokers = &revocation.not_asked;
    (!brokers.is_empty()).then(|| {
        format!(
            "these brokers are not connected to the server and may hold a session of {certname}: {}; they need the \
             new revocation list before they connect",
            brokers.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revocation_that_is_not_everywhere_names_each_broker() {
        let done = RevocationInForce {
            newly_revoked: 1,
            ..RevocationInForce::default()
        };
        assert_eq!(describe_unfinished("web1", &done), None);
        assert_eq!(describe_unreached("web1", &done), None);
        let half = RevocationInForce {
            still_connected: vec!["pcp://broker2/server".to_owned()],
            not_asked: vec!["broker3".to_owned()],
            problem: Some("the list is unreadable".to_owned()),
            ..done
        };
        let told = describe_unfinished("web1", &half).unwrap();
        for part in [
            "web1 is revoked",
            "the list is unreadable",
            "held by pcp://broker2/server",
        ] {
            assert!(told.contains(part), "{told}");
        }
        let told = describe_unreached("web1", &half).unwrap();
        assert!(told.contains("session of web1: broker3;"), "{told}");
    }
}
