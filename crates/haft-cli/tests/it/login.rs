//! `haft login` and `haft logout`, as far as they go without an authorization server; `haft-mcp` has one in its tests.

use crate::kit::Place;

fn place() -> Place {
    Place::new(
        "-- config/haft/haft.toml
[mcp.servers.notes]
url = \"http://127.0.0.1:1/mcp\"
[mcp.servers.local]
command = \"no-such-server\"
[mcp.servers.keyed]
url = \"https://keyed.example/mcp\"
headers = { authorization = \"Bearer x\" }
",
    )
}

#[test]
fn only_a_server_that_is_there_and_takes_tokens_can_be_logged_in_to() {
    let place = place();
    place.haft(&["login", "nots"]).expect(2, "there is no server `nots`; there are keyed, local, notes");
    for server in ["local", "keyed"] {
        place.haft(&["login", server]).expect(2, "takes no tokens from here");
    }
}

#[test]
fn a_login_that_fails_says_why_and_keeps_nothing() {
    let place = place();
    place.haft(&["login", "notes", "--no-browser"]).expect(1, "no token: ");
    assert_eq!(place.haft(&["logout", "notes"]).expect(0, "").out, "notes: there was nothing to forget\n");
}
