//! Finding tools among many, by what people write.
//!
//! The catalogue is small and made up; each query is about one mechanism. Whether the numbers of the ranking are good is
//! measured elsewhere, on thousands of real tools: `cargo xtask search`.

use std::sync::{Arc, LazyLock};

use haft_engine::pool::{
    LiveSource, Pool, PoolBuilder, PoolView, Source, TOOL_SEARCH,
    search::{Document, MemoryUsage, SearchIndex, Usage, Weights},
};
use haft_tool::{Reply, SharedTool, tool};
use serde_json::{Value, json};

/// Servers and tools, a line each: what it is called, and what it says of itself.
const CATALOGUE: &str = "
    = tracker
    create_issue: Opens a new issue in a project.
    close_issue: Closes an issue.
    comment_on_issue: Writes a comment below an issue.
    list_issues: All issues of a project, newest first.
    assign_issue: Gives an issue to a member of the project.
    add_label: Puts a label on an issue.
    = mail
    send_message: Sends a letter to one or more recipients.
    list_inbox: The letters that have come in.
    delete_letter: Throws a letter away.
    forward_letter: Sends a letter on to others.
    search_letters: Finds letters by sender, subject or words.
    = pictures
    resize: Changes width and height of an image.
    rotate: Turns an image by degrees.
    crop_image: Cuts a rectangle out of an image.
    describe_image: Says in words what an image shows.
    convert_format: Turns an image into png, jpeg or webp.
    remove_background: Makes what is behind the subject transparent.
    = weather
    forecast: The weather of the coming days in a city.
    current_conditions: Temperature, wind and humidity now.
    severe_alerts: Warnings of storms and floods.
    = calendar
    create_event: Puts an event into the calendar.
    move_event: Gives an event another day or hour.
    free_slots: When all of some people have time.
    list_events: What is planned between two days.
    = shop
    find_products: Looks for goods by name and price.
    place_order: Buys what is in the basket.
    cancel_order: Takes an order back before it is shipped.
    track_parcel: Where a parcel is now.
    refund: Gives the money of an order back.
    = database
    run_query: Runs SQL and gives the rows.
    list_tables: The tables of a schema.
    describe_table: The columns of a table and their types.
    backup: Writes a copy of the whole database.
    = files
    copyfile: Copies one file.
    movefile: Moves one file.
    list_directory: What is in a directory.
    compress: Packs files into an archive.
    checksum: The hash of a file.
    = music
    play: Plays a song.
    make_playlist: A new list of songs.
    add_to_playlist: Puts a song into a list.
    lyrics: The words of a song.
    recognise_song: Tells which song is heard in a recording.
    = maps
    directions: The way from one place to another.
    geocode: Latitude and longitude of a street and number.
    nearby_places: Restaurants, pharmacies and the like around a point.
    travel_time: How long the way takes at an hour of the day.
    = network
    whois: Who has registered a domain.
    dns_records: The records of a domain name.
    sitemap: All pages that a website lists for crawlers.
    ping_host: Whether a host answers, and how fast.
    certificate: Until when the certificate of a host is valid.
    = bank
    balance: How much is in an account.
    transfer_money: Sends money from one account to another.
    list_transactions: What came in and went out.
    exchange_rate: What one currency costs in another.
    = ticketing-zh
    buy_ticket: 查询火车票并购买。
    refund_ticket: 火车票退票。
    = wetter-de
    vorhersage: Sagt das Wetter für morgen in einer Stadt voraus.
    = text
    translate: Brings a text into another language.
    summarise: A text in a few sentences.
    spellcheck: Finds words that are spelt wrongly.
    count_words: How many words a text has.
";

struct Line {
    name: String,
    prompt: &'static str,
}

static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| {
    let mut server = "";
    let lines = CATALOGUE.lines().map(str::trim).filter(|line| !line.is_empty());
    let tool = |line: &'static str| {
        if let Some(name) = line.strip_prefix("= ") {
            server = name;
            return None;
        }
        let (tool, prompt) = line.split_once(": ").unwrap();
        Some(Line { name: format!("mcp__{server}__{tool}"), prompt })
    };
    let mut lines: Vec<Line> = lines.filter_map(tool).collect();
    lines.sort_by(|one, other| one.name.cmp(&other.name));
    lines
});

static INDEX: LazyLock<SearchIndex> = LazyLock::new(|| {
    static NOTHING: Value = Value::Null;
    let documents =
        LINES.iter().map(|line| Document { prompt: line.prompt, ..Document::new(&line.name, &NOTHING) });
    SearchIndex::new(documents, &Weights::default())
});

fn found(query: &str, k: usize) -> Vec<String> {
    let tool = |name: &str| name.rsplit("__").next().unwrap_or_default().to_owned();
    INDEX.search(query, k).into_iter().map(|hit| tool(&hit.name)).collect()
}

/// The first of an answer.
#[track_caller]
fn check(query: &str, expected: &str) {
    assert_eq!(
        found(query, 5).first().map_or("", String::as_str),
        expected,
        "{query}: {:?}",
        found(query, 5)
    );
}

/// All of these are in an answer of five.
#[track_caller]
fn check_all(query: &str, expected: &[&str]) {
    let found = found(query, 5);
    assert!(expected.iter().all(|name| found.iter().any(|found| found == name)), "{query}: {found:?}");
}

#[test]
fn the_catalogue_is_large_enough_to_be_lost_in() {
    assert!(LINES.len() >= 60, "{}", LINES.len());
}

#[test]
fn words_find_what_is_described_with_them() {
    check("weather of the coming days", "forecast");
    check("who registered this domain", "whois");
    check("columns of a table", "describe_table");
    check("when does the certificate expire", "certificate");
}

#[test]
fn plural_and_other_forms_are_the_same_word() {
    check("closing issues", "close_issue");
    check("translation of texts", "translate");
    check("cancelled orders", "cancel_order");
}

#[test]
fn a_synonym_finds_what_nobody_called_so() {
    check("new bug", "create_issue");
    check("crop a photo", "crop_image");
    check("enumerate folder", "list_directory");
    check("remove a letter", "delete_letter");
}

#[test]
fn a_slip_is_forgiven() {
    check("create isue", "create_issue");
    check("forcast", "forecast");
    check("whios", "whois");
    check("spelcheck", "spellcheck");
}

#[test]
fn joined_and_separated_words_are_found() {
    check("createissue", "create_issue");
    check("copy file", "copyfile");
    check("spell check", "spellcheck");
    check("transfermoney", "transfer_money");
}

#[test]
fn needs_of_one_query_do_not_crowd_each_other_out() {
    check_all("whois of a domain + sitemap of a website", &["whois", "sitemap"]);
    check_all("create an issue for the bug and send a message about it", &["create_issue", "send_message"]);
    check_all(
        "Look up the forecast for Rome. Then put an event into my calendar. Tell me the exchange rate.",
        &["forecast", "create_event", "exchange_rate"],
    );
}

#[test]
fn what_is_quoted_is_data_and_not_a_need() {
    check("rename nothing, but translate \"close the issue and play the song\"", "translate");
    check("count the words of 'the forecast of the weather'", "count_words");
}

#[test]
fn other_languages_are_found_in_their_own_words() {
    check("火车票退票", "refund_ticket");
    check("购买火车票", "buy_ticket");
    check("das Wetter fur morgen", "vorhersage");
    check("Stadt Wetter FÜR", "vorhersage");
}

#[test]
fn a_name_or_a_part_of_one_comes_first() {
    check("list_events", "list_events");
    check_all("playlist", &["add_to_playlist", "make_playlist"]);
    check("use add_to_playlist for the songs that I play most", "add_to_playlist");
    check("mcp__shop__refund", "refund");
    check("arcel", "track_parcel");
}

#[test]
fn a_server_narrows_the_answer() {
    let names = |query: &str| INDEX.search(query, 50).into_iter().map(|hit| hit.name).collect::<Vec<_>>();
    assert!(names("+mail list").iter().all(|name| name.starts_with("mcp__mail__")));
    assert_eq!(names("+weather").len(), 3);
    assert_eq!(names("+nowhere list"), [""; 0]);
}

#[test]
fn an_answer_has_no_tool_twice_and_falls_off() {
    for query in ["list issues of a project", "letter", "+tracker issue", "image. song; text"] {
        let hits = INDEX.search(query, 20);
        let mut names: Vec<&str> = hits.iter().map(|hit| &*hit.name).collect();
        assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "{hits:?}");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), hits.len());
    }
}

#[test]
fn what_was_called_before_wins_a_tie_and_no_more() {
    static NOTHING: Value = Value::Null;
    let documents = ["mcp__one__run_job", "mcp__two__run_job", "mcp__two__run_job_for_later_reports"]
        .map(|name| Document { prompt: "Does a thing.", ..Document::new(name, &NOTHING) });
    let index = SearchIndex::new(documents, &Weights::default());
    let usage = MemoryUsage::default();
    let first =
        |query: &str| index.search_where(query, 3, |_| true, Some(&usage as &dyn Usage))[0].name.clone();
    assert_eq!(first("run job"), "mcp__one__run_job");
    (0..50).for_each(|_| usage.called("mcp__two__run_job_for_later_reports"));
    assert_eq!(first("run_job"), "mcp__one__run_job", "a worse one does not rise above a better one");
    usage.called("mcp__two__run_job");
    assert_eq!(first("run job"), "mcp__two__run_job");
}

fn named(name: &str, prompt: &'static str) -> SharedTool {
    let tool = tool::<Value>(name.to_owned()).prompt(prompt).schema(json!({ "type": "object" }));
    tool.call(|_, _| async { Ok(Reply::text("")) })
}

/// A pool of the catalogue, with a search tool.
fn builder() -> (PoolBuilder, Vec<Arc<LiveSource>>) {
    let own = LiveSource::new("own");
    own.add(named(TOOL_SEARCH, "Finds tools.")).unwrap();
    let mut servers: Vec<Arc<LiveSource>> = Vec::new();
    for line in LINES.iter() {
        let (server, tool) = haft_engine::pool::split(&line.name).unwrap();
        let id = format!("mcp:{server}");
        if servers.last().is_none_or(|last| last.id() != id) {
            servers.push(Arc::new(LiveSource::new(id).in_namespace(server)));
        }
        servers.last().unwrap().add(named(tool, line.prompt)).unwrap();
    }
    let sources = servers.iter().map(|server| Arc::clone(server) as Arc<dyn Source>);
    (PoolBuilder::new([Arc::new(own) as Arc<dyn Source>].into_iter().chain(sources)), servers)
}

fn names(pool: &Pool, query: &str) -> Vec<String> {
    pool.search(query, 5).into_iter().map(|hit| hit.name).collect()
}

#[test]
fn a_pool_finds_what_an_index_of_its_tools_finds() {
    let pool = builder().0.snapshot(&PoolView::unrestricted());
    for query in ["create isue", "crop a photo", "+mail list", "select:refund", "forecast; exchange rate"] {
        let expected: Vec<String> = INDEX.search(query, 5).into_iter().map(|hit| hit.name).collect();
        assert_eq!(names(&pool, query), expected, "{query}");
    }
}

#[test]
fn a_changed_server_is_searched_as_it_is_now_and_a_hidden_tool_not_at_all() {
    let (mut builder, servers) = builder();
    let view = PoolView::unrestricted();
    assert_eq!(names(&builder.snapshot(&view), "whois")[0], "mcp__network__whois");
    let network = servers.iter().find(|server| server.id() == "mcp:network").unwrap();
    network.replace_all([named("owner_of_domain", "Who has registered a domain.")]);
    assert_eq!(
        names(&builder.snapshot(&view), "who has registered a domain")[0],
        "mcp__network__owner_of_domain"
    );
    assert_eq!(names(&builder.snapshot(&view), "whois"), [""; 0]);

    let hides = |name: &str, _: &haft_tool::Spec| name.contains("__mail__").then(|| "denied".to_owned());
    let pool = builder.snapshot(&PoolView { hides: &hides, hides_version: 1, ..view });
    assert!(names(&pool, "inbox of letters").iter().all(|name| !name.contains("mail")));
    assert_eq!(names(&pool, "inbox"), [""; 0], "not even that it is there is told");
}

#[test]
fn the_search_tool_says_what_can_be_found_and_loading_does_not_change_it() {
    let mut builder = builder().0;
    let prompt = |loaded: &[String], builder: &mut PoolBuilder| {
        let pool = builder.snapshot(&PoolView { loaded, ..PoolView::unrestricted() });
        pool.offers().find(|offer| offer.name == TOOL_SEARCH).unwrap().prompt.to_owned()
    };
    let before = prompt(&[], &mut builder);
    assert!(before.starts_with("Finds tools.\n\n") && before.contains("mcp__network__whois"), "{before}");
    assert_eq!(before, prompt(&["mcp__network__whois".to_owned()], &mut builder));
}

#[test]
fn where_nothing_fits_the_nearest_servers_are_named() {
    let pool = builder().0.snapshot(&PoolView::unrestricted());
    assert_eq!(pool.search("+netwrok zzzz", 5), []);
    assert_eq!(pool.nearest_servers("+netwrok zzzz", 2)[0], ("network", 5));
}
