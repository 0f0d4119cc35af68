//! Prints how long one DQN update takes here, as `bench/pytorch_update.py` does for PyTorch:
//!
//! ```text
//! cargo run --release -p cpss-learn --example update_time [seconds]
//! ```

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds: f64 = std::env::args().nth(1).as_deref().unwrap_or("3").parse()?;
    let time = cpss_learn::measure_update(std::time::Duration::try_from_secs_f64(seconds)?);
    println!("{{\"cpss_update_us\": {:.1}, \"updates\": {}}}", time.median_us, time.updates);
    Ok(())
}
