//! Maps with short names as keys, looked at several times for every call.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A map from short names. Its keys come from settings, never from a model: nobody can make them collide on purpose.
pub(super) type ShortMap<K, V> = HashMap<K, V, BuildHasherDefault<Fnv>>;

/// FNV-1a: for a name of a few bytes several times quicker than the standard hasher.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    // The length that slices put in front tells nothing that the end of the name does not.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}
