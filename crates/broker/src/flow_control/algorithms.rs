//! The algorithms: fixed, additive increase / multiplicative decrease, Vegas and gradient.

use std::time::Duration;

use super::{Algorithm, FlowControlConfig};

/// Answers per window when [`FlowControlConfig::windowed`] is on.
const WINDOW: u32 = 100;

#[derive(Debug)]
pub struct Limiter {
    config: FlowControlConfig,
    limit: f64,
    /// Shortest time seen, that is, the time without queueing (Vegas), in seconds.
    best: f64,
    /// Long-term average (gradient), in seconds.
    average: f64,
    window: Window,
}

#[derive(Debug, Default)]
struct Window {
    answers: u32,
    sum: f64,
    max_inflight: u32,
    dropped: bool,
}

impl Limiter {
    pub fn new(config: &FlowControlConfig) -> Limiter {
        let initial = match config.algorithm {
            _ if !config.enabled => f64::from(u32::MAX),
            Algorithm::Aimd => f64::from(config.aimd.initial_limit),
            Algorithm::Fixed => f64::from(config.fixed.limit),
            Algorithm::Vegas => f64::from(config.vegas.initial_limit),
            Algorithm::Gradient => f64::from(config.gradient.initial_limit),
            Algorithm::Gradient2 => f64::from(config.gradient2.initial_limit),
            Algorithm::LegacyVegas => f64::from(config.legacy_vegas.initial_limit),
        };
        Limiter {
            config: config.clone(),
            limit: initial,
            best: f64::INFINITY,
            average: 0.0,
            window: Window::default(),
        }
    }

    pub fn config(&self) -> &FlowControlConfig {
        &self.config
    }

    pub fn limit(&self) -> u32 {
        self.limit as u32
    }

    /// A request was refused: the load is there, and so is the need for a higher limit.
    pub fn dropped(&mut self) {
        self.window.dropped = true;
    }

    pub fn answered(&mut self, time: Duration, inflight: u32) {
        if !self.config.enabled || self.config.algorithm == Algorithm::Fixed {
            return;
        }
        self.window.answers += 1;
        self.window.sum += time.as_secs_f64();
        self.window.max_inflight = self.window.max_inflight.max(inflight);
        let size = if self.config.windowed { WINDOW } else { 1 };
        if self.window.answers < size {
            return;
        }
        let window = std::mem::take(&mut self.window);
        let time = window.sum / f64::from(window.answers);
        // A limit that is less than half used needs no change.
        let used = window.dropped || f64::from(window.max_inflight) * 2.0 >= self.limit;
        self.limit = match self.config.algorithm {
            Algorithm::Aimd => self.aimd(time, used),
            Algorithm::Vegas => self.vegas(time, used),
            Algorithm::LegacyVegas => self.legacy_vegas(time, used),
            Algorithm::Gradient => self.gradient(time, used),
            Algorithm::Gradient2 => self.gradient2(time, used),
            Algorithm::Fixed => self.limit,
        };
        debug_assert!(
            self.limit.is_finite() && self.limit >= 0.0,
            "a limit is a number of requests"
        );
    }

    fn aimd(&self, time: f64, used: bool) -> f64 {
        let aimd = &self.config.aimd;
        let limit = if time * 1000.0 > aimd.request_timeout as f64 {
            (self.limit * aimd.backoff_ratio).floor()
        } else if used {
            // Windows are rare; a proportional step keeps the pace of one step per answer.
            self.limit
                + if self.config.windowed {
                    (self.limit / 10.0).max(1.0)
                } else {
                    1.0
                }
        } else {
            self.limit
        };
        limit.clamp(f64::from(aimd.min_limit), f64::from(aimd.max_limit))
    }

    /// Queued requests by Little's law: those in flight beyond what the best time needs.
    fn queue(&mut self, time: f64) -> f64 {
        self.best = self.best.min(time);
        if time <= 0.0 {
            0.0
        } else {
            self.limit * (1.0 - self.best / time)
        }
    }

    fn vegas(&mut self, time: f64, used: bool) -> f64 {
        let queue = self.queue(time);
        let scale = self.limit.log10().max(1.0);
        let (alpha, beta) = (
            f64::from(self.config.vegas.alpha) * scale,
            f64::from(self.config.vegas.beta) * scale,
        );
        self.step(queue, alpha, beta, scale, used)
            .clamp(1.0, 1000.0)
    }

    fn legacy_vegas(&mut self, time: f64, used: bool) -> f64 {
        let queue = self.queue(time);
        let legacy = &self.config.legacy_vegas;
        let (alpha, beta) = (
            legacy.alpha_limit * self.limit,
            legacy.beta_limit * self.limit,
        );
        let max = f64::from(legacy.max_concurrency);
        self.step(queue, alpha, beta, self.limit.log10().max(1.0), used)
            .clamp(1.0, max)
    }

    fn step(&self, queue: f64, alpha: f64, beta: f64, step: f64, used: bool) -> f64 {
        if queue < alpha && used {
            self.limit + step
        } else if queue > beta {
            self.limit - step
        } else {
            self.limit
        }
    }

    fn gradient(&mut self, time: f64, used: bool) -> f64 {
        self.best = self.best.min(time);
        let gradient = &self.config.gradient;
        self.by_gradient(
            self.best,
            time,
            gradient.rtt_tolerance,
            gradient.min_limit,
            used,
        )
    }

    fn gradient2(&mut self, time: f64, used: bool) -> f64 {
        let gradient = &self.config.gradient2;
        let weight = 2.0 / (f64::from(gradient.long_window) + 1.0);
        self.average = if self.average == 0.0 {
            time
        } else {
            self.average + (time - self.average) * weight
        };
        self.by_gradient(
            self.average,
            time,
            gradient.rtt_tolerance,
            gradient.min_limit,
            used,
        )
    }

    fn by_gradient(&self, normal: f64, time: f64, tolerance: f64, min: u32, used: bool) -> f64 {
        if !used && time <= normal * tolerance {
            return self.limit;
        }
        let gradient = (tolerance * normal / time.max(1e-9)).clamp(0.5, 1.0);
        let wanted = self.limit * gradient + self.limit.sqrt();
        (self.limit * 0.8 + wanted * 0.2).clamp(f64::from(min), 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, Duration, FlowControlConfig, Limiter};

    fn limiter(algorithm: Algorithm) -> Limiter {
        Limiter::new(&FlowControlConfig {
            algorithm,
            windowed: false,
            ..FlowControlConfig::default()
        })
    }

    fn feed(limiter: &mut Limiter, millis: u64, times: usize) -> u32 {
        for _ in 0..times {
            let inflight = limiter.limit();
            limiter.answered(Duration::from_millis(millis), inflight);
        }
        limiter.limit()
    }

    #[test]
    fn aimd_grows_by_one_and_shrinks_by_a_tenth() {
        let mut limiter = limiter(Algorithm::Aimd);
        assert_eq!(feed(&mut limiter, 5, 10), 110);
        assert_eq!(feed(&mut limiter, 300, 1), 99);
        assert_eq!(feed(&mut limiter, 5, 5000), 1000, "never above max-limit");
        assert_eq!(feed(&mut limiter, 300, 5000), 1, "never below min-limit");
    }

    #[test]
    fn a_limit_that_is_not_used_does_not_grow() {
        let mut limiter = limiter(Algorithm::Aimd);
        for _ in 0..100 {
            limiter.answered(Duration::from_millis(5), 10);
        }
        assert_eq!(limiter.limit(), 100);
    }

    #[test]
    fn fixed_stays() {
        let mut limiter = limiter(Algorithm::Fixed);
        assert_eq!(feed(&mut limiter, 5000, 100), 20);
    }

    #[test]
    fn vegas_and_gradient_shrink_when_answers_slow_down_and_grow_back() {
        for algorithm in [
            Algorithm::Vegas,
            Algorithm::Gradient,
            Algorithm::Gradient2,
            Algorithm::LegacyVegas,
        ] {
            let mut limiter = limiter(algorithm);
            let fast = feed(&mut limiter, 10, 50);
            let slow = feed(&mut limiter, 500, 50);
            assert!(slow < fast, "{algorithm:?}: {fast} then {slow}");
            let again = feed(&mut limiter, 10, 50);
            assert!(again > slow, "{algorithm:?}: {slow} then {again}");
        }
    }
}
