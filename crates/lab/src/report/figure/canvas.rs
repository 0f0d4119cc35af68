//! How does a drawing become SVG and pixels?
//!
//! A [`Canvas`] is a list of strokes, fills and words in points, from the upper left corner. It is
//! written as SVG, where words stay words, or drawn as PNG with the glyphs of a bundled font: a
//! machine without fonts shows the same picture.
//!
//! **Absent on purpose:** curves, transparency and groups. Circles are polygons.

use std::fmt::Write as _;

use anyhow::{Result, anyhow};
use tiny_skia::{FillRule, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// DejaVu Sans, cut down to Latin, Greek and a few signs.
const FONT: &[u8] = include_bytes!("../../../assets/DejaVuSans-subset.ttf");

/// Pixels of a PNG per point.
const PIXELS: f32 = 2.0;

/// A colour: red, green, blue.
pub(crate) type Ink = [u8; 3];

/// How a stroke is broken up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dash {
    /// Not at all.
    Solid,
    /// Into dashes.
    Dashed,
    /// Into dots.
    Dotted,
    /// Into dashes and dots.
    Mixed,
}

/// Which point of a text its place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// A drawing.
#[derive(Clone, Debug)]
pub(crate) struct Canvas {
    width: f64,
    height: f64,
    title: String,
    shapes: Vec<Shape>,
}

#[derive(Clone, Debug)]
enum Shape {
    Stroke { points: Vec<[f64; 2]>, closed: bool, ink: Ink, width: f64, dash: Dash },
    Fill { points: Vec<[f64; 2]>, ink: Ink },
    Text { at: [f64; 2], words: String, size: f64, anchor: Anchor, turned: bool, ink: Ink },
}

impl Canvas {
    /// An empty one of this size \[pt\]; the title is read out by screen readers.
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Canvas {
        Canvas { width, height, title: title.to_owned(), shapes: Vec::new() }
    }

    /// A line through some points.
    pub(crate) fn stroke(&mut self, points: &[[f64; 2]], ink: Ink, width: f64, dash: Dash) {
        if points.len() > 1 {
            let points = points.to_vec();
            self.shapes.push(Shape::Stroke { points, closed: false, ink, width, dash });
        }
    }

    /// The outline of a polygon.
    pub(crate) fn outline(&mut self, points: &[[f64; 2]], ink: Ink, width: f64) {
        let (points, dash) = (points.to_vec(), Dash::Solid);
        self.shapes.push(Shape::Stroke { points, closed: true, ink, width, dash });
    }

    /// A filled polygon.
    pub(crate) fn fill(&mut self, points: &[[f64; 2]], ink: Ink) {
        self.shapes.push(Shape::Fill { points: points.to_vec(), ink });
    }

    /// A line of text on a base line that starts, is centred or ends at a place.
    pub(crate) fn text(&mut self, at: [f64; 2], words: &str, size: f64, anchor: Anchor, ink: Ink) {
        let words = words.to_owned();
        self.shapes.push(Shape::Text { at, words, size, anchor, turned: false, ink });
    }

    /// The same, reading upwards.
    pub(crate) fn text_upwards(&mut self, at: [f64; 2], words: &str, size: f64, ink: Ink) {
        let (words, anchor) = (words.to_owned(), Anchor::Middle);
        self.shapes.push(Shape::Text { at, words, size, anchor, turned: true, ink });
    }

    /// As SVG.
    pub(crate) fn svg(&self) -> String {
        let Canvas { width, height, title, shapes } = self;
        let title = escaped(title);
        // Writing to a string cannot fail, here and below.
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" font-family=\"DejaVu Sans, Verdana, \
             sans-serif\">\n<title>{title}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        );
        for shape in shapes {
            let _ = match shape {
                Shape::Stroke { points, closed, ink, width, dash } => writeln!(
                    svg,
                    "<path d=\"{}{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"{}/>",
                    path_data(points),
                    if *closed { "Z" } else { "" },
                    hex(*ink),
                    match pattern(*dash, *width) {
                        None => String::new(),
                        Some([on, off, dot, gap]) => {
                            format!(" stroke-dasharray=\"{on:.1} {off:.1} {dot:.1} {gap:.1}\"")
                        }
                    }
                ),
                Shape::Fill { points, ink } => {
                    writeln!(svg, "<path d=\"{}Z\" fill=\"{}\"/>", path_data(points), hex(*ink))
                }
                Shape::Text { at: [x, y], words, size, anchor, turned, ink } => writeln!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{}\" \
                     fill=\"{}\"{}>{}</text>",
                    match anchor {
                        Anchor::Start => "start",
                        Anchor::Middle => "middle",
                        Anchor::End => "end",
                    },
                    hex(*ink),
                    if *turned {
                        format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"")
                    } else {
                        String::new()
                    },
                    escaped(words)
                ),
            };
        }
        svg + "</svg>\n"
    }

    /// As PNG.
    pub(crate) fn png(&self) -> Result<Vec<u8>> {
        let pixels = |points: f64| (points * f64::from(PIXELS)).ceil() as u32;
        let mut pixmap = Pixmap::new(pixels(self.width), pixels(self.height))
            .ok_or_else(|| anyhow!("a figure of {} by {} points", self.width, self.height))?;
        pixmap.fill(tiny_skia::Color::WHITE);
        let face = face()?;
        let scale = Transform::from_scale(PIXELS, PIXELS);
        for shape in &self.shapes {
            match shape {
                Shape::Stroke { points, closed, ink, width, dash } => {
                    let stroke = Stroke {
                        width: *width as f32,
                        dash: pattern(*dash, *width).and_then(|pattern| {
                            StrokeDash::new(pattern.map(|part| part as f32).to_vec(), 0.0)
                        }),
                        ..Stroke::default()
                    };
                    if let Some(path) = polygon(points, *closed) {
                        pixmap.stroke_path(&path, &paint(*ink), &stroke, scale, None);
                    }
                }
                Shape::Fill { points, ink } => {
                    if let Some(path) = polygon(points, true) {
                        pixmap.fill_path(&path, &paint(*ink), FillRule::Winding, scale, None);
                    }
                }
                Shape::Text { at: [x, y], words, size, anchor, turned, ink } => {
                    let shift = match anchor {
                        Anchor::Start => 0.0,
                        Anchor::Middle => text_width(words, *size) / 2.0,
                        Anchor::End => text_width(words, *size),
                    };
                    let place = scale.pre_translate(*x as f32, *y as f32);
                    let place = if *turned { place.pre_rotate(-90.0) } else { place };
                    let place = place.pre_translate(-shift as f32, 0.0);
                    if let Some(path) = glyphs(&face, words, *size) {
                        pixmap.fill_path(&path, &paint(*ink), FillRule::Winding, place, None);
                    }
                }
            }
        }
        pixmap.encode_png().map_err(|error| anyhow!("a figure as PNG: {error}"))
    }
}

/// How wide a text is \[pt\].
pub(crate) fn text_width(words: &str, size: f64) -> f64 {
    let Ok(face) = face() else { return 0.0 };
    let units: f64 = words.chars().map(|sign| f64::from(advance(&face, glyph(&face, sign)))).sum();
    units * size / f64::from(face.units_per_em())
}

fn face() -> Result<Face<'static>> {
    Face::parse(FONT, 0).map_err(|error| anyhow!("the bundled font: {error}"))
}

fn glyph(face: &Face<'_>, sign: char) -> GlyphId {
    face.glyph_index(sign).unwrap_or_default()
}

fn advance(face: &Face<'_>, glyph: GlyphId) -> u16 {
    face.glyph_hor_advance(glyph).unwrap_or(0)
}

/// The outlines of a text whose base line starts at the origin.
fn glyphs(face: &Face<'_>, words: &str, size: f64) -> Option<Path> {
    let scale = size as f32 / f32::from(face.units_per_em());
    let mut pen = Pen { builder: PathBuilder::new(), x: 0.0, scale };
    for sign in words.chars() {
        let glyph = glyph(face, sign);
        face.outline_glyph(glyph, &mut pen);
        pen.x += f32::from(advance(face, glyph)) * scale;
    }
    pen.builder.finish()
}

/// Draws glyphs one after the other; their y axis points up, ours down.
struct Pen {
    builder: PathBuilder,
    x: f32,
    scale: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.builder.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.builder.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}

fn polygon(points: &[[f64; 2]], closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for (place, [x, y]) in points.iter().enumerate() {
        match place {
            0 => builder.move_to(*x as f32, *y as f32),
            _ => builder.line_to(*x as f32, *y as f32),
        }
    }
    if closed {
        builder.close();
    }
    builder.finish()
}

fn paint(ink: Ink) -> Paint<'static> {
    let [red, green, blue] = ink;
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, 255);
    paint
}

/// Lengths that are drawn and left out in turn.
fn pattern(dash: Dash, width: f64) -> Option<[f64; 4]> {
    let width = width.max(1.0);
    Some(match dash {
        Dash::Solid => return None,
        Dash::Dashed => [5.0, 3.0, 5.0, 3.0],
        Dash::Dotted => [1.2, 2.2, 1.2, 2.2],
        Dash::Mixed => [6.0, 2.2, 1.2, 2.2],
    })
    .map(|parts| parts.map(|part| part * width))
}

fn path_data(points: &[[f64; 2]]) -> String {
    let mut data = String::new();
    for (place, [x, y]) in points.iter().enumerate() {
        let _ = write!(data, "{}{x:.2} {y:.2}", if place == 0 { 'M' } else { 'L' });
    }
    data
}

fn hex([red, green, blue]: Ink) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_leave_ink_without_any_font_on_the_machine() {
        let ink_of = |words: &str| {
            let mut canvas = Canvas::new(80.0, 20.0, "test");
            canvas.text([4.0, 15.0], words, 12.0, Anchor::Start, [0, 0, 0]);
            let pixmap = Pixmap::decode_png(&canvas.png().unwrap()).unwrap();
            assert_eq!((pixmap.width(), pixmap.height()), (160, 40));
            pixmap.pixels().iter().filter(|pixel| pixel.red() < 128).count()
        };
        assert_eq!(ink_of(""), 0);
        assert!(ink_of("τ ≤ 0.5") > 50);
        assert!(ink_of("mmmm") > ink_of("iiii"));
        assert!(text_width("mmmm", 12.0) > 2.0 * text_width("iiii", 12.0));
    }

    #[test]
    fn svg_keeps_words_and_escapes_them() {
        let mut canvas = Canvas::new(10.0, 10.0, "a < b");
        canvas.text([1.0, 2.0], "c & d", 8.0, Anchor::End, [1, 2, 255]);
        canvas.stroke(&[[0.0, 0.0], [1.0, 1.0]], [0, 0, 0], 1.0, Dash::Dotted);
        let svg = canvas.svg();
        assert!(svg.contains("<title>a &lt; b</title>") && svg.contains(">c &amp; d</text>"));
        assert!(svg.contains("#0102ff") && svg.contains("stroke-dasharray"));
    }
}
