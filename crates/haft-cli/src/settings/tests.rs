//! What files of every level come to.

use super::{keys::KEYS, *};

fn at(level: Level, text: &str) -> anyhow::Result<Settings> {
    above(&Settings::default(), level, text)
}

fn above(below: &Settings, level: Level, text: &str) -> anyhow::Result<Settings> {
    Document { path: "haft.toml".into(), text: text.to_owned() }.parse(level, below)
}

fn parse(text: &str) -> anyhow::Result<Settings> {
    at(Level::User, text)
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    assert_eq!(parse(text).expect_err(text).to_string(), expected);
}

#[test]
fn everything_can_be_set() {
    let settings = parse(
        r#"
        mode = "plan"
        forbid_modes = ["bypass"]
        [permissions]
        allow = ["Read(//etc/hosts)"]
        deny = [
            "Read(**/.env)",
            { rule = "Bash(curl:*)", reason = "use WebFetch", match = ["curl x"], except_roles = ["owner"] },
        ]
        [models."claude-*".permissions]
        ask = ["Bash"]
        [model]
        name = "some-model"
        dialect = "openai"
        thinking = "low"
        [limits]
        parallel = 4
        preview_bytes = 1024
        [tools]
        defer_above = 0
        toolsets = { planning = ["readonly", "!Stat"] }
        [read]
        data_reminder = true
        [bash]
        background_after_s = 30
        [sandbox]
        required = true
        write = ["/var/cache"]
        hosts = ["docs.rs"]
        permissions.allow = ["Bash(make:*)"]
        [[hooks.PreToolUse]]
        matcher = "Bash"
        hooks = [{ type = "command", command = "check.sh" }]
        "#,
    )
    .unwrap();
    assert_eq!((settings.mode, settings.forbid_modes), (Some(Mode::Plan), vec![Mode::Bypass]));
    assert_eq!(
        (settings.model.dialect, settings.model.thinking),
        (Some(Dialect::OpenAi), Some(Thought::Word(Amount::Low)))
    );
    assert_eq!(settings.limits.parallel.map(NonZeroUsize::get), Some(4));
    assert_eq!((settings.tools.defer_above, settings.toolsets["planning"].len()), (Some(0), 2));
    assert_eq!(settings.data_reminder, Some(true));
    assert_eq!(settings.bash.background_after_s.map(NonZeroUsize::get), Some(30));
    assert_eq!((settings.sandbox.enabled, settings.sandbox.required), (None, Some(true)));
    assert_eq!(settings.sandbox.write, Some(vec!["/var/cache".into()]));
    assert_eq!(settings.hooks[0]["PreToolUse"][0]["hooks"][0]["command"], "check.sh");
    let told: Vec<String> = settings.rules.deny.iter().map(|rule| rule.origin.to_string()).collect();
    assert_eq!(told, ["haft.toml:7", "haft.toml:8"]);
    let curl = &settings.rules.deny[1];
    assert_eq!((curl.text.as_str(), curl.reason.as_deref()), ("Bash(curl:*)", Some("use WebFetch")));
    assert_eq!((curl.matches.len(), curl.except_roles.len()), (1, 1));
    assert_eq!(settings.rules.ask[0].layer.to_string(), "model claude-*");
    let layers: Vec<String> = settings.rules.allow.iter().map(|rule| rule.layer.to_string()).collect();
    assert_eq!(layers, ["global", "sandbox"]);
}

#[test]
fn the_later_file_wins_and_rules_add_up() {
    let first = parse("mode = \"plan\"\npermissions.deny = [\"A\"]\nlimits.parallel = 2").unwrap();
    let both = first.and(parse("permissions.deny = [\"B\"]\nlimits.parallel = 3").unwrap());
    assert_eq!((both.mode, both.rules.deny.len()), (Some(Mode::Plan), 2));
    assert_eq!(both.limits.parallel.map(NonZeroUsize::get), Some(3));
}

#[test]
fn all_keys_that_are_none_are_told_at_once() {
    check_error(
        "wbe.timeout_s = 1\n[permissions]\nalow = []",
        "haft.toml:1: there is no setting `wbe`; did you mean `web`?\n\
         haft.toml:3: there is no setting `alow` in [permissions]; did you mean `allow`?",
    );
}

#[test]
fn mistakes_say_where_they_are_and_what_would_be_right() {
    check_error("\nmdoe = \"plan\"", "haft.toml:2: there is no setting `mdoe`; did you mean `mode`?");
    check_error(
        "[permissions]\nallow = []\ndenny = []",
        "haft.toml:3: there is no setting `denny` in [permissions]; did you mean `deny`?",
    );
    check_error(
        "[agents.reviewer.permissions]\nalow = []",
        "haft.toml:2: there is no setting `alow` in [agents.reviewer.permissions]; did you mean `allow`?",
    );
    check_error(
        "[zzz]",
        "haft.toml:1: there is no setting `zzz`; there are mode, forbid_modes, managed_rules_only, permissions, \
         models, agents, groups, model, auto, delegate, sandbox, web, secrets, journal, store, undo, results, mcp, hooks, limits, tools, read, bash",
    );
    check_error("limits = 3", "haft.toml:1: `limits` is a table of settings, written [limits]");
    check_error(
        "mode = \"yolo\"",
        "haft.toml:1: there is no mode `yolo`; the modes are default, plan, accept-edits, auto, dont-ask, bypass",
    );
    check_error(
        "[model]\ndialect = \"claude\"",
        "haft.toml:2: `claude` is no dialect; there are anthropic, openai, responses, gemini",
    );
    check_error(
        "[limits]\nparallel = 0",
        "haft.toml:2: invalid value: integer `0`, expected a whole number from 1 on",
    );
    check_error(
        "[permissions]\ndeny = \"Bash\"",
        "haft.toml:2: `deny` is a list of rules, as in `deny = [\"Read(src/**)\"]`",
    );
    check_error(
        "permissions.deny = [3]",
        "haft.toml:1: a rule is a text, or a table such as `{ rule = \"Bash\", reason = \"…\" }`",
    );
    check_error(
        "permissions.deny = [\n{ rul = \"Bash\" }]",
        "haft.toml:2: a rule has no `rul`; did you mean `rule`?",
    );
    check_error(
        "permissions.deny = [{ reason = \"x\" }]",
        "haft.toml:1: the rule itself is missing; write it as `rule = \"Bash(git push:*)\"`",
    );
    check_error(
        "permissions.deny = [{ rule = \"A\", roles = 1 }]",
        "haft.toml:1: `roles` is a list of texts",
    );
    check_error(
        "[sandbox]\ndeny_read = [\"secrets\"]",
        "haft.toml:2: `secrets` is not absolute; begin it with `/` or `~/`",
    );
    assert!(parse("mode = ").unwrap_err().to_string().starts_with("haft.toml:1: "));
    assert!(parse("managed_rules_only = true").unwrap_err().to_string().contains("belongs to the managed"));
}

// Managed.

#[test]
fn managed_values_win_and_their_questions_are_firm() {
    let managed = at(
        Level::Managed,
        "mode = \"plan\"\nsandbox.enabled = true\nsandbox.write = []\npermissions.ask = [\"Bash\"]\nlimits.parallel = 2",
    );
    let user =
        parse("mode = \"auto\"\nsandbox.enabled = false\nsandbox.write = [\"/x\"]\nlimits.parallel = 9");
    let settings = user.unwrap().under(managed.unwrap());
    assert_eq!((settings.mode, settings.sandbox.enabled), (Some(Mode::Plan), Some(true)));
    assert_eq!((&settings.sandbox.write, settings.fixed.sandboxed), (&Some(Vec::new()), true));
    assert_eq!(settings.limits.parallel.map(NonZeroUsize::get), Some(2));
    assert!(settings.rules.ask[0].firm);
    assert_eq!(settings.mode_for(None).unwrap(), Mode::Plan);
    let refused = settings.mode_for(Some(Mode::Auto)).unwrap_err().to_string();
    assert_eq!(refused, "the managed settings fix the mode: it is plan, and --mode auto is against it");
}

#[test]
fn where_only_managed_rules_allow_the_others_are_noted() {
    let managed = at(Level::Managed, "managed_rules_only = true\npermissions.allow = [\"Read(//opt)\"]");
    let user = parse("permissions.allow = [\"Bash\"]\npermissions.deny = [\"Write\"]");
    let settings = user.unwrap().under(managed.unwrap());
    assert_eq!((settings.rules.allow.len(), settings.rules.deny.len()), (1, 1));
    assert_eq!(
        settings.notes[0].to_string(),
        "haft.toml:1: allow rule `Bash` does not count: the managed settings allow only their own"
    );
    let flags = Rules::allowing(["Edit"], haft_engine::policy::Origin::Flag);
    assert_eq!(settings.admit(flags), Rules::default());
}

#[test]
fn forbidden_modes_add_up() {
    let both = parse("forbid_modes = [\"auto\"]")
        .unwrap()
        .under(at(Level::Managed, "forbid_modes = [\"bypass\"]").unwrap());
    for mode in [Mode::Auto, Mode::Bypass] {
        assert!(both.mode_for(Some(mode)).unwrap_err().to_string().contains("forbid the mode"), "{mode}");
    }
    assert_eq!(both.mode_for(Some(Mode::Plan)).unwrap(), Mode::Plan);
}

// Workspace.

/// For every key, a value that loosens, and one that tightens; nothing where there is no such value.
const LOOSE_AND_TIGHT: &[(&str, Option<&str>, Option<&str>)] = &[
    ("mode", Some("\"accept-edits\""), Some("\"plan\"")),
    ("forbid_modes", None, Some("[\"bypass\"]")),
    ("managed_rules_only", Some("true"), None),
    ("permissions.allow", None, Some("[\"Read\"]")),
    ("permissions.ask", None, Some("[\"Read\"]")),
    ("permissions.deny", None, Some("[\"Read\"]")),
    ("models.*.permissions.allow", Some("[\"Read\"]"), None),
    ("models.*.permissions.ask", None, Some("[\"Read\"]")),
    ("models.*.permissions.deny", None, Some("[\"Read\"]")),
    ("agents.*.permissions.allow", Some("[\"Read\"]"), None),
    ("agents.*.permissions.ask", None, Some("[\"Read\"]")),
    ("agents.*.permissions.deny", None, Some("[\"Read\"]")),
    ("groups.*.permissions.allow", Some("[\"Read\"]"), None),
    ("groups.*.permissions.ask", None, Some("[\"Read\"]")),
    ("groups.*.permissions.deny", None, Some("[\"Read\"]")),
    ("model.name", Some("\"costly\""), None),
    ("model.dialect", Some("\"openai\""), None),
    ("model.base_url", Some("\"http://a.org\""), None),
    ("model.key_env", Some("\"MY_KEY\""), None),
    ("model.headers", Some("{ x = \"y\" }"), None),
    ("model.extra", Some("{ store = true }"), None),
    ("model.images", Some("false"), None),
    ("model.thinking", Some("\"high\""), None),
    ("model.context_tokens", Some("1000"), None),
    ("model.answer_tokens", None, Some("1000")),
    ("model.max_turns", None, Some("3")),
    ("model.run_tokens", None, Some("1000")),
    ("model.timeout_s", Some("900"), None),
    ("model.tool_references", Some("true"), None),
    ("model.price.input", Some("0"), None),
    ("model.price.cached", Some("0"), None),
    ("model.price.cache_written", Some("0"), None),
    ("model.price.output", Some("0.5"), None),
    ("auto.judge", Some("\"model\""), None),
    ("auto.model", Some("\"kind\""), None),
    ("auto.questions", Some("9"), None),
    ("auto.timeout_s", Some("9"), None),
    ("delegate.parallel", Some("9"), Some("2")),
    ("delegate.depth", Some("2"), Some("1")),
    ("delegate.max_turns", Some("101"), Some("3")),
    ("delegate.run_tokens", None, Some("1000")),
    ("delegate.timeout_s", Some("1801"), Some("60")),
    ("sandbox.enabled", Some("false"), Some("true")),
    ("sandbox.required", Some("false"), Some("true")),
    ("sandbox.read", Some("[\"/\"]"), None),
    ("sandbox.write", Some("[\"/\"]"), None),
    ("sandbox.deny_read", None, Some("[\"/secret\"]")),
    ("sandbox.hosts", Some("[\"a.org\"]"), None),
    ("sandbox.sockets", Some("[\"/run/docker.sock\"]"), None),
    ("sandbox.unsandboxed", Some("[\"Bash(docker:*)\"]"), None),
    ("sandbox.forbid_unsandboxed", Some("false"), Some("true")),
    ("sandbox.memory_mb", Some("1000000000"), Some("64")),
    ("sandbox.processes", Some("8193"), Some("100")),
    ("sandbox.file_mb", Some("65537"), Some("100")),
    ("sandbox.cpu_s", None, Some("60")),
    ("sandbox.disk_reserve_mb", Some("1"), None),
    ("sandbox.permissions.allow", Some("[\"Read\"]"), None),
    ("sandbox.permissions.ask", None, Some("[\"Read\"]")),
    ("sandbox.permissions.deny", None, Some("[\"Read\"]")),
    ("web.timeout_s", Some("31"), Some("3")),
    ("web.most_bytes", Some("5242881"), Some("3")),
    ("web.data_reminder", Some("false"), Some("true")),
    ("secrets.redact", Some("false"), Some("true")),
    ("secrets.off_for", Some("[\"Read\"]"), None),
    ("secrets.names", None, Some("[\"MY_PIN\"]")),
    ("secrets.values_from", None, Some("[\"MY_PIN\"]")),
    ("journal.enabled", Some("false"), Some("true")),
    ("journal.on_failure", Some("\"warn\""), Some("\"refuse\"")),
    ("journal.keep_days", Some("1"), None),
    ("journal.max_mb", Some("1"), None),
    ("store.journal", Some("\"postgres://elsewhere/x\""), None),
    ("store.blobs", Some("\"s3://elsewhere/x\""), None),
    ("store.lease_s", Some("1"), None),
    ("undo.enabled", Some("false"), Some("true")),
    ("undo.shell", Some("false"), Some("true")),
    ("undo.ignored", Some("true"), None),
    ("undo.on_failure", Some("\"warn\""), Some("\"refuse\"")),
    ("undo.keep_days", Some("1"), None),
    ("undo.max_file_mb", Some("1"), None),
    ("undo.max_total_mb", Some("1"), None),
    ("undo.max_files", Some("1"), None),
    ("results.keep_days", Some("1"), None),
    ("results.max_mb", Some("1"), None),
    ("mcp.data_reminder", Some("false"), Some("true")),
    ("mcp.servers.*.command", None, Some("\"x\"")),
    ("mcp.servers.*.args", None, Some("[\"x\"]")),
    ("mcp.servers.*.env", None, Some("{ A = \"x\" }")),
    ("mcp.servers.*.cwd", None, Some("\"x\"")),
    ("mcp.servers.*.url", None, Some("\"https://x\"")),
    ("mcp.servers.*.headers", None, Some("{ A = \"x\" }")),
    ("mcp.servers.*.type", None, Some("\"sse\"")),
    ("mcp.servers.*.disabled", Some("false"), Some("true")),
    ("mcp.servers.*.sandbox", Some("false"), Some("true")),
    ("mcp.servers.*.sampling", Some("true"), Some("false")),
    ("mcp.servers.*.shared", None, Some("true")),
    ("mcp.servers.*.strict_output", Some("false"), Some("true")),
    ("mcp.servers.*.always_load", None, Some("[\"x\"]")),
    ("mcp.servers.*.idempotent", None, Some("[\"x\"]")),
    ("mcp.servers.*.start_s", None, Some("3")),
    ("mcp.servers.*.idle_s", None, Some("3")),
    ("mcp.servers.*.total_s", None, Some("3")),
    ("mcp.servers.*.unused_s", None, Some("3")),
    ("mcp.servers.*.tools.allow", None, Some("[\"x\"]")),
    ("mcp.servers.*.tools.deny", None, Some("[\"x\"]")),
    ("mcp.servers.*.auth.client_id", None, Some("\"x\"")),
    ("mcp.servers.*.auth.client_secret", Some("\"x\""), None),
    ("mcp.servers.*.auth.client_metadata_url", None, Some("\"https://x/y\"")),
    ("mcp.servers.*.auth.scopes", None, Some("[\"x\"]")),
    ("mcp.servers.*.auth.client_credentials", Some("true"), None),
    ("mcp.servers.*.auth.callback_port", None, Some("3")),
    ("mcp.servers.*.auth.allow_private", Some("true"), None),
    ("hooks", None, Some("{ Stop = [] }")),
    ("limits.parallel", Some("11"), Some("2")),
    ("limits.timeout_s", Some("121"), Some("120")),
    ("limits.result_bytes", None, Some("9")),
    ("limits.turn_bytes", Some("409601"), Some("9")),
    ("limits.preview_bytes", Some("8193"), Some("9")),
    ("tools.defer_above", None, Some("3")),
    ("tools.defer_share", None, Some("0.2")),
    ("tools.context_tokens", None, Some("1000")),
    ("tools.always_load", None, Some("[\"mcp__github\"]")),
    ("tools.listing_bytes", None, Some("0")),
    ("tools.toolsets.*", None, Some("[\"readonly\"]")),
    ("read.data_reminder", Some("false"), Some("true")),
    ("bash.timeout_s", Some("121"), Some("3")),
    ("bash.background_after_s", None, Some("3")),
    ("bash.most_output_bytes", Some("1073741825"), Some("3")),
];

#[test]
fn every_key_says_what_a_workspace_may_do_with_it() {
    let listed: Vec<&str> = LOOSE_AND_TIGHT.iter().map(|(key, ..)| *key).collect();
    let known: Vec<&str> = KEYS.iter().map(|key| key.path).collect();
    assert_eq!(listed, known, "a new key needs its lines here");
    for (key, loose, tight) in LOOSE_AND_TIGHT {
        let key = key.replace('*', "some");
        if let Some(loose) = loose {
            let said = at(Level::Workspace, &format!("{key} = {loose}")).unwrap();
            assert_eq!(said.notes.len(), 1, "{key} = {loose}");
            assert!(
                said.notes[0].to_string().starts_with(&format!("haft.toml:1: `{key}` does not count here: "))
            );
            let nothing = Settings { notes: said.notes.clone(), ..Settings::default() };
            assert_eq!(format!("{said:?}"), format!("{nothing:?}"), "{key} = {loose} has an effect");
        }
        if let Some(tight) = tight {
            let said = at(Level::Workspace, &format!("{key} = {tight}")).unwrap();
            assert_eq!(said.notes, [], "{key} = {tight}");
            assert_ne!(
                format!("{said:?}"),
                format!("{:?}", Settings::default()),
                "{key} = {tight} has no effect"
            );
        }
    }
}

#[test]
fn how_much_a_model_thinks_is_a_word_or_a_number() {
    let thinking = |text: &str| parse(&format!("model.thinking = {text}")).unwrap().model.thinking;
    assert_eq!(thinking("\"minimal\""), Some(Thought::Word(Amount::Minimal)));
    assert_eq!(thinking("8000"), Some(Thought::Tokens(8_000)));
    check_error(
        "model.thinking = \"much\"",
        "haft.toml:1: one of `off`, `minimal`, `low`, `medium` and `high`, or a number of tokens",
    );
}

#[test]
fn a_price_is_no_less_than_nothing() {
    assert_eq!(parse("model.price = { input = 3, output = 15.5 }").unwrap().model.price.output, Some(15.5));
    check_error(
        "model.price.output = -1",
        "haft.toml:1: a price is dollars for a million tokens, and -1 is none",
    );
}

#[test]
fn every_key_is_in_the_docs() {
    let docs = include_str!("../../../../docs/settings.md");
    for key in KEYS {
        assert!(
            docs.contains(&format!("| `{}` |", key.path)),
            "docs/settings.md has no line for `{}`",
            key.path
        );
    }
}

#[test]
fn what_is_looser_depends_on_what_holds() {
    let user = parse("mode = \"plan\"\nlimits.parallel = 2\ntools.toolsets.review = [\"readonly\"]").unwrap();
    let said = above(
        &user,
        Level::Workspace,
        "mode = \"default\"\nlimits.parallel = 3\ntools.toolsets = { review = [\"all\"], mine = [\"readonly\"] }",
    )
    .unwrap();
    let notes: Vec<String> = said.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "haft.toml:1: `mode` does not count here: a workspace may only make it stricter, and plan holds without it",
            "haft.toml:2: `limits.parallel` does not count here: a workspace may only lower it, and 2 holds without it",
            "haft.toml:3: `tools.toolsets.review` does not count here: the name has a meaning already, which a workspace \
             does not change",
        ]
    );
    assert_eq!((said.mode, said.limits.parallel, said.toolsets.len()), (None, None, 1));
}

#[test]
fn a_workspace_brings_servers_and_changes_nobody_elses() {
    let user = parse("[mcp.servers.mine]\ncommand = \"mine\"\n").unwrap();
    let said = above(
        &user,
        Level::Workspace,
        "[mcp.servers.mine]\ncommand = \"evil\"\nsandbox = true\n[mcp.servers.theirs]\ncommand = \"x\"\nsampling = true\n",
    )
    .unwrap();
    let notes: Vec<String> = said.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "haft.toml:2: `mcp.servers.mine.command` does not count here: the server is somebody else's already, which a \
             workspace does not change",
            "haft.toml:6: `mcp.servers.theirs.sampling` does not count here: a workspace may only set it to false",
        ]
    );
    let both = user.and(said).mcp.servers;
    assert_eq!(both["mine"].server("mine").unwrap().texts(), ["mine"]);
    assert_eq!((both["mine"].sandbox, both["theirs"].is_whole()), (Some(true), true));
}

#[test]
fn a_mistake_in_what_does_not_count_is_still_one() {
    assert!(at(Level::Workspace, "sandbox.write = [\"relative\"]").is_err());
    assert!(at(Level::Workspace, "sandbox.enabled = \"no\"").is_err());
}
