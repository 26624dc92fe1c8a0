//! A server that asks the model of the conversation, with the person's permission.

use std::fs;

use haft_testkit::Turn;
use serde_json::json;

use crate::{kit::Place, pty::Person, run::Model};

/// Its tool asks the client's model, and says what came of it. A model that it cannot ask is a refusal.
const SERVER: &str = r#"#!/bin/bash
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while IFS= read -r line; do
  id=; [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  case $line in
    *'"initialize"'*) answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}' ;;
    *'"tools/list"'*) answer "$id" '{"tools":[{"name":"sum","inputSchema":{}}]}' ;;
    *'"tools/call"'*) call=$id
      printf '{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"systemPrompt":"be brief","maxTokens":33,"messages":[{"role":"user","content":{"type":"text","text":"sum it up"}}]}}\n' ;;
    *'"id":"q"'*) words=${line//[\"\\]/}; answer "$call" '{"content":[{"type":"text","text":"the model said '"$words"'"}]}' ;;
    *) [[ -n $id ]] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
  esac
done
"#;

/// The server is in the user's own settings, which say whether it may ask.
fn place(may_sample: bool) -> Place {
    let place = Place::new("-- project/a\n\n");
    fs::write(place.path("project/srv.sh"), SERVER).unwrap();
    let (script, settings) = (place.path("project/srv.sh"), place.path("config/haft"));
    fs::create_dir_all(&settings).unwrap();
    let text = format!(
        "[permissions]\nallow = [\"mcp__notes\"]\n[mcp.servers.notes]\ncommand = \"/bin/bash\"\nargs = [{script:?}]\nsampling = {may_sample}\n"
    );
    fs::write(settings.join("haft.toml"), text).unwrap();
    place
}

fn line(model: &Model) -> Vec<String> {
    let words = ["run", "--dialect", "anthropic", "--base-url", &model.url(), "Sum it up"];
    words.map(str::to_owned).to_vec()
}

/// The conversation calls the tool; in the middle of that the server's request comes.
fn script(with_sample: bool) -> Vec<Turn> {
    let mut turns = vec![Turn::new().call("mcp__notes__sum", json!({}))];
    turns.extend(with_sample.then(|| Turn::new().text("forty-two")));
    turns.push(Turn::new().text("It is summed up."));
    turns
}

#[test]
fn the_model_of_a_run_answers_a_server_once_the_person_permits_it() {
    let (place, model) = (place(true), Model::new(script(true)));
    let line = line(&model);
    let mut person = Person::at(&place, &line.iter().map(String::as_str).collect::<Vec<_>>(), "");
    person.sees("at most 33 tokens");
    person.sees("sum it up");
    person.sees("Let your model answer?");
    person.types("yes\n");
    let ran = person.ends();
    assert_eq!(ran.out.trim(), "It is summed up.", "{}", ran.err);
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    let sampled = requests[1].body.to_string();
    assert!(sampled.contains("sum it up") && sampled.contains("be brief"), "{sampled}");
    assert!(!sampled.contains("\"tools\"") && !sampled.contains("Sum it up"), "nothing else: {sampled}");
    assert!(requests[2].body.to_string().contains("forty-two"), "the server read it");
}

#[test]
fn a_no_or_settings_that_do_not_let_it_keep_the_model_to_the_person() {
    let (asked, model) = (place(true), Model::new(script(false)));
    let words = line(&model);
    let mut person = Person::at(&asked, &words.iter().map(String::as_str).collect::<Vec<_>>(), "");
    person.sees("Let your model answer?");
    person.types("no\n");
    assert_eq!(person.ends().out.trim(), "It is summed up.");
    assert!(model.requests()[1].body.to_string().contains("does not permit it"));

    for place in [place(true), place(false)] {
        let model = Model::new(script(false));
        let words = line(&model);
        place
            .haft(&words.iter().map(String::as_str).collect::<Vec<_>>())
            .expect(0, "✓ sum of the server notes\n");
        assert_eq!(model.requests().len(), 2, "nobody is there, or the settings do not let it");
        assert!(model.requests()[1].body.to_string().contains("error"));
    }
}
