// Many problems on several threads, one workspace each. Problems do not share anything, so the number of threads cannot
// change a result.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace multiutility {

// Calls job(workspace, index) for every index below `count`.
template <class Workspace, class Job>
void for_each_parallel(std::size_t count, int n_threads, Job&& job) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_lock;
  const auto work = [&] {
    try {
      Workspace workspace;
      for (std::size_t i; (i = next.fetch_add(1)) < count;) job(workspace, i);
    } catch (...) {
      const std::lock_guard<std::mutex> hold(failure_lock);
      failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> threads;
  const std::size_t wanted = std::min(count, static_cast<std::size_t>(std::max(1, n_threads)));
  for (std::size_t t = 1; t < wanted; ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace multiutility
