// The little that the C++ tests share: CHECK counts, report() prints and gives the exit code.
#pragma once

#include <cstdio>

namespace multiutility::testing {

inline int n_passed = 0, n_failed = 0;

inline void check(bool ok, const char* text, const char* file, int line) {
  if (ok) {
    ++n_passed;
  } else {
    ++n_failed;
    std::printf("%s:%d: failed: %s\n", file, line, text);
  }
}

inline int report() {
  std::printf("%d passed, %d failed\n", n_passed, n_failed);
  return n_failed == 0 ? 0 : 1;
}

}  // namespace multiutility::testing

#define CHECK(condition) multiutility::testing::check((condition), #condition, __FILE__, __LINE__)
