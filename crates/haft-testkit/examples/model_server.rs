//! A scripted model at an address, for programs of any language to be tried with. It prints the address, and ends with its
//! standard input: `cargo run -p haft-testkit --features model --example model_server`

use std::io::{self, Read};

use haft_testkit::{ModelServer, Script, Turn};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the address is what it prints")]
async fn main() {
    let turn = Turn::new()
        .thinking("Where is it?")
        .text("Let me look – at both.")
        .call("Read", json!({ "path": "a.rs" }))
        .call("List", json!({}));
    let model = ModelServer::start(Script::always(turn)).await;
    println!("{}", model.url());
    let ended = tokio::task::spawn_blocking(|| io::stdin().read_to_end(&mut Vec::new()));
    drop(ended.await);
}
