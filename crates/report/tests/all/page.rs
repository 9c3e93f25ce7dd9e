//! The page as a document: well-formed, escaped, self-contained, the same every time.

use fimbria_image::{Affine, Grid, Image, Mask};
use fimbria_report::{
    Figure, Level, Page, Scene, SceneLines, Section, Table, Verdict, Window,
    colour::Scale,
    figure::{Glyphs, Scalar, glyphs, mosaic_scalar},
    plot::{
        Axes, Axis, Cells, Guide, Marks, Sample, Series, bars, histogram, matrix, q_space, scatter,
        xy,
    },
    wordmark,
};

/// Checks that every element is closed in the right order, every attribute quoted, and every `<`
/// and `&` of the text escaped. Returns the names of the elements seen.
fn check_markup(text: &str) -> Vec<String> {
    const VOID: [&str; 2] = ["meta", "!DOCTYPE"];
    let mut open: Vec<&str> = Vec::new();
    let mut seen = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        check_entities(&rest[..start]);
        let end = start + rest[start..].find('>').expect("a tag that is not closed");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed in the wrong order");
            continue;
        }
        let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let name = name.trim_end_matches('/');
        seen.push(name.to_string());
        if VOID.contains(&name) {
            continue;
        }
        check_attributes(attributes.trim_end_matches('/'));
        if tag.ends_with('/') {
            continue;
        }
        if name == "style" {
            let close = rest.find("</style>").expect("a style that ends");
            assert!(!rest[..close].contains('<'), "no markup in a style");
            rest = &rest[close + "</style>".len()..];
            continue;
        }
        open.push(name);
    }
    check_entities(rest);
    assert_eq!(open, [""; 0], "left open");
    seen
}

fn check_attributes(mut attributes: &str) {
    while !attributes.trim().is_empty() {
        let (name, rest) = attributes.split_once("=\"").expect("attributes are quoted");
        let name = name.trim();
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name:?}");
        let (value, rest) = rest.split_once('"').expect("quotes come in pairs");
        check_entities(value);
        attributes = rest;
    }
}

fn check_entities(text: &str) {
    for (at, _) in text.match_indices('&') {
        let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
        let named = known.iter().any(|entity| text[at..].starts_with(entity));
        assert!(named, "a bare & in {:?}", text[at..].chars().take(20).collect::<String>());
    }
}

const NASTY: &str = "<script>alert(\"a\" & 'b')</script>\u{0}\u{1b}";

fn figures(heading: &str) -> Vec<Figure> {
    let grid = Grid { dims: [7, 6, 5], ras_from_vox: Affine::from_spacing([2.0; 3]) };
    let mut ramp = Image::zeros(grid, 3);
    for (i, value) in ramp.data.iter_mut().enumerate() {
        *value = i as f32;
    }
    let mask = Mask::full(grid);
    let axes = Axes {
        heading,
        x: Axis::new(heading, heading),
        y: Axis::new(heading, ""),
        guides: vec![Guide::Identity, Guide::Vertical(1.0, heading.into())],
    };
    let points = [[0.0, 1.0], [1.0, f64::NAN], [2.0, 3.0], [2.5, 2.0]];
    let crowd: Vec<[f64; 2]> = (0..5000).map(|i| [f64::from(i % 83), f64::from(i % 97)]).collect();
    let series = |marks| Series { name: heading, points: &points, marks };
    vec![
        mosaic_scalar(&ramp, &mask, &Scalar::new(heading, heading)).unwrap(),
        glyphs(&ramp, &ramp, &mask, &Glyphs::new(heading)).unwrap(),
        xy(&[series(Marks::Line), series(Marks::Dots), series(Marks::LineAndDots)], &axes),
        scatter(&points, &axes),
        scatter(&crowd, &axes),
        histogram(&[Sample { name: heading, values: &[1.0, 2.0, f64::NAN] }], 5, &axes),
        bars(&[(heading, 1.0), ("none", f64::NAN), ("below", -2.0)], &axes),
    ]
}

fn page(text: &str) -> Page {
    let cells = || vec![text.to_string(), text.to_string()];
    let figures = figures(text);
    Page::new(text)
        .subtitle(text)
        .headline(text, text)
        .fact(text, text)
        .warning(text)
        .section(
            Section::new(text)
                .text(format!("{text}\n\n{text}"))
                .list(cells())
                .facts(vec![[text.to_string(), text.to_string()]])
                .table(Table { caption: text.into(), columns: cells(), rows: vec![cells()] })
                .record(text, text),
        )
        .section(Section::new(text).warning(text).figure(figures[0].clone(), text))
        .section(
            Section::new(text)
                .figures(figures.into_iter().map(|figure| (figure, text.to_string())).collect()),
        )
        .footer(text)
}

#[test]
fn a_page_of_everything_is_well_formed() {
    let seen = check_markup(&page("plain").to_html());
    for element in ["h1", "h2", "figure", "figcaption", "table", "details", "svg", "image", "nav"] {
        assert!(seen.iter().any(|name| name == element), "no {element}");
    }
}

#[test]
fn text_cannot_become_markup() {
    let html = page(NASTY).to_html();
    let seen = check_markup(&html);
    assert!(!seen.iter().any(|name| name == "script"));
    assert!(!html.contains(['\u{0}', '\u{1b}']), "control characters are no text");
    assert!(html.contains("&lt;script&gt;alert(&quot;a&quot; &amp; &#39;b&#39;)"));
}

#[test]
fn text_cannot_become_markup_in_verdicts_and_scenes() {
    let text = || NASTY.to_owned();
    let grid = Grid { dims: [7, 6, 5], ras_from_vox: Affine::from_spacing([2.0; 3]) };
    let (map, mask) = (Image::zeros(grid, 1), Mask::full(grid));
    let mut scene = Scene::default();
    scene.map(NASTY, NASTY, &map, &mask, Window::Robust).unwrap();
    scene.regions(NASTY, &Image { data: vec![1.0; grid.len()], ..map.clone() });
    let line = [[1.0, 1.0, 1.0], [9.0, 1.0, 1.0]];
    let lines = SceneLines { grid, lines: vec![&line], values: vec![("weight", &[1.0])] };
    scene.lines(NASTY, &lines, 10);
    let verdict = Verdict {
        name: text(),
        level: Level::Bad,
        value: text(),
        says: text(),
        threshold: text(),
        source: text(),
    };
    let cells = Cells {
        rows: &[vec![Some(1.0), None], vec![Some(f64::NAN), Some(2.0)]],
        label: NASTY,
        unit: NASTY,
        scale: Scale::Lagoon,
        range: [0.0, 2.0],
        aspect: 1.0,
        names: &[text(), text()],
    };
    let axes = Axes { heading: NASTY, ..Axes::default() };
    let section = Section::new(NASTY)
        .figure(matrix(&cells, &axes), NASTY)
        .figure(q_space(&[(0, 0.0, [0.0; 3]), (1, 1000.0, [0.0, 0.0, 1.0])]), NASTY);
    let html = Page::new(NASTY).verdict(verdict).section(section).scene(scene).rated().to_html();
    // NiiVue, three parts, and the page's own.
    assert_eq!(html.matches("<script").count(), 5);
    assert_eq!(html.matches("</script>").count(), 5);
    assert!(!html.contains("<script>alert"));
    assert!(html.contains("&lt;script&gt;alert(&quot;a&quot; &amp; &#39;b&#39;)"));
    for needle in ["src=", "@import", "url(http", "<link", "href=\"http"] {
        let own = html.split("<script").next().unwrap_or_default();
        assert!(!own.contains(needle), "{needle}");
    }
}

/// A ball of what no compression makes smaller.
fn noisy(edge: usize) -> (Image, Mask) {
    let grid = Grid { dims: [edge; 3], ras_from_vox: Affine::from_spacing([1.0; 3]) };
    let (mut map, mut state) = (Image::zeros(grid, 1), 1_u32);
    for value in &mut map.data {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        *value = (state % 255) as f32;
    }
    (map, Mask::full(grid))
}

#[test]
fn a_whole_page_can_be_sent_by_mail_whatever_is_put_into_it() {
    let (map, mask) = noisy(160);
    let style = Scalar { window: Window::Fixed([0.0, 255.0]), ..Scalar::new("noise", "") };
    let picture = mosaic_scalar(&map, &mask, &style).unwrap();
    for figures in [1, 12] {
        let mut scene = Scene::default();
        for name in 0..7 {
            scene
                .map(&format!("map {name}"), "", &map, &mask, Window::Fixed([0.0, 254.0]))
                .unwrap();
        }
        let mut section = Section::new("Maps");
        for _ in 0..figures {
            section = section.figure(picture.clone(), NASTY);
        }
        let html = Page::new(NASTY).section(section).scene(scene).rated().to_html();
        assert!(html.len() < 25_000_000, "{} bytes with {figures} figures", html.len());
        // Pictures come first, and what the scene has no room for is named.
        assert_eq!(html.matches("<figcaption>").count(), figures);
        let parts = html.matches("class=\"scene-part\"").count();
        assert!((1..7).contains(&parts), "{parts}");
        assert!(html.contains("Left out, so that the page can be sent: map "));
    }
}

#[test]
fn svg_files_are_well_formed() {
    for figure in figures(NASTY) {
        check_markup(&figure.svg());
    }
    check_markup(&wordmark());
}

#[test]
fn the_wordmark_of_the_readme_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fimbria.svg");
    let stored = std::fs::read_to_string(path).unwrap();
    assert!(stored == wordmark(), "write it again with the example `gallery`");
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let html = page("plain").to_html();
    for needle in ["src=", "@import", "url(http", "<link", "<script", "href=\"http"] {
        assert!(!html.contains(needle), "{needle}");
    }
}

#[test]
fn addresses_become_links_without_their_full_stop() {
    let html = Page::new("t").subtitle("See https://doi.org/10.1/a&b. Or not.").to_html();
    check_markup(&html);
    assert!(html.contains(
        "<a href=\"https://doi.org/10.1/a&amp;b\">https://doi.org/10.1/a&amp;b</a>. Or not."
    ));
}

#[test]
fn figures_have_a_role_and_a_description() {
    let html = page("plain").to_html();
    let figures = html.matches("<figure>").count();
    assert_eq!(figures, 8);
    assert_eq!(html.matches("role=\"img\" aria-label=\"plain").count(), figures);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    assert_eq!(page("plain").to_html(), page("plain").to_html());
}

#[test]
fn columns_of_numbers_are_flush_right() {
    let row = |cells: [&str; 3]| cells.map(String::from).to_vec();
    let table = Table {
        caption: String::new(),
        columns: row(["Map", "Error", "Remark"]),
        rows: vec![row(["FA", "−0.003", "good"]), row(["MD", "1.2 %", ""])],
    };
    let html = Page::new("t").section(Section::new("s").table(table)).to_html();
    assert!(html.contains("<td class=\"number\">−0.003</td><td>good</td>"));
}

#[test]
fn plots_of_nothing_or_too_much_are_frames() {
    let axes = Axes { heading: "nothing", ..Axes::default() };
    let empty = [
        xy(&[], &axes),
        scatter(&[[f64::NAN, 1.0], [f64::INFINITY, 0.0]], &axes),
        histogram(&[Sample { name: "none", values: &[] }], 10, &axes),
        bars(&[], &axes),
        xy(
            &[Series {
                name: "wide",
                points: &[[-1e308, 0.0], [1e308, 1e308]],
                marks: Marks::Line,
            }],
            &axes,
        ),
    ];
    for figure in empty {
        check_markup(&figure.svg());
        assert!(!figure.svg().contains("NaN") && !figure.svg().contains("inf"));
    }
}
