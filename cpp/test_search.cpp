// Tests of the expansion and of the whole search against enumeration.
#include "search.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "batch.hpp"
#include "testing.hpp"

namespace {

using multiutility::EnergyView;
using multiutility::Outcome;
using multiutility::Search;
using Labels = std::vector<std::int32_t>;

struct Energy {
  int n_nodes = 0, n_labels = 1;
  double offset = 0.0;
  std::vector<double> unary, weights, costs;
  std::vector<std::int32_t> edges, nodes, labels;
  std::vector<std::int64_t> starts{0};
  std::unique_ptr<bool[]> allowed;

  EnergyView view() const {
    EnergyView v;
    v.n_nodes = n_nodes;
    v.n_labels = n_labels;
    v.n_edges = static_cast<int>(weights.size());
    v.n_subsets = static_cast<int>(costs.size());
    v.unary = unary.data();
    v.edges = edges.data();
    v.weights = weights.data();
    v.subset_starts = starts.data();
    v.subset_nodes = nodes.data();
    v.subset_labels = labels.data();
    v.subset_costs = costs.data();
    v.offset = offset;
    v.allowed = allowed.get();
    return v;
  }
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  double uniform() { return static_cast<double>(engine_()) / 4294967296.0; }

  // Whole numbers in every third problem: ties are where bookkeeping goes wrong.
  Energy energy(int n_nodes, int n_labels, double unit) {
    Energy e;
    e.n_nodes = n_nodes;
    e.n_labels = n_labels;
    e.offset = 0.25 * unit;
    const bool whole = below(3) == 0;
    const auto value = [&](double most) {
      return unit * (whole ? std::floor(4 * most * uniform()) : most * uniform());
    };
    for (int i = 0; i < n_nodes * n_labels; ++i) e.unary.push_back(value(2) - unit);
    for (int k = n_nodes > 1 ? below(2 * n_nodes) : 0; k > 0; --k) {
      const int a = below(n_nodes), b = (a + 1 + below(n_nodes - 1)) % n_nodes;
      e.edges.insert(e.edges.end(), {a, b});
      e.weights.push_back(value(1.5));
    }
    for (int s = n_nodes > 0 ? below(6) : 0; s > 0; --s) {
      const double share = uniform();
      for (int i = 0; i < n_nodes; ++i)
        if (uniform() < share) e.nodes.push_back(i);
      e.starts.push_back(static_cast<std::int64_t>(e.nodes.size()));
      e.labels.push_back(below(n_labels));
      e.costs.push_back(value(3));
    }
    if (below(2) == 0) forbid(e);
    return e;
  }

 private:
  void forbid(Energy& e) {
    e.allowed = std::make_unique<bool[]>(static_cast<std::size_t>(e.n_nodes * e.n_labels) + 1);
    for (int i = 0; i < e.n_nodes; ++i) {
      for (int k = 0; k < e.n_labels; ++k) e.allowed[static_cast<std::size_t>(i * e.n_labels + k)] = uniform() < 0.6;
      e.allowed[static_cast<std::size_t>(i * e.n_labels + below(e.n_labels))] = true;
    }
  }

  std::mt19937 engine_;
};

bool is_allowed(const EnergyView& e, const Labels& labels) {
  for (int i = 0; i < e.n_nodes; ++i)
    if (!e.is_allowed(i, labels[static_cast<std::size_t>(i)])) return false;
  return true;
}

double least_energy(const EnergyView& e) {
  Labels labels(static_cast<std::size_t>(e.n_nodes), 0);
  double least = std::numeric_limits<double>::infinity();
  for (;;) {
    if (is_allowed(e, labels)) least = std::min(least, evaluate(e, labels.data()));
    std::size_t i = 0;
    while (i < labels.size() && ++labels[i] == e.n_labels) labels[i++] = 0;
    if (i == labels.size()) return least;
  }
}

double least_energy_of_move(const EnergyView& e, const Labels& from, int alpha) {
  double least = std::numeric_limits<double>::infinity();
  for (unsigned moving = 0; moving < 1u << from.size(); ++moving) {
    Labels labels = from;
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (moving >> i & 1u) labels[i] = alpha;
    if (is_allowed(e, labels)) least = std::min(least, evaluate(e, labels.data()));
  }
  return least;
}

Labels random_labels(Random& random, const EnergyView& e) {
  Labels labels(static_cast<std::size_t>(e.n_nodes));
  for (int i = 0; i < e.n_nodes; ++i) {
    do labels[static_cast<std::size_t>(i)] = random.below(e.n_labels);
    while (!e.is_allowed(i, labels[static_cast<std::size_t>(i)]));
  }
  return labels;
}

void test_moves_against_enumeration() {
  Random random(1);
  Search search;
  for (int round = 0; round < 3000; ++round) {
    const double unit = round % 5 == 0 ? 1e12 : round % 5 == 1 ? 1e-12 : 1.0;
    const Energy energy = random.energy(random.below(8), 1 + random.below(4), unit);
    const EnergyView e = energy.view();
    const Labels start = random_labels(random, e);
    std::vector<int> order;
    for (int m = 0; m < 6; ++m) order.push_back(random.below(e.n_labels));
    // Flows and shares are carried from move to move, so each prefix must agree with moves made afresh.
    Labels labels = start;
    std::vector<double> trace;
    const Outcome all = search.moves(e, start.data(), order, trace);
    for (std::size_t m = 0; m < order.size(); ++m) {
      const double expected = least_energy_of_move(e, labels, order[m]);
      CHECK(std::abs(trace[m] - expected) <= 1e-9 * unit);
      std::vector<double> unused;
      labels =
          search.moves(e, start.data(), {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(m) + 1}, unused)
              .labels;
    }
    CHECK(all.labels == labels);
  }
}

void test_minimize_against_enumeration() {
  Random random(2);
  Search search;
  int n_optimal = 0;
  const int n_rounds = 3000;
  for (int round = 0; round < n_rounds; ++round) {
    const double unit = round % 5 == 0 ? 1e12 : round % 5 == 1 ? 1e-12 : 1.0;
    const Energy energy = random.energy(random.below(7), 1 + random.below(4), unit);
    const EnergyView e = energy.view();
    const double tolerance = 1e-9 * unit, least = least_energy(e);
    const Labels start = random_labels(random, e);
    const bool begin = round % 2 == 0;
    const Outcome outcome = search.minimize(e, begin ? start.data() : nullptr, round % 4, round % 3, true);
    CHECK(is_allowed(e, outcome.labels));
    CHECK(outcome.energy == evaluate(e, outcome.labels.data()));
    CHECK(outcome.energy >= least - tolerance);
    CHECK(outcome.bound <= least + tolerance);
    CHECK(!begin || outcome.energy <= evaluate(e, start.data()) + tolerance);
    for (int k = 0; k < e.n_labels; ++k)
      CHECK(outcome.energy <= least_energy_of_move(e, outcome.labels, k) + tolerance);
    n_optimal += outcome.energy <= least + tolerance;
  }
  CHECK(n_optimal > n_rounds * 98 / 100);
}

// A ring of nodes that are all joined to the next two, where every label costs: one label for all is a good start, and
// often a trap.
Energy strong_ring(Random& random, int n_nodes, int n_labels) {
  Energy e;
  e.n_nodes = n_nodes;
  e.n_labels = n_labels;
  for (int i = 0; i < n_nodes * n_labels; ++i) e.unary.push_back(random.uniform());
  for (int i = 0; i < n_nodes; ++i)
    for (const int step : {1, 2}) {
      e.edges.insert(e.edges.end(), {i, (i + step) % n_nodes});
      e.weights.push_back(0.35 * random.uniform());
    }
  for (int k = 0; k < n_labels; ++k) {
    for (int i = 0; i < n_nodes; ++i) e.nodes.push_back(i);
    e.starts.push_back(static_cast<std::int64_t>(e.nodes.size()));
    e.labels.push_back(k);
    e.costs.push_back(0.3 * random.uniform());
  }
  return e;
}

void test_strong_edges_and_costs_of_labels() {
  Random random(8);
  Search search;
  int n_optimal = 0;
  const int n_rounds = 300;
  for (int round = 0; round < n_rounds; ++round) {
    const Energy energy = strong_ring(random, 8, 4);
    const EnergyView e = energy.view();
    const double least = least_energy(e);
    const Outcome outcome = search.minimize(e, nullptr, 10, 0.15, false);
    CHECK(outcome.energy == evaluate(e, outcome.labels.data()));
    CHECK(outcome.energy >= least - 1e-9);
    CHECK(outcome.energy <= search.minimize(e, nullptr, 10, 0.0, false).energy + 1e-9);
    for (int k = 0; k < e.n_labels; ++k) CHECK(outcome.energy <= least_energy_of_move(e, outcome.labels, k) + 1e-9);
    n_optimal += outcome.energy <= least + 1e-9;
  }
  CHECK(n_optimal > n_rounds * 98 / 100);
}

void test_no_nodes() {
  Energy energy;
  energy.n_labels = 3;
  energy.offset = 2.0;
  energy.allowed = std::make_unique<bool[]>(1);
  Search fresh;  // a used one might hide reads of what is not there
  CHECK(fresh.minimize(energy.view(), nullptr, 2, 1.0, true).energy == 2.0);
}

void test_larger_problems_reuse_the_workspace() {
  Random random(3);
  Search reused;
  for (int round = 0; round < 60; ++round) {
    const Energy energy = random.energy(1 + random.below(150), 1 + random.below(9), 1.0);
    Search fresh;
    const Outcome a = reused.minimize(energy.view(), nullptr, 3, 1.0, false);
    const Outcome b = fresh.minimize(energy.view(), nullptr, 3, 1.0, false);
    CHECK(a.labels == b.labels);
    CHECK(a.moves == b.moves && a.flows == b.flows);
  }
}

// Two rows of nodes, and labels that only the four ends care about.
Energy ladder(Random& random, int n_rungs) {
  Energy e;
  e.n_nodes = 2 * n_rungs;
  e.n_labels = 2;
  e.unary.assign(4 * static_cast<std::size_t>(n_rungs), 0.0);
  e.unary[1] = e.unary[3] = e.unary[e.unary.size() - 2] = e.unary[e.unary.size() - 4] = 50.0;
  for (int i = 0; i < n_rungs; ++i) {
    e.edges.insert(e.edges.end(), {2 * i, 2 * i + 1});
    e.weights.push_back(random.uniform());
    for (const int side : {0, 1}) {
      if (i + 1 == n_rungs) continue;
      e.edges.insert(e.edges.end(), {2 * i + side, 2 * i + 2 + side});
      e.weights.push_back(random.uniform());
    }
  }
  return e;
}

void test_long_ways_take_no_quadratic_work() {
  Random random(5);
  const int n_rungs = 6000;
  multiutility::Problem problem;
  problem.compile(ladder(random, n_rungs).view());
  multiutility::Expansion expansion;
  expansion.load(problem);
  expansion.start(std::vector<int>(2 * n_rungs, 1));
  CHECK(expansion.expand(0));
  CHECK(expansion.work() < 100L * n_rungs);
}

// Edges that outweigh all else: excess of any node goes to any other, in the moves to every label.
void test_long_ways_of_many_labels_are_found_to_be_long_once() {
  Random random(7);
  const int n_rungs = 200, n_labels = 60;
  Energy energy = ladder(random, n_rungs);
  energy.n_labels = n_labels;
  energy.unary.clear();
  for (int i = 0; i < energy.n_nodes * n_labels; ++i) energy.unary.push_back(random.uniform());
  for (double& weight : energy.weights) weight *= 1e7;
  multiutility::Problem problem;
  problem.compile(energy.view());
  multiutility::Expansion expansion;
  expansion.load(problem);
  expansion.start(std::vector<int>(static_cast<std::size_t>(energy.n_nodes), 0));
  for (int label = 0; label < n_labels; ++label) expansion.expand(label);
  CHECK(expansion.n_flows() == n_labels - 1);
  CHECK(expansion.work() < 10L * energy.n_nodes * expansion.n_flows());
}

// With no patience every move is left to a minimum cut at once: it must find the same energies.
void test_moves_by_minimum_cuts_are_as_good() {
  Random random(6);
  multiutility::Problem problem;
  multiutility::Expansion patient, impatient;
  for (int round = 0; round < 2000; ++round) {
    const int n_labels = 1 + random.below(4);
    const Energy energy = random.energy(1 + random.below(30), n_labels, std::pow(10.0, random.below(9) - 4));
    problem.compile(energy.view());
    if (problem.n_labels == 0) continue;
    patient.load(problem);
    impatient.load(problem, 0);
    const std::vector<int> start(static_cast<std::size_t>(energy.n_nodes), random.below(problem.n_labels));
    patient.start(start);
    impatient.start(start);
    for (int move = 0; move < 3 * problem.n_labels; ++move) {
      patient.expand(move % problem.n_labels);
      impatient.expand(move % problem.n_labels);
      const double difference = problem.cost_of(patient.energy()) - problem.cost_of(impatient.energy());
      CHECK(std::abs(difference) < 1e-9 * problem.scale);
      CHECK(impatient.energy() == problem.evaluate(impatient.labels()));
      if (patient.labels() != impatient.labels()) break;  // of equals: moves that follow may differ
    }
  }
}

// Python refuses such costs; here they must at least find labels that exist.
void test_costs_without_a_finite_sum() {
  Energy energy;
  energy.n_nodes = 3;
  energy.n_labels = 2;
  energy.unary = {1e308, 1.5e308, -1e308, 1e308, 1e308, 1e308};
  Search search;
  for (const int passes : {0, 3}) {
    const Labels labels = search.minimize(energy.view(), nullptr, passes, 1.0, true).labels;
    CHECK((labels == Labels{0, 0, 0}));
  }
}

void test_threads() {
  Random random(4);
  std::vector<Energy> energies;
  for (int n = 0; n < 50; ++n) energies.push_back(random.energy(1 + random.below(60), 5, 1.0));
  const auto solve = [&](int n_threads) {
    std::vector<Labels> found(energies.size());
    multiutility::for_each_parallel<Search>(energies.size(), n_threads, [&](Search& search, std::size_t i) {
      found[i] = search.minimize(energies[i].view(), nullptr, 2, 1.0, false).labels;
    });
    return found;
  };
  CHECK(solve(1) == solve(4));
}

void test_failures_reach_the_caller() {
  struct Nothing {};
  bool caught = false;
  try {
    multiutility::for_each_parallel<Nothing>(10, 3, [](Nothing&, std::size_t i) {
      if (i == 7) throw i;
    });
  } catch (std::size_t i) {
    caught = i == 7;
  }
  CHECK(caught);
}

}  // namespace

int main() {
  test_moves_against_enumeration();
  test_minimize_against_enumeration();
  test_strong_edges_and_costs_of_labels();
  test_no_nodes();
  test_larger_problems_reuse_the_workspace();
  test_long_ways_take_no_quadratic_work();
  test_long_ways_of_many_labels_are_found_to_be_long_once();
  test_moves_by_minimum_cuts_are_as_good();
  test_costs_without_a_finite_sum();
  test_threads();
  test_failures_reach_the_caller();
  return multiutility::testing::report();
}
