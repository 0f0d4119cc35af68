use super::*;
use crate::task::TaskId;

#[test]
fn every_world_is_taken_once_with_its_own_rows() {
    let task = Task::with_defaults(TaskId::MergeV0);
    let (count, width) = (29, 3);
    let mut worlds: Vec<World> = vec![World::new(task, 1); count];
    // Each observation holds its world's place.
    let mut observations: Vec<f32> = (0..count * width).map(|i| (i / width) as f32).collect();
    let (mut ended, mut rewards) = (vec![false; count], vec![0.0; count]);
    let (mut terminated, mut truncated) = (ended.clone(), ended.clone());
    let mut finals = observations.clone();
    let rows = Rows {
        first: 0,
        worlds: &mut worlds,
        ended: &mut ended,
        observations: &mut observations,
        rewards: &mut rewards,
        terminated: &mut terminated,
        truncated: &mut truncated,
        finals: &mut finals,
    };
    let pieces = rows.cut(3, width);
    let lengths: Vec<usize> =
        pieces.iter().map(|piece| piece.lock().unwrap().worlds.len()).collect();
    assert_eq!(lengths, [9, 10, 10]);
    let mut taken = vec![0; count];
    for piece in &pieces {
        let mut is_owner = true;
        while let Some(rows) = take_some(piece, is_owner, width) {
            for (i, seen) in rows.observations.chunks_exact(width).enumerate() {
                assert_eq!(seen, [(rows.first + i) as f32; 3]);
                assert_eq!(seen, &rows.finals[i * width..][..width]);
                taken[rows.first + i] += 1;
            }
            assert_eq!(rows.worlds.len(), rows.rewards.len());
            is_owner = !is_owner;
        }
    }
    assert_eq!(taken, vec![1; count]);
}
