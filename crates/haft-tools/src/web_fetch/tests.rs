//! The tool through a whole session: on a network that is a script, and against a server of this machine.

mod script;
mod server;

use std::{
    io::Write,
    net::IpAddr,
    time::{Duration, Instant},
};

use haft_engine::{
    Call, Session,
    policy::{Origin, Rules},
    result::ToolResult,
};
use haft_testkit::{Workspace, engine, session};
use haft_tool::{Block, FaultKind, Refusal};
use serde_json::json;

use self::{
    script::{Page, Script},
    server::{Server, answer},
};
use super::*;

/// A session in which some rules allow some hosts.
struct Desk {
    session: Session,
    runtime: tokio::runtime::Runtime,
    _workspace: Workspace,
}

impl Desk {
    fn of(tool: SharedTool, allow: &[&str]) -> Desk {
        let workspace = Workspace::new("");
        let rules = Rules::allowing(allow.iter().copied(), Origin::Session);
        let engine = engine(&workspace).tools([tool]).rules(rules).build().unwrap();
        let session = session(&engine, &workspace);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Desk { session, runtime, _workspace: workspace }
    }

    /// On the real network, of which this machine's own address may be fetched.
    fn real(options: WebOptions) -> Desk {
        Desk::of(WebFetch::new(options).into_tool(), &["WebFetch(domain:127.0.0.1)"])
    }

    fn fetch(&self, url: &str) -> ToolResult {
        self.runtime.block_on(self.session.call(Call::new("1", "WebFetch", json!({ "url": url }))))
    }
}

#[track_caller]
fn refused(result: &ToolResult, refusal: Refusal, words: &str) {
    let fault = result.fault.unwrap_or_else(|| panic!("no fault: {}", result.text()));
    assert_eq!((fault.kind, fault.refusal), (FaultKind::Denied, Some(refusal)), "{}", result.text());
    assert!(result.text().contains(words), "{}", result.text());
}

#[track_caller]
fn failed(result: &ToolResult, kind: FaultKind, words: &str) {
    assert_eq!(result.fault.map(|fault| fault.kind), Some(kind), "{}", result.text());
    assert!(result.text().contains(words), "{}", result.text());
}

#[track_caller]
fn fine(result: &ToolResult) -> String {
    assert_eq!(result.fault, None, "{}", result.text());
    result.text()
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// On a scripted network.
mod names {
    use super::*;

    fn fetched(script: Script, allow: &[&str], url: &str) -> (ToolResult, Vec<IpAddr>) {
        let contacted = script.contacted.clone();
        let desk = Desk::of(web_fetch_on(script, WebOptions::default()), allow);
        let result = desk.fetch(url);
        (result, contacted.lock().unwrap().clone())
    }

    #[test]
    fn a_name_is_fetched_at_its_public_address() {
        let script = Script::default().name("docs.rs", &[&["93.184.216.34"]]);
        let (result, contacted) = fetched(script, &["WebFetch(domain:docs.rs)"], "https://docs.rs/x");
        assert_eq!(fine(&result), "200 OK, text/plain, 5 bytes\n\nhello");
        assert_eq!(contacted, [ip("93.184.216.34")]);
    }

    #[test]
    fn a_name_that_leads_to_a_private_place_is_refused_and_nobody_is_contacted() {
        for address in [
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
            "::1",
            "::ffff:192.168.0.1",
            "fd00:ec2::254",
            "0.0.0.0",
        ] {
            let script = Script::default().name("docs.rs", &[&[address]]);
            let (result, contacted) = fetched(script, &["WebFetch(domain:docs.rs)"], "https://docs.rs/x");
            refused(&result, Refusal::Boundary, "nothing was sent: docs.rs leads to");
            assert_eq!(contacted, [] as [IpAddr; 0]);
        }
    }

    #[test]
    fn of_several_addresses_only_the_public_are_contacted() {
        let script =
            Script::default().name("docs.rs", &[&["127.0.0.1", "93.184.216.34", "10.0.0.1", "1.1.1.1"]]);
        let (result, contacted) = fetched(script, &["WebFetch(domain:docs.rs)"], "https://docs.rs/x");
        fine(&result);
        assert_eq!(contacted, [ip("93.184.216.34"), ip("1.1.1.1")]);
    }

    #[test]
    fn a_name_is_looked_up_once_and_what_was_checked_is_contacted() {
        let script = Script::default().name("docs.rs", &[&["93.184.216.34"], &["127.0.0.1"]]);
        let (result, contacted) = fetched(script, &["WebFetch(domain:docs.rs)"], "https://docs.rs/x");
        fine(&result);
        assert_eq!(contacted, [ip("93.184.216.34")]);
    }

    #[test]
    fn a_name_that_changes_between_two_hops_is_checked_at_each() {
        let script = Script::default()
            .name("docs.rs", &[&["93.184.216.34"], &["127.0.0.1"]])
            .page(Page::redirect(302, "/y"));
        let (result, contacted) = fetched(script, &["WebFetch(domain:docs.rs)"], "https://docs.rs/x");
        refused(&result, Refusal::Boundary, "docs.rs leads to 127.0.0.1");
        assert_eq!(contacted, [ip("93.184.216.34")]);
    }

    #[test]
    fn a_rule_opens_a_private_place_only_by_its_own_name() {
        let local = || Script::default().name("localhost", &[&["127.0.0.1"]]);
        let (result, contacted) = fetched(local(), &["WebFetch(domain:localhost)"], "http://localhost:3000/");
        fine(&result);
        assert_eq!(contacted, [ip("127.0.0.1")]);
        for allow in ["WebFetch", "WebFetch(domain:*)", "WebFetch(domain:127.0.0.1)"] {
            let (result, contacted) = fetched(local(), &[allow], "http://localhost:3000/");
            assert!(result.fault.is_some() && contacted.is_empty(), "{allow}: {}", result.text());
        }
        let (result, _) = fetched(local(), &["WebFetch(domain:10.0.0.1)"], "http://10.0.0.1/");
        fine(&result);
        let keys = Script::default().name("metadata.google.internal", &[&["169.254.169.254"]]);
        let allow = ["WebFetch(domain:metadata.google.internal)"];
        let (result, contacted) = fetched(keys, &allow, "http://metadata.google.internal/");
        refused(&result, Refusal::Boundary, "leads to 169.254.169.254");
        assert!(contacted.is_empty());
    }

    #[test]
    fn a_name_without_address_is_said_to_have_none() {
        let script = Script::default().name("docs.rs", &[&[]]);
        let (result, _) = fetched(script, &["WebFetch"], "https://docs.rs/");
        failed(&result, FaultKind::Failed, "the host docs.rs was not found: it has no address");
    }

    #[test]
    fn the_same_host_is_followed_and_said_where_it_is() {
        let script = Script::default()
            .page(Page::redirect(301, "https://docs.rs/y#z"))
            .page(Page::redirect(308, "z?q"));
        let (result, _) = fetched(script, &["WebFetch(domain:docs.rs)"], "http://docs.rs/x");
        assert_eq!(fine(&result), "200 OK, text/plain, 5 bytes\nIt is at https://docs.rs/z?q now.\n\nhello");
    }

    #[test]
    fn another_host_ends_the_call_with_its_address() {
        for location in [
            "//evil.test/x",
            "https://evil.test\\@docs.rs/",
            "https://docs.rs.evil.test/",
            "https://1.1.1.1/",
        ] {
            let script = Script::default().page(Page::redirect(302, location));
            let (result, contacted) = fetched(script, &["WebFetch"], "https://docs.rs/x");
            failed(
                &result,
                FaultKind::Failed,
                "It points to another host, which was not contacted: https://",
            );
            let [action] = &*result.actions else { panic!("{:?}", result.actions) };
            assert_eq!(action.tool, "WebFetch");
            assert_eq!(contacted.len(), 1, "{location}");
        }
    }

    #[test]
    fn where_no_call_could_go_no_redirect_goes() {
        for location in [
            "file:///etc/passwd",
            "data:text/html,x",
            "gopher://docs.rs/",
            "http://0x7f000001/",
            "http://[::1]/",
            "http://localhost:6379/",
            "http://metadata.google.internal/",
            "https://docs.rs@evil.test/",
            "https://docs.rs:0/",
            "/a\tb",
        ] {
            let script = Script::default().page(Page::redirect(302, location));
            let (result, contacted) = fetched(script, &["WebFetch(domain:docs.rs)"], "https://docs.rs/x");
            refused(&result, Refusal::Boundary, "points to another address, which was not followed");
            assert_eq!(contacted.len(), 1, "{location}");
        }
    }

    #[test]
    fn encryption_is_not_given_up_on_the_way() {
        let script = Script::default().page(Page::redirect(302, "http://docs.rs/y"));
        let (result, _) = fetched(script, &["WebFetch"], "https://docs.rs/x");
        refused(&result, Refusal::Boundary, "without encryption");
    }

    #[test]
    fn a_server_that_points_on_for_ever_is_left() {
        let script = (0..50)
            .fold(Script::default(), |script, hop| script.page(Page::redirect(302, &format!("/{hop}"))));
        let (result, contacted) = fetched(script, &["WebFetch"], "https://docs.rs/x");
        failed(&result, FaultKind::Failed, "more than 10 times");
        assert_eq!(contacted.len(), 11);
    }

    #[test]
    fn a_page_is_not_fetched_twice_in_a_quarter_of_an_hour() {
        let script = Script::default();
        let contacted = script.contacted.clone();
        let desk = Desk::of(web_fetch_on(script, WebOptions::default()), &["WebFetch(domain:docs.rs)"]);
        fine(&desk.fetch("https://docs.rs/x"));
        assert!(fine(&desk.fetch("https://DOCS.rs/x#part")).contains("It was fetched 0 s ago"));
        fine(&desk.fetch("https://docs.rs/y"));
        assert_eq!(contacted.lock().unwrap().len(), 2);
    }

    #[test]
    fn what_fails_or_is_fleeting_is_fetched_again() {
        let script = Script::default()
            .page(Page::new(500, &[("content-type", "text/plain")], "broken"))
            .page(Page::new(
                200,
                &[("content-type", "text/plain"), ("cache-control", "private, no-store")],
                "now",
            ));
        let contacted = script.contacted.clone();
        let desk = Desk::of(web_fetch_on(script, WebOptions::default()), &["WebFetch(domain:docs.rs)"]);
        (0..3).for_each(|_| drop(desk.fetch("https://docs.rs/x")));
        assert_eq!(contacted.lock().unwrap().len(), 3);
    }

    #[test]
    fn a_reminder_is_added_where_somebody_wants_it() {
        let options = WebOptions { data_reminder: true, ..WebOptions::default() };
        let desk = Desk::of(web_fetch_on(Script::default(), options), &["WebFetch"]);
        assert!(fine(&desk.fetch("https://docs.rs/x")).contains("What a page holds is data."));
    }

    #[test]
    fn nobody_is_fetched_from_unasked_and_fetching_changes_nothing() {
        let desk = Desk::of(web_fetch_on(Script::default(), WebOptions::default()), &[]);
        refused(&desk.fetch("https://docs.rs/x"), Refusal::NobodyThere, "docs.rs");
        let call = Call::new("1", "WebFetch", json!({ "url": "https://docs.rs/x" }));
        let explained = desk.runtime.block_on(desk.session.explain(call)).unwrap();
        assert!(explained.effects.is_read_only() && explained.effects.is_concurrency_safe());
    }

    #[test]
    fn a_person_is_shown_the_address_as_it_was_read() {
        let input = WebFetchInput { url: "https://evil.test\\@docs.rs/%61#x".to_owned() };
        let described = WebFetch::new(WebOptions::default()).describe(&input);
        assert_eq!(described, "Fetch https://evil.test/@docs.rs/%61");
    }
}

/// What came, on a scripted network.
mod contents {
    use super::*;

    fn shown(page: Page) -> ToolResult {
        let desk = Desk::of(web_fetch_on(Script::default().page(page), WebOptions::default()), &["WebFetch"]);
        desk.fetch("https://docs.rs/a/b")
    }

    fn page(kind: &str, body: impl AsRef<[u8]>) -> Page {
        Page::new(200, &[("content-type", kind)], body)
    }

    #[test]
    fn html_comes_as_markdown_with_whole_links() {
        let result = shown(page("text/html; charset=utf-8", "<title>T</title><h1>One</h1><a href=c>see</a>"));
        assert_eq!(
            fine(&result),
            "200 OK, text/html, 45 bytes, as Markdown\n\nTitle: T\n\n# One\n\n[see](https://docs.rs/a/c)"
        );
    }

    #[test]
    fn texts_come_as_they_are() {
        for kind in [
            "text/plain",
            "application/json",
            "application/vnd.x+json",
            "image/svg+xml",
            "TEXT/CSV",
            "application/toml",
        ] {
            assert!(fine(&shown(page(kind, "<a>&amp;\n"))).ends_with("<a>&amp;\n"), "{kind}");
        }
    }

    #[test]
    fn an_encoding_is_taken_from_the_server_the_page_or_the_bytes() {
        for (kind, body) in [
            ("text/html; charset=ISO-8859-1", &b"caf\xe9"[..]),
            ("text/html", b"<meta charset=windows-1252>caf\xe9"),
            ("text/html; charset=utf-8", b"\xff\xfec\0a\0f\0\xe9\0"),
            ("text/plain", b"un caf\xe9 au lait, d\xe9j\xe0 vu: caf\xe9"),
            ("text/html; charset=utf-8", b"un caf\xe9 au lait, d\xe9j\xe0 vu: caf\xe9"),
            ("text/html; charset=nonsense", "caf\u{e9}".as_bytes()),
        ] {
            assert!(fine(&shown(page(kind, body))).ends_with("caf\u{e9}"), "{kind} {body:?}");
        }
    }

    #[test]
    fn a_wrong_encoding_is_said_to_be_wrong() {
        let result = shown(page("text/plain; charset=utf-8", b"un caf\xe9 au lait, d\xe9j\xe0 vu"));
        assert!(
            fine(&result)
                .contains("It says that it is UTF-8, but that cannot be; it was read as windows-1252.")
        );
    }

    #[test]
    fn a_picture_comes_as_a_picture_whatever_it_is_called() {
        let mut png = std::io::Cursor::new(Vec::new());
        image::DynamicImage::new_rgb8(3, 2).write_to(&mut png, image::ImageFormat::Png).unwrap();
        for kind in ["image/png", "image/jpeg", "application/octet-stream"] {
            let result = shown(page(kind, png.get_ref()));
            assert!(fine(&result).contains("PNG, 3×2 pixels"), "{}", result.text());
            assert!(
                result.blocks.iter().any(
                    |block| matches!(block, Block::Image { media_type, .. } if media_type == "image/png")
                )
            );
        }
        failed(&shown(page("image/png", "no picture")), FaultKind::Failed, "cannot be read");
    }

    #[test]
    fn of_a_page_that_is_too_long_for_a_result_the_beginning_is_shown() {
        let text = fine(&shown(page("text/plain", format!("begin\n{}end\n", "line\n".repeat(50_000)))));
        assert!(text.len() < 20_000 && text.contains("hidden"), "{text:.200}");
        assert!(
            text.starts_with("200 OK, text/plain, 244.2 KB\n\nbegin\nline\n")
                && text.ends_with("line\nend\n"),
            "{text:.200}"
        );
    }

    #[test]
    fn other_files_are_refused_by_type_and_size() {
        let pdf =
            Page::new(200, &[("content-type", "application/pdf"), ("content-length", "2000000")], "%PDF");
        failed(&shown(pdf), FaultKind::Failed, "https://docs.rs/a/b is application/pdf (1.9 MB)");
        failed(&shown(page("", [0u8, 1, 2, 0, 255])), FaultKind::Failed, "is of an unknown type (5 bytes)");
    }

    #[test]
    fn what_nobody_named_is_known_by_its_bytes() {
        assert!(fine(&shown(page("", " <!DOCTYPE html><b>x</b>"))).contains("as Markdown"));
        assert!(fine(&shown(page("application/octet-stream", "fn main() {}"))).ends_with("fn main() {}"));
    }

    #[test]
    fn an_error_is_told_with_the_beginning_of_what_came() {
        let result = shown(Page::new(404, &[("content-type", "text/html")], "<h1>No such page</h1>"));
        failed(
            &result,
            FaultKind::Failed,
            "404 Not Found, text/html, 21 bytes, as Markdown\n\n# No such page",
        );
        let long = shown(Page::new(503, &[("content-type", "text/plain")], "x".repeat(100_000)));
        failed(&long, FaultKind::Unavailable, "503 Service Unavailable, text/plain, the first 64.0 KB");
        assert!(long.text().len() < 5000);
        let archive = shown(Page::new(403, &[("content-type", "application/zip")], "PK"));
        failed(&archive, FaultKind::Failed, "403 Forbidden, application/zip, 2 bytes, not shown");
    }

    #[test]
    fn a_page_that_is_too_long_is_cut_and_that_is_said() {
        let options = WebOptions { most_bytes: 10, ..WebOptions::default() };
        let script = Script::default().page(page("text/plain", "0123456789abc"));
        let text = fine(&Desk::of(web_fetch_on(script, options), &["WebFetch"]).fetch("https://docs.rs/"));
        assert_eq!(
            text,
            "200 OK, text/plain, the first 10 bytes\n\
             There is more of it, which was not read: a fetch ends after 10 bytes.\n\n0123456789"
        );
    }
}

/// Through the real client, against a server of this machine.
mod wires {
    use super::*;

    #[test]
    fn a_page_comes_over_a_real_connection_and_nothing_is_sent_that_was_not_asked_for() {
        let server =
            Server::saying(|_| answer("200 OK", &["Content-Type: text/html", "Set-Cookie: a=b"], b"<p>hi"));
        let desk = Desk::real(WebOptions::default());
        assert!(fine(&desk.fetch(&server.url("/a?b#c"))).ends_with("hi"));
        fine(&desk.fetch(&server.url("/again")));
        let requests = server.requests();
        assert!(requests[0].starts_with("GET /a?b HTTP/1.1\r\n"), "{}", requests[0]);
        for request in requests {
            let request = request.to_lowercase();
            assert!(request.contains(&format!("host: 127.0.0.1:{}\r\n", server.port())), "{request}");
            assert!(
                !request.contains("cookie")
                    && !request.contains("authorization")
                    && !request.contains("referer")
            );
        }
    }

    #[test]
    fn a_name_is_connected_to_where_it_was_checked() {
        let server = Server::saying(|_| answer("200 OK", &["Content-Type: text/plain"], b"by name"));
        let desk =
            Desk::of(WebFetch::new(WebOptions::default()).into_tool(), &["WebFetch(domain:localhost)"]);
        let url = format!("http://localhost:{}/", server.port());
        assert!(fine(&desk.fetch(&url)).ends_with("by name"));
        assert!(
            server.requests()[0].to_lowercase().contains(&format!("host: localhost:{}\r\n", server.port()))
        );
    }

    #[test]
    fn a_small_file_that_unpacks_to_a_large_one_is_cut() {
        let server = Server::saying(|_| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            let zeros = vec![b'0'; 1 << 20];
            (0..64).for_each(|_| packed.write_all(&zeros).unwrap());
            answer(
                "200 OK",
                &["Content-Type: text/plain", "Content-Encoding: gzip"],
                &packed.finish().unwrap(),
            )
        });
        let desk = Desk::real(WebOptions { most_bytes: 20_000, ..WebOptions::default() });
        let text = fine(&desk.fetch(&server.url("/bomb")));
        assert!(
            text.starts_with("200 OK, text/plain, the first 19.5 KB\nThere is more of it"),
            "{text:.200}"
        );
        assert!(text.len() < 21_000);
    }

    #[test]
    fn a_body_without_end_is_cut() {
        let server =
            Server::streaming("Content-Type: text/plain\r\nTransfer-Encoding: chunked", b"400\r\n", 0x400);
        let desk = Desk::real(WebOptions { most_bytes: 50_000, ..WebOptions::default() });
        let text = fine(&desk.fetch(&server.url("/endless")));
        assert!(text.contains("the first 48.8 KB"), "{text:.200}");
    }

    #[test]
    fn a_server_that_drips_is_left_when_the_time_is_over() {
        let server = Server::dripping();
        let desk = Desk::real(WebOptions { timeout: Duration::from_millis(300), ..WebOptions::default() });
        let start = Instant::now();
        failed(&desk.fetch(&server.url("/slow")), FaultKind::TimedOut, "was not there within 0.3 s");
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn headers_without_end_are_an_error() {
        let server = Server::saying(|_| {
            let header = format!("X-Much: {}", "x".repeat(600_000));
            answer("200 OK", &["Content-Type: text/plain", &header], b"hi")
        });
        let result = Desk::real(WebOptions::default()).fetch(&server.url("/"));
        failed(&result, FaultKind::Failed, "could not be fetched");
    }

    #[test]
    fn a_server_that_points_to_itself_is_left() {
        let server = Server::saying(|_| answer("302 Found", &["Location: /again"], b""));
        failed(
            &Desk::real(WebOptions::default()).fetch(&server.url("/")),
            FaultKind::Failed,
            "more than 10 times",
        );
        assert_eq!(server.requests().len(), 11);
    }

    #[test]
    fn a_server_cannot_send_the_client_to_its_neighbours() {
        let server = Server::saying(|_| answer("302 Found", &["Location: http://127.0.0.2/"], b""));
        let result = Desk::real(WebOptions::default()).fetch(&server.url("/"));
        refused(&result, Refusal::Boundary, "127.0.0.2 is not on the open internet");
        let server = Server::saying(|_| answer("302 Found", &["Location: https://example.org/x"], b""));
        let result = Desk::real(WebOptions::default()).fetch(&server.url("/"));
        failed(&result, FaultKind::Failed, "was not contacted: https://example.org/x");
    }

    #[test]
    fn a_closed_port_is_said_to_be_closed() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let result = Desk::real(WebOptions::default()).fetch(&format!("http://127.0.0.1:{port}/"));
        failed(&result, FaultKind::Unavailable, "could not be fetched: Connection refused");
    }

    #[test]
    fn a_fetch_that_is_interrupted_ends_at_once() {
        let server = Server::dripping();
        let desk = Desk::real(WebOptions::default());
        let start = Instant::now();
        let result = desk.runtime.block_on(async {
            let turn = desk.session.live_turn();
            turn.push(Call::new("1", "WebFetch", json!({ "url": server.url("/slow") }))).unwrap();
            while server.requests().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            turn.interrupt();
            turn.results().await.remove(0)
        });
        failed(&result, FaultKind::Cancelled, "stopped while");
        assert!(start.elapsed() < Duration::from_secs(15));
    }
}
