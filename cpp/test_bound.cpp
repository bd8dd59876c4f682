// Tests of bound.hpp against enumeration of all labelings and against minimum cuts.
#include "bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "energy.hpp"
#include "maxflow.hpp"
#include "problem.hpp"
#include "testing.hpp"

namespace {

using multiutility::Bound;
using multiutility::EnergyView;
using multiutility::idx;
using multiutility::Problem;

struct Energy {
  int n_nodes = 0, n_labels = 1;
  std::vector<double> unary;
  std::vector<std::int32_t> edges;
  std::vector<double> weights;
  std::vector<std::int64_t> starts = {0};
  std::vector<std::int32_t> nodes, labels;
  std::vector<double> costs;
  std::array<bool, 64> allowed{};
  bool restricted = false;

  void add_edge(int a, int b, double weight) {
    edges.push_back(a);
    edges.push_back(b);
    weights.push_back(weight);
  }
  void add_subset(const std::vector<std::int32_t>& members, int label, double cost) {
    nodes.insert(nodes.end(), members.begin(), members.end());
    starts.push_back(static_cast<std::int64_t>(nodes.size()));
    labels.push_back(label);
    costs.push_back(cost);
  }
  EnergyView view() const {
    EnergyView e;
    e.n_nodes = n_nodes;
    e.n_labels = n_labels;
    e.n_edges = static_cast<int>(weights.size());
    e.n_subsets = static_cast<int>(costs.size());
    e.unary = unary.data();
    e.edges = edges.data();
    e.weights = weights.data();
    e.subset_starts = starts.data();
    e.subset_nodes = nodes.data();
    e.subset_labels = labels.data();
    e.subset_costs = costs.data();
    e.allowed = restricted ? allowed.data() : nullptr;
    return e;
  }
};

// The least and the greatest energy of the allowed labelings.
std::pair<double, double> extremes(const Energy& energy) {
  const EnergyView view = energy.view();
  std::vector<std::int32_t> y(idx(energy.n_nodes), 0);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (;;) {
    bool valid = true;
    for (int i = 0; i < energy.n_nodes; ++i) valid = valid && view.is_allowed(i, y[idx(i)]);
    if (valid) {
      const double value = evaluate(view, y.data());
      low = std::min(low, value);
      high = std::max(high, value);
    }
    std::size_t i = 0;
    while (i < y.size() && ++y[i] == energy.n_labels) y[i++] = 0;
    if (i == y.size()) return {low, high};
  }
}

// What is to be had without any flow or share.
double separate_minima(const Energy& energy) {
  const EnergyView view = energy.view();
  double sum = 0.0;
  for (int i = 0; i < energy.n_nodes; ++i) {
    double low = std::numeric_limits<double>::infinity();
    for (int k = 0; k < energy.n_labels; ++k)
      if (view.is_allowed(i, k)) low = std::min(low, view.unary_at(i, k));
    sum += low;
  }
  return sum;
}

double magnitude(const Energy& energy) {
  double sum = 0.0;
  for (const double u : energy.unary) sum += std::abs(u);
  for (const double w : energy.weights) sum += w;
  for (const double c : energy.costs) sum += c;
  return sum;
}

double lower(Bound& bound, const Energy& energy, double known) {
  Problem problem;
  problem.compile(energy.view());
  return bound.lower(problem, known);
}

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint32_t>(n)); }
  double unit() { return static_cast<double>(engine_()) / 4294967296.0; }
  double number(double scale) { return below(5) == 0 ? 0.0 : below(2) == 0 ? scale * unit() : scale * below(4); }

  Energy energy(int n_nodes, int n_labels, double scale) {
    Energy e;
    e.n_nodes = n_nodes;
    e.n_labels = n_labels;
    for (int k = 0; k < n_nodes * n_labels; ++k) e.unary.push_back((below(3) == 0 ? -1.0 : 1.0) * number(scale));
    return e;
  }
  void add_edges(Energy& e, int n, double scale) {
    for (; n > 0 && e.n_nodes > 1; --n) {
      const int a = below(e.n_nodes), b = (a + 1 + below(e.n_nodes - 1)) % e.n_nodes;
      e.add_edge(a, b, number(scale));
    }
  }
  void add_subsets(Energy& e, int n, double scale) {
    for (; n > 0; --n) {
      std::vector<std::int32_t> members;
      const int kind = below(3);
      for (int i = 0; i < e.n_nodes; ++i)
        if (kind == 0 || below(2) == 0) members.push_back(i);
      e.add_subset(members, below(e.n_labels), number(scale));
    }
  }
  void forbid(Energy& e) {
    e.restricted = true;
    for (int i = 0; i < e.n_nodes; ++i) {
      for (int k = 0; k < e.n_labels; ++k) e.allowed[idx(i * e.n_labels + k)] = below(2) == 0;
      e.allowed[idx(i * e.n_labels + below(e.n_labels))] = true;
    }
  }
  // About one, huge, or tiny, for all the costs together or for the three kinds of costs on their own.
  double scale(int round) { return std::array{1.0, 1e12, 1e-12, std::pow(10.0, below(25) - 12)}[idx(round % 4)]; }

 private:
  std::mt19937 engine_;
};

// The bound is the minimum, but for rounding and for `tolerance` of what flows and shares have to add.
void check_tight(Bound& bound, const Energy& energy, double minimum, double tolerance) {
  const double value = lower(bound, energy, minimum);
  CHECK(value <= minimum);
  CHECK(value >= minimum - tolerance * (minimum - separate_minima(energy)) - 1e-12 * magnitude(energy));
}

void test_never_above_the_minimum() {
  Random random(1);
  Bound bound;  // one for all: the sizes change with every call
  for (int round = 0; round < 4000; ++round) {
    const double unary = random.scale(round), weight = round % 8 < 4 ? unary : random.scale(random.below(4));
    const double cost = round % 8 < 4 ? unary : random.scale(random.below(4));
    const int n = random.below(7);
    Energy energy = random.energy(n, 1 + random.below(4), unary);
    random.add_edges(energy, random.below(2 * n + 1), weight);
    random.add_subsets(energy, random.below(6), cost);
    if (random.below(3) == 0) random.forbid(energy);
    const auto [low, high] = extremes(energy);
    const double best = lower(bound, energy, low), other = lower(bound, energy, high);
    CHECK(best <= low && other <= low);
    CHECK(std::min(best, other) >= separate_minima(energy) - 1e-12 * magnitude(energy) - 1e-12 * (high - low));
  }
}

void test_exact_on_trees() {
  Random random(2);
  Bound bound;
  for (int round = 0; round < 600; ++round) {
    const double scale = random.scale(round % 3);
    Energy energy = random.energy(1 + random.below(7), 1 + random.below(4), scale);
    for (int i = 1; i < energy.n_nodes; ++i)
      if (random.below(6) > 0) energy.add_edge(i, random.below(i), random.number(scale));
    check_tight(bound, energy, extremes(energy).first, 1e-6);
  }
}

// One node, or no edge and no subset: nothing to relax. A node with subsets pays for them alone.
void test_exact_on_separate_nodes() {
  Random random(3);
  Bound bound;
  for (int round = 0; round < 600; ++round) {
    const double scale = random.scale(round % 3);
    const bool alone = round % 2 == 0;
    Energy energy = random.energy(alone ? 1 : random.below(6), 1 + random.below(4), scale);
    if (alone) random.add_subsets(energy, random.below(5), scale);
    if (random.below(3) == 0) random.forbid(energy);
    check_tight(bound, energy, extremes(energy).first, 1e-6);
  }
}

// With two labels the energy is submodular, so the relaxation has no gap, whatever the edges and subsets.
void test_exact_with_two_labels() {
  Random random(4);
  Bound bound;
  for (int round = 0; round < 1000; ++round) {
    const double scale = random.scale(round % 3);
    const int n = 2 + random.below(6);
    Energy energy = random.energy(n, 2, scale);
    random.add_edges(energy, random.below(2 * n), scale);
    random.add_subsets(energy, random.below(5), scale);
    check_tight(bound, energy, extremes(energy).first, 1e-4);
  }
}

void test_grids_against_minimum_cuts() {
  Random random(5);
  Bound bound;
  multiutility::MinCut cut;
  for (int round = 0; round < 8; ++round) {
    const int width = 20, n = 400;
    Energy energy = random.energy(n, 2, 1.0);
    for (int v = 0; v < n; ++v) {
      if ((v + 1) % width != 0) energy.add_edge(v, v + 1, random.number(0.1 + 0.2 * round));
      if (v + width < n) energy.add_edge(v, v + width, random.number(0.1 + 0.2 * round));
    }
    cut.reset(n);
    for (int v = 0; v < n; ++v) cut.add_terminal(v, energy.unary[idx(2 * v)], energy.unary[idx(2 * v + 1)]);
    for (std::size_t e = 0; e < energy.weights.size(); ++e)
      cut.add_edge(energy.edges[2 * e], energy.edges[2 * e + 1], energy.weights[e], energy.weights[e]);
    check_tight(bound, energy, cut.solve(), 1e-3);
  }
}

// Every node may have any label, and the labels cost the same: the bound rises only if the shares of all labels rise
// together. Ascent in one share after the other stops at less.
void test_shares_rise_together() {
  Bound bound;
  for (int n_labels = 1; n_labels <= 6; ++n_labels) {
    Energy energy = Random(6).energy(5, n_labels, 0.0);
    for (int k = 0; k < n_labels; ++k) energy.add_subset({0, 1, 2, 3, 4}, k, 3.0);
    check_tight(bound, energy, 3.0, 1e-6);
  }
}

// Three nodes, three labels, each node with two labels for nothing; every label costs 1 once. The relaxation takes half
// of every label, 1.5, where labelings need two labels.
void test_value_of_a_relaxation_with_a_gap() {
  Bound bound;
  Energy energy = Random(7).energy(3, 3, 0.0);
  for (int i = 0; i < 3; ++i) {
    energy.unary[idx(4 * i)] = 10.0;
    energy.add_subset({0, 1, 2}, i, 1.0);
  }
  CHECK(extremes(energy).first == 2.0);
  const double value = lower(bound, energy, 2.0);
  CHECK(value <= 1.5 && value >= 1.499);
}

void test_same_input_same_answer() {
  Random random(8);
  Bound used;
  for (int round = 0; round < 50; ++round) {
    Energy energy = random.energy(30, 4, 1.0);
    random.add_edges(energy, 60, 0.5);
    random.add_subsets(energy, 6, 2.0);
    const std::vector<std::int32_t> zeros(30, 0);
    const double known = evaluate(energy.view(), zeros.data()), value = lower(used, energy, known);
    Bound fresh;
    CHECK(value == lower(used, energy, known) && value == lower(fresh, energy, known));
    CHECK(value <= known);
  }
}

}  // namespace

int main() {
  test_never_above_the_minimum();
  test_exact_on_trees();
  test_exact_on_separate_nodes();
  test_exact_with_two_labels();
  test_grids_against_minimum_cuts();
  test_shares_rise_together();
  test_value_of_a_relaxation_with_a_gap();
  test_same_input_same_answer();
  return multiutility::testing::report();
}
