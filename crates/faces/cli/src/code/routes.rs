//! Routes of the code APIs: [`code_route`], [`CODE_MANAGER`].

/// A route of Tutti's own code API.
pub(super) fn code_route(name: &str) -> [&str; 4] {
    ["tutti", "v1", "code", name]
}

/// Route prefix of Code Manager's API.
pub(super) const CODE_MANAGER: [&str; 3] = ["code-manager", "v1", "deploys"];
