//! How are numbers with their error bars laid out on a panel?
//!
//! A [`Panel`] has two [`Axis`] and some [`Series`], and draws itself into a [`Frame`] of a
//! [`Canvas`]. Series differ by marker, fill and dash as well as by colour, so a print in grey tells
//! them apart; [`legend`] says which is which.

use super::canvas::{Anchor, Canvas, Dash, Ink, text_width};

/// Text size of ticks, and of everything else \[pt\].
const SMALL: f64 = 9.0;
const TEXT: f64 = 10.0;
const TITLE: f64 = 11.5;
/// Ticks closer than this are left out \[pt\].
const TICK_DISTANCE: f64 = 15.0;

pub(crate) const BLACK: Ink = [0x1b, 0x1b, 0x1b];
const GREY: Ink = [0x70, 0x70, 0x70];
const GRID: Ink = [0xe3, 0xe3, 0xe3];

/// A place on a canvas \[pt\].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Left edge of the plot area.
    pub left: f64,
    /// Upper edge.
    pub top: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

/// How an axis is stretched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Evenly.
    Linear,
    /// By the square root: small rates can be told apart, and zero has a place.
    Root,
    /// By the logarithm.
    Log,
}

/// An axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// What is on it.
    pub label: String,
    /// How it is stretched.
    pub scale: Scale,
    /// First and last value.
    pub range: [f64; 2],
    /// Values with a tick, and what to call them.
    pub ticks: Vec<(f64, String)>,
}

/// A marker's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    /// None: a bare line.
    Bare,
    /// A circle.
    Circle,
    /// A square.
    Square,
    /// A triangle that points up.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A cross.
    Cross,
}

/// How a series styles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    /// Colour.
    pub ink: Ink,
    /// Marker.
    pub marker: Marker,
    /// Whether the marker is filled.
    pub filled: bool,
    /// Line; `None` for none.
    pub line: Option<Dash>,
    /// Width of the line \[pt\].
    pub width: f64,
}

/// One number with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// Where.
    pub x: f64,
    /// How much.
    pub y: f64,
    /// From where to where it may be; `None` for no bar.
    pub bar: Option<[f64; 2]>,
}

/// Numbers that belong together.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// What they are, for the legend.
    pub name: String,
    /// How they look.
    pub style: Style,
    /// The numbers, by `x`.
    pub points: Vec<Point>,
}

/// One plot.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// Its title.
    pub title: String,
    /// The axis below.
    pub x: Axis,
    /// The axis to the left.
    pub y: Axis,
    /// What is plotted.
    pub series: Vec<Series>,
}

impl Axis {
    /// An axis of names, at 0, 1, 2, ...
    pub(crate) fn of_names(label: &str, names: &[&str]) -> Axis {
        let ticks = names.iter().enumerate().map(|(at, name)| (at as f64, (*name).to_owned()));
        Axis {
            label: label.to_owned(),
            scale: Scale::Linear,
            range: [-0.5, names.len() as f64 - 0.5],
            ticks: ticks.collect(),
        }
    }

    /// An axis of rates from 0, on a square-root scale, up to the largest.
    pub(crate) fn of_rates(label: &str, largest: f64) -> Axis {
        Axis::rooted(label, (largest * 1.06).clamp(0.01, 1.0))
    }

    /// An axis from 0 on a square-root scale. It offers more ticks than there is room for; a panel
    /// leaves out those that come too close to each other.
    pub(crate) fn rooted(label: &str, top: f64) -> Axis {
        let decade = top.log10().floor() as i32;
        let powers = (decade - 3..=decade).map(|power| 10_f64.powi(power));
        let values = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|times| times * power));
        let name = |value: f64| {
            let decimals = (-value.log10().floor()).max(0.0) as usize;
            (value, format!("{value:.decimals$}"))
        };
        let ticks = values.filter(|value| *value <= top).map(name);
        Axis {
            label: label.to_owned(),
            scale: Scale::Root,
            range: [0.0, top],
            ticks: std::iter::once((0.0, "0".to_owned())).chain(ticks).collect(),
        }
    }

    /// An axis of rates on a logarithmic scale up to 1, from the smallest that can be told from 0. What never happened
    /// has a place of its own, to the left of a gap.
    pub(crate) fn of_rare_rates(label: &str, smallest: f64) -> Axis {
        let smallest = smallest.clamp(1e-6, 0.1);
        let never = smallest / 2.5;
        let powers = (smallest.log10().ceil() as i32..=0).map(|power| {
            let decimals = power.unsigned_abs() as usize;
            (10_f64.powi(power), format!("{:.decimals$}", 10_f64.powi(power)))
        });
        Axis {
            label: label.to_owned(),
            scale: Scale::Log,
            range: [never / 1.3, 1.0],
            ticks: std::iter::once((never, "0".to_owned())).chain(powers).collect(),
        }
    }

    /// Where a rate stands on such an axis: one that never happened, at its own place.
    pub(crate) fn rare(&self, rate: f64) -> f64 {
        if rate > 0.0 { rate } else { self.ticks.first().map_or(rate, |(never, _)| *never) }
    }

    /// An axis that holds all these values, with round ticks.
    pub(crate) fn around(label: &str, values: impl Iterator<Item = f64>) -> Axis {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let room = (high - low).max(1e-3 * high.abs()).max(1e-6) * 0.07;
        // What is never negative gets no room below zero.
        let floor = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        let range = [(low - room).max(floor), high + room];
        Axis { label: label.to_owned(), scale: Scale::Linear, range, ticks: round_ticks(range) }
    }

    fn stretched(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Root => value.max(0.0).sqrt(),
            Scale::Log => value.max(1e-12).log10(),
        }
    }

    /// Where a value is, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let [low, high] = self.range.map(|end| self.stretched(end));
        let value = value.clamp(self.range[0], self.range[1]);
        (self.stretched(value) - low) / (high - low)
    }
}

impl Panel {
    /// Draws the panel; labels and ticks go outside the frame.
    pub(crate) fn draw(&self, canvas: &mut Canvas, frame: Frame) {
        let Frame { left, top, width, height } = frame;
        let (right, bottom) = (left + width, top + height);
        let across = |value: f64| left + width * self.x.place(value);
        let down = |value: f64| bottom - height * self.y.place(value);
        let mut last = f64::INFINITY;
        for (value, name) in &self.y.ticks {
            let y = down(*value);
            if last - y < TICK_DISTANCE {
                continue;
            }
            last = y;
            canvas.stroke(&[[left, y], [right, y]], GRID, 0.7, Dash::Solid);
            canvas.text([left - 5.0, y + 3.2], name, SMALL, Anchor::End, BLACK);
        }
        let mut free = f64::NEG_INFINITY;
        for (value, name) in &self.x.ticks {
            let (x, half) = (across(*value), text_width(name, SMALL) / 2.0);
            canvas.stroke(&[[x, bottom], [x, bottom + 3.0]], BLACK, 0.8, Dash::Solid);
            if x - half >= free {
                canvas.text([x, bottom + 13.0], name, SMALL, Anchor::Middle, BLACK);
                free = x + half + 4.0;
            }
        }
        for series in &self.series {
            series.draw(canvas, &across, &down);
        }
        let frame = [[left, top], [left, bottom], [right, bottom]];
        canvas.stroke(&frame, BLACK, 0.9, Dash::Solid);
        canvas.text([left, top - 7.0], &self.title, TITLE, Anchor::Start, BLACK);
        let middle = left + width / 2.0;
        canvas.text([middle, bottom + 28.0], &self.x.label, TEXT, Anchor::Middle, GREY);
        if !self.y.label.is_empty() {
            canvas.text_upwards([left - 36.0, top + height / 2.0], &self.y.label, TEXT, GREY);
        }
    }
}

impl Series {
    fn draw(&self, canvas: &mut Canvas, across: &dyn Fn(f64) -> f64, down: &dyn Fn(f64) -> f64) {
        let Style { ink, width, line, .. } = self.style;
        let places: Vec<[f64; 2]> =
            self.points.iter().map(|point| [across(point.x), down(point.y)]).collect();
        if let Some(dash) = line {
            canvas.stroke(&places, ink, width, dash);
        }
        for (point, [x, y]) in self.points.iter().zip(places) {
            if let Some([low, high]) = point.bar {
                let (low, high) = (down(low), down(high));
                canvas.stroke(&[[x, low], [x, high]], ink, 1.0, Dash::Solid);
                for end in [low, high] {
                    canvas.stroke(&[[x - 2.5, end], [x + 2.5, end]], ink, 1.0, Dash::Solid);
                }
            }
            self.style.mark(canvas, [x, y]);
        }
    }
}

impl Style {
    fn mark(&self, canvas: &mut Canvas, [x, y]: [f64; 2]) {
        let around = |corners: usize, turn: f64, radius: f64| -> Vec<[f64; 2]> {
            let angle =
                |corner: usize| (turn + corner as f64 / corners as f64) * std::f64::consts::TAU;
            (0..corners)
                .map(|corner| angle(corner).sin_cos())
                .map(|(sin, cos)| [x + radius * sin, y - radius * cos])
                .collect()
        };
        let outline = match self.marker {
            Marker::Bare => return,
            Marker::Cross => {
                for side in [-1.0, 1.0] {
                    let ends = [[x - 3.2, y - 3.2 * side], [x + 3.2, y + 3.2 * side]];
                    canvas.stroke(&ends, self.ink, 1.4, Dash::Solid);
                }
                return;
            }
            Marker::Circle => around(24, 0.0, 3.6),
            Marker::Square => around(4, 0.125, 4.6),
            Marker::Triangle => around(3, 0.0, 4.6),
            Marker::Diamond => around(4, 0.0, 4.6),
        };
        canvas.fill(&outline, if self.filled { self.ink } else { [255; 3] });
        canvas.outline(&outline, self.ink, 1.3);
    }
}

/// What a legend says of some series.
pub(super) fn entries(series: &[Series]) -> Vec<(String, Style)> {
    series.iter().map(|series| (series.name.clone(), series.style)).collect()
}

/// All values of some series, with the ends of their bars.
pub(super) fn values(series: &[Series]) -> Vec<f64> {
    let points = series.iter().flat_map(|series| &series.points);
    points.flat_map(|point| point.bar.unwrap_or([point.y; 2])).collect()
}

/// Draws what each style means, in rows from a place on, no wider than the canvas allows.
pub(crate) fn legend(
    canvas: &mut Canvas,
    [left, top]: [f64; 2],
    right: f64,
    entries: &[(String, Style)],
) {
    let (mut x, mut y) = (left, top);
    for (name, style) in entries {
        let width = 34.0 + text_width(name, TEXT) + 16.0;
        if x > left && x + width > right {
            (x, y) = (left, y + 16.0);
        }
        if let Some(dash) = style.line {
            canvas.stroke(&[[x, y], [x + 28.0, y]], style.ink, style.width, dash);
        }
        style.mark(canvas, [x + 14.0, y]);
        canvas.text([x + 34.0, y + 3.6], name, TEXT, Anchor::Start, BLACK);
        x += width;
    }
}

/// Ticks at round numbers, about five of them.
fn round_ticks([low, high]: [f64; 2]) -> Vec<(f64, String)> {
    let rough = (high - low) / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|s| *s >= rough);
    let step = step.unwrap_or(rough);
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last)
        .map(|count| count as f64 * step)
        .map(|value| (value, format!("{:.decimals$}", value + 0.0)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        let names = |range| round_ticks(range).into_iter().map(|(_, n)| n).collect::<Vec<_>>();
        assert_eq!(names([0.0, 1.0]), ["0.0", "0.5", "1.0"]);
        assert_eq!(names([12.0, 38.0]), ["20", "30"]);
        assert_eq!(names([-0.3, 0.21]), ["-0.2", "0.0", "0.2"]);
    }

    #[test]
    fn scales_keep_ends_and_order() {
        for scale in [Scale::Linear, Scale::Root, Scale::Log] {
            let axis = Axis { label: String::new(), scale, range: [0.01, 4.0], ticks: Vec::new() };
            assert_eq!((axis.place(0.01), axis.place(4.0)), (0.0, 1.0));
            assert!(axis.place(0.1) < axis.place(0.2) && axis.place(9.0) == 1.0);
        }
        let rates = Axis::of_rates("", 0.5);
        assert_eq!(rates.place(0.0), 0.0);
        let names: Vec<&str> = rates.ticks.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names[0..3], ["0", "0.0001", "0.0002"]);
        assert_eq!(names[names.len() - 3..], ["0.1", "0.2", "0.5"]);
    }

    #[test]
    fn on_an_axis_of_rare_rates_zero_has_its_own_place() {
        let axis = Axis::of_rare_rates("", 1.0 / 800.0);
        let names: Vec<&str> = axis.ticks.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["0", "0.01", "0.1", "1"]);
        let at = |rate| axis.place(axis.rare(rate));
        assert!(0.0 < at(0.0) && at(0.0) + 0.05 < at(1.0 / 800.0) && at(1.0) == 1.0);
    }
}
