//! A comparison of the store with the repairs that followed. Main type: [`StoreVerification`].

use std::collections::HashMap;

use api_types::{CodeVerified, CodeVerifiedVersion};
use environments::EnvironmentName;

use super::{StoreCheck, VersionCheck, VersionIntegrity};
use crate::defaults::SHOWN_DAMAGED_FILES;
use crate::version::VersionSignature;

/// Comparison of the store, and the requested repairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreVerification {
    /// The comparison, from before the repairs.
    pub check: StoreCheck,
    /// Repairs of versions that were not known to be whole; empty if none were requested.
    pub repairs: HashMap<(EnvironmentName, VersionSignature), VersionRepair>,
}

/// Repair of one version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionRepair {
    /// Number of the deployment that repaired it; `None` without a server.
    pub deployment: Option<i64>,
    /// The reason that the version could not be repaired; `None` if it is whole now.
    pub error: Option<String>,
}

// === impl StoreVerification ===

impl StoreVerification {
    /// Converts to the form of the API.
    pub fn to_code_verified(&self) -> CodeVerified {
        let versions = self.check.versions.iter();
        CodeVerified {
            contents: self.check.contents,
            bytes: self.check.bytes,
            damaged_contents: self.check.damaged_contents.len(),
            versions: versions
                .map(|version| self.to_verified_version(version))
                .collect(),
        }
    }

    fn to_verified_version(&self, version: &VersionCheck) -> CodeVerifiedVersion {
        let name = (version.environment.clone(), version.signature.clone());
        let repair = self.repairs.get(&name);
        let is_repaired = repair.is_some_and(|repair| repair.error.is_none());
        let (found, damaged, why): (_, &[String], _) = match &version.integrity {
            VersionIntegrity::Whole => ("whole", &[], None),
            VersionIntegrity::Damaged(paths) => ("damaged", paths, None),
            VersionIntegrity::Unknown(why) => ("unknown", &[], Some(why.clone())),
        };
        let state = match is_repaired {
            true if damaged.is_empty() => "whole",
            true => "repaired",
            false => found,
        };
        let error = repair.and_then(|repair| repair.error.clone());
        CodeVerifiedVersion {
            environment: version.environment.to_string(),
            version: version.signature.to_string(),
            live: version.is_live,
            state: state.to_owned(),
            damaged: damaged.iter().take(SHOWN_DAMAGED_FILES).cloned().collect(),
            damaged_files: damaged.len(),
            why: error.or(why.filter(|_| !is_repaired)),
            deployment: repair.and_then(|repair| repair.deployment),
        }
    }
}
