// Many problems on several threads, one workspace each. Problems do not share anything, so the number of threads cannot
// change a result.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace multiutility {

// Calls job(workspace, index) for every index below `count`. While the calling thread has nothing left to do but to
// wait for the others, it calls idle() about twenty times a second.
template <class Workspace, class Job, class Idle>
void for_each_parallel(std::size_t count, int n_threads, Job&& job, Idle&& idle) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex lock;
  std::condition_variable one_ended;
  std::size_t n_ended = 0;
  const auto work = [&] {
    try {
      Workspace workspace;
      for (std::size_t i; (i = next.fetch_add(1)) < count;) job(workspace, i);
    } catch (...) {
      const std::lock_guard<std::mutex> hold(lock);
      failure = std::current_exception();
      next = count;
    }
    const std::lock_guard<std::mutex> hold(lock);
    ++n_ended;
    one_ended.notify_one();
  };
  std::vector<std::thread> threads;
  const std::size_t wanted = std::min(count, static_cast<std::size_t>(std::max(1, n_threads)));
  for (std::size_t t = 1; t < wanted; ++t) threads.emplace_back(work);
  work();
  for (std::unique_lock<std::mutex> hold(lock); n_ended < threads.size() + 1;) {
    if (one_ended.wait_for(hold, std::chrono::milliseconds(50)) == std::cv_status::no_timeout) continue;
    hold.unlock();
    idle();
    hold.lock();
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

template <class Workspace, class Job>
void for_each_parallel(std::size_t count, int n_threads, Job&& job) {
  for_each_parallel<Workspace>(count, n_threads, job, [] {});
}

}  // namespace multiutility
