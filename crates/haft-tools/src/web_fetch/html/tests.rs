//! What a page becomes.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(page: &str, expected: &str) {
    let base = Url::parse("https://docs.example/a/b.html").unwrap();
    assert_eq!(to_markdown(page, Some(&base)), expected, "{page}");
}

#[test]
fn words_are_words_whatever_the_white_space() {
    check("  one\n two\t<span> three</span>&nbsp;four ", "one two three four");
    check("<p>one<p>two</p>three<div>four</div>", "one\n\ntwo\n\nthree\n\nfour");
    check("one<br>two<br/>", "one\ntwo");
}

#[test]
fn headings_and_emphasis_have_their_marks() {
    check("<h1>One</h1><h3> Two\n words </h3>x", "# One\n\n### Two words\n\nx");
    check("a<b> bold </b>c <em>it<i>al</i>ic</em>", "a **bold** c *italic*");
    check("<b></b>x<b> </b>y", "x y");
    check("<b>one<p>two</p>three</b>", "**one**\n\n**two**\n\n**three**");
}

#[test]
fn links_are_whole_and_those_to_nowhere_are_their_words() {
    check("<a href='c.html?x=1&amp;y'>see</a>", "[see](https://docs.example/a/c.html?x=1&y)");
    check("<a href=/d><b>D</b></a>.", "[**D**](https://docs.example/d).");
    check("<a href='#part'>part</a> <a href='javascript:x()'>run</a> <a>none</a>", "part run none");
    check("<h2>Title<a class=headerlink href='#t'>¶</a></h2>", "## Title");
    check("<base href='/deep/'><a href=x>x</a>", "[x](https://docs.example/deep/x)");
    check(
        "<img alt='A cat' src=cat.png><img src=dot.gif><img alt=d src='data:image/png;base64,xx'>",
        "![A cat](https://docs.example/a/cat.png)![d]",
    );
}

#[test]
fn lists_are_indented_by_their_items() {
    check("<ul><li>one<li>two<ul><li>in</ul></li></ul>after", "- one\n- two\n  - in\n\nafter");
    check("<ol start=9><li>nine</li><li><p>ten</p><p>more</p></ol>", "9. nine\n10. ten\n\n    more");
    check("<dl><dt>term<dd>meaning<dd>another</dl>", "term\n\n: meaning\n: another");
}

#[test]
fn quotes_stand_behind_their_mark() {
    check("<blockquote><p>one</p><p>two<br>three</p></blockquote>x", "> one\n\n> two\n> three\n\nx");
}

#[test]
fn code_is_kept_as_it_is() {
    check("use <code>a  &lt;b&gt;</code>!", "use `a <b>`!");
    check("<code>a`b</code> <code>`x`</code>", "``a`b`` `` `x` ``");
    check(
        "<pre class='x'><code class='hl language-rust'>fn a() {\n    <span>b</span>&amp;\n\n}\n</code></pre>",
        "```rust\nfn a() {\n    b&\n\n}\n```",
    );
    check("<pre>\n```\nx</pre>", "````\n```\nx\n````");
    check("<li>x<pre>a\n b</pre></li>", "- x\n\n  ```\n  a\n   b\n  ```");
    check("<pre><div>one</div><div>two</div></pre>", "```\none\ntwo\n```");
}

#[test]
fn tables_are_tables() {
    check(
        "<table><caption>All</caption><thead><tr><th>a<th>b</thead><tr><td>1|2<td><p>x</p><p>y</p></table>after",
        "All\n\n| a | b |\n|---|---|\n| 1\\|2 | x y |\n\nafter",
    );
    check("<table><tr><td colspan=2>wide<tr><td>1<td>2</table>", "| wide |  |\n|---|---|\n| 1 | 2 |");
    check("<table><tr><td>only</td></tr><tr><td>column</td></tr></table>", "only\ncolumn");
    check(
        "<table><tr><td>a<br>b<td><ul><li>c<li>d</ul><td><pre>e\nf</pre></tr><tr><td>x</table>",
        "| a b | c d | `e f` |\n|---|---|---|\n| x |",
    );
}

#[test]
fn a_table_that_holds_tables_only_arranges_them() {
    check(
        "<table><tr><td>menu<td>top<table><tr><th>a<th>b<tr><td>1<td>2</table>below<tr><td>foot</table>",
        "menu\n\ntop\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nbelow\n\nfoot",
    );
}

#[test]
fn what_nobody_would_see_is_not_there() {
    check(
        "a<script>x()</script><style>p{}</style><!-- c --><template><p>t</p></template><svg><title>s</title></svg>\
         <div hidden>h<p>h</p></div><span style='Display : none'>n</span><p aria-hidden=true>i<p>b\
         <textarea>t</textarea><select><option>o</select><button>Copy</button><dialog>d</dialog>c",
        "a\n\nb\n\nc",
    );
    check("a\u{e0048}\u{e0049}b\u{202e}c\u{200b}", "abc");
}

#[test]
fn a_title_stands_before_a_page_that_does_not_begin_with_it() {
    check("<head><title>The &amp; page </title></head><body>x", "Title: The & page\n\nx");
    check("<title>Same</title><h1>Same</h1>x", "# Same\n\nx");
}

#[test]
fn an_encoding_is_found_where_pages_say_it() {
    for (page, expected) in [
        ("<meta charset=latin1>", Some("latin1")),
        ("<META http-equiv=x content='text/html; Charset=\"koi8-r\"; x'>", Some("koi8-r")),
        ("<!-- <meta charset=no> --><meta name=x content=y>", None),
    ] {
        assert_eq!(charset(page.as_bytes()).as_deref(), expected, "{page}");
    }
}

/// Pages that are built to make trees deep, wide or slow.
#[test]
fn a_hostile_page_takes_its_length_and_no_more() {
    let times = 20_000;
    for (begin, piece) in [
        ("", "<div>"),
        ("", "<b><p>x"),
        ("", "<b id=1><i><p>x</b>"),
        ("", "<ul><li>x"),
        ("", "<blockquote>x"),
        ("<table>", "<a></a><tr>x"),
        ("", "<table><td>x"),
        ("<table>", "<tr><td colspan=9999>x"),
        ("<base href='/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/'>", "<a href=b>c</a>"),
        ("", "</p></div></b>"),
        ("", "<p hidden>x"),
        ("", "<!--"),
        ("", "<a href=\""),
        ("", "&#x&amp"),
        ("", "<script>"),
        ("<pre>", "`<code>"),
    ] {
        let page = format!("{begin}{}", piece.repeat(times));
        let start = std::time::Instant::now();
        let text = to_markdown(&page, Some(&Url::parse("https://docs.example/").unwrap()));
        assert!(text.len() <= page.len() * 4 + 10_000, "{piece}: {} from {}", text.len(), page.len());
        assert!(start.elapsed().as_secs() < 20, "{piece}: {:?}", start.elapsed());
    }
}

proptest! {
    #[test]
    fn every_text_is_a_page_and_its_plain_words_come_through(
        pieces in proptest::collection::vec(
            prop_oneof![
                "[a-z &;#<>/\"'=!-]{0,8}",
                proptest::sample::select(vec![
                    "<p>", "</p>", "<b>", "</b>", "<a href='x'>", "</a>", "<ul>", "<li>", "</ul>", "<pre>", "</pre>",
                    "<code>", "</code>", "<table>", "<tr>", "<td>", "<th>", "</table>", "<blockquote>", "</blockquote>",
                    "<br>", "<hr>", "<h2>", "</h2>", "<img alt=x src=y>", "<dl>", "<dt>", "<dd>", "é", "\u{202e}",
                ]).prop_map(str::to_owned),
            ],
            0..40,
        )
    ) {
        let page = pieces.concat();
        let text = to_markdown(&page, None);
        prop_assert!(text.len() <= page.len() * 4 + 5_000);
        // A word in front of everything is never lost.
        let with_word = to_markdown(&format!("word<hr>{page}"), None);
        prop_assert!(with_word.contains("word"), "{}", with_word);
    }
}
