//! The user's browser, shown an address that the user has agreed to.

use std::{env, path::Path};

use haft_shell::run::Launch;

/// Programs that show an address in the browser that the user likes.
const OPENERS: [&str; 3] = ["/usr/bin/xdg-open", "/usr/local/bin/xdg-open", "/usr/bin/open"];

/// Shows an address, which was looked at before and is http or https. Whether there is a screen and a program for it. The
/// address is an argument and never part of a command line.
pub(crate) fn open(address: &str) -> bool {
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some());
    let Some(program) = OPENERS.iter().find(|path| has_screen && Path::new(path).exists()) else {
        return false;
    };
    let mut launch = Launch::new(program, "/");
    launch.args = vec![address.into()];
    launch.env = env::vars_os().collect();
    match launch.start() {
        Ok(browser) => {
            // What is dropped is ended; but a browser is the user's, who may have more to do with it.
            std::mem::forget(browser);
            true
        }
        Err(_) => false,
    }
}
