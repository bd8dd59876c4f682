#pragma once
#include <limits>
#include "messages.hpp"
namespace multiutility {
class Bound {
 public:
  double lower(const Problem& problem, double) {
    Messages<double> m;
    m.load(problem);
    double best = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < 20; ++i) best = std::max({best, m.pass(true, nullptr, nullptr), m.pass(false, nullptr, nullptr)});
    return best;
  }
};
}
