//! POSIX access control lists, in the form of Linux's extended attribute: [`PosixAcl`].

/// Extended attribute that contains the list of a file.
pub(super) const ATTRIBUTE: &str = "system.posix_acl_access";

const VERSION: u32 = 2;
const USER: u16 = 0x02;
const GROUP_OF_OWNER: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;

/// Entries of a list other than those of the owner and of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PosixAcl {
    users: Vec<(u32, u8)>,
    groups: Vec<(u32, u8)>,
    group_of_owner: u8,
    mask: u8,
}

// === impl PosixAcl ===

impl PosixAcl {
    /// Parses a list in the kernel's form; `None` if it is invalid.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (version, entries) = bytes.split_first_chunk::<4>()?;
        if u32::from_le_bytes(*version) != VERSION || entries.len() % 8 != 0 {
            return None;
        }
        let mut acl = Self {
            mask: 0o7,
            ..Self::default()
        };
        for entry in entries.chunks_exact(8) {
            let tag = u16::from_le_bytes([entry[0], entry[1]]);
            let bits = entry[2] & 0o7;
            let id = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
            match tag {
                USER => acl.users.push((id, bits)),
                GROUP => acl.groups.push((id, bits)),
                GROUP_OF_OWNER => acl.group_of_owner = bits,
                MASK => acl.mask = bits,
                _ => {}
            }
        }
        Some(acl)
    }

    /// The decision for a user who does not own the file; `None` if the bits for others decide.
    pub(super) fn allows(
        &self,
        uid: u32,
        groups: &[u32],
        owner_gid: u32,
        want: u8,
    ) -> Option<bool> {
        let has = |bits: u8| bits & self.mask & want == want;
        if let Some((_, bits)) = self.users.iter().find(|(id, _)| *id == uid) {
            return Some(has(*bits));
        }
        let own = groups.contains(&owner_gid).then_some(self.group_of_owner);
        let named = self.groups.iter().filter(|(id, _)| groups.contains(id));
        let matching: Vec<u8> = own
            .into_iter()
            .chain(named.map(|(_, bits)| *bits))
            .collect();
        match matching.is_empty() {
            true => None,
            false => Some(matching.into_iter().any(has)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(u16, u8, u32)]) -> Vec<u8> {
        let mut bytes = VERSION.to_le_bytes().to_vec();
        for (tag, bits, id) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend([*bits, 0]);
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn a_named_user_gets_what_the_mask_leaves() {
        let acl = PosixAcl::parse(&list(&[
            (USER, 0o7, 998),
            (GROUP_OF_OWNER, 0, 0),
            (MASK, 0o4, 0),
        ]))
        .unwrap();
        assert_eq!(acl.allows(998, &[997], 0, 0o4), Some(true));
        assert_eq!(acl.allows(998, &[997], 0, 0o2), Some(false));
        assert_eq!(acl.allows(999, &[997], 0, 0o4), None);
    }

    #[test]
    fn one_of_several_groups_is_enough() {
        let entries = [(GROUP_OF_OWNER, 0, 0), (GROUP, 0o5, 52), (MASK, 0o7, 0)];
        let acl = PosixAcl::parse(&list(&entries)).unwrap();
        assert_eq!(acl.allows(1, &[0, 52], 0, 0o4), Some(true));
        assert_eq!(acl.allows(1, &[0], 0, 0o4), Some(false));
        assert_eq!(acl.allows(1, &[7], 0, 0o4), None);
    }

    #[test]
    fn other_bytes_are_no_list() {
        for bytes in [&b""[..], b"\x02\0\0", b"\x01\0\0\0", b"\x02\0\0\0\x01"] {
            assert_eq!(PosixAcl::parse(bytes), None);
        }
    }
}
