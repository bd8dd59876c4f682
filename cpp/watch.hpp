// Long computations that end before their time: at a limit of seconds, or because somebody interrupts (Ctrl-C).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

namespace multiutility {

struct Interrupted {};  // thrown through the solvers, which can be used again

// Every long loop asks expired() as it goes on. At the limit it is told so, and is to leave things in order and return;
// of an interrupt it is told by an exception. Without either, asking changes nothing.
class Watch {
 public:
  // `interrupted` is called about twenty times a second, by the thread that asks.
  void on_interrupt(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }

  void start(double seconds = std::numeric_limits<double>::infinity()) {
    expired_ = false;
    limit_ = std::chrono::duration<double>(seconds);
    begin_ = Clock::now();
    left_ = 0;
  }

  // `steps` is the work since the question before, roughly in nanoseconds.
  bool expired(std::int64_t steps) {
    if ((left_ -= steps) <= 0) look();
    return expired_;
  }
  bool expired() const { return expired_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t kSteps = 200000;

  void look() {
    left_ = kSteps;
    const Clock::time_point now = Clock::now();
    expired_ = expired_ || now - begin_ >= limit_;
    if (!interrupted_ || now < ask_again_) return;
    ask_again_ = now + std::chrono::milliseconds(50);
    if (interrupted_()) throw Interrupted();
  }

  std::function<bool()> interrupted_;
  std::chrono::duration<double> limit_{std::numeric_limits<double>::infinity()};
  Clock::time_point begin_{}, ask_again_{};
  std::int64_t left_ = 0;
  bool expired_ = false;
};

}  // namespace multiutility
