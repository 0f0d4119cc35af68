//! Prints how long one update of a DQN and one of a critic take here, as `bench/pytorch_update.py` does for PyTorch:
//!
//! ```text
//! cargo run --release -p cpss-learn --example update_time [seconds]
//! ```

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds: f64 = std::env::args().nth(1).as_deref().unwrap_or("3").parse()?;
    let duration = std::time::Duration::try_from_secs_f64(seconds)?;
    let dqn = cpss_learn::measure_update(duration);
    let critic = cpss_learn::measure_critic_update(duration);
    println!(
        "{{\"cpss_update_us\": {:.1}, \"updates\": {}, \"cpss_critic_update_us\": {:.1}, \"critic_updates\": {}}}",
        dqn.median_us, dqn.updates, critic.median_us, critic.updates
    );
    Ok(())
}
