//! Is whoever costs an ego anything found, wherever the road leads and right up to the bounds?

use super::*;
use cpss_highway::vehicle::{LENGTH, WIDTH};
use cpss_highway::{Scene, TaskId, World};
use proptest::prelude::*;
use std::sync::Arc;

const MARGIN: Margin = Margin { along: 2.0, across: 0.4, closing_time: 0.3, boundary: 1.0 };
const OFFSET: [f64; 2] = [310.0, -45.0];

/// A road on which everything is given along it and across, from where the ego is now.
#[derive(Clone, Debug)]
struct Road {
    task: Arc<Task>,
    ego: Ego,
    looks: Looks,
    spec: RiskSpec,
}

impl Road {
    /// The highway, a road of the crossing, and a bend of the racetrack, on which the ego's own heading counts.
    fn new(id: TaskId, heading: f64, velocity: [f64; 2], margin: Margin) -> Road {
        let task = Task::with_defaults(id);
        let mut scene = Scene::default();
        scene.observe(&World::new(Arc::clone(&task), 1));
        let mut ego = scene.ego.unwrap();
        let is_bend = |shape: &Shape| !matches!(shape, Shape::Straight { .. });
        let bend = task.network.lanes().find(|(_, lane)| is_bend(&lane.shape));
        if let (TaskId::RacetrackV0, Some((lane, _))) = (id, bend) {
            ego.body.lane = lane;
        }
        ego.body.position = OFFSET;
        ego.body.speed = length(velocity);
        (ego.body.sin, ego.body.cos) = heading.sin_cos();
        let looks = Looks::new(&task, 6.0, 1.0, false);
        Road { task, ego, looks, spec: RiskSpec { margin, ..RiskSpec::for_task(id) } }
    }

    fn direction(&self) -> [f64; 2] {
        match self.task.network.lane(self.ego.body.lane).shape {
            Shape::Straight { direction, .. } => direction,
            _ => [self.ego.body.cos, self.ego.body.sin],
        }
    }

    /// A pose that was given along the road and across.
    fn pose(&self, given: &Pose) -> Pose {
        let [cos, sin] = self.direction();
        let turn = |[x, y]: [f64; 2]| [cos * x - sin * y, sin * x + cos * y];
        let [x, y] = turn(given.position);
        let [pose_cos, pose_sin] = turn([given.cos, given.sin]);
        let position = [OFFSET[0] + x, OFFSET[1] + y];
        Pose { position, cos: pose_cos, sin: pose_sin, ..*given }
    }

    /// Who is near, if these are where they are at every look.
    fn nearby(&self, tracks: &[Pose], always: usize) -> Nearby {
        let Road { task, ego, looks, spec } = self;
        let mut nearby = Nearby::new(*looks, spec);
        nearby.begin(Counted { always, all: tracks.len() }, ego, *looks, task);
        for (track, pose) in tracks.iter().enumerate() {
            let repeated = |number: f64| vec![number; looks.count()];
            let course = Course {
                x: &repeated(pose.position[0]),
                y: &repeated(pose.position[1]),
                cos: &repeated(pose.cos),
                sin: &repeated(pose.sin),
                speed: &repeated(pose.speed),
            };
            nearby.note(track, course, pose.half_size);
        }
        nearby
    }
}

fn found(nearby: &Nearby, look: usize, ego: &Pose, whereabouts: Whereabouts) -> Vec<usize> {
    let mut found = Vec::new();
    nearby.each(look, ego, whereabouts, |track| found.push(track));
    found
}

fn margins() -> impl Strategy<Value = Margin> {
    let any = (0.1..15.0, 0.1..15.0, 0.0..1.0).prop_map(|(along, across, closing_time)| Margin {
        along,
        across,
        closing_time,
        boundary: 1.0,
    });
    prop_oneof![Just(MARGIN), any]
}

fn roads() -> impl Strategy<Value = Road> {
    let id = prop_oneof![
        Just(TaskId::HighwayV0),
        Just(TaskId::IntersectionV0),
        Just(TaskId::RacetrackV0)
    ];
    (id, -3.2..3.2, 0.0..40.0, margins())
        .prop_map(|(id, heading, speed, margin)| Road::new(id, heading, [speed, 0.0], margin))
}

fn headings() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), -0.3..0.3, -3.2..3.2]
}

fn pose(position: [f64; 2], heading: f64, speed: f64, [length, width]: [f64; 2]) -> Pose {
    let (sin, cos) = heading.sin_cos();
    Pose { position, cos, sin, speed, half_size: [length / 2.0, width / 2.0] }
}

/// Anybody in some stretch of the road.
fn poses(ahead: f64) -> impl Strategy<Value = Vec<Pose>> {
    let place = (-ahead..ahead, -14.0..14.0).prop_map(|(x, y)| [x, y]);
    let size = (1.0..15.0, 1.0..4.0).prop_map(|(length, width)| [length, width]);
    let pose = (place, headings(), -10.0..40.0, size)
        .prop_map(|(place, heading, speed, size)| pose(place, heading, speed, size));
    prop::collection::vec(pose, 0..40)
}

/// The other body, moved away from an ego until it costs that ego next to nothing.
fn moved_away(ego: &Pose, other: &Pose, towards: f64, margin: &Margin) -> Pose {
    let (sin, cos) = towards.sin_cos();
    let at = |distance: f64| {
        let [x, y] = ego.position;
        Pose { position: [x + distance * cos, y + distance * sin], ..*other }
    };
    let (mut near, mut far) = (0.0, 500.0);
    for _ in 0..40 {
        let middle = (near + far) / 2.0;
        if margin.proximity(ego, &at(middle)).cost > 0.0 { near = middle } else { far = middle }
    }
    at(near)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whoever_costs_an_ego_anything_is_found(
        road in roads(),
        tracks in poses(60.0),
        egos in poses(50.0),
        share in 0.0..=1.0_f64,
    ) {
        let tracks: Vec<Pose> = tracks.iter().map(|pose| road.pose(pose)).collect();
        let always = (share * tracks.len() as f64) as usize;
        let nearby = road.nearby(&tracks, always);
        for (place, ego) in egos.iter().enumerate() {
            // Half of them are as large as an ego is.
            let size = if place % 2 == 0 { [LENGTH / 2.0, WIDTH / 2.0] } else { ego.half_size };
            let ego = road.pose(&Pose { half_size: size, ..*ego });
            for (whereabouts, count) in
                [(Whereabouts::OnItsLane, always), (Whereabouts::Gone, tracks.len())]
            {
                let found = found(&nearby, 1 + place % 3, &ego, whereabouts);
                prop_assert!(found.is_sorted() && found.iter().all(|track| *track < count));
                for (track, pose) in tracks[..count].iter().enumerate() {
                    let costs = road.spec.margin.proximity(&ego, pose).cost > 0.0;
                    prop_assert!(!costs || found.contains(&track), "{track} {found:?}");
                }
            }
        }
    }

    #[test]
    fn whoever_just_costs_an_ego_on_the_edge_of_its_box_is_found(
        road in roads(),
        look in 1..6_usize,
        edge in prop::array::uniform2(prop_oneof![Just(-1.0_f32), Just(1.0), -1.0..1.0_f32]),
        heading in headings(),
        fastness in -1.0..1.0,
        others in prop::collection::vec(
            (headings(), -10.0..40.0, 1.0..15.0, 1.0..4.0, -3.2..3.2), 1..20),
    ) {
        let margin = &road.spec.margin;
        let Row { centre, half, room, .. } = road.nearby(&[], 0).rows[look - 1];
        // As fast as it may be there, or nearly: any faster and everybody is looked at.
        let gains = (f64::from(room) - EGO_SIZE) / margin.closing_time.max(0.01);
        let speed = road.ego.body.speed + 0.999 * gains * fastness;
        let place = [centre + 0.999 * half[0] * edge[0], 0.999 * half[1] * edge[1]];
        let ego = pose(place.map(f64::from), heading, speed, [LENGTH, WIDTH]);
        let tracks = others.iter().map(|&(heading, speed, length, width, towards)| {
            let other = pose([0.0; 2], heading, speed, [length, width]);
            moved_away(&road.pose(&ego), &road.pose(&other), towards, margin)
        });
        let tracks: Vec<Pose> = tracks.collect();
        let nearby = road.nearby(&tracks, tracks.len());
        let all: Vec<usize> = (0..tracks.len()).collect();
        prop_assert_eq!(found(&nearby, look, &road.pose(&ego), Whereabouts::Gone), all);
    }
}

fn car(x: f64, y: f64) -> Pose {
    pose([x, y], 0.0, 25.0, [5.0, 2.0])
}

fn found_on_the_highway(tracks: &[Pose], ego: &Pose) -> Vec<usize> {
    let road = Road::new(TaskId::HighwayV0, 0.0, [25.0, 0.0], MARGIN);
    let tracks: Vec<Pose> = tracks.iter().map(|pose| road.pose(pose)).collect();
    let nearby = road.nearby(&tracks, tracks.len());
    found(&nearby, 1, &road.pose(ego), Whereabouts::OnItsLane)
}

#[test]
fn an_ego_is_no_larger_than_it_is_taken_for() {
    assert!(length([LENGTH / 2.0, WIDTH / 2.0]) < EGO_SIZE);
}

#[test]
fn those_too_far_away_or_beside_an_ego_along_its_road_are_not() {
    let tracks = [car(35.0, 0.0), car(28.0, 4.0), car(90.0, 0.0), car(25.0, 8.0)];
    let found = |ego: &Pose| found_on_the_highway(&tracks, ego);
    assert_eq!(found(&car(28.0, 0.0)), [0]);
    let turned = Pose { cos: 0.3_f64.cos(), sin: 0.3_f64.sin(), ..car(28.0, 0.0) };
    assert_eq!(found(&turned), [0, 1], "a turned one minds the side it turns to");
    assert_eq!(found(&car(-70.0, 0.0)), [0, 1, 2, 3], "and one that is elsewhere everybody");
    let long = Pose { half_size: [6.0, 1.0], ..car(28.0, 0.0) };
    assert_eq!(found(&long), [0, 1, 2, 3], "as does one larger than an ego is");
    for bad in [car(f64::NAN, 0.0), Pose { half_size: [f64::NAN, 1.0], ..car(28.0, 0.0) }] {
        assert_eq!(found(&bad), [0, 1, 2, 3]);
    }
}

#[test]
fn whoever_makes_no_sense_is_near_everybody() {
    let far = car(400.0, 0.0);
    let tracks = [
        far,
        Pose { position: [f64::NAN, 0.0], ..far },
        Pose { position: [400.0, f64::NAN], ..far },
        Pose { sin: f64::NAN, ..far },
        Pose { speed: f64::NAN, ..far },
        Pose { half_size: [f64::NAN, 1.0], ..far },
    ];
    assert_eq!(found_on_the_highway(&tracks, &car(28.0, 0.0)), [1, 2, 3, 4, 5]);
}
