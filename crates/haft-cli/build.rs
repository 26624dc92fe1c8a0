//! Has the linker put the functions that runs use side by side.
//!
//! The kernel maps code in blocks of sixteen pages. What a conversation uses is a tenth of the program, but spread over all of it,
//! so that most of the program would be in memory. `order.txt` has the names; `cargo xtask order` makes it anew. A name that is
//! no longer there does no harm, and without the list everything works as well, in more memory.

use std::{env, fs, path::PathBuf};

const LIST: &str = "order.txt";

fn main() {
    println!("cargo::rerun-if-changed={LIST}");
    println!("cargo::rerun-if-changed=build.rs");
    if !is_known_to_work() {
        return;
    }
    let list = fs::read_to_string(LIST).expect("the list is beside this file");
    let script = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where")).join("order.ld");
    fs::write(&script, text(&list)).expect("cargo's own directory can be written to");
    println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
}

/// Only what is measured and kept is put in order, and only by the linker that Rust brings along.
fn is_known_to_work() -> bool {
    let says = |name: &str| env::var(name).unwrap_or_default();
    let flags = says("CARGO_ENCODED_RUSTFLAGS");
    says("PROFILE") == "release"
        && says("TARGET") == "x86_64-unknown-linux-gnu"
        && env::var_os("RUSTC_LINKER").is_none()
        && !["linker", "fuse-ld", "link-self-contained"].iter().any(|word| flags.contains(word))
}

/// A script for the linker: a section of its own for these functions, before all others.
fn text(list: &str) -> String {
    let names = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let section = |name: &str| {
        // What follows is a hash, another one for each compiler and version of a crate.
        let rest = if name.ends_with("17h") { "*" } else { "" };
        format!("*(.text.{name}{rest} .text.unlikely.{name}{rest})\n")
    };
    let sections: String = names.map(section).collect();
    format!("SECTIONS {{ .text.used : {{\n{sections}}} }}\nINSERT BEFORE .text;\n")
}
