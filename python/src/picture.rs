//! What does the surrounding of the ego look like?
//!
//! [`paint`] makes pixels, seen from above, the ego green, others blue, wrecks red; [`write`] makes a
//! few lines of text. Both only look. Upstream's keys say how large a picture is (`screen_width`,
//! `screen_height`), how many pixels a metre has (`scaling`) and where in it the ego is
//! (`centering_position`).

use cpss_highway::World;
use cpss_highway::lane::Lane;
use tiny_skia::{Color, FillRule, Paint, PathBuilder, Pixmap, PixmapMut, Stroke, Transform};

/// Which part of the world is painted, and how large.
pub(crate) struct View {
    /// Width and height \[px\].
    pub(crate) size: (u32, u32),
    /// Pixels per metre.
    pub(crate) scaling: f64,
    /// Where the ego is, as shares of width and height.
    pub(crate) centering: (f64, f64),
}

/// Length of the straight pieces that a bend is painted in \[m\].
const PIECE: f64 = 2.0;

/// The picture as rows of red, green and blue.
pub(crate) fn paint(world: &World, view: &View) -> Result<Vec<u8>, String> {
    let (width, height) = view.size;
    let wrong = || format!("a picture cannot have {width} x {height} pixels");
    if width.max(height) > 10_000 {
        return Err(wrong());
    }
    let mut pixels = Pixmap::new(width, height).ok_or_else(wrong)?;
    pixels.fill(Color::from_rgba8(60, 90, 60, 255));
    let ego = world.ego();
    let scale = view.scaling as f32;
    let at = (f64::from(width) * view.centering.0, f64::from(height) * view.centering.1);
    let place = Transform::from_translate(-ego.x as f32, -ego.y as f32)
        .post_scale(scale, scale)
        .post_translate(at.0 as f32, at.1 as f32);
    let reach = f64::from(width.max(height)) / view.scaling;
    let mut canvas = pixels.as_mut();
    let lanes: Vec<_> = world.task().network.lanes().map(|(_, lane)| lane).collect();
    for lane in &lanes {
        pave(&mut canvas, lane, ego.position(), reach, place);
    }
    for lane in &lanes {
        mark(&mut canvas, lane, ego.position(), reach, place);
    }
    for obstacle in &world.task().obstacles {
        let body = (obstacle.position, 0.0, [2.0, 2.0]);
        rectangle(&mut canvas, body, [200, 140, 40], place);
    }
    for (index, car) in world.vehicles().iter().enumerate() {
        let colour = match (car.crashed, index == world.ego_index()) {
            (true, _) => [220, 60, 60],
            (false, true) => [60, 220, 60],
            (false, false) => [90, 160, 250],
        };
        rectangle(&mut canvas, (car.position(), car.heading, [5.0, 2.0]), colour, place);
    }
    let colours =
        pixels.pixels().iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]);
    Ok(colours.collect())
}

/// The surrounding as text: `E` the ego, `o` others, `X` wrecks, `#` obstacles, `.` road. A letter is
/// 2 m wide and 4 m high; x grows to the right and y downwards.
pub(crate) fn write(world: &World) -> String {
    let ego = world.ego();
    let (columns, rows) = (40_i32, 4_i32);
    let mut text = format!("t = {:.1} s, {:.1} m/s\n", world.time(), ego.speed);
    for row in -rows..=rows {
        let mut line = String::new();
        for column in -columns / 2..=columns {
            let [x, y] = [ego.x + 2.0 * f64::from(column), ego.y + 4.0 * f64::from(row)];
            let is_here = |at: [f64; 2]| (at[0] - x).abs() <= 1.0 && (at[1] - y).abs() <= 2.0;
            let others = world.vehicles().iter().enumerate();
            let car = others.filter(|(_, car)| is_here(car.position())).min_by_key(|(i, _)| {
                // The ego is never hidden by whoever it ran into.
                (*i != world.ego_index(), *i)
            });
            let obstacle = world.task().obstacles.iter().any(|o| is_here(o.position));
            let is_road = || world.task().network.lanes().any(|(_, lane)| lane.on_lane([x, y]));
            line.push(match car {
                Some((_, car)) if car.crashed => 'X',
                Some((index, _)) if index == world.ego_index() => 'E',
                Some(_) => 'o',
                None if obstacle => '#',
                None if is_road() => '.',
                None => ' ',
            });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The stretch of a lane that can be in the picture, as places along it \[m\].
fn stretch(lane: &Lane, centre: [f64; 2], reach: f64) -> Vec<f64> {
    let (along, _) = lane.local_coordinates(centre);
    // A bend may come back into the picture further on, but is short enough to be painted whole.
    let (first, last) = match lane.length > 4.0 * reach {
        true => ((along - reach).max(0.0), (along + reach).min(lane.length)),
        false => (0.0, lane.length),
    };
    if first >= last {
        return Vec::new();
    }
    let pieces = ((last - first) / PIECE).ceil().max(1.0) as usize;
    (0..=pieces).map(|i| first + (last - first) * i as f64 / pieces as f64).collect()
}

/// Paints the surface of a lane.
fn pave(canvas: &mut PixmapMut<'_>, lane: &Lane, centre: [f64; 2], reach: f64, place: Transform) {
    let stretch = stretch(lane, centre, reach);
    let half = lane.width / 2.0;
    let there = stretch.iter().map(|along| lane.position(*along, -half));
    let back = stretch.iter().rev().map(|along| lane.position(*along, half));
    fill(canvas, there.chain(back), [100, 100, 100], place);
}

/// Paints the edges of a lane.
fn mark(canvas: &mut PixmapMut<'_>, lane: &Lane, centre: [f64; 2], reach: f64, place: Transform) {
    let stretch = stretch(lane, centre, reach);
    for side in [-0.5, 0.5] {
        let mut path = PathBuilder::new();
        for (i, along) in stretch.iter().enumerate() {
            let [x, y] = lane.position(*along, side * lane.width);
            match i {
                0 => path.move_to(x as f32, y as f32),
                _ => path.line_to(x as f32, y as f32),
            }
        }
        if let Some(path) = path.finish() {
            let stroke = Stroke { width: 0.2, ..Stroke::default() };
            canvas.stroke_path(&path, &colour([200, 200, 200]), &stroke, place, None);
        }
    }
}

fn rectangle(
    canvas: &mut PixmapMut<'_>,
    ([x, y], heading, [length, width]): ([f64; 2], f64, [f64; 2]),
    shade: [u8; 3],
    place: Transform,
) {
    let (sin, cos) = heading.sin_cos();
    let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(a, b)| {
        let [along, across] = [a * length / 2.0, b * width / 2.0];
        [x + along * cos - across * sin, y + along * sin + across * cos]
    });
    fill(canvas, corners.into_iter(), shade, place);
}

fn fill(
    canvas: &mut PixmapMut<'_>,
    corners: impl Iterator<Item = [f64; 2]>,
    shade: [u8; 3],
    place: Transform,
) {
    let mut path = PathBuilder::new();
    for (i, [x, y]) in corners.enumerate() {
        match i {
            0 => path.move_to(x as f32, y as f32),
            _ => path.line_to(x as f32, y as f32),
        }
    }
    path.close();
    if let Some(path) = path.finish() {
        canvas.fill_path(&path, &colour(shade), FillRule::Winding, place, None);
    }
}

fn colour([red, green, blue]: [u8; 3]) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, 255);
    paint
}
