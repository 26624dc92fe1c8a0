use super::*;

/// A PDF of these objects, numbered from 1; the first is the catalogue.
fn pdf(objects: &[String]) -> Vec<u8> {
    let mut out = b"%PDF-1.7\n".to_vec();
    let mut offsets = Vec::new();
    for (number, object) in (1..).zip(objects) {
        offsets.push(out.len());
        out.extend(format!("{number} 0 obj\n{object}\nendobj\n").bytes());
    }
    let start = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    out.extend(offsets.iter().flat_map(|at| format!("{at:010} 00000 n \n").into_bytes()));
    let trailer = format!("trailer\n<< /Size {} /Root 1 0 R >>\n", objects.len() + 1);
    out.extend(format!("{trailer}startxref\n{start}\n%%EOF\n").bytes());
    out
}

/// A PDF whose pages have these contents.
fn pages(contents: &[&str]) -> Vec<u8> {
    let kids: String = (0..contents.len()).map(|page| format!("{} 0 R ", 4 + 2 * page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Count {} /Kids [{kids}] >>", contents.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    for (page, content) in contents.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] /Contents {} 0 R \
             /Resources << /Font << /F 3 0 R >> >> >>",
            5 + 2 * page
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    pdf(&objects)
}

fn shown(bytes: Vec<u8>, choice: Option<&str>) -> String {
    match read(bytes, choice, &|| false) {
        Ok(pages) => {
            let text: String = pages.units.iter().map(|(_, text)| text.as_str()).collect();
            format!("{text}{} pages, {} pictures", pages.total, pages.pictures.len())
        }
        Err(refused) => refused.fault(&"a.pdf").to_string(),
    }
}

const HELLO: &str = "BT /F 10 Tf 10 80 Td (Hello,) Tj 40 0 Td (world) Tj -40 -12 Td (second line) Tj \
                     0 -40 Td [(a new par) -20 (agraph) -500 (of words)] TJ ET";

#[test]
fn the_text_of_a_page_is_read_with_its_lines() {
    insta::assert_snapshot!(shown(pages(&[HELLO]), None), @r"
    [page 1]
    Hello, world
    second line

    a new paragraph of words
    1 pages, 0 pictures
    ");
}

#[test]
fn a_page_without_text_is_drawn() {
    let bytes = pages(&["1 0 0 rg 20 20 50 50 re f"]);
    insta::assert_snapshot!(shown(bytes.clone(), None), @r"
    [page 1]
    (no text; see picture 1 below, 800×400 pixels)
    1 pages, 1 pictures
    ");
    let found = read(bytes, None, &|| false).unwrap();
    let Block::Image { data, .. } = &found.pictures[0] else { panic!("a picture") };
    let picture = image::load_from_memory(data).unwrap().to_rgb8();
    assert_eq!(picture.get_pixel(picture.width() / 5, picture.height() / 2).0, [255, 0, 0]);
    assert_eq!(picture.get_pixel(picture.width() - 5, 5).0, [255, 255, 255]);
}

#[test]
fn of_a_long_file_pages_must_be_chosen() {
    let bytes = pages(&[HELLO; 12]);
    insta::assert_snapshot!(shown(bytes.clone(), None), @r#"a.pdf has 12 pages; say which with `pages`, such as "1-5", at most 20 at once"#);
    assert!(shown(bytes.clone(), Some("12")).starts_with("[page 12]\nHello, world\n"));
    assert_eq!(shown(bytes, Some("13")), "a.pdf has 12 pages; there is no page 13");
}

#[test]
fn what_is_broken_or_encrypted_says_so() {
    assert_eq!(
        shown(b"%PDF-1.4\nnothing".to_vec(), None),
        "a.pdf is a PDF file that is broken and cannot be read"
    );
    let text =
        String::from_utf8(pages(&[HELLO])).unwrap().replace("/Root 1 0 R", "/Root 1 0 R /Encrypt 9 0 R");
    assert_eq!(shown(text.into_bytes(), None), "a.pdf is an encrypted PDF file and cannot be read");
}

#[test]
fn what_is_packed_twice_is_refused() {
    for filter in
        ["[/FlateDecode /FlateDecode]", "[ /Fl/LZW ]", "12 0 R", "[12 0 R 12 0 R]", "% x\n/FlateDecode"]
    {
        let page = format!("<< /Length 3 /Filter {filter} >>\nstream\nabc\nendstream");
        let answer = shown(pdf(&["<< /Type /Catalog /Pages 2 0 R >>".to_owned(), page]), None);
        assert_eq!(
            answer, "a.pdf is a PDF file that is not read: it is packed several times over",
            "{filter}"
        );
    }
    let page = "<< /F#69lter /FlateDecode >>\nstream\nabc\nendstream".to_owned();
    assert_eq!(shown(pdf(&[page]), None), "a.pdf is a PDF file that is not read: it hides how it is packed");
}

#[test]
fn forms_within_forms_without_end_are_stopped() {
    // Each form draws the next ten times: ten to the power of twelve rectangles.
    let form = |next: usize, content: &str| {
        format!(
            "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X {next} 0 R >> >> \
             /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        )
    };
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Count 1 /Kids [3 0 R] >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>"
            .to_owned(),
        "<< /Length 5 >>\nstream\n/X Do\nendstream".to_owned(),
    ];
    objects.extend((0..12).map(|level| form(6 + level, &"/X Do ".repeat(10))));
    objects.push(form(1, "0 0 1 1 re f"));
    let (bytes, time) = (pdf(&objects), Duration::from_millis(200));
    assert_eq!(read_within(bytes, None, &|| false, time).unwrap_err(), Refused::TooSlow);
}

#[test]
fn a_page_of_the_same_content_a_thousand_times_is_refused() {
    let content = " ".repeat(200_000);
    let text = String::from_utf8(pages(&[&content])).unwrap();
    let text = text.replace("/Contents 5 0 R", &format!("/Contents [{}]", "5 0 R ".repeat(1000)));
    assert_eq!(
        shown(text.into_bytes(), None),
        "a.pdf is a PDF file that is not read: a page of it unpacks to more than 64 MB"
    );
}

#[test]
fn a_picture_that_promises_too_much_is_not_drawn() {
    let picture = "q 100 0 0 100 0 0 cm BI /W 60000 /H 60000 /BPC 8 /CS /G /F /Fl ID xyz EI Q";
    insta::assert_snapshot!(shown(pages(&[picture]), None), @r"
    [page 1]
    (no text; not drawn, because it would cost too much)
    1 pages, 0 pictures
    ");
}

#[test]
fn reading_stops_when_it_is_cancelled() {
    assert_eq!(read(pages(&[HELLO]), None, &|| true).unwrap_err(), Refused::Cancelled);
}
